"""Paths of lasso and elastic net."""

from __future__ import annotations

import sys
import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp

from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.elastic_net import Problem, largest_penalty, penalty_grid, solve
from fastml._sklearn import Hidden, Interval, StrOptions, validate_params
from fastml._validation import FLOATS, check_array

POSITIVE_INT = Interval(Integral, 1, None, closed="left")
PATH_PARAMETERS = {
    "X": ["array-like", "sparse matrix"],
    "y": ["array-like", "sparse matrix"],
    "eps": [Interval(Real, 0, None, closed="neither")],
    "n_alphas": [POSITIVE_INT, Hidden(StrOptions({"deprecated"}))],
    "alphas": [POSITIVE_INT, "array-like", None, Hidden(StrOptions({"warn"}))],
    "precompute": [StrOptions({"auto"}), "boolean", "array-like"],
    "Xy": ["array-like", None],
    "copy_X": ["boolean"],
    "coef_init": ["array-like", None],
    "verbose": ["verbose"],
    "return_n_iter": ["boolean"],
    "positive": ["boolean"],
}


def warn_of_gaps(gaps, tolerance, max_iter, *, l1_ratio=1.0, single=False, stacklevel=3):
    """Say how far from the minimum descent ended, and what would help."""
    worst = float(np.max(gaps - tolerance, initial=0.0))
    if not worst > 0.0:
        return
    from sklearn.exceptions import ConvergenceWarning

    at = int(np.argmax(gaps - tolerance))
    advice = (
        f"You might want to increase the number of iterations (max_iter, now {max_iter}), to scale "
        "the columns of X, or to take a larger alpha"
    )
    if single:
        advice += ", or to raise tol: float32 may not resolve a gap this small"
    if l1_ratio == 0:
        advice += (
            ". Linear regression models with null weight for the l1 regularization term are more "
            "efficiently fitted by Ridge"
        )
    warnings.warn(
        f"Objective did not converge. {advice}. Duality gap: {np.ravel(gaps)[at]:.3e}, tolerance: "
        f"{np.ravel(np.broadcast_to(tolerance, np.shape(gaps)))[at]:.3e}",
        ConvergenceWarning,
        stacklevel=stacklevel + 1,
    )


def check_gram(precompute, X, means, centre: bool, weights=None):
    """The given Gram matrix, or None with a warning if it is not that of the centred X.

    It is that of weights with the sum n; returned is that of the weights as they are. A ValueError
    if one of its values is wrong.
    """
    gram = np.asarray(precompute)
    d = X.shape[1]
    if gram.shape != (d, d):
        raise ValueError(f"precompute must be a matrix of shape {(d, d)}, got {gram.shape}")
    if centre and not np.allclose(means, 0.0):
        warnings.warn(
            "Gram matrix was provided but X was centered to fit intercept: recomputing Gram "
            "matrix.",
            UserWarning,
            stacklevel=4,
        )
        return None
    j = d // 2
    k = min(j + 1, d - 1)
    factor = 1.0 if weights is None else float(weights.sum()) / len(weights)
    left = (X[:, j] - means[j]) * (1.0 if weights is None else weights / factor)
    expected = float(left @ (X[:, k] - means[k]))
    single = np.float32 in (gram.dtype, X.dtype)
    if not np.isclose(expected, gram[j, k], rtol=1e-4 if single else 1e-7, atol=1e-5):
        raise ValueError(
            "Gram matrix passed in via 'precompute' parameter did not pass validation when a "
            "single element was checked - please check that it was computed properly. For "
            f"element ({j},{k}) we computed {expected} but the user-supplied value was "
            f"{gram[j, k]}."
        )
    return gram if weights is None else gram * factor


def how_to_gram(precompute, X, n_alphas):
    """None, whether to make a Gram matrix: None leaves it to the solver."""
    if sp.issparse(X):
        return None
    if isinstance(precompute, str):
        return None
    return True if precompute and X.shape[1] <= X.shape[0] else None


