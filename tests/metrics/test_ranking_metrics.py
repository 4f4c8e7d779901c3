"""Areas, curves and rankings: scikit-learn's values, and cases that peers got wrong."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.calibration
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

import fastml
from fastml import metrics

RNG = np.random.default_rng(0)
CURVES = ("roc_curve", "precision_recall_curve", "det_curve", "confusion_matrix_at_thresholds")
AREAS = ("roc_auc_score", "average_precision_score")


def scored(n=300, kind="normal"):
    y = RNG.integers(0, 2, n)
    y[:2] = 0, 1
    scores = {
        "normal": lambda: RNG.normal(size=n) + y,
        "float32": lambda: (RNG.normal(size=n) + y).astype(np.float32),
        "ties": lambda: RNG.integers(0, 4, n) / 4,
        "integers": lambda: RNG.integers(0, 9, n),
        "booleans": lambda: RNG.random(n) < 0.5,
        "huge integers": lambda: RNG.integers(2**60, 2**62, n),
        "constant": lambda: np.full(n, 0.3),
        "tiny": lambda: (RNG.normal(size=n) + y) * 1e-7,  # scikit-learn#6688
    }
    return y, scores[kind]()


KINDS = (
    "normal", "float32", "ties", "integers", "booleans", "huge integers", "constant", "tiny",
)  # fmt: skip


def same(name, *arguments, packages=(metrics, sklearn.metrics), **options):
    found, expected = (getattr(each, name)(*arguments, **options) for each in packages)
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
        assert np.asarray(a).dtype == np.asarray(b).dtype


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CURVES + AREAS)
def test_binary_scores(name, kind):
    y, s = scored(kind=kind)
    if kind == "booleans" and name == "roc_auc_score":
        s = s.astype(int)
    same(name, y, s)
    same(name, y.tolist(), s.tolist())
    same(name, pd.Series(2 * y - 1), pd.Series(s))
    w = np.round(RNG.random(300), 1)
    same(name, y, s, sample_weight=w)
    if name in ("roc_curve", "precision_recall_curve", "det_curve"):
        for drop in (True, False):
            same(name, y, s, drop_intermediate=drop)


@pytest.mark.parametrize("name", ["roc_curve", "average_precision_score"])
def test_positive_label(name):
    y, s = scored()
    words = np.array(["no", "yes"])[y]
    same(name, words, s, pos_label="yes")
    same(name, y + 1, s, pos_label=2)
    same(name, y, s, pos_label=0)


def test_larger_label_is_positive():
    y, s = scored()
    same("roc_auc_score", np.array(["no", "yes"])[y], s)
    same("roc_auc_score", y * 5 + 2, s)


@pytest.mark.parametrize("max_fpr", [0.001, 0.1, 0.5, 1.0])
def test_partial_area(max_fpr):
    y, s = scored()
    same("roc_auc_score", y, s, max_fpr=max_fpr)
    same("roc_auc_score", y, s, max_fpr=max_fpr, sample_weight=RNG.random(300))


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_several_classes(multi_class, average):
    y, p = RNG.integers(0, 4, 200), RNG.dirichlet(np.ones(4), 200)
    options = {"multi_class": multi_class, "average": average}
    same("roc_auc_score", y, p, **options)
    same("roc_auc_score", np.array(list("abcd"))[y], p, **options)
    same("roc_auc_score", np.minimum(y, 2), p[:, :3] / p[:, :3].sum(axis=1)[:, None], **options)
    if multi_class == "ovr":
        same("roc_auc_score", y, p, sample_weight=RNG.random(200), **options)
        same("average_precision_score", y, p, average=average)


@pytest.mark.parametrize("average", [None, "micro", "macro", "weighted", "samples"])
@pytest.mark.parametrize("name", AREAS)
def test_several_labels(name, average):
    y = RNG.integers(0, 2, (30, 4))
    y[:, 0] = 1 - y[:, 1]  # every row has both
    s, w = RNG.random((30, 4)), RNG.random(30)
    same(name, y, s, average=average)
    same(name, y, s, average=average, sample_weight=w)


def test_area_is_the_share_of_ordered_pairs():
    y, s = scored(kind="ties")
    pairs = metrics.ordered_pair_share(y, s)
    gaps = s[y == 1][:, None] - s[y == 0]
    assert pairs[:3] == ((gaps > 0).sum(), (gaps < 0).sum(), (gaps == 0).sum())
    assert pairs.share == pytest.approx(metrics.roc_auc_score(y, s), rel=1e-14)
    w = RNG.integers(1, 4, y.size)
    repeated = metrics.ordered_pair_share(np.repeat(y, w), np.repeat(s, w))
    weighted = metrics.ordered_pair_share(y, s, sample_weight=w)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)


@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=2, max_size=30))
def test_area_of_any_ties(rows):
    """MLJBase#319: a fast AUC must be right where many scores are equal."""
    y, s = (np.array(column) for column in zip(*rows))
    if y.all() or not y.any():
        with pytest.warns(UndefinedMetricWarning, match="Only one class"):
            assert np.isnan(metrics.roc_auc_score(y, s))
        return
    gaps = s[y][:, None] - s[~y]
    expected = (gaps > 0).mean() + (gaps == 0).mean() / 2
    assert metrics.roc_auc_score(y, s) == pytest.approx(expected, rel=1e-14)
    assert 0 <= metrics.average_precision_score(y, s) <= 1  # xgboost#4431


