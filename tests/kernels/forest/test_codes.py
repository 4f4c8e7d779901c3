"""Codes of values against a search in the sorted cuts."""

import naive
import numpy as np
import pytest

from fastml._engines.forests.codes import MAX_BINS, encode
from fastml.kernels.forest.codes import assign_codes, assign_keys, code_column, key_column

# With JIT off, NumPy scalars warn where compiled code wraps round as it should.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")


@pytest.mark.small
@pytest.mark.parametrize("n_cuts", [1, 2, 3, 7, 100])
def test_codes(n_cuts):
    rng = np.random.default_rng(n_cuts)
    cuts = [np.sort(rng.normal(size=n_cuts)).astype(np.float32), np.zeros(1, np.float32)]
    padded = np.full((2, n_cuts), np.inf, np.float32)
    for f, c in enumerate(cuts):
        padded[f, : len(c)] = c
    X = np.concatenate([rng.normal(size=(30, 2)), np.column_stack([cuts[0], cuts[0]])])
    X = np.concatenate([X, np.full((1, 2), np.nan)]).astype(np.float32)
    codes = np.empty(X.shape[::-1], np.uint32)
    assign_codes(X, padded, np.array([n_cuts, 1]), codes, n_threads=1)
    np.testing.assert_array_equal(codes.T, naive.forest_codes(X, cuts))
    for n_rows in (0, 1, 16, 17, len(X)):  # 16 rows bisect side by side
        column = np.full(n_rows + 1, 99, np.uint32)
        code_column(X[:n_rows], 0, padded[0], n_cuts, column)
        assert column.tolist() == [*naive.forest_codes(X, cuts)[:n_rows, 0], 99]


@pytest.mark.small
def test_keys_order_as_values_do():
    X = np.array([[0.5, np.nan], [-0.0, 3.0], [0.0, -2.0]], np.float32)
    keys = np.empty((2, 3), np.uint32)
    assign_keys(X, keys, n_threads=1)
    assert keys[0, 0] > keys[0, 1] == keys[0, 2]
    assert keys[1, 0] > keys[1, 1] > keys[1, 2]


@pytest.mark.small
@pytest.mark.parametrize("n", [0, 1, 60])
def test_keys_of_a_column(n):
    rng = np.random.default_rng(n)
    some = [0.0, -0.0, 1.0, -1.0, 1e-45, -3e38, 3e38, np.inf, -np.inf, np.nan, *rng.normal(size=9)]
    X = rng.choice(some, (n, 2)).astype(np.float32)
    keys = np.empty(n, np.uint32)
    key_column(X, 1, keys)
    x, is_missing = np.nan_to_num(X[:, 1], nan=np.inf, posinf=np.inf), np.isnan(X[:, 1])
    for i in range(n):
        below = (x < x[i]) | ((x == x[i]) & (is_missing < is_missing[i]))
        np.testing.assert_array_equal(keys < keys[i], below)


@pytest.mark.small
@pytest.mark.parametrize("exact", [False, True])
def test_encode_keeps_order_and_bounds(exact):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=900), rng.integers(5, size=900), np.ones(900), np.full(900, np.nan)]
    ).astype(np.float32)
    X[:50, 0] = np.nan
    columns, c = encode(X, exact, 1)
    assert columns.dtype == (np.uint32 if exact else np.uint8)
    assert list(c.n_codes[1:]) == [5, 1, 1]
    assert c.n_codes[0] == (850 if exact else MAX_BINS)
    for f in range(3):
        known = ~np.isnan(X[:, f])
        code = columns[f, known].astype(int)
        assert (c.low[f][code] <= X[known, f]).all()
        assert (X[known, f] <= c.high[f][code]).all()
        assert (columns[f, ~known] == c.n_codes[f]).all()
    assert (c.low[0][1 : c.n_codes[0]] > c.high[0][: c.n_codes[0] - 1]).all()
