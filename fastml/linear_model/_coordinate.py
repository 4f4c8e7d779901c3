"""Lasso and elastic net, for one target and for several together."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import metadata_routing

from fastml._docs import documented
from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.elastic_net import Problem, constrained, solve
from fastml._sklearn import Interval, StrOptions, align_api_if_sparse, fit_context
from fastml._validation import FLOATS, check_array, validate_data
from fastml.linear_model._base import SCALINGS, LinearPredictor, loss_factor, settled
from fastml.linear_model._blocks import net_of, refuse_summary, target_axes
from fastml.linear_model._docs import NET_ENTRIES
from fastml.linear_model._path import check_gram, enet_path, warn_of_gaps
from fastml.linear_model._summarised import KEEP

NET_CONSTRAINTS = {
    "alpha": [Interval(Real, 0, None, closed="left")],
    "l1_ratio": [Interval(Real, 0, 1, closed="both")],
    "fit_intercept": ["boolean"],
    "precompute": ["boolean", "array-like"],
    "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    "copy_X": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="left")],
    "warm_start": ["boolean"],
    "positive": ["boolean"],
    "random_state": ["random_state"],
    "selection": [StrOptions({"cyclic", "random"})],
    "scaling": [StrOptions(set(SCALINGS))],
    "constraint": [Interval(Real, 0, None, closed="neither"), None],
    **KEEP,
}


def _but(*names):
    return {name: value for name, value in NET_CONSTRAINTS.items() if name not in names}


class _CoordinateModel(LinearPredictor):
    """Fit by coordinate descent: targets on their own, or all together (``joint``)."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def sparse_coef_(self):
        """The weights as a sparse matrix."""
        return align_api_if_sparse(sp.csr_array(np.atleast_2d(self.coef_)))

    def _shuffle(self):
        if self.selection == "cyclic":
            return None
        from sklearn.utils import check_random_state

        return check_random_state(self.random_state)

    def _descend(self, X, Y, weights, axes, *, joint, gram=None):
        """Solve and set the attributes."""
        total = float(X.shape[0] if weights is None else weights.sum())
        alpha = self.alpha / (2.0 * total * loss_factor(self.scaling, total))
        most = 1000 if self.max_iter is None else self.max_iter
        positive = getattr(self, "positive", False)
        problem = Problem(X, Y, weights, self.fit_intercept, joint, gram)
        options = {"tol": self.tol, "most": most, "positive": positive}
        if self.constraint is not None:
            if Y.shape[1] != 1:
                raise ValueError(f"constraint is for one target, got {Y.shape[1]}")
            found, alpha = constrained(problem, self.constraint, self.l1_ratio, **options)
        else:
            start = None
            if self.warm_start and hasattr(self, "coef_"):
                start = np.atleast_2d(self.coef_).astype(np.float64).T
            l1, l2 = alpha * self.l1_ratio * total, alpha * (1.0 - self.l1_ratio) * total
            found = solve(problem, [l1], [l2], start=start, shuffle=self._shuffle(), **options)
            warn_of_gaps(
                found.gaps[0], self.tol * found.squares, most, l1_ratio=self.l1_ratio,
                single=X.dtype == np.float32, stacklevel=5,
            )  # fmt: skip
        coef = found.coefs[0]
        if not (np.isfinite(coef).all() and np.isfinite(found.gaps).all()):
            raise ValueError(
                "Coordinate descent iterations resulted in non-finite parameter values. The input "
                "data may contain large values and need to be preprocessed."
            )
        self.alpha_ = float(alpha)
        gaps, passes = found.gaps[0] / total, [int(p) for p in found.passes[0]]
        one = joint or len(gaps) == 1
        self.dual_gap_ = gaps[0] if one else gaps
        self.n_iter_ = passes[0] if one else passes
        if joint:
            self.eps_ = float(self.tol * np.sum(found.squares))
        self._set(coef, found.x_means, found.y_means, X.dtype, axes, flat=not joint)