def test_integer_weights_are_repeated_rows():
    y, s = scored(kind="ties")
    w = RNG.integers(0, 4, y.size)
    for name in AREAS:
        metric = getattr(metrics, name)
        repeated = metric(np.repeat(y, w), np.repeat(s, w))
        assert metric(y, s, sample_weight=w) == pytest.approx(repeated, rel=1e-12)


def test_order_and_batches_do_not_matter():
    """torchmetrics#1989."""
    y, s = scored()
    order = RNG.permutation(y.size)
    for name in AREAS:
        assert getattr(metrics, name)(y[order], s[order]) == getattr(metrics, name)(y, s)


def test_threads_do_not_matter():
    y, s = scored(n=200_000)
    with fastml.thread_limit(1):
        one = metrics.roc_auc_score(y, s), metrics.average_precision_score(y, s)
    assert one == (metrics.roc_auc_score(y, s), metrics.average_precision_score(y, s))


def test_constant_scores_and_no_positives():
    """scikit-learn#6377, #8245."""
    assert metrics.average_precision_score([0, 0, 1], [0.5, 0.5, 0.5]) == pytest.approx(1 / 3)
    with pytest.warns(UserWarning, match="No positive class found"):
        assert metrics.average_precision_score(np.zeros(3, int), np.arange(3.0)) == 0.0
    with pytest.warns(UndefinedMetricWarning, match="No negative samples"):
        assert np.isnan(metrics.roc_curve([1, 1], [0.1, 0.2])[0]).all()


BAD = {
    "NaN": (np.array([0, 1, 1]), np.array([0.1, np.nan, 0.2])),
    "infinity": (np.array([0, 1, 1]), np.array([0.1, np.inf, 0.2])),
    "lengths": (np.array([0, 1, 1]), np.array([0.1, 0.2])),
    "matrix": (np.array([0, 1, 1]), np.ones((3, 2))),
    "classes": (np.array([0, 1, 2]), np.array([0.1, 0.2, 0.3])),
    "continuous": (np.array([0.1, 1.2, 2]), np.array([0.1, 0.2, 0.3])),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("name", ["roc_auc_score", "roc_curve", "precision_recall_curve"])
def test_bad_scores_are_refused_in_the_same_words(name, kind):
    with pytest.raises(ValueError) as expected:  # noqa: PT011 (words are compared)
        getattr(sklearn.metrics, name)(*BAD[kind])
    with pytest.raises(ValueError) as found:  # noqa: PT011
        getattr(metrics, name)(*BAD[kind])
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    "scores", [np.array(["a", "b", "c"]), np.array(["a", "b", "c"], object), np.ones(3) * 1j]
)
def test_scores_are_numbers(scores):
    for name in ("roc_curve", "roc_auc_score", "average_precision_score"):
        with pytest.raises((ValueError, TypeError)):
            getattr(metrics, name)(np.array([0, 1, 1]), scores)


def test_words_need_a_positive_label():
    with pytest.raises(ValueError, match="pos_label"):
        metrics.roc_curve(np.array(["a", "b"]), [0.1, 0.2])
    with pytest.raises(ValueError, match="pos_label is not specified"):
        metrics.roc_curve(np.array([1, 2]), [0.1, 0.2])


