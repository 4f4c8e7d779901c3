"""Paths of least angle regression and of matching pursuit, as functions."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.least_angle import KnownGram, least_angles
from fastml._engines.linear.pursuit import pursue
from fastml._sklearn import Interval, StrOptions, validate_params
from fastml._validation import check_array

EPS = np.finfo(float).eps
ANGLE_PARAMETERS = {
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "alpha_min": [Interval(Real, 0, None, closed="left")],
    "method": [StrOptions({"lar", "lasso"})],
    "copy_X": ["boolean"],
    "eps": [Interval(Real, 0, None, closed="neither"), None],
    "copy_Gram": ["boolean"],
    "verbose": ["verbose"],
    "return_path": ["boolean"],
    "return_n_iter": ["boolean"],
    "positive": ["boolean"],
}
PURSUIT_PARAMETERS = {
    "n_nonzero_coefs": [Interval(Integral, 1, None, closed="left"), None],
    "tol": [Interval(Real, 0, None, closed="left"), None],
    "return_path": ["boolean"],
    "return_n_iter": ["boolean"],
}


def _refuse_positive(method, positive):
    if method == "lar" and positive:
        raise ValueError("Positive constraint not supported for 'lar' coding method.")


def _angles(found, dtype, return_path, return_n_iter):
    """What both functions return of a path."""
    alphas, coefs = found.alphas.astype(dtype), found.coefs.astype(dtype)
    if not return_path:
        alphas, coefs = alphas[-1:], coefs[:, -1]
    path = alphas, found.active, coefs
    return (*path, found.steps) if return_n_iter else path


def _common_dtype(*arrays):
    """That of all arrays, float64 if they differ."""
    dtypes = {a.dtype for a in arrays if isinstance(a, np.ndarray)}
    return dtypes.pop() if len(dtypes) == 1 else np.dtype(np.float64)


@validate_params(
    {
        "X": ["array-like", None],
        "y": ["array-like", None],
        "Xy": ["array-like", None],
        "Gram": [StrOptions({"auto"}), "boolean", np.ndarray, None],
        **ANGLE_PARAMETERS,
    },
    prefer_skip_nested_validation=True,
)
def lars_path(
    X,
    y,
    Xy=None,
    *,
    Gram=None,
    max_iter=500,
    alpha_min=0,
    method="lar",
    copy_X=True,
    eps=EPS,
    copy_Gram=True,
    verbose=0,
    return_path=True,
    return_n_iter=False,
    positive=False,
):
    """The path of least angle regression, or of the lasso along it, without an intercept.

    With method='lasso' the weights at every corner minimise
    1/(2n) \\|y − X w\\|² + alpha \\|w\\|₁; between corners they are linear in alpha.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows; centre them, and y, for a model with an intercept.
    y : array-like of shape (n_samples,)
        Targets.
    Xy : array-like of shape (n_features,), default=None
        X'y, if known.
    Gram : None, 'auto', bool or ndarray of shape (n_features, n_features), default=None
        X'X, if known. Otherwise only the rows of it that are needed are made, whatever is said.
    max_iter : int, default=500
        Most steps.
    alpha_min : float, default=0
        Where the path ends.
    method : {'lar', 'lasso'}, default='lar'
        Whether columns never leave ('lar'), or do where their weight would change its sign.
    copy_X : bool, default=True
        For scikit-learn's sake: X is never written to.
    eps : float, default=np.finfo(float).eps
        Least pivot of Cholesky's decomposition.
    copy_Gram : bool, default=True
        For scikit-learn's sake: the Gram matrix is never written to.
    verbose : int, default=0
        For scikit-learn's sake: nothing is printed.
    return_path : bool, default=True
        Whether to return the whole path, or its end.
    return_n_iter : bool, default=False
        Whether to return the number of steps too.
    positive : bool, default=False
        Whether weights must be at least 0; for method='lasso'.

    Returns
    -------
    alphas : ndarray of shape (n_steps + 1,)
        Largest pull, \\|x_j · r\\| / n, before each step and at the end; the last one without path.
    active : list of int
        Columns in use at the end.
    coefs : ndarray of shape (n_features, n_steps + 1)
        Weights there; (n_features,) without path.
    n_iter : int
        Number of steps; with ``return_n_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import lars_path
    >>> X = np.array([[-1.0, 1.0], [0.0, -2.0], [1.0, 1.0]])
    >>> alphas, active, coefs = lars_path(X, np.array([-1.0, -1.0, 2.0]))
    >>> active, alphas
    ([0, 1], array([1., 1., 0.]))
    """
    _refuse_positive(method, positive)
    if X is None:
        if Gram is not None:
            raise ValueError(
                "X cannot be None if Gram is not None. Use lars_path_gram to avoid passing X and y."
            )
        raise ValueError("X and Gram cannot both be unspecified.")
    X, y = check_array(X, dtype=(np.float64, np.float32)), np.asarray(y)
    Xy = None if Xy is None else np.asarray(Xy)
    known = Gram if isinstance(Gram, np.ndarray) else None
    if known is not None and known.shape != (X.shape[1], X.shape[1]):
        raise ValueError("The shapes of the inputs Gram and Xy do not match.")
    found = least_angles(
        CentredDesign(X, None, False), np.asarray(y, dtype=np.float64), max_iter=max_iter,
        alpha_min=float(alpha_min), lasso=method == "lasso", positive=positive, eps=eps or EPS,
        gram=known, cross=Xy,
    )  # fmt: skip
    return _angles(found, _common_dtype(X, y, Xy, known), return_path, return_n_iter)


@validate_params(
    {
        "Xy": [np.ndarray],
        "Gram": [np.ndarray],
        "n_samples": [Interval(Integral, 0, None, closed="left")],
        **ANGLE_PARAMETERS,
    },
    prefer_skip_nested_validation=True,
)
def lars_path_gram(
    Xy,
    Gram,
    *,
    n_samples,
    max_iter=500,
    alpha_min=0,
    method="lar",
    copy_X=True,
    eps=EPS,
    copy_Gram=True,
    verbose=0,
    return_path=True,
    return_n_iter=False,
    positive=False,
):
    """As `lars_path`, from sums of products alone: X'X and X'y.

    Parameters
    ----------
    Xy : ndarray of shape (n_features,)
        X'y.
    Gram : ndarray of shape (n_features, n_features)
        X'X.
    n_samples : int
        Number of rows n of X.
    max_iter : int, default=500
        Most steps.
    alpha_min : float, default=0
        Where the path ends.
    method : {'lar', 'lasso'}, default='lar'
        Whether columns never leave ('lar'), or do where their weight would change its sign.
    copy_X : bool, default=True
        For scikit-learn's sake.
    eps : float, default=np.finfo(float).eps
        Least pivot of Cholesky's decomposition.
    copy_Gram : bool, default=True
        For scikit-learn's sake: the Gram matrix is never written to.
    verbose : int, default=0
        For scikit-learn's sake: nothing is printed.
    return_path : bool, default=True
        Whether to return the whole path, or its end.
    return_n_iter : bool, default=False
        Whether to return the number of steps too.
    positive : bool, default=False
        Whether weights must be at least 0; for method='lasso'.

    Returns
    -------
    alphas : ndarray of shape (n_steps + 1,)
        Largest pull, \\|x_j · r\\| / n, before each step and at the end; the last one without path.
    active : list of int
        Columns in use at the end.
    coefs : ndarray of shape (n_features, n_steps + 1)
        Weights there; (n_features,) without path.
    n_iter : int
        Number of steps; with ``return_n_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import lars_path_gram
    >>> _, active, coefs = lars_path_gram(np.array([3.0, 1.0]), np.eye(2), n_samples=4)
    >>> coefs
    array([[0., 2., 3.],
           [0., 0., 1.]])
    """
    _refuse_positive(method, positive)
    if Gram.shape != (len(Xy), len(Xy)):
        raise ValueError("The shapes of the inputs Gram and Xy do not match.")
    if not np.isfinite(Xy).all():
        raise ValueError("Xy must be finite.")
    found = least_angles(
        KnownGram(n_samples, len(Xy)), np.empty(0), max_iter=max_iter, alpha_min=float(alpha_min),
        lasso=method == "lasso", positive=positive, eps=eps or EPS,
        gram=check_array(Gram, dtype=np.float64), cross=Xy,
    )  # fmt: skip
    return _angles(found, _common_dtype(Xy, Gram), return_path, return_n_iter)


def _pursuits(design, targets, most, tol, return_path, return_n_iter, dtype):
    """Weights of every target in scikit-learn's shapes; ``targets``: arguments of `pursue`."""
    d, found = design.n_features, []
    for target in targets:
        b, more = target
        found.append(pursue(design, b, most or d, tol, keep_path=return_path, **more))
    chosen = [count for _, count, _ in found]
    if return_path:
        coef = np.zeros((d, len(found), max(chosen)), dtype=dtype)
        for t, (_, count, path) in enumerate(found):
            if count:
                coef[:, t, :count] = np.array(path).T
    else:
        coef = np.stack([weights for weights, _, _ in found], axis=1).astype(dtype)
    coef = np.squeeze(coef)
    return (coef, chosen[0] if len(chosen) == 1 else chosen) if return_n_iter else coef


