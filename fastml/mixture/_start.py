"""Where EM starts: parameters that the user gave, and the first responsibilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from fastml._engines.em import MixtureRows, Parameters, Shape, finish, merge
from fastml._engines.kmeans.once import kmeans_once
from fastml._engines.kmeans.rows import DenseRows
from fastml._engines.kmeans.seeding import seed
from fastml._validation import FLOATS, check_weights
from fastml.kernels.mixture.em import GIVEN, STATISTICS
from fastml.kernels.mixture.tiles import TIED

ROWS_AT_ONCE = 1 << 15
"""Rows whose first responsibilities exist at a time."""


# ---------------------------------------------------------------------------- what the user gave


def check_given(mixture, n_features: int):
    """(weights, means, precisions) as float64 arrays or None; clear errors otherwise.

    As in scikit-learn, the parameters of the estimator become arrays too.
    """
    n_components = mixture.n_components
    if mixture.weights_init is not None:
        mixture.weights_init = _check_weights(mixture.weights_init, n_components)
    if mixture.means_init is not None:
        mixture.means_init = check_array(mixture.means_init, dtype=FLOATS, ensure_2d=False)
        _check_shape(mixture.means_init, (n_components, n_features), "means")
    if mixture.precisions_init is not None:
        mixture.precisions_init = _check_precisions(
            mixture.precisions_init, mixture.covariance_type, n_components, n_features
        )
    return mixture.weights_init, mixture.means_init, mixture.precisions_init


def _check_shape(array, shape, name):
    if array.shape != shape:
        raise ValueError(
            f"The parameter '{name}' should have the shape of {shape}, but got {array.shape}"
        )


def _check_weights(weights, n_components):
    weights = check_array(weights, dtype=FLOATS, ensure_2d=False)
    _check_shape(weights, (n_components,), "weights")
    if (weights < 0.0).any() or (weights > 1.0).any():
        # scikit-learn's sentence, which calls the smallest value the largest.
        raise ValueError(
            "The parameter 'weights' should be in the range [0, 1], but got "
            f"max value {weights.min():.5f}, min value {weights.max():.5f}"
        )
    if abs(1.0 - weights.sum()) > (1e-6 if weights.dtype == np.float32 else 1e-8):
        raise ValueError(
            "The parameter 'weights' should be normalized, "
            f"but got sum(weights) = {weights.sum():.5f}"
        )
    return weights


def _check_precisions(precisions, covariance_type, n_components, n_features):
    precisions = check_array(
        precisions, dtype=FLOATS, ensure_2d=False, allow_nd=covariance_type == "full"
    )
    shapes = {
        "full": (n_components, n_features, n_features),
        "tied": (n_features, n_features),
        "diag": (n_components, n_features),
    }
    shape = shapes.get(covariance_type, (n_components,))
    _check_shape(precisions, shape, f"{covariance_type} precision")
    if covariance_type in ("full", "tied"):
        matrices = precisions if precisions.ndim == 3 else precisions[None]
        symmetric = np.allclose(matrices, matrices.transpose(0, 2, 1))
        if not symmetric or not (np.linalg.eigvalsh(matrices) > 0.0).all():
            raise ValueError(
                f"'{covariance_type} precision' should be symmetric, positive-definite"
            )
    elif (precisions <= 0.0).any():
        raise ValueError(f"'{covariance_type} precision' should be positive")
    return precisions


def replace_given(shape: Shape, found, given) -> Parameters:
    """``found``, with what was given in its place (all of it, where nothing was looked for)."""
    weights, means, precisions = (
        None if array is None else np.asarray(array, dtype=np.float64) for array in given
    )
    if precisions is None:
        covariances, factor = found.covariances, found.precisions_cholesky
    else:
        covariances = shape.covariances_of(precisions)
        factor = shape.factor_of_precisions(precisions)
    return Parameters(
        found.weights if weights is None else weights,
        found.means if means is None else means,
        covariances,
        factor,
    )


# ---------------------------------------------------------------------------- first parameters


def initial(mixture, X, rows: MixtureRows, given, random_state, sample_weight) -> Parameters:
    """Starting parameters of one run."""
    if all(array is not None for array in given):
        return replace_given(rows.shape, None, given)
    found = _INITIAL[mixture.init_params](mixture, X, rows, random_state, sample_weight)
    return replace_given(rows.shape, found, given)


def from_responsibilities(rows: MixtureRows, resp, reg_covar, means=None) -> Parameters:
    """Parameters of one M step; ``resp(start, stop)`` gives the responsibilities of some rows.

    Statistics are taken about ``means`` (default: the centre of all rows). As in scikit-learn the
    weights are masses over the weight of all rows.
    """
    if means is None:
        means = np.broadcast_to(rows.center, (rows.n_components, rows.n_features)).copy()
    total: Any = None
    for start in range(0, rows.X.shape[0], ROWS_AT_ONCE):
        stop = min(start + ROWS_AT_ONCE, rows.X.shape[0])
        block = MixtureRows(
            rows.X[start:stop],
            rows.shape,
            rows.n_components,
            weights=rows.weights[start:stop],
            center=rows.center,
            n_jobs=rows.n_threads,
        )
        r = np.ascontiguousarray(resp(start, stop), dtype=np.float64)
        nothing = np.empty((0, 0, 0))
        found = block.visit(STATISTICS | GIVEN, means, nothing, np.empty(0), resp=r)
        total = found if total is None else merge(total, found)
    mass, parameters = finish(
        rows.shape,
        total,
        means,
        reg_covar=reg_covar,
        eps=10 * np.finfo(rows.X.dtype).eps,
        center=rows.center,
        scatter=rows.scatter() if rows.shape.form == TIED else None,
    )
    return parameters._replace(weights=mass / rows.weights.sum())


def _by_kmeans(mixture, X, rows, random_state, sample_weight):
    weights = check_weights(sample_weight, X, dtype=X.dtype)
    centers, labels = kmeans_once(
        np.ascontiguousarray(X), weights, rows.n_components, random_state, mixture.n_jobs
    )
    one_hot = np.eye(rows.n_components)
    return from_responsibilities(
        rows,
        lambda start, stop: one_hot[labels[start:stop]],
        mixture.reg_covar,
        means=np.asarray(centers, dtype=np.float64),
    )


def _by_random_numbers(mixture, X, rows, random_state, sample_weight):
    def resp(start, stop):
        drawn = random_state.uniform(size=(stop - start, rows.n_components))
        drawn = drawn.astype(X.dtype)
        return drawn / drawn.sum(axis=1)[:, None]

    return from_responsibilities(rows, resp, mixture.reg_covar)


def _by_random_rows(mixture, X, rows, random_state, sample_weight):
    shares = None
    if sample_weight is not None:
        n_weighted = np.count_nonzero(sample_weight)
        if n_weighted < rows.n_components:
            raise ValueError(
                f"init_params='random_from_data' needs n_components={rows.n_components} rows of "
                f"positive weight, got {n_weighted}"
            )
        shares = sample_weight / sample_weight.sum()
    chosen = random_state.choice(X.shape[0], size=rows.n_components, replace=False, p=shares)
    return _from_rows(mixture, X, rows, chosen)


def _by_plusplus(mixture, X, rows, random_state, sample_weight):
    weights = check_weights(sample_weight, X, dtype=X.dtype)
    cluster_rows = DenseRows(np.ascontiguousarray(X), weights, n_jobs=mixture.n_jobs)
    return _from_rows(mixture, X, rows, seed(cluster_rows, rows.n_components, random_state))


def _from_rows(mixture, X, rows, chosen) -> Parameters:
    """Components that hold one row each: as an M step under such responsibilities."""
    shape, reg_covar = rows.shape, mixture.reg_covar
    eps = 10 * np.finfo(X.dtype).eps
    mass = rows.weights[chosen] + eps
    means = X[chosen].astype(np.float64) * (rows.weights[chosen] / mass)[:, None]
    if shape.form == TIED:
        # Only here the masses are not the rows': no shift of origin, as in scikit-learn.
        moments = rows.scatter() + rows.weights.sum() * np.outer(rows.center, rows.center)
        covariances = shape.pooled(moments, mass, means, reg_covar)
    else:
        covariances = shape.empty(*means.shape)
        if covariances.ndim == 3:
            covariances[:] = np.eye(means.shape[1]) * reg_covar
        else:
            covariances += reg_covar
    factor = shape.factor(covariances)
    return Parameters(mass / rows.weights.sum(), means, covariances, factor)


_INITIAL = {
    "kmeans": _by_kmeans,
    "k-means++": _by_plusplus,
    "random": _by_random_numbers,
    "random_from_data": _by_random_rows,
}
