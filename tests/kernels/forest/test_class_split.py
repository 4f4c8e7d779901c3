"""Splits by many classes: as those by histograms, and as all cuts tried one by one."""

import naive
import numpy as np
import pytest

from fastml._engines.forests.codes import encode
from fastml.kernels.forest import class_split as k
from fastml.kernels.forest.frame import Frame
from fastml.kernels.forest.score import INVALID
from fastml.kernels.forest.split import search_slots
from fastml.kernels.tree.exact_split import GrowthRules
from fastml.kernels.tree.nodes import ENTROPY, ERROR, GINI

# With JIT off, NumPy scalars warn where compiled code wraps round as it should.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")

N_CLASSES = 40
NAMES = {GINI: "squared", ENTROPY: "entropy", ERROR: "error"}


def problem(n, seed=0, missing=0.0, distinct=8, whole=True):
    """Frame, codes, rows and scratch of a node of n of 60 rows, some of its columns constant."""
    rng = np.random.default_rng(seed)
    X = rng.integers(distinct, size=(60, 4)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    X[:, 3] = 1.0
    y = rng.integers(0, N_CLASSES, (1, 60)).astype(float)
    weights = rng.integers(1, 4, 60) * (1.0 if whole else 0.3)
    columns, codes = encode(X, True, 1)
    n_codes = int(codes.n_codes.max()) + 1
    scratch = naive.forest_scratch(60, 4, 1 + N_CLASSES, n_codes, 7, n_classes=N_CLASSES)
    rows = np.sort(rng.choice(60, n, replace=False)).astype(np.uint32)
    return X, Frame(columns, y, weights), codes, rows, scratch


def assert_clean(scratch):
    for name in ("hist", "counts", "bits"):
        assert not getattr(scratch, name).any(), f"{name} is left dirty"


@pytest.mark.small
@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n", [1, 2, 3, 25, 60])
def test_best_of_all_cuts(n, missing, criterion):
    for seed, (min_leaf, least) in enumerate([(1, 0.0), (3, 0.0), (1, 8.0)]):
        X, frame, codes, rows, scratch = problem(n, seed, missing, 50, whole=seed != 1)
        rules = GrowthRules(criterion, min_leaf=min_leaf, min_weight=least, max_features=4)
        split = k.search_classes(frame, codes, rules, rows, scratch)
        assert_clean(scratch)
        own, Y, weights = X[rows], frame.y[0, rows][:, None], frame.weights[rows]
        expected = -np.inf
        if weights.sum() >= 2 * least:
            expected = naive.best_forest_split(
                own, Y, weights, NAMES[criterion], [N_CLASSES], min_leaf, least
            )
        if not np.isfinite(expected):
            assert split.score == INVALID
            continue
        assert split.score == pytest.approx(expected, rel=1e-9)
        x = own[:, split.feature]
        left = (x <= split.threshold) | (np.isnan(x) & (split.missing_left == 1))
        found = sum(
            naive.forest_score(weights[s], Y[s], NAMES[criterion], [N_CLASSES])
            for s in (left, ~left)
        )
        assert found == pytest.approx(split.score, rel=1e-9)


@pytest.mark.small
@pytest.mark.parametrize("criterion", NAMES)
def test_same_choice_as_by_histograms(criterion):
    """Bit by bit on whole weights, equally good cuts included."""
    offsets = np.array([1, 1 + N_CLASSES])
    for seed in range(20):
        _, frame, codes, rows, scratch = problem(5 + 2 * seed, seed, missing=0.2 * (seed % 2))
        rules = GrowthRules(criterion, max_features=1 + seed % 4)
        found = k.search_classes(frame, codes, rules, rows, scratch)
        scratch.state[0] = 7
        assert found == search_slots(frame, codes, offsets, rules, rows, scratch)


@pytest.mark.small
def test_numbers_of_the_classes_that_occur():
    _, frame, _, rows, scratch = problem(20)
    sums = scratch.slots[0]
    n, weight, whole = k.number_classes(frame, rows, sums, scratch.numbers)
    classes = frame.y[0, rows].astype(int)
    present = np.unique(classes)
    assert (n, weight, whole) == (len(present), frame.weights[rows].sum(), True)
    np.testing.assert_array_equal(scratch.numbers[present], np.arange(n))
    np.testing.assert_array_equal(
        sums[:n], [frame.weights[rows][classes == c].sum() for c in present]
    )
    frame.weights[rows[3]] = 0.5
    assert not k.number_classes(frame, rows, sums, scratch.numbers)[2]


@pytest.mark.small
def test_rows_in_order_of_their_codes():
    _, frame, _, rows, scratch = problem(20)
    k.number_classes(frame, rows, scratch.slots[0], scratch.numbers)
    n = k.order_rows(frame.columns[0], frame, rows, scratch)
    codes = frame.columns[0, rows]
    order = rows[np.argsort(codes, kind="stable")]
    np.testing.assert_array_equal(scratch.occupied[:n], np.unique(codes))
    np.testing.assert_array_equal(
        scratch.counts[np.unique(codes)], np.unique(codes, return_counts=True)[1].cumsum()
    )
    np.testing.assert_array_equal(scratch.pairs[1, :20], frame.weights[order])
    np.testing.assert_array_equal(scratch.keys[:20], scratch.numbers[frame.y[0, order].astype(int)])


@pytest.mark.small
def test_score_of_class_sums():
    sums = np.array([3.0, 0.0, 2.0, 99.0])
    assert k.sums_score(sums, 3, 5.0, GINI) == 13.0 / 5.0
    assert k.sums_score(sums, 3, 5.0, ERROR) == 3.0
    assert k.sums_score(sums, 3, 5.0, ENTROPY) == pytest.approx(5.0 - 5.0 * np.log(5.0))
