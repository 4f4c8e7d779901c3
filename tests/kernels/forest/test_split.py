"""Split search of forests against all cuts tried one by one."""

import naive
import numpy as np
import pytest

from fastml._engines.forests.codes import encode
from fastml.kernels.forest import score
from fastml.kernels.forest import split as k
from fastml.kernels.forest.frame import Codes, Frame
from fastml.kernels.tree import nodes
from fastml.kernels.tree.exact_split import GrowthRules

# With JIT off, NumPy scalars warn where compiled code wraps round as it should.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")

CODES = {
    ("squared", True): nodes.GINI,
    ("entropy", True): nodes.ENTROPY,
    ("error", True): nodes.ERROR,
    ("squared", False): nodes.SQUARED_ERROR,
    ("poisson", False): nodes.POISSON,
}
"""By the name of the score and whether targets are classes."""


def problem(n, d=3, seed=0, missing=0.0, distinct=6):
    rng = np.random.default_rng(seed)
    X = rng.integers(distinct, size=(n, d)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.integers(0, 3, n), rng.integers(1, 4, n).astype(float)


def working(n, d, codes, n_slots):
    """Rows and scratch of a search."""
    scratch = naive.forest_scratch(n, d, n_slots, int(codes.n_codes.max()) + 1, seed=7)
    return np.arange(n, dtype=np.uint32), scratch


def pairs(
    X,
    y,
    weights,
    criterion,
    *,
    is_class,
    min_leaf=1,
    least=0.0,
    signs=None,
    exact=True,
    bounds=(-np.inf, np.inf),
):
    n, d = X.shape
    columns, codes = encode(X, exact, 1)
    rows, scratch = working(n, d, codes, 2)
    rules = GrowthRules(
        CODES[criterion, is_class], min_leaf=min_leaf, min_weight=least, max_features=d
    )
    signs = np.zeros(d, np.int8) if signs is None else signs
    frame = Frame(columns, y.astype(float).reshape(1, -1), weights)
    split = k.search_pairs(frame, codes, signs, rules, rows, scratch, *bounds)
    assert_clean(scratch)
    return split


def assert_clean(scratch):
    for name in ("hist", "counts", "bits"):
        assert not getattr(scratch, name).any(), f"{name} is left dirty"


def sides(split, X):
    x = X[:, split.feature]
    return (x <= split.threshold) | (np.isnan(x) & (split.missing_left == 1))


def check(split, X, Y, weights, criterion, n_classes, expected):
    if not np.isfinite(expected):
        assert split.score == score.INVALID
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
                assert split.score == score.INVALID
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
    columns, codes = encode(X, True, 1)
    frame = Frame(columns, np.ascontiguousarray(Y.T), weights)
    for criterion in ("squared", "entropy", "error") if is_class else ("squared", "poisson"):
        for min_leaf in (1, 4):
            rows, scratch = working(30, 3, codes, offsets[-1])
            rules = GrowthRules(CODES[criterion, is_class], min_leaf=min_leaf, max_features=3)
            split = k.search_slots(frame, codes, offsets, rules, rows, scratch)
            of = n_classes if is_class else None
            expected = naive.best_forest_split(X, Y, weights, criterion, of, min_leaf)
            check(split, X, Y, weights, criterion, of, expected)
            assert_clean(scratch)


@pytest.mark.small
def test_means_stay_within_bounds():
    X, _, weights = problem(40, d=2, distinct=30)
    y = X[:, 0].astype(float)
    free = pairs(X, y, weights, "squared", is_class=False)
    low, high = sorted(free.means)
    within = pairs(X, y, weights, "squared", is_class=False, bounds=(low, high))
    assert within == free
    bounds = (low + 0.1, high)
    other = pairs(X, y, weights, "squared", is_class=False, bounds=bounds)
    assert other.score < free.score
    assert other.score == score.INVALID or bounds[0] <= min(other.means)


@pytest.mark.small
def test_threshold_between_codes():
    low = np.array([[0.0, 1.0, 4.0], [-3e38, 5.0, 3e38]], np.float32)
    high = np.array([[0.5, 3.0, 4.0], [-3e38, 5.0, 3e38]], np.float32)
    codes = Codes(np.array([3, 3]), low, high)
    assert k.between(codes, 0, 0, 1) == 0.75
    assert k.between(codes, 0, 0, 2) == 2.25  # no row has the code in the middle
    assert k.between(codes, 1, 0, 2) == 0.0  # no overflow
    above = np.nextafter(np.float32(1.0), np.float32(2.0))
    ends = np.array([[1.0, above]], np.float32)
    assert 1.0 <= k.between(Codes(np.array([2]), ends, ends), 0, 0, 1) < above


@pytest.mark.small
def test_leaves():
    X, y, weights = problem(8)
    same = np.ones(8)
    assert pairs(X, same, weights, "squared", is_class=False).score == score.INVALID
    assert pairs(np.ones_like(X), y, weights, "squared", is_class=False).score == score.INVALID
    assert pairs(X, np.zeros(8), weights, "poisson", is_class=False).score == score.INVALID
    heavy = pairs(X, y, weights, "squared", is_class=False, least=weights.sum())
    assert heavy.score == score.INVALID


@pytest.mark.small
def test_bins_of_many_values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1)).astype(np.float32)
    y = (X[:, 0] > 0.3) * 1.0
    split = pairs(X, y, np.ones(2000), "squared", is_class=True, exact=False)
    assert split.threshold == pytest.approx(0.3, abs=0.02)


@pytest.mark.small
def test_sums_up_to_each_code():
    rng = np.random.default_rng(0)
    column, rows = rng.integers(0, 9, 20).astype(np.uint8), np.arange(3, 20, dtype=np.uint32)
    weights, totals = rng.integers(1, 4, (2, 17)).astype(float)
    hist = np.zeros((10, 2))
    k.add_pairs(column, rows, weights, totals, hist)
    own = column[rows]
    expected = np.array([[w[own == c].sum() for w in (weights, totals)] for c in range(10)])
    np.testing.assert_array_equal(hist, expected)
    present = np.unique(own)
    listed, found, sums = present.astype(np.int32), np.empty(11, np.int32), np.empty((4, 11))
    again = hist.copy()
    assert k.sum_all(hist, 10, found, sums[0], sums[1]) == len(present)
    k.sum_listed(again, listed, len(present), sums[2], sums[3])
    np.testing.assert_array_equal(found[: len(present)], present)
    for two in (sums[:2], sums[2:]):
        np.testing.assert_array_equal(two[:, : len(present)], expected[present].cumsum(axis=0).T)
    assert not hist.any()
    assert not again.any()


@pytest.mark.small
def test_scores_of_cuts():
    weights, totals = np.array([1.0, 3.0, 4.0]), np.array([2.0, -1.0, 0.5])
    scores = np.empty(3)
    k.squared_scores(weights, totals, 3, 0.5, 1.0, 9.0, 3.0, scores)
    left_weight, left_total = weights + 0.5, totals + 1.0
    expected = left_total**2 / left_weight + (3.0 - left_total) ** 2 / (9.0 - left_weight)
    np.testing.assert_allclose(scores, expected)