def _check_number(most, tol, d) -> None:
    if tol is None and most > d:
        raise ValueError("The number of atoms cannot be more than the number of features")


@validate_params(
    {
        "X": ["array-like"],
        "y": [np.ndarray],
        "precompute": ["boolean", StrOptions({"auto"})],
        "copy_X": ["boolean"],
        **PURSUIT_PARAMETERS,
    },
    prefer_skip_nested_validation=True,
)
def orthogonal_mp(
    X,
    y,
    *,
    n_nonzero_coefs=None,
    tol=None,
    precompute=False,
    copy_X=True,
    return_path=False,
    return_n_iter=False,
):
    """Orthogonal matching pursuit without an intercept.

    The column with the largest product with the residual, \\|x_j · r\\|, comes next; the weights of
    the chosen columns are those of least squares.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    n_nonzero_coefs : int, default=None
        Number of columns; None is a tenth of them, at least one. Not used if ``tol`` is given.
    tol : float, default=None
        Squared norm of the residual at which to end.
    precompute : 'auto' or bool, default=False
        For scikit-learn's sake: only the rows of the Gram matrix that are needed are made.
    copy_X : bool, default=True
        For scikit-learn's sake: X is never written to.
    return_path : bool, default=False
        Whether to return the weights after every choice.
    return_n_iter : bool, default=False
        Whether to return the number of columns chosen too.

    Returns
    -------
    coef : ndarray of shape (n_features,) or (n_features, n_targets)
        The weights; with a further axis of choices for the path.
    n_iter : int or list of int
        Columns chosen, for each target; with ``return_n_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import orthogonal_mp
    >>> orthogonal_mp(np.eye(3), np.array([1.0, 5.0, 2.0]), n_nonzero_coefs=2)
    array([0., 5., 2.])
    """
    X = check_array(X, dtype=(np.float64, np.float32))
    Y = check_array(y.reshape(len(y), -1), dtype=np.float64)
    most = n_nonzero_coefs
    if most is None and tol is None:
        most = max(int(0.1 * X.shape[1]), 1)
    _check_number(most, tol, X.shape[1])
    targets = ((np.ascontiguousarray(b), {}) for b in Y.T)
    return _pursuits(
        CentredDesign(X, None, False), targets, most, tol, return_path, return_n_iter, X.dtype
    )