@validate_params(
    {**PATH_PARAMETERS, "l1_ratio": [Interval(Real, 0.0, 1.0, closed="both")],
     "check_input": ["boolean"]},
    prefer_skip_nested_validation=True,
)  # fmt: skip
def enet_path(
    X,
    y,
    *,
    l1_ratio=0.5,
    eps=1e-3,
    n_alphas="deprecated",
    alphas="warn",
    precompute="auto",
    Xy=None,
    copy_X=True,
    coef_init=None,
    verbose=False,
    return_n_iter=False,
    positive=False,
    check_input=True,
    **params,
):
    """Solutions of the elastic net, without an intercept, for decreasing penalties.

    Each minimises

        1/(2n) \\|y − X w\\|² + alpha l1_ratio \\|w\\|₁ + alpha (1 − l1_ratio)/2 \\|w\\|²

    and starts from the one before. Several targets share which weights are 0: \\|w\\|₁ is then the
    sum of the norms of the features' rows of weights.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    l1_ratio : float, default=0.5
        Share of the l1 penalty, from 0 to 1.
    eps : float, default=1e-3
        Smallest over largest penalty of a grid.
    n_alphas : int, default='deprecated'
        Number of penalties: give ``alphas`` instead.
    alphas : int or array-like, default=100
        Number of penalties of a grid, or the penalties.
    precompute : 'auto', bool or array-like of shape (n_features, n_features), default='auto'
        The Gram matrix X'X, or whether to make it.
    Xy : array-like of shape (n_features,) or (n_features, n_targets), default=None
        For scikit-learn's sake: it is made anew.
    copy_X : bool, default=True
        For scikit-learn's sake: X is never written to.
    coef_init : array-like of shape (n_features,) or (n_targets, n_features), default=None
        Weights to start from.
    verbose : bool or int, default=False
        Whether to write a dot for each penalty.
    return_n_iter : bool, default=False
        Whether to return the numbers of passes.
    positive : bool, default=False
        Whether weights must be at least 0; for one target only.
    check_input : bool, default=True
        Whether to check X and y.
    **params : kwargs
        ``tol`` (1e-4: a duality gap over \\|y\\|²), ``max_iter`` (1000 passes), ``selection``
        ('cyclic' or 'random'), ``random_state``, ``sample_weight``.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        The penalties, descending.
    coefs : ndarray of shape (n_features, n_alphas) or (n_targets, n_features, n_alphas)
        The weights.
    dual_gaps : ndarray of shape (n_alphas,)
        Duality gaps of these.
    n_iters : list of int
        Passes over the weights; only if ``return_n_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import enet_path
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> alphas, coefs, gaps = enet_path(X, X @ [1.0, 0.0], alphas=[0.2, 0.1], l1_ratio=0.9)
    >>> coefs.shape
    (2, 2)
    """
    wanted = _which_alphas(n_alphas, alphas)
    options = {
        "sample_weight": None, "tol": 1e-4, "max_iter": 1000, "random_state": None,
        "selection": "cyclic", "X_offset": None, "X_scale": None, "do_screening": True,
    }  # fmt: skip
    if unknown := set(params) - set(options):
        raise ValueError("Unexpected parameters in params", unknown)
    options.update(params)
    if options["selection"] not in ("cyclic", "random"):
        raise ValueError("selection should be either random or cyclic.")
    if check_input:
        X = check_array(X, accept_sparse=("csr", "csc"), dtype=FLOATS)
        y = check_array(y, accept_sparse="csc", dtype=X.dtype.type, ensure_2d=False)
    dtype, joint = X.dtype, y.ndim != 1
    if joint and positive:
        raise ValueError("positive=True is not allowed for multi-output (y.ndim != 1)")
    Y = np.asarray(y.toarray() if sp.issparse(y) else y, dtype=np.float64).reshape(X.shape[0], -1)
    means = _means(options, X)
    weights = options["sample_weight"]
    if options["X_offset"] is not None and not sp.issparse(X):
        weights = None  # scikit-learn's classes hand over dense rows that hold them already
    total = float(X.shape[0] if weights is None else np.sum(weights))
    if isinstance(wanted, Integral):
        cross = CentredDesign(X, weights, centre=False).transposed(Y)
        cross = cross if joint else cross[:, 0]
        grid = penalty_grid(largest_of(cross, total, l1_ratio, positive), eps, wanted)
    else:
        grid = np.sort(np.asarray(wanted, dtype=np.float64))[::-1]
    gram = None
    if hasattr(precompute, "__array__") or isinstance(precompute, list):
        gram = check_gram(precompute, X, np.zeros(X.shape[1]), False)
    elif not isinstance(precompute, str):
        gram = how_to_gram(precompute, X, len(grid))
    start = None
    if coef_init is not None:
        start = np.asarray(coef_init, dtype=np.float64).reshape(Y.shape[1], -1).T
    problem = Problem(X, Y, weights, False, joint, gram, means)
    found = solve(
        problem, grid * l1_ratio * total, grid * (1.0 - l1_ratio) * total,
        tol=options["tol"], most=options["max_iter"], positive=positive, start=start,
        shuffle=_shuffle(options),
    )  # fmt: skip
    tolerance = options["tol"] * float(found.squares[0])
    warn_of_gaps(found.gaps[:, 0], tolerance, options["max_iter"], l1_ratio=l1_ratio)
    if verbose:
        sys.stderr.write("." * len(grid))
    coefs = np.moveaxis(found.coefs, 0, 2).transpose(1, 0, 2).astype(dtype, copy=False)
    coefs = coefs if joint else coefs[0]
    gaps = found.gaps[:, 0] / total
    if return_n_iter:
        return grid, coefs, gaps, [int(p) for p in found.passes[:, 0]]
    return grid, coefs, gaps


