"""Bounded steps against plain ones: the same bits, iteration by iteration."""

import numpy as np
import pytest
from naive import squared_distances

from fastml._engines.kmeans.rows import DenseRows
from fastml.kernels.cluster.hamerly import RowLabels, bounded_chunks, merge_touched, shifted_norms
from fastml.kernels.cluster.lloyd import ClusterStatistics

pytestmark = pytest.mark.small


def data(kind, dtype):
    rng = np.random.default_rng(3)
    X = {
        "normal": lambda: rng.normal(size=(400, 3)),
        "grid": lambda: rng.integers(0, 4, (300, 2)) * 1.0,
        "far": lambda: rng.normal(size=(300, 4)) + 1e4,
        "duplicates": lambda: np.repeat(rng.normal(size=(6, 3)), 40, axis=0),
        "outlier": lambda: np.vstack([rng.normal(size=(200, 2)), [[1e6, -1e6]]]),
        "constant": lambda: np.ones((150, 2)),
        "long": lambda: rng.normal(size=(300, 40)),
        "close": lambda: rng.normal(size=(300, 1)) + 1e-8 * rng.normal(size=(300, 5)),
        "huge": lambda: rng.normal(size=(200, 3)) * 1e17,
        "tiny": lambda: rng.normal(size=(200, 3)) * 1e-17,
    }[kind]()
    return X.astype(dtype)


def iterate(rows, centers, n_iter):
    """Labels and centres after each of the iterations."""
    history = []
    rows.prepare(len(centers))
    labels = np.full((1, rows.n_rows), -1, np.int32)
    centers = centers[None]
    for _ in range(n_iter):
        rows.set_centers(centers)
        rows.lloyd_pass(centers, labels)
        rows.merge()
        centers, _ = rows.finish(centers)
        history.append((labels[0].copy(), centers[0], rows.statistics.changed.sum()))
    return history


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kind",
    ["normal", "grid", "far", "duplicates", "outlier", "constant", "long", "close", "huge", "tiny"],
)
def test_same_bits_as_the_plain_step(kind, dtype):
    X = data(kind, dtype)
    shift = X.mean(axis=0)
    centers = (X - shift)[::17][:7]
    plain = DenseRows(X, None, shift, 1)
    bounded = DenseRows(X, None, shift, 1)
    bounded.prepare(len(centers))
    bounded.begin_runs("elkan")
    assert bounded.bounded
    for a, b in zip(iterate(plain, centers, 12), iterate(bounded, centers, 12)):
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])
        assert a[2] == b[2]


@pytest.mark.parametrize(
    ("kind", "narrow", "decided"),
    [("normal", True, 0.99), ("long", True, 0.99), ("huge", False, 1.0), ("tiny", False, 1.0)],
)
def test_float32_decides_where_it_can(kind, narrow, decided):
    X = data(kind, np.float64)
    rows = DenseRows(X, None, X.mean(axis=0), 1)
    rows.prepare(7)
    rows.begin_runs("elkan")
    assert rows.is_narrow == narrow
    iterate(rows, (X - X.mean(axis=0))[::17][:7], 1)
    scored, doubtful = rows.doubtful.sum(axis=0)
    assert scored == (len(X) if narrow else 0)
    assert doubtful <= (1 - decided) * scored


def test_rows_that_float32_does_not_decide_are_left_to_float64():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(300, 3)), -rng.normal(size=(300, 3))])
    centers = np.array([[1.0, 0.0, 0.0], [1.0, 1e-9, 0.0], [-1.0, 0.0, 0.0], [-1.0, 0.0, 1e-9]])
    rows = DenseRows(X, None, None, 1)
    rows.prepare(4)
    rows.begin_runs("elkan")
    (found, _, _), *_ = iterate(rows, centers, 1)
    plain = DenseRows(X, None, None, 1)
    np.testing.assert_array_equal(found, plain.nearest(centers))
    assert set(found) == {0, 1, 2, 3}
    assert rows.doubtful.sum(axis=0).tolist() == [600, 600]
    rows.set_centers(centers[None])
    assert rows._laid_out().narrow_coefficients.shape[1] == 0  # and no longer asked


def test_bounds_hold_and_rows_are_skipped():
    X = data("normal", np.float64)
    rows = DenseRows(X, None, None, 1)
    rows.prepare(5)
    rows.begin_runs("elkan")
    labels, centers, _ = iterate(rows, X[:5].copy(), 8)[-1]
    # The bounds are those of the last assignment, before the centres moved once more.
    distances = np.sqrt(squared_distances(X, centers))
    own = distances[np.arange(len(X)), labels]
    distances[np.arange(len(X)), labels] = np.inf
    assert (rows.bounds.upper >= own - rows.moves[0, labels]).all()
    assert (rows.bounds.lower <= distances.min(axis=1) + rows.moves.max()).all()
    # Rows that keep their bounds are not touched: wrong labels with safe bounds stay.
    tampered = np.full((1, len(X)), 4, np.int32)
    rows.bounds.upper[:], rows.bounds.lower[:] = 0.0, 1e9
    bounded_chunks(
        rows.n_chunks, rows.rows_per_chunk, rows.shifted, centers[None], rows._laid_out(),
        rows.moves, RowLabels(tampered, rows.bounds, rows.touched, rows.doubtful), rows.statistics,
        n_threads=1,
    )  # fmt: skip
    assert (tampered == 4).all()
    assert rows.statistics.changed.sum() == 0


def test_norms():
    X = np.arange(12.0).reshape(4, 3)
    norms = np.empty(4)
    shifted_norms(X, np.ones(3), norms)
    np.testing.assert_allclose(norms, np.linalg.norm(X - 1, axis=1))


def test_totals_of_touched_clusters():
    rng = np.random.default_rng(0)
    sums, masses = rng.normal(size=(3, 1, 4, 2)), rng.random((3, 1, 4))
    statistics = ClusterStatistics(sums, masses, np.zeros((3, 1), np.intp), np.zeros((3, 1)))
    touched = np.zeros((3, 4), bool)
    touched[1, 2] = touched[0, 0] = touched[2, 0] = True
    totals, total_masses = np.full((1, 4, 2), 9.0), np.full((1, 4), 9.0)
    merge_touched(statistics, touched, totals, total_masses)
    np.testing.assert_array_equal(totals[0, [0, 2]], np.add.reduce(sums, axis=0)[0, [0, 2]])
    np.testing.assert_array_equal(total_masses[0, [0, 2]], masses.sum(axis=0)[0, [0, 2]])
    assert (totals[0, [1, 3]] == 9.0).all()
    assert (total_masses[0, [1, 3]] == 9.0).all()
