"""Expectation maximisation of rows in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastml._engines.columns import ColumnMoments
from fastml._engines.em import (
    SHAPES,
    MixtureRows,
    Parameters,
    Statistics,
    finish,
    merge,
)
from fastml._engines.kmeans.in_blocks import KMeansBlocks, block_column_moments
from fastml._engines.kmeans.rows import DenseRows
from fastml._engines.passes import Passes, RowBlock
from fastml.kernels.mixture.em import GIVEN, STATISTICS
from fastml.kernels.mixture.tiles import TIED


def _rows(block: RowBlock, kind: str, n_components: int, center) -> MixtureRows:
    return MixtureRows(block.X, SHAPES[kind], n_components, weights=block.weights, center=center)


def block_expectation(block: RowBlock, kind, parameters, what, center) -> Statistics:
    rows = _rows(block, kind, len(parameters.means), center)
    found = rows.expect(parameters, what)
    assert found is not None
    return found


def block_scatter(block: RowBlock, center):
    return _rows(block, "tied", 1, center).scatter()


def block_weighted_sum(block: RowBlock):
    """(sum of rows, of weights)."""
    weights = np.ones(len(block.X)) if block.weights is None else block.weights
    return weights @ block.X.astype(np.float64, copy=False), weights.sum()


def _both(a, b):
    return a[0] + b[0], a[1] + b[1]


def block_given(block: RowBlock, kind, means, center, responsibilities) -> Statistics:
    """Of first responsibilities: by nearest centres, or drawn."""
    rows = _rows(block, kind, len(means), center)
    how, given = responsibilities
    if how == "nearest":
        shift, centers = given
        labels = DenseRows(block.X, block.weights, shift).nearest(centers)
        resp = np.eye(len(means))[labels]
    else:
        drawn = np.random.default_rng([given, block.number]).random((len(block.X), len(means)))
        resp = drawn / drawn.sum(axis=1)[:, None]
    resp = np.ascontiguousarray(resp, dtype=np.float64)
    nothing = np.empty((0, 0, 0))
    found = rows.visit(STATISTICS | GIVEN, means, nothing, np.empty(0), resp=resp)
    assert found is not None
    return found


class MixtureBlocks:
    """The rows of some passes as a mixture sees them: starts, and steps of EM."""

    def __init__(self, passes: Passes, mixture):
        self.passes, self.mixture = passes, mixture
        self.kind, self.shape = mixture.covariance_type, SHAPES[mixture.covariance_type]
        self.k = mixture.n_components
        passes.reduced(block_column_moments, ColumnMoments.merged, name="check")  # refuses NaN
        total, self.total = passes.reduced(block_weighted_sum, _both, name="means")
        self.center = total / self.total
        self.scatter: Any = None
        if self.shape.form == TIED:
            self.scatter = passes.reduced(block_scatter, np.add, self.center, name="scatter")

    def _finished(self, statistics, means, eps) -> tuple[Any, Parameters]:
        return finish(
            self.shape, statistics, means, reg_covar=self.mixture.reg_covar, eps=eps,
            center=self.center, scatter=self.scatter,
        )  # fmt: skip

    def start(self, random_state) -> Parameters:
        """As ``init_params`` says; k-means begins with k-means||."""
        how = self.mixture.init_params
        if how == "random":
            means = np.broadcast_to(self.center, (self.k, self.passes.n_features)).copy()
            key = int(random_state.randint(np.iinfo(np.int32).max))
            return self._from_given(means, ("drawn", key))
        clusters = KMeansBlocks(self.passes, self.k)
        if how == "kmeans":
            tol = 1e-4 * clusters.mean_variance
            centers = clusters.run(clusters.seed(random_state), 300, tol).centers
            means = np.asarray(centers + clusters.shift, dtype=np.float64)
            return self._from_given(means, ("nearest", (clusters.shift, centers)))
        if how == "k-means++":
            rows = clusters.seed(random_state) + clusters.shift
        else:
            rows = clusters.draw(self.k, random_state)
        means = np.asarray(rows, dtype=np.float64)
        covariances = self.shape.empty(*means.shape)
        if self.scatter is not None:
            mass = np.full(self.k, self.total / self.k)
            covariances = self.shape.pooled(
                self.scatter, mass, means - self.center, self.mixture.reg_covar
            )
        elif covariances.ndim == 3:
            covariances[:] = np.eye(means.shape[1]) * self.mixture.reg_covar
        else:
            covariances += self.mixture.reg_covar
        weights = np.full(self.k, 1.0 / self.k)
        return Parameters(weights, means, covariances, self.shape.factor(covariances))

    def _from_given(self, means, responsibilities) -> Parameters:
        statistics = self.passes.reduced(
            block_given, merge, self.kind, means, self.center, responsibilities, name="start"
        )
        eps = 10 * np.finfo(self.passes.dtype).eps
        mass, parameters = self._finished(statistics, means, eps)
        return parameters._replace(weights=mass / self.total)

    def step(self, parameters: Parameters, hard: int) -> tuple[float, Parameters]:
        """(mean log-likelihood under the parameters, those that follow)."""
        what = STATISTICS | hard
        statistics = self.passes.reduced(
            block_expectation, merge, self.kind, parameters, what, self.center, name="EM"
        )
        eps = 0.0 if hard else 10 * np.finfo(self.passes.dtype).eps
        bound = float(statistics.log_likelihood / self.total)
        return bound, self._finished(statistics, parameters.means, eps)[1]