def _which_alphas(n_alphas, alphas):
    """The penalties or their number, after scikit-learn's warnings of what it will not take."""
    found = 100
    if not isinstance(n_alphas, str):
        warnings.warn(
            "'n_alphas' was deprecated in 1.9 and will be removed in 1.11. 'alphas' now accepts an "
            "integer value which removes the need to pass 'n_alphas'. The default value of "
            "'alphas' will change from None to 100 in 1.11. Pass an explicit value to 'alphas' and "
            "leave 'n_alphas' to its default value to silence this warning.",
            FutureWarning,
            stacklevel=4,
        )
        found = n_alphas
    if alphas is None:
        warnings.warn(
            "'alphas=None' is deprecated and will be removed in 1.11, at which point the default "
            "value will be set to 100. Set 'alphas=100' to silence this warning.",
            FutureWarning,
            stacklevel=4,
        )
    elif not isinstance(alphas, str):
        found = alphas
    return found


def largest_of(cross, total, l1_ratio, positive):
    if l1_ratio == 0:
        raise ValueError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid "
            "by providing your estimator with the appropriate `alphas=` argument."
        )
    return largest_penalty(cross, total, l1_ratio, positive)


def _means(options, X):
    offset, scale = options["X_offset"], options["X_scale"]
    if offset is None or not sp.issparse(X):
        return None
    return np.asarray(offset / (1.0 if scale is None else scale), dtype=np.float64)


def _shuffle(options):
    if options["selection"] == "cyclic":
        return None
    from sklearn.utils import check_random_state

    return check_random_state(options["random_state"])


@validate_params(PATH_PARAMETERS, prefer_skip_nested_validation=True)
def lasso_path(
    X,
    y,
    *,
    eps=1e-3,
    n_alphas="deprecated",
    alphas="warn",
    precompute="auto",
    Xy=None,
    copy_X=True,
    coef_init=None,
    verbose=False,
    return_n_iter=False,
    positive=False,
    **params,
):
    """Solutions of the lasso, without an intercept, for decreasing penalties.

    Each minimises 1/(2n) \\|y − X w\\|² + alpha \\|w\\|₁ and starts from the one before; see
    `enet_path`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    eps : float, default=1e-3
        Smallest over largest penalty of a grid.
    n_alphas : int, default='deprecated'
        Number of penalties: give ``alphas`` instead.
    alphas : int or array-like, default=100
        Number of penalties of a grid, or the penalties.
    precompute : 'auto', bool or array-like of shape (n_features, n_features), default='auto'
        The Gram matrix X'X, or whether to make it.
    Xy : array-like of shape (n_features,) or (n_features, n_targets), default=None
        For scikit-learn's sake: it is made anew.
    copy_X : bool, default=True
        For scikit-learn's sake: X is never written to.
    coef_init : array-like of shape (n_features,) or (n_targets, n_features), default=None
        Weights to start from.
    verbose : bool or int, default=False
        Whether to write a dot for each penalty.
    return_n_iter : bool, default=False
        Whether to return the numbers of passes.
    positive : bool, default=False
        Whether weights must be at least 0; for one target only.
    **params : kwargs
        As those of `enet_path`.

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        The penalties, descending.
    coefs : ndarray of shape (n_features, n_alphas) or (n_targets, n_features, n_alphas)
        The weights.
    dual_gaps : ndarray of shape (n_alphas,)
        Duality gaps of these.
    n_iters : list of int
        Passes over the weights; only if ``return_n_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import lasso_path
    >>> X = np.array([[1.0, 2.0, 3.1], [2.3, 5.4, 4.3]]).T
    >>> _, coefs, _ = lasso_path(X, np.array([1.0, 2.0, 3.1]), alphas=[5.0, 1.0, 0.5])
    >>> coefs.round(2)
    array([[0.  , 0.  , 0.47],
           [0.22, 0.44, 0.24]])
    """
    return enet_path(
        X, y, l1_ratio=1.0, eps=eps, alphas=_which_alphas(n_alphas, alphas),
        precompute=precompute, Xy=Xy, copy_X=copy_X, coef_init=coef_init, verbose=verbose,
        positive=positive, return_n_iter=return_n_iter, **params,
    )  # fmt: skip