@documented(NET_ENTRIES)
class ElasticNet(MultiOutputMixin, RegressorMixin, _CoordinateModel):
    """Least squares with l1 and squared l2 penalties.

    Minimises, with weights u_i of sum n,

        1/(2n) Σ u_i (y_i − w₀ − w · x_i)²
            + alpha l1_ratio \\|w\\|₁ + alpha (1 − l1_ratio)/2 \\|w\\|²

    by coordinate descent with extrapolation: on the Gram matrix of tall data with few columns, on
    working sets of columns otherwise, without a copy of X. The end is decided by the duality gap
    of the whole problem. Several targets are fitted one by one.

    Parameters
    ----------
    {alpha}
    {l1_ratio}
    {fit_intercept}
    {precompute}
    {max_iter}
    {copy_X}
    {tol}
    {warm_start}
    {positive}
    {random_state}
    {selection}
    {scaling}
    {constraint}
    {keep_summary}

    Attributes
    ----------
    {alpha_}
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import ElasticNet
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    >>> ElasticNet(alpha=0.1, l1_ratio=0.5).fit(X, [0.0, 1.0, 2.0]).coef_.round(3)
    array([0.446, 0.446])
    """

    __metadata_request__fit = {"check_input": metadata_routing.UNUSED}

    _parameter_constraints: dict = {**NET_CONSTRAINTS}

    path = staticmethod(enet_path)

    def __init__(
        self,
        alpha=1.0,
        *,
        l1_ratio=0.5,
        fit_intercept=True,
        precompute=False,
        max_iter=1000,
        copy_X=True,
        tol=1e-4,
        warm_start=False,
        positive=False,
        random_state=None,
        selection="cyclic",
        scaling="half_mean",
        constraint=None,
        keep_summary=False,
    ):
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.scaling = scaling
        self.constraint = constraint
        self.keep_summary = keep_summary

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, check_input=True):
        """Fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights u_i of the squared errors; only their ratios matter.
        check_input : bool, default=True
            Whether to check X and y.

        Returns
        -------
        self : object
        """
        if self.alpha == 0 and self.constraint is None:
            warnings.warn(
                "With alpha=0, this algorithm does not converge well. You are advised to use the "
                "LinearRegression estimator",
                stacklevel=3,
            )
        if check_input:
            X, y = validate_data(
                self, X, y, accept_sparse=("csr", "csc"), dtype=FLOATS, multi_output=True,
                y_numeric=True, accept_large_sparse=False,
            )  # fmt: skip
            X = settled(X)
            if y.dtype != X.dtype:
                y = check_array(y, dtype=X.dtype.type, ensure_2d=False)
        weights = self._relative_weights(sample_weight, X)
        Y = np.asarray(y, dtype=np.float64).reshape(X.shape[0], -1)
        gram = self._gram(X, weights)
        self._descend(X, Y, weights, y.ndim, joint=False, gram=gram)
        self._keep(X, Y if Y.shape[1] > 1 else Y[:, 0], sample_weight=weights)
        return self

    def _fit_blocks(self, passes):
        refuse_summary(self)
        if self.constraint is not None or not isinstance(self.precompute, bool | np.bool_):
            raise ValueError("on blocks there is neither a constraint nor a given Gram matrix")
        axes, _ = target_axes(passes)
        n = float(passes.n_rows)
        alpha = self.alpha / (2.0 * n * loss_factor(self.scaling, n))
        most = 1000 if self.max_iter is None else self.max_iter
        found, gaps, squares, steps, total = net_of(
            passes, alpha, self.l1_ratio, self.fit_intercept, tol=self.tol, most=most,
            positive=self.positive, shuffle=self._shuffle(),
        )  # fmt: skip
        warn_of_gaps(
            gaps, self.tol * squares, most, l1_ratio=self.l1_ratio,
            single=passes.dtype == np.float32, stacklevel=5,
        )  # fmt: skip
        if not np.isfinite(found.coef).all():
            raise ValueError(
                "Coordinate descent iterations resulted in non-finite parameter values. The input "
                "data may contain large values and need to be preprocessed."
            )
        self.alpha_ = float(alpha)
        one = len(gaps) == 1
        self.dual_gap_ = gaps[0] / total if one else gaps / total
        self.n_iter_ = steps[0] if one else steps
        self._set(found.coef, found.x_means, found.y_means, passes.dtype, axes, flat=True)

    def _gram(self, X, weights):
        """The Gram matrix to use, or whether to make one; None leaves it to the solver."""
        if sp.issparse(X):
            return None
        if isinstance(self.precompute, bool | np.bool_):
            return True if self.precompute and X.shape[1] <= X.shape[0] else None
        means = np.zeros(X.shape[1])
        if self.fit_intercept:
            means = CentredDesign(X, weights).means
        return check_gram(self.precompute, X, means, self.fit_intercept, weights)