@validate_params(
    {
        "Gram": ["array-like"],
        "Xy": ["array-like"],
        "norms_squared": ["array-like", Real, None],
        "copy_Gram": ["boolean"],
        "copy_Xy": ["boolean"],
        **PURSUIT_PARAMETERS,
    },
    prefer_skip_nested_validation=True,
)
def orthogonal_mp_gram(
    Gram,
    Xy,
    *,
    n_nonzero_coefs=None,
    tol=None,
    norms_squared=None,
    copy_Gram=True,
    copy_Xy=True,
    return_path=False,
    return_n_iter=False,
):
    """Orthogonal matching pursuit from sums of products alone: X'X, X'y and, for tol, y'y.

    Parameters
    ----------
    Gram : array-like of shape (n_features, n_features)
        X'X.
    Xy : array-like of shape (n_features,) or (n_features, n_targets)
        X'y.
    n_nonzero_coefs : int, default=None
        Number of columns; None is a tenth of them. Not used if ``tol`` is given.
    tol : float, default=None
        Squared norm of the residual at which to end.
    norms_squared : float or array-like of shape (n_targets,), default=None
        y'y of each target, which ``tol`` needs.
    copy_Gram : bool, default=True
        For scikit-learn's sake: the Gram matrix is never written to.
    copy_Xy : bool, default=True
        For scikit-learn's sake: X'y is never written to.
    return_path : bool, default=False
        Whether to return the weights after every choice.
    return_n_iter : bool, default=False
        Whether to return the number of columns chosen too.

    Returns
    -------
    coef : ndarray of shape (n_features,) or (n_features, n_targets)
        The weights; with a further axis of choices for the path.
    n_iter : int or list of int
        Columns chosen, for each target; with ``return_n_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import orthogonal_mp_gram
    >>> orthogonal_mp_gram(np.eye(3), np.array([1.0, 5.0, 2.0]), n_nonzero_coefs=1)
    array([0., 5., 0.])
    """
    Gram = check_array(Gram, dtype=(np.float64, np.float32))
    d, most = len(Gram), n_nonzero_coefs
    if most is None and tol is None:
        most = int(0.1 * d)
    if tol is not None and norms_squared is None:
        raise ValueError(
            "Gram OMP needs the precomputed norms in order to evaluate the error sum of squares."
        )
    if tol is None and most <= 0:
        raise ValueError("The number of atoms must be positive")
    _check_number(most, tol, d)
    cross = np.asarray(Xy, dtype=np.float64)
    cross = cross.reshape(len(cross), -1)
    if len(cross) != d or Gram.shape[1] != d:
        raise ValueError("The shapes of the inputs Gram and Xy do not match.")
    norms = np.ravel(np.nan if norms_squared is None else norms_squared).astype(np.float64)
    norms = np.broadcast_to(norms, cross.shape[1])
    double = Gram.astype(np.float64, copy=False)
    targets = (
        (None, {"gram": double, "cross": np.ascontiguousarray(column), "square": float(norm)})
        for column, norm in zip(cross.T, norms)
    )
    return _pursuits(KnownGram(0, d), targets, most, tol, return_path, return_n_iter, Gram.dtype)
