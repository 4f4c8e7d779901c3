"""Expectation maximisation of a Gaussian mixture, in terms of its statistics.

`MixtureRows.expect` gives what a block of rows adds to the statistics of a mixture, `merge` adds
blocks, `finish` makes parameters of the sum. Kinds of covariances differ in what they make of the
statistics and in the layout that kernels get (`Shape`); the rest is shared.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtri

from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.mixture import em as kernels
from fastml.kernels.mixture.tiles import DIAGONAL, FULL, TIED, TILE_LANES

MOST_CHUNKS = 128
WORK_PER_CALL = 4e9  # multiply-adds: about a second, after which Ctrl-C takes effect
ROUNDING = 4 * float(np.finfo(np.float64).eps)
NOTHING = np.empty((0, 0))
NO_LABELS = np.empty(0, dtype=np.intp)

ILL_DEFINED = (
    "Fitting the mixture model failed because some components have "
    "ill-defined empirical covariance (for instance caused by singleton "
    "or collapsed samples). Try to decrease the number of components, "
    "increase reg_covar, or scale the input data."
)


class Parameters(NamedTuple):
    """A mixture, in scikit-learn's shapes and float64."""

    weights: NDArray
    means: NDArray
    covariances: NDArray
    precisions_cholesky: NDArray


class Statistics(NamedTuple):
    """What rows add to components: sums of r, r (x - m) and r (x - m)(x - m)' about ``means``.

    The sum of two blocks' statistics about the same means is that of their union.
    """

    log_likelihood: float
    mass: NDArray
    first: NDArray
    second: NDArray


def merge(a: Statistics, b: Statistics) -> Statistics:
    """Statistics of two blocks of rows together."""
    return Statistics(
        a.log_likelihood + b.log_likelihood, a.mass + b.mass, a.first + b.first, a.second + b.second
    )


# ---------------------------------------------------------------------------- shapes of covariances


class Shape:
    """One kind of covariance: how parameters follow from statistics, and what kernels read."""

    form: int

    def pooled(self, scatter, mass, means, reg_covar) -> NDArray:
        """The covariance that components share, from the scatter of all rows: for tied shapes."""
        raise NotImplementedError

    def moments_shape(self, n_features: int) -> tuple[int, int]:
        """Of one component's second moments, padded as the kernels want them."""
        raise NotImplementedError

    def n_parameters(self, n_components: int, n_features: int) -> int:
        """Free parameters of the covariances."""
        raise NotImplementedError

    def covariances(self, statistics, mass, shift, reg_covar):
        """Covariances from statistics; ``shift`` is by how much the means have moved."""
        raise NotImplementedError

    def variances(self, covariances: NDArray) -> NDArray:
        """Of the features, in a shape that goes with the means."""
        raise NotImplementedError

    def factor(self, covariances: NDArray) -> NDArray:
        """precisions_cholesky of covariances; a ValueError if they are not positive."""
        if not ((covariances > 0.0) & np.isfinite(covariances)).all():
            raise ValueError(ILL_DEFINED)
        return 1.0 / np.sqrt(covariances)

    def factor_of_precisions(self, precisions: NDArray) -> NDArray:
        return np.sqrt(precisions)

    def covariances_of(self, precisions: NDArray) -> NDArray:
        """Inverse of precisions."""
        return 1.0 / precisions

    def precisions(self, factor: NDArray) -> NDArray:
        return factor * factor

    def layout(self, factor, n_components, n_features) -> tuple[NDArray, NDArray]:
        """Factors as the kernels read them, and log det of every component's."""
        raise NotImplementedError

    def empty(self, n_components, n_features) -> NDArray:
        """Covariances of components without extent."""
        raise NotImplementedError


