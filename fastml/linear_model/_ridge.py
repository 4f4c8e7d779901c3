"""Least squares with a penalty on the squared weights."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin

from fastml._docs import documented
from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.elastic_net import Squares, path_on_columns, path_on_gram
from fastml._engines.linear.least_squares import Fit
from fastml._engines.linear.moments import Centred, careful_moments
from fastml._engines.linear.ridge import solve_named
from fastml._sklearn import Interval, StrOptions, fit_context, validate_params
from fastml._validation import FLOATS, check_array
from fastml.linear_model._base import SCALINGS, LinearPredictor, loss_factor
from fastml.linear_model._blocks import refuse_summary, refuse_wide, ridge_of, target_axes
from fastml.linear_model._summarised import KEEP, KEEP_ENTRY

SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")

NON_NEGATIVE_TOL, NON_NEGATIVE_PASSES = 1e-12, 100_000


@documented({"keep_summary": KEEP_ENTRY})
class Ridge(MultiOutputMixin, RegressorMixin, LinearPredictor):
    """Least squares with the penalty alpha \\|w\\|².

    Minimises Σ u_i (y_i − w₀ − w · x_i)² + alpha \\|w\\|² with its closed form,
    w = (A'A + alpha)⁻¹ A'b, where A and b are the centred data; for wide data
    w = A' (A A' + alpha)⁻¹ b. The intercept is not penalised. X is not copied.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        Penalty, or one for each target.
    fit_intercept : bool, default=True
        Whether there is a w₀.
    copy_X : bool, default=True
        For scikit-learn's sake: X is never written to.
    max_iter : int, default=None
        Most iterations of 'lsqr' and 'sparse_cg'.
    tol : float, default=1e-4
        Accuracy of these two.
    solver : {'auto', 'svd', 'cholesky', 'lsqr', 'sparse_cg', 'sag', 'saga', 'lbfgs'}, \
