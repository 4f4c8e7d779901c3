"""Split search of forests against all cuts tried one by one."""

import naive
import numpy as np
import pytest

from fastml.ensemble._forest_codes import encode
from fastml.kernels import forest_split as k

# With JIT off, NumPy scalars warn where compiled code wraps round as it should.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")

CODES = {
    "squared": k.SQUARED,
    "entropy": k.ENTROPY,
    "poisson": k.POISSON,
    "error": k.ERROR,
}


def problem(n, d=3, seed=0, missing=0.0, distinct=6):
    rng = np.random.default_rng(seed)
    X = rng.integers(distinct, size=(n, d)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.integers(0, 3, n), rng.integers(1, 4, n).astype(float)


def rules(criterion, *, is_class, d, min_leaf=1, constrained=False):
    out = np.zeros(k.N_RULES, np.int64)
    out[[k.MAX_DEPTH, k.MIN_SPLIT, k.MIN_LEAF, k.MAX_FEATURES]] = 9, 2, min_leaf, d
    out[[k.CRITERION, k.IS_CLASS, k.CONSTRAINED]] = CODES[criterion], is_class, constrained
    return out


def scratch(n, d, n_codes, n_slots):
    largest = int(n_codes.max()) + 1
    return {
        "state": np.array([7], np.uint64),
        "features": np.arange(d, dtype=np.int32),
        "rows": np.arange(n, dtype=np.int32),
        "hist": np.zeros((largest, n_slots)),
        "counts": np.zeros(largest, np.int32),
        "bits": np.zeros((largest >> 6) + 1, np.uint64),
        "upper_bits": np.zeros((largest >> 12) + 1, np.uint64),
        "occupied": np.empty(largest, np.int32),
    }


def pairs(X, y, weights, criterion, *, is_class, min_leaf=1, least=0.0, signs=None, exact=True):
    n, d = X.shape
    c = encode(X, exact, 1)
    s = scratch(n, d, c.n_codes, 2)
    constrained = signs is not None
    split = k.search_pairs(
        c.codes, c.n_codes, c.low, c.high, y.astype(float).reshape(-1, 1),
        np.zeros(d, np.int8) if signs is None else signs,
        rules(criterion, is_class=is_class, d=d, min_leaf=min_leaf, constrained=constrained),
        s["state"], s["features"], weights, s["rows"], np.empty((n, 2)), s["hist"], s["counts"],
        s["bits"], s["upper_bits"], s["occupied"], least, -np.inf, np.inf,
    )  # fmt: skip
    for name in ("hist", "counts", "bits", "upper_bits"):
        assert not s[name].any(), f"{name} is left dirty"
    return split


def sides(split, X):
    x = X[:, split.feature]
    return (x <= split.threshold) | (np.isnan(x) & (split.missing_left == 1))


def check(split, X, Y, weights, criterion, n_classes, expected):
    if not np.isfinite(expected):
        assert split.score == k.INVALID
        return
    assert split.score == pytest.approx(expected, rel=1e-9, abs=1e-9)
    left = sides(split, X)
    own = naive.forest_score(weights[left], Y[left], criterion, n_classes)
    own += naive.forest_score(weights[~left], Y[~left], criterion, n_classes)
    assert own == pytest.approx(split.score, rel=1e-9, abs=1e-9)
    whole = naive.forest_score(weights, Y, criterion, n_classes)
    assert split.undivided == pytest.approx(whole, rel=1e-9, abs=1e-9)


SIZES = [(2, 6), (3, 6), (40, 6), (40, 400)]


@pytest.mark.small
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("criterion", ["squared", "entropy", "error"])
def test_pairs_of_two_classes(criterion, size, missing):
    X, y, weights = problem(size[0], seed=size[0], missing=missing, distinct=size[1])
    y = (y == 1) * 1.0
    y[0] = 1.0 - y[1]
    Y = y.reshape(-1, 1)
    for min_leaf, least in ((1, 0.0), (3, 0.0), (1, 0.2 * weights.sum())):
        split = pairs(X, y, weights, criterion, is_class=True, min_leaf=min_leaf, least=least)
        expected = naive.best_forest_split(X, Y, weights, criterion, [2], min_leaf, least)
        if criterion == "squared":  # of class 1 alone: score(2 classes) = 2 score + constant
            if not np.isfinite(expected):
                assert split.score == k.INVALID
                continue
            gain = expected - naive.forest_score(weights, Y, "squared", [2])
            assert 2.0 * (split.score - split.undivided) == pytest.approx(gain, abs=1e-9)
        else:
            check(split, X, Y, weights, criterion, [2], expected)


@pytest.mark.small
@pytest.mark.parametrize("criterion", ["squared", "poisson"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_pairs_of_a_regression(criterion, missing):
    for seed in range(3):
        X, y, weights = problem(30, seed=seed, missing=missing)
        y = y + 0.5 * X[:, 0].astype(float)
        y[np.isnan(y)] = 0.0
        Y = y.reshape(-1, 1)
        split = pairs(X, y, weights, criterion, is_class=False)
        expected = naive.best_forest_split(X, Y, weights, criterion, None)
        check(split, X, Y, weights, criterion, None, expected)


@pytest.mark.small
def test_direction_is_kept():
    X, _, weights = problem(40, d=1, distinct=30)
    y = np.abs(X[:, 0] - 12.0).astype(float)
    for sign in (1, -1):
        split = pairs(X, y, weights, "squared", is_class=False, signs=np.array([sign], np.int8))
        left = sides(split, X)
        means = [np.average(y[s], weights=weights[s]) for s in (left, ~left)]
        assert (means[1] - means[0]) * sign >= 0
        np.testing.assert_allclose(split.means, means)


@pytest.mark.small
@pytest.mark.parametrize("kind", ["classes", "two outputs", "regression"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_slots(kind, missing):
    X, y, weights = problem(30, seed=3, missing=missing)
    is_class = kind != "regression"
    Y = {
        "classes": y[:, None],
        "two outputs": np.column_stack([y, y > 0]),
        "regression": np.column_stack([y, y * y + 1.0]),
    }[kind].astype(float)
    n_classes = {"classes": [3], "two outputs": [3, 2], "regression": [1, 1]}[kind]
    offsets = np.cumsum([1, *n_classes])
    c = encode(X, True, 1)
    for criterion in ("squared", "entropy", "error") if is_class else ("squared", "poisson"):
        for min_leaf in (1, 4):
            s = scratch(30, 3, c.n_codes, offsets[-1])
            split = k.search_slots(
                c.codes, c.n_codes, c.low, c.high, Y, offsets,
                rules(criterion, is_class=is_class, d=3, min_leaf=min_leaf), s["state"],
                s["features"], weights, s["rows"], np.empty((3, offsets[-1])), s["hist"],
                s["counts"], s["bits"], s["upper_bits"], s["occupied"], 0.0,
            )  # fmt: skip
            of = n_classes if is_class else None
            expected = naive.best_forest_split(X, Y, weights, criterion, of, min_leaf)
            check(split, X, Y, weights, criterion, of, expected)
            assert not s["hist"].any()


@pytest.mark.small
def test_leaves():
    X, y, weights = problem(8)
    same = np.ones(8)
    assert pairs(X, same, weights, "squared", is_class=False).score == k.INVALID
    assert pairs(np.ones_like(X), y, weights, "squared", is_class=False).score == k.INVALID
    assert pairs(X, np.zeros(8), weights, "poisson", is_class=False).score == k.INVALID
    heavy = pairs(X, y, weights, "squared", is_class=False, least=weights.sum())
    assert heavy.score == k.INVALID


@pytest.mark.small
def test_lowest_bit():
    for bit in range(64):
        assert k.lowest_bit(np.uint64(1 << bit)) == bit
        assert k.lowest_bit(np.uint64((1 << bit) | (1 << 63))) == bit


@pytest.mark.small
def test_bins_of_many_values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1)).astype(np.float32)
    y = (X[:, 0] > 0.3) * 1.0
    split = pairs(X, y, np.ones(2000), "squared", is_class=True, exact=False)
    assert split.threshold == pytest.approx(0.3, abs=0.02)


@pytest.mark.small
@pytest.mark.parametrize("codes", [[], [0], [63, 64], [5000, 4095, 4096, 0, 5000]])
def test_a_set_of_codes(codes):
    bits, upper_bits = np.zeros(80, np.uint64), np.zeros(2, np.uint64)
    for code in codes:
        k.note_code(bits, upper_bits, np.intp(code))
    found = np.full(8, -1, np.int64)
    n = k.take_codes(bits, upper_bits, 5000, found)
    assert found[:n].tolist() == sorted(set(codes))
    assert not bits.any()
    assert not upper_bits.any()