@documented(NET_ENTRIES)
class Lasso(ElasticNet):
    """Least squares with an l1 penalty, which leaves many weights at 0.

    Minimises, with weights u_i of sum n,

        1/(2n) Σ u_i (y_i − w₀ − w · x_i)² + alpha \\|w\\|₁

    as `ElasticNet` with l1_ratio = 1.

    Parameters
    ----------
    {alpha}
    {fit_intercept}
    {precompute}
    {copy_X}
    {max_iter}
    {tol}
    {warm_start}
    {positive}
    {random_state}
    {selection}
    {scaling}
    {constraint}
    {keep_summary}

    Attributes
    ----------
    {alpha_}
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import Lasso
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
    >>> Lasso(alpha=0.1).fit(X, [0.0, 1.0, 2.0]).coef_.round(3)
    array([0.85, 0.  ])
    """

    _parameter_constraints: dict = _but("l1_ratio")

    path = staticmethod(enet_path)

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        precompute=False,
        copy_X=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        positive=False,
        random_state=None,
        selection="cyclic",
        scaling="half_mean",
        constraint=None,
        keep_summary=False,
    ):
        super().__init__(
            alpha=alpha,
            l1_ratio=1.0,
            fit_intercept=fit_intercept,
            precompute=precompute,
            copy_X=copy_X,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            positive=positive,
            random_state=random_state,
            selection=selection,
            scaling=scaling,
            constraint=constraint,
            keep_summary=keep_summary,
        )


@documented(NET_ENTRIES)
class MultiTaskElasticNet(MultiOutputMixin, RegressorMixin, _CoordinateModel):
    """Elastic net for several targets that share which features are used.

    Minimises

        1/(2n) \\|Y − X W\\|² + alpha l1_ratio Σ_j \\|W_j\\| + alpha (1 − l1_ratio)/2 \\|W\\|²

    where W_j are the weights of feature j for all targets.

    Parameters
    ----------
    {alpha}
    {l1_ratio}
    {fit_intercept}
    {copy_X}
    {max_iter}
    {tol}
    {warm_start}
    {random_state}
    {selection}

    Attributes
    ----------
    {alpha_}
    {fitted}
    eps_ : float
        The dual gap at which the descent ends: ``tol`` times the squares of the centred targets.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import MultiTaskElasticNet
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    >>> MultiTaskElasticNet(alpha=0.1).fit(X, X).coef_.round(3)
    array([[0.456, 0.456],
           [0.456, 0.456]])
    """

    _parameter_constraints: dict = _but(
        "precompute", "positive", "scaling", "constraint", "keep_summary"
    )

    scaling, constraint = "half_mean", None

    path = staticmethod(enet_path)

    def __init__(
        self,
        alpha=1.0,
        *,
        l1_ratio=0.5,
        fit_intercept=True,
        copy_X=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        random_state=None,
        selection="cyclic",
    ):
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.selection = selection

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the squared errors; only their ratios matter.

        Returns
        -------
        self : object
        """
        X, Y = validate_data(
            self, X, y,
            validate_separately=(
                {"accept_sparse": ("csr", "csc"), "dtype": FLOATS, "accept_large_sparse": False},
                {"dtype": FLOATS, "ensure_2d": False},
            ),
        )  # fmt: skip
        from sklearn.utils import check_consistent_length

        check_consistent_length(X, Y)
        if Y.ndim == 1:
            name = "Lasso" if isinstance(self, MultiTaskLasso) else "ElasticNet"
            raise ValueError(f"For mono-task outputs, use {name}")
        weights = self._relative_weights(sample_weight, X)
        self._descend(settled(X), Y.astype(np.float64), weights, 2, joint=True)
        return self


@documented(NET_ENTRIES)
class MultiTaskLasso(MultiTaskElasticNet):
    """Lasso for several targets that share which features are used.

    Minimises 1/(2n) \\|Y − X W\\|² + alpha Σ_j \\|W_j\\|, where W_j are the weights of feature j
    for all targets.

    Parameters
    ----------
    {alpha}
    {fit_intercept}
    {copy_X}
    {max_iter}
    {tol}
    {warm_start}
    {random_state}
    {selection}

    Attributes
    ----------
    {alpha_}
    {fitted}
    eps_ : float
        The dual gap at which the descent ends: ``tol`` times the squares of the centred targets.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import MultiTaskLasso
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
    >>> Y = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 3.0]])
    >>> MultiTaskLasso(alpha=0.1).fit(X, Y).coef_.round(2)
    array([[0.92, 0.  ],
           [1.38, 0.05]])
    """

    _parameter_constraints: dict = _but(
        "l1_ratio", "precompute", "positive", "scaling", "constraint", "keep_summary"
    )

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        random_state=None,
        selection="cyclic",
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.l1_ratio = 1.0
        self.random_state = random_state
        self.selection = selection
