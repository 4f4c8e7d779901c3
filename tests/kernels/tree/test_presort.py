import numpy as np
import pytest

from fastml.kernels.tree.presort import (
    MISSING_KEY,
    key_below,
    key_of,
    sort_column,
    sort_entries,
    value_of,
)

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning"),  # with JIT off
]
SPECIAL = np.array([0.0, -0.0, 1.5, -1.5, 3e38, -3e38, 1e-45, -1e-45, np.nan], np.float32)


@pytest.mark.parametrize("n", [0, 1, 2, 64, 300])
def test_entries_ascend_by_value_then_row(n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 2)).astype(np.float32)
    X[::7, 1] = np.nan
    X[1::5, 1] = 0.25
    order = np.empty(n, np.uint64)
    sort_column(X, 1, order)
    rows = (order & np.uint64(0xFFFFFFFF)).astype(int)
    np.testing.assert_array_equal(rows, np.argsort(X[:, 1], kind="stable"))
    present = ~np.isnan(X[rows, 1])
    np.testing.assert_array_equal([value_of(e) for e in order[present]], X[rows[present], 1])


def test_keys_order_as_values_do():
    keys = [int(key_of(v)) for v in SPECIAL]
    assert keys[0] == keys[1]
    assert keys[-1] == MISSING_KEY
    order = np.argsort(keys[:-1], kind="stable")
    assert np.all(np.diff(SPECIAL[:-1][order]) >= 0)


@pytest.mark.parametrize("threshold", [0.1, -0.1, 0.0, 1e-60, -1e-60, 1e39, -1e39, np.inf, 2.5])
def test_key_below_a_threshold(threshold):
    with np.errstate(over="ignore"):
        values = np.append(SPECIAL[:-1], np.float32(threshold))
    values = np.concatenate([values, np.nextafter(values, np.float32(np.inf))])
    for value in values:
        assert np.isnan(value) or (key_of(value) <= key_below(threshold)) == (
            np.float64(value) <= threshold
        )


def test_sort_is_by_the_upper_half():
    entries = (np.arange(100, dtype=np.uint64)[::-1] // 3 << np.uint64(32)) | np.uint64(7)
    expected = np.sort(entries)
    sort_entries(entries, np.empty_like(entries))
    np.testing.assert_array_equal(entries, expected)
