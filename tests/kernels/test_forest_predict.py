"""Sums of leaf values against a walk of every row through every tree."""

import naive
import numpy as np
import pytest

from fastml.kernels.forest_predict import sum_of_leaves
from fastml.kernels.tree_nodes import LEAF, MISSING_LEFT, NODE

# With JIT off, NumPy scalars warn where compiled code wraps round as it should.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")


def random_tree(rng, depth, n_columns, scalar):
    """Nodes depth first, with a table of leaf values where leaves are not of one class."""
    nodes, table = [], []

    def add(depth):
        at = len(nodes)
        if depth == 0 or rng.random() < 0.2:
            if scalar:
                nodes.append((rng.normal(), 0, LEAF))
            elif rng.random() < 0.5:
                nodes.append((0.0, ~rng.integers(n_columns), LEAF))
            else:
                nodes.append((0.0, len(table), LEAF))
                table.append(rng.random(n_columns))
            return
        flag = MISSING_LEFT if rng.random() < 0.5 else 0
        nodes.append(None)
        add(depth - 1)
        right = len(nodes)
        add(depth - 1)
        nodes[at] = (rng.normal(), right, int(rng.integers(3)) | flag)

    add(depth)
    return np.array(nodes, NODE), np.array(table).reshape(-1, n_columns)


@pytest.mark.small
@pytest.mark.parametrize("scalar", [True, False])
@pytest.mark.parametrize("n_rows", [0, 1, 2, 23])
def test_sums(n_rows, scalar):
    rng = np.random.default_rng(n_rows)
    n_columns = 1 if scalar else 3
    trees = [random_tree(rng, depth, n_columns, scalar) for depth in (0, 2, 6)]
    X = rng.normal(size=(n_rows, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    starts = np.cumsum([0, *(len(nodes) for nodes, _ in trees)])[:-1]
    table_starts = np.cumsum([0, *(len(table) for _, table in trees)])[:-1]
    out = np.zeros((n_rows, n_columns))
    sum_of_leaves(
        np.concatenate([nodes for nodes, _ in trees]),
        starts,
        np.concatenate([table for _, table in trees]),
        table_starts,
        scalar,
        X,
        out,
        5,
        n_threads=1,
    )
    expected = np.zeros((n_rows, n_columns))
    for i, x in enumerate(X):
        for nodes, table in trees:
            leaf = naive.leaf_of(nodes, x)
            right = int(nodes["right"][leaf])
            if scalar:
                expected[i] += nodes["threshold"][leaf]
            else:
                expected[i] += np.eye(n_columns)[~right] if right < 0 else table[right]
    np.testing.assert_allclose(out, expected)