default='auto'
        'auto', 'cholesky', 'sag' and 'saga' give the exact solution, by Cholesky's decomposition;
        'svd' by singular values, 'lsqr' and 'sparse_cg' by iterations ('auto' too for sparse X
        with thousands of rows and columns). 'lbfgs' is scikit-learn's name for ``positive``.
    positive : bool, default=False
        Whether weights must be at least 0: by coordinate descent.
    random_state : int, RandomState instance or None, default=None
        For scikit-learn's sake: nothing is drawn.
    scaling : {'sum', 'half_sum', 'mean', 'half_mean'}, default='sum'
        What multiplies the sum of squared errors in the objective: 1, ½, 1/n or 1/(2n), where n is
        the sum of weights. alpha \\|w\\|² stays as it is.
    {keep_summary}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        The weights w.
    intercept_ : float or ndarray of shape (n_targets,)
        The constant w₀; 0.0 without one.
    n_iter_ : None or ndarray of shape (n_targets,)
        Iterations of 'lsqr', and 1 for 'sag' and 'saga'.
    solver_ : str
        The solver in scikit-learn's words.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import Ridge
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> Ridge(alpha=2.0).fit(X, [0.0, 1.0, 2.0]).coef_
    array([0.5])
    """

    _parameter_constraints: dict = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions(set(SOLVERS))],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "scaling": [StrOptions(set(SCALINGS))],
        **KEEP,
    }

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-4,
        solver="auto",
        positive=False,
        random_state=None,
        scaling="sum",
        keep_summary=False,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.scaling = scaling
        self.keep_summary = keep_summary

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.solver != "svd" and (
            self.solver != "cholesky" or not self.fit_intercept
        )
        return tags

    def _fit_blocks(self, passes):
        refuse_summary(self)
        refuse_wide(passes)
        solver = self._check_solver(False)
        axes, n_targets = target_axes(passes)
        factor = loss_factor(self.scaling, passes.total_weight())
        alphas = self._alphas(n_targets) / factor
        found = ridge_of(passes, alphas, self.fit_intercept, self.positive)
        self.n_iter_, self.solver_ = None, solver
        self._set(found.coef, found.x_means, found.y_means, passes.dtype, axes, flat=True)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights u_i of the squared errors.

        Returns
        -------
        self : object
        """
        solver = self._check_solver(sp.issparse(X))
        X, Y, axes = self._read(X, y, check_later=solver == "cholesky")
        weights = self._weights(sample_weight, X)
        total = float(X.shape[0] if weights is None else weights.sum())
        alphas = self._alphas(Y.shape[1]) / loss_factor(self.scaling, total)
        if self.positive:
            found, n_iter = _non_negative(X, Y, alphas, weights, self.fit_intercept), None
        else:
            how = "cholesky" if self.solver == "auto" else solver
            with np.errstate(invalid="ignore", over="ignore"):
                found, n_iter = solve_named(
                    X, Y, alphas, weights, self.fit_intercept, how, self.tol, self.max_iter
                )
            self._refuse_nan(X, found.coef)
        self.n_iter_, self.solver_ = n_iter, solver
        self._set(found.coef, found.x_means, found.y_means, X.dtype, axes, flat=True)
        self._keep(X, Y if Y.shape[1] > 1 else Y[:, 0], sample_weight=weights)
        return self

    def _check_solver(self, sparse: bool) -> str:
        """The solver's name in scikit-learn's words, after scikit-learn's refusals."""
        solver = self.solver
        if solver == "lbfgs" and not self.positive:
            raise ValueError(
                "'lbfgs' solver can be used only when positive=True. Please use another solver."
            )
        if self.positive:
            if solver not in ("auto", "lbfgs"):
                raise ValueError(
                    f"solver='{solver}' does not support positive fitting. Please set the solver "
                    "to 'auto' or 'lbfgs', or set `positive=False`"
                )
            return "lbfgs"
        if sparse and self.fit_intercept:
            if solver not in ("auto", "lsqr", "sag", "sparse_cg"):
                raise ValueError(
                    f"solver='{solver}' does not support fitting the intercept on sparse data. "
                    "Please set the solver to 'auto' or 'lsqr', 'sparse_cg', 'sag', 'lbfgs' "
                    "or set `fit_intercept=False`"
                )
            if solver == "sag" and self.max_iter is None and self.tol > 1e-4:
                warnings.warn(
                    '"sag" solver requires many iterations to fit an intercept with sparse '
                    'inputs. Either set the solver to "auto" or "sparse_cg", or set a low "tol" '
                    'and a high "max_iter" (especially if inputs are not standardized).',
                    stacklevel=3,
                )
        if sparse and solver == "svd":
            raise TypeError("SVD solver does not support sparse inputs currently")
        if solver == "auto":
            return "sparse_cg" if sparse else "cholesky"
        return solver

    def _alphas(self, n_targets: int):
        alphas = np.asarray(self.alpha, dtype=np.float64).ravel()
        if alphas.shape[0] not in (1, n_targets):
            raise ValueError(
                "Number of targets and number of penalties do not correspond: "
                f"{alphas.shape[0]} != {n_targets}"
            )
        return np.broadcast_to(alphas, n_targets).copy()