def test_area_under_any_curve():
    x = np.sort(RNG.random(20))
    same("auc", x, RNG.random(20))
    same("auc", x[::-1], RNG.random(20))
    with pytest.raises(ValueError, match="neither increasing nor decreasing"):
        metrics.auc([0, 2, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="At least 2 points"):
        metrics.auc([0], [0])


# ---------------------------------------------------------------------------- row by row


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.ndarray.tolist])
@pytest.mark.parametrize("ties", [True, False])
def test_label_rankings(form, ties):
    y = RNG.integers(0, 2, (40, 5))
    y[0], y[1] = 0, 1
    s = RNG.integers(0, 3, (40, 5)) / 3 if ties else RNG.random((40, 5))
    w = RNG.random(40)
    for name in ("label_ranking_average_precision_score", "label_ranking_loss"):
        same(name, form(y), s)
        same(name, form(y), s, sample_weight=w)
    if form is not sp.csr_array:
        same("coverage_error", form(y), s)
        same("coverage_error", form(y), s, sample_weight=w)


@pytest.mark.parametrize("k", [None, 1, 3, 10])
@pytest.mark.parametrize("ties", [True, False])
def test_gains(k, ties):
    y = RNG.integers(0, 4, (30, 6))
    y[0] = 0
    s = RNG.integers(0, 3, (30, 6)) if ties else RNG.random((30, 6))
    same("dcg_score", y, s, k=k)
    same("dcg_score", y, s, k=k, log_base=3, sample_weight=RNG.random(30))
    same("ndcg_score", y, s, k=k)
    if not ties:
        same("ndcg_score", y, s, k=k, ignore_ties=True)


@pytest.mark.parametrize("k", [1, 2])
def test_top_k(k):
    y = RNG.integers(0, 4, 100)
    for s in (RNG.random((100, 4)), RNG.integers(0, 2, (100, 4))):
        same("top_k_accuracy_score", y, s, k=k)
        same("top_k_accuracy_score", y, s, k=k, normalize=False, sample_weight=RNG.random(100))
        same("top_k_accuracy_score", np.minimum(y, 1), s, k=k, labels=[0, 1, 2, 3])
    same("top_k_accuracy_score", y % 2, RNG.random(100), k=1)
    with pytest.warns(UndefinedMetricWarning, match="perfect score"):
        assert metrics.top_k_accuracy_score(y, s, k=4) == 1.0


def test_rankings_refuse():
    with pytest.raises(ValueError, match="multiclass format is not supported"):
        metrics.coverage_error([[0], [1], [2]], [[0.1], [0.2], [0.3]])
    with pytest.raises(ValueError, match="different shape"):
        metrics.label_ranking_loss(np.eye(2, dtype=int), np.ones((2, 3)))
    with pytest.raises(ValueError, match="different shape"):
        metrics.dcg_score(np.eye(3)[:, :2] + 0.5, np.ones((3, 1)))
    with pytest.raises(ValueError, match="negative y_true"):
        metrics.ndcg_score([[-1, 2]], [[1, 2]])
    with pytest.raises(ValueError, match="more than 1 document"):
        metrics.ndcg_score([[1], [2]], [[1], [2]])


# ---------------------------------------------------------------------------- thresholds


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [1, 5, 20])
def test_calibration_curve(strategy, n_bins):
    y, s = scored()
    p = 1 / (1 + np.exp(-s))
    packages = metrics, sklearn.calibration
    same("calibration_curve", y, p, packages=packages, strategy=strategy, n_bins=n_bins)
    words = np.array(["no", "yes"])[y]
    same("calibration_curve", words, p, packages=packages, pos_label="yes")


def test_metric_at_thresholds():
    y, s = scored(n=40, kind="ties")
    w = RNG.integers(0, 2, 40)
    for options in ({}, {"sample_weight": w}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same("metric_at_thresholds", y, s, metrics.f1_score, **options)


def test_background_rejection():
    y, s = scored()
    efficiency, rejection, thresholds = metrics.background_rejection_curve(y, s)
    fpr, tpr, expected = sklearn.metrics.roc_curve(y, s)
    np.testing.assert_allclose(efficiency, tpr)
    np.testing.assert_allclose(rejection, 1 - fpr)
    np.testing.assert_array_equal(thresholds, expected)
    for least in (0.0, 0.5, 0.9, 1.0):
        found = metrics.signal_efficiency(y, s, least)
        assert found == tpr[1 - fpr >= least].max()
    with pytest.raises(ValueError, match="'rejection' parameter"):
        metrics.signal_efficiency(y, s, 1.5)


@pytest.mark.parametrize("n", [5, 60, 700, 9_000])
def test_the_area_of_few_rows_has_scikit_learns_bits(n):
    """Counted pairs would round otherwise in a third of such cases."""
    rng = np.random.default_rng(n)
    for digits in range(1, 11):
        y, scores = rng.integers(0, 2, n), rng.random(n).round(digits)
        y[:2] = 0, 1
        assert metrics.roc_auc_score(y, scores) == sklearn.metrics.roc_auc_score(y, scores)
