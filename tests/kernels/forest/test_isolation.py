"""Isolation trees: rows end alone, path lengths as the naive walk gives them."""

import naive
import numpy as np
import pytest

from fastml.kernels.forest.isolation import average_path, isolate, isolate_all
from fastml.kernels.numeric.rng import seed_stream
from fastml.kernels.tree.nodes import LEAF, NODE

# With JIT off, NumPy scalars warn where compiled code wraps round as it should.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")


@pytest.mark.small
@pytest.mark.parametrize("n", [0, 1, 2, 3, 256])
def test_average_path(n):
    assert average_path(n) == pytest.approx(naive.average_path(n), rel=1e-12)


def grow(X, rows, depth, n_columns=None, seeds=(1, 2)):
    n_columns = n_columns or X.shape[1]
    columns = np.tile(np.arange(n_columns), (len(seeds), 1))
    nodes = np.zeros((len(seeds), max(1, 2 * rows.shape[1] - 1)), NODE)
    sizes = np.empty(len(seeds), np.intp)
    isolate_all(
        X, rows.copy(), columns, np.array(seeds, np.uint64), depth, nodes, sizes, n_threads=1
    )
    return [nodes[t, : sizes[t]] for t in range(len(seeds))]


@pytest.mark.small
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_trees_and_paths(missing):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    rows = np.stack([rng.permutation(30)[:20] for _ in range(2)])
    trees = grow(X, rows, 20)
    for t, nodes in enumerate(trees):
        is_leaf = nodes["feature"] == LEAF
        assert nodes["right"][is_leaf].sum() == 20
        if not missing:
            assert (nodes["right"][is_leaf] == 1).all()
            ends = [naive.path_length(nodes, X[i]) for i in rows[t]]
            assert sorted(ends) == sorted(nodes["threshold"][is_leaf])


def degenerate(kind):
    rng = np.random.default_rng(0)
    return {
        "random": rng.normal(size=(30, 4)),
        "missing": np.where(rng.random((30, 4)) < 0.4, np.nan, rng.normal(size=(30, 4))),
        "duplicates": rng.integers(0, 3, (30, 4)),
        "one column varies": np.column_stack([rng.normal(size=30), np.ones((30, 3))]),
        "constant": np.ones((30, 4)),
        "all missing": np.full((30, 4), np.nan),
        "huge": np.where(rng.random((30, 4)) < 0.1, 3e38, rng.normal(size=(30, 4))),
        "neighbours": np.nextafter(np.float32(1), np.float32(2) * rng.integers(0, 2, (30, 4))),
    }[kind].astype(np.float32)


@pytest.mark.small
@pytest.mark.parametrize("n_rows", [1, 2, 30])
@pytest.mark.parametrize(
    "kind",
    ["random", "missing", "duplicates", "one column varies", "constant", "all missing",
     "huge", "neighbours"],
)  # fmt: skip
@pytest.mark.parametrize("depth", [0, 3, 30])
def test_tree_is_the_twin(kind, n_rows, depth):
    X = degenerate(kind)
    rows, columns = np.random.default_rng(1).permutation(30)[:n_rows], np.array([2, 0, 3, 1])
    state, seed = np.empty(1, np.uint64), np.uint64(9)
    seed_stream(state, seed, np.uint64(0))
    expected = naive.isolation_tree(X, rows, columns.copy(), state, depth)
    nodes, own = np.zeros(2 * n_rows - 1, NODE), rows.copy()
    assert isolate(X, own, columns.copy(), seed, depth, nodes) == len(expected)
    found = nodes[: len(expected)]
    for name in ("feature", "right"):
        np.testing.assert_array_equal(found[name], expected[name])
    np.testing.assert_allclose(found["threshold"], expected["threshold"], rtol=1e-14)
    assert sorted(own) == sorted(rows)


@pytest.mark.small
def test_degenerate():
    X = np.ones((6, 2), np.float32)
    for nodes in grow(X, np.tile(np.arange(6), (2, 1)), 5):
        assert len(nodes) == 1
        assert nodes["threshold"][0] == pytest.approx(naive.average_path(6))
    for nodes in grow(X, np.zeros((2, 1), int), 5):
        assert nodes["threshold"][0] == 0.0
    X[3:] = 5.0
    for nodes in grow(X, np.tile(np.arange(6), (2, 1)), 1):
        assert list(nodes["right"][1:]) == [3, 3]