def _non_negative(X, Y, alphas, weights, centre) -> Fit:
    """Coordinate descent for every target, on the Gram matrix or on columns."""
    options: dict = {"tol": NON_NEGATIVE_TOL, "most": NON_NEGATIVE_PASSES, "positive": True}
    coef = np.empty((X.shape[1], Y.shape[1]))
    if X.shape[1] <= X.shape[0]:
        centred = Centred.of(careful_moments(X, Y, weights, centre), centre)
        for t, alpha in enumerate(alphas):
            squares = Squares(centred.gram, centred.cross[:, t], float(centred.squares[t]))
            coef[:, t] = path_on_gram(squares, [0.0], [alpha], **options).coefs[0]
        return Fit(coef, centred.x_means, centred.y_means)
    design = CentredDesign(X, weights, centre)
    b, y_means = design.targets(Y)
    for t, alpha in enumerate(alphas):
        found = path_on_columns(design, b[:, t].copy(), [0.0], [float(alpha)], **options)
        coef[:, t] = found.coefs[0]
    return Fit(coef, design.means, y_means)


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like"],
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "sample_weight": [Interval(Real, None, None, closed="neither"), "array-like", None],
        "solver": [StrOptions(set(SOLVERS))],
        "max_iter": [Interval(Integral, 0, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "return_n_iter": ["boolean"],
        "return_intercept": ["boolean"],
        "check_input": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def ridge_regression(
    X,
    y,
    alpha,
    *,
    sample_weight=None,
    solver="auto",
    max_iter=None,
    tol=1e-4,
    verbose=0,
    positive=False,
    random_state=None,
    return_n_iter=False,
    return_intercept=False,
    check_input=True,
):
    """Weights of `Ridge` without an intercept, or of sparse X with one.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    alpha : float or array-like of shape (n_targets,)
        Penalty, or one for each target.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Weights of the squared errors.
    solver : {'auto', 'svd', 'cholesky', 'lsqr', 'sparse_cg', 'sag', 'saga', 'lbfgs'}, \
default='auto'
        As of `Ridge`.
    max_iter : int, default=None
        Most iterations of 'lsqr' and 'sparse_cg'.
    tol : float, default=1e-4
        Accuracy of these two.
    verbose : int, default=0
        For scikit-learn's sake: nothing is printed.
    positive : bool, default=False
        Whether weights must be at least 0.
    random_state : int, RandomState instance or None, default=None
        For scikit-learn's sake: nothing is drawn.
    return_n_iter : bool, default=False
        Whether to return ``n_iter`` too.
    return_intercept : bool, default=False
        Whether to fit an intercept and to return it; for 'sag', and 'auto' with sparse X.
    check_input : bool, default=True
        Whether to check X and y.

    Returns
    -------
    coef : ndarray of shape (n_features,) or (n_targets, n_features)
        The weights.
    n_iter : int or ndarray
        As ``Ridge.n_iter_``.
    intercept : float or ndarray of shape (n_targets,)
        The constant.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import ridge_regression
    >>> ridge_regression(np.array([[-1.0], [0.0], [1.0]]), [-1.0, 0.0, 1.0], alpha=2.0)
    array([0.5])
    """
    if return_intercept and solver == "auto":
        solver = "sag"
    if return_intercept and solver != "sag":
        raise ValueError(
            "In Ridge, only 'sag' solver can directly fit the intercept. Please change solver to "
            "'sag' or set return_intercept=False."
        )
    if positive and solver not in ("auto", "lbfgs"):
        raise ValueError(
            "When positive=True, only 'lbfgs' solver can be used. Please change solver "
            f"{solver} to 'lbfgs' or set positive=False."
        )
    if check_input and not ((isinstance(X, np.ndarray) and X.ndim == 2) or sp.issparse(X)):
        X = check_array(X, accept_sparse=("csr", "csc"), dtype=FLOATS)  # others: by `Ridge.fit`
    if check_input and not isinstance(y, np.ndarray):
        y = check_array(y, dtype=None, ensure_2d=False, ensure_all_finite=False)
    if np.ndim(y) > 2:
        raise ValueError(f"Target y has the wrong shape {np.shape(y)}")
    if len(y) != X.shape[0]:
        raise ValueError(
            f"Number of samples in X and y does not correspond: {X.shape[0]} != {len(y)}"
        )
    model = Ridge(
        alpha, fit_intercept=return_intercept, max_iter=max_iter, tol=tol, solver=solver,
        positive=positive,
    ).fit(X, y, sample_weight)  # fmt: skip
    found = [model.coef_]
    if return_n_iter:
        found.append(model.n_iter_)
    if return_intercept:
        found.append(model.intercept_)
    return found[0] if len(found) == 1 else tuple(found)