class Full(Shape):
    form = FULL

    def moments_shape(self, n_features):
        return n_features + n_features % 2, -(-n_features // 4) * 4

    def n_parameters(self, n_components, n_features):
        return n_components * n_features * (n_features + 1) // 2

    def covariances(self, statistics, mass, shift, reg_covar):
        n_features = shift.shape[1]
        upper = np.triu(statistics.second[:, :n_features, :n_features])
        moments = upper + np.triu(upper, 1).transpose(0, 2, 1)
        # sum r (x - m')(x - m')' for m' = m + shift
        cross = statistics.first[:, :, None] * shift[:, None, :]
        moments -= cross + cross.transpose(0, 2, 1)
        moments += statistics.mass[:, None, None] * (shift[:, :, None] * shift[:, None, :])
        moments /= mass[:, None, None]
        diagonal = np.arange(n_features)
        moments[:, diagonal, diagonal] += reg_covar
        return moments

    def variances(self, covariances):
        return np.diagonal(covariances, axis1=-2, axis2=-1)

    def factor(self, covariances):
        try:
            lower = np.linalg.cholesky(covariances)
        except np.linalg.LinAlgError:
            raise ValueError(ILL_DEFINED) from None
        if not np.isfinite(lower).all():
            raise ValueError(ILL_DEFINED)
        return np.stack([dtrtri(factor, lower=True)[0].T for factor in lower])

    def factor_of_precisions(self, precisions):
        # P = U U' with U upper triangular: the Cholesky factor of P with rows and columns reversed.
        return np.linalg.cholesky(precisions[:, ::-1, ::-1])[:, ::-1, ::-1]

    def covariances_of(self, precisions):
        return np.linalg.inv(precisions)

    def precisions(self, factor):
        return factor @ factor.transpose(0, 2, 1)

    def layout(self, factor, n_components, n_features):
        laid_out = np.zeros((factor.shape[0], *self.moments_shape(n_features)))
        laid_out[:, :n_features, :n_features] = factor.transpose(0, 2, 1)
        diagonal = np.diagonal(factor, axis1=1, axis2=2)
        return laid_out, np.log(diagonal).sum(axis=1)

    def empty(self, n_components, n_features):
        return np.zeros((n_components, n_features, n_features))


class Tied(Full):
    """One covariance for all: (scatter of all rows - sum mass m m') / sum of masses."""

    form = TIED

    def n_parameters(self, n_components, n_features):
        return n_features * (n_features + 1) // 2

    def covariances(self, statistics, mass, shift, reg_covar):
        raise NotImplementedError  # see `finish`: it needs the means, not their shift

    def pooled(self, scatter, mass, means, reg_covar):
        covariance = scatter - (mass[:, None] * means).T @ means
        covariance /= mass.sum()
        covariance[np.diag_indices_from(covariance)] += reg_covar
        return covariance

    def factor(self, covariances):
        return super().factor(covariances[None])[0]

    def factor_of_precisions(self, precisions):
        return super().factor_of_precisions(precisions[None])[0]

    def precisions(self, factor):
        return factor @ factor.T

    def layout(self, factor, n_components, n_features):
        laid_out, log_det = super().layout(factor[None], n_components, n_features)
        return laid_out, np.broadcast_to(log_det, n_components)

    def empty(self, n_components, n_features):
        return np.zeros((n_features, n_features))


class Diagonal(Shape):
    form = DIAGONAL

    def moments_shape(self, n_features):
        return 1, n_features

    def n_parameters(self, n_components, n_features):
        return n_components * n_features

    def covariances(self, statistics, mass, shift, reg_covar):
        moments = statistics.second[:, 0] - 2.0 * shift * statistics.first
        moments += statistics.mass[:, None] * shift**2
        return moments / mass[:, None] + reg_covar

    def variances(self, covariances):
        return covariances

    def layout(self, factor, n_components, n_features):
        return np.ascontiguousarray(factor)[:, None, :], np.log(factor).sum(axis=1)

    def empty(self, n_components, n_features):
        return np.zeros((n_components, n_features))


class Spherical(Diagonal):
    def n_parameters(self, n_components, n_features):
        return n_components

    def covariances(self, statistics, mass, shift, reg_covar):
        return super().covariances(statistics, mass, shift, reg_covar).mean(axis=1)

    def variances(self, covariances):
        return covariances[:, None]

    def layout(self, factor, n_components, n_features):
        return super().layout(np.repeat(factor[:, None], n_features, axis=1), None, None)

    def empty(self, n_components, n_features):
        return np.zeros(n_components)


class TiedSpherical(Spherical):
    def n_parameters(self, n_components, n_features):
        return 1

    def covariances(self, statistics, mass, shift, reg_covar):
        own = super().covariances(statistics, mass, shift, reg_covar)
        return np.full_like(own, np.average(own, weights=mass))


SHAPES: dict[str, Shape] = {
    "full": Full(),
    "tied": Tied(),
    "diag": Diagonal(),
    "spherical": Spherical(),
    "tied_spherical": TiedSpherical(),
}


# ---------------------------------------------------------------------------- rows


class MixtureRows:
    """Rows and weights of one call, cut into chunks, with the scratch for their statistics."""

    def __init__(self, X, shape: Shape, n_components, *, weights=None, center=None, n_jobs=None):
        self.X = kernel_view(X)
        self.shape = shape
        n_rows, n_features = X.shape
        if weights is None:
            weights = np.ones(n_rows)
        self.weights = kernel_view(weights, dtype=np.float64)
        self.center = kernel_view(np.zeros(n_features) if center is None else center)
        per_row = n_components * n_features * (2.0 if shape.form == DIAGONAL else n_features + 2.0)
        least = max(TILE_LANES, -(-n_rows // MOST_CHUNKS))
        rows = chunk_rows(n_rows, per_row, at_least=least)
        self.rows_per_chunk = -(-rows // TILE_LANES) * TILE_LANES
        self.n_chunks = -(-n_rows // self.rows_per_chunk)
        self.n_threads = effective_n_threads(n_jobs, work=n_rows * per_row)
        self.chunks_per_call = max(16, int(WORK_PER_CALL / (self.rows_per_chunk * per_row)))
        self.n_components, self.n_features = n_components, n_features
        self._scratch: kernels.ChunkMoments | None = None

    def _allocate(self, with_statistics: bool) -> kernels.ChunkMoments:
        """Room for the moments of every chunk, zero; those of the last visit are overwritten."""
        n, k = self.n_chunks, self.n_components
        if not with_statistics:
            none = np.empty((n, 0)), np.empty((n, 0, 0)), np.empty((n, 0, 0, 0))
            return kernels.ChunkMoments(*none, np.zeros(n))
        if self._scratch is None:
            moments = (1, 1, 1)
            if self.shape.form != TIED:
                moments = (k, *self.shape.moments_shape(self.n_features))
            self._scratch = kernels.ChunkMoments(
                np.empty((n, k)),
                np.empty((n, k, self.n_features)),
                np.empty((n, *moments)),
                np.empty(n),
            )
        for array in self._scratch:
            array.fill(0.0)
        return self._scratch

    def visit(self, what, means, factors, offsets, *, log_density=None, labels=None, resp=None):
        """One pass over the rows; returns the statistics of all of them if ``what`` asks for it."""
        moments = self._allocate(bool(what & kernels.STATISTICS))
        relative = means - self.center
        white_means = NOTHING
        if self.shape.form == TIED and factors.size:
            width = self.n_features + self.n_features % 2
            white_means = np.zeros((means.shape[0], width))
            white_means[:, : self.n_features] = (
                relative @ factors[0, : self.n_features, : self.n_features].T
            )
        components = kernels.Components(relative, white_means, factors, offsets)
        results = kernels.RowResults(
            np.empty(0) if log_density is None else log_density,
            NO_LABELS if labels is None else labels,
            NOTHING if resp is None else resp,
        )
        for begin in range(0, self.n_chunks, self.chunks_per_call):
            kernels.visit_chunks(
                begin,
                min(begin + self.chunks_per_call, self.n_chunks),
                self.rows_per_chunk,
                what,
                self.shape.form,
                self.X,
                self.center,
                self.weights,
                components,
                moments,
                results,
                n_threads=self.n_threads,
            )
        if not what & kernels.STATISTICS:
            return None
        mass, first, second, log_likelihood = (np.add.reduce(part, axis=0) for part in moments)
        return Statistics(log_likelihood, mass, first, second)

    def expect(self, parameters: Parameters, what: int, **outputs) -> Statistics | None:
        """E step under ``parameters``; in hard mode their weights play no part."""
        factors, log_det = self.shape.layout(
            parameters.precisions_cholesky, self.n_components, self.n_features
        )
        offsets = log_det - 0.5 * self.n_features * math.log(2.0 * math.pi)
        if not what & kernels.HARD:
            with np.errstate(divide="ignore"):
                offsets = offsets + np.log(parameters.weights)
        return self.visit(what, parameters.means, factors, offsets, **outputs)

    def scatter(self) -> NDArray:
        """sum w (x - center)(x - center)' of all rows."""
        total = np.zeros((self.n_features, self.n_features))
        for begin in range(0, self.X.shape[0], 1 << 16):
            block = self.X[begin : begin + (1 << 16)] - self.center
            total += (self.weights[begin : begin + (1 << 16), None] * block).T @ block
        return total


def finish(
    shape: Shape,
    statistics: Statistics,
    means: NDArray,
    *,
    reg_covar: float,
    eps: float,
    center: NDArray,
    scatter: NDArray | None,
) -> tuple[NDArray, Parameters]:
    """M step: masses and the parameters that follow from statistics about ``means``.

    ``eps`` is added to the masses, as scikit-learn does; with 0 an empty component stays put.
    Without ``reg_covar``, a variance that is zero but for rounding is an error.
    """
    mass = statistics.mass + eps
    filled = np.where(mass > 0.0, mass, 1.0)
    shift = (statistics.first - eps * means) / filled[:, None]
    new_means = means + shift
    rounding = (ROUNDING * new_means) ** 2
    if scatter is not None:
        covariances = shape.pooled(scatter, mass, new_means - center, reg_covar)
        rounding = rounding + 8 * ROUNDING * np.diagonal(scatter) / mass.sum()
    else:
        covariances = shape.covariances(statistics, filled, shift, reg_covar)
    if reg_covar == 0.0 and (shape.variances(covariances) <= rounding).any():
        raise ValueError(ILL_DEFINED)
    factor = shape.factor(covariances)
    return mass, Parameters(mass / mass.sum(), new_means, covariances, factor)
