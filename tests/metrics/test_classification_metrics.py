"""Metrics of labels and probabilities: scikit-learn's values, errors and warnings."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.metrics
from sklearn.exceptions import UndefinedMetricWarning

from fastml import metrics

RNG = np.random.default_rng(0)
SIMPLE = ("accuracy_score", "balanced_accuracy_score", "hamming_loss", "matthews_corrcoef",
          "zero_one_loss", "confusion_matrix", "cohen_kappa_score")  # fmt: skip
OF_LABELS = ("precision_score", "recall_score", "f1_score", "jaccard_score")
WORDS = np.array(["ham", "spam", "eggs", "beans"])


def labels(kind, k=4, n=200):
    """True and predicted labels, half of them equal."""
    true = RNG.integers(k, size=n)
    pred = np.where(RNG.random(n) < 0.5, true, RNG.integers(k, size=n))
    made = {
        "int64": lambda y: y,
        "int32": lambda y: y.astype(np.int32),
        "uint8": lambda y: y.astype(np.uint8),
        "bool": lambda y: y > 1,
        "whole floats": lambda y: y.astype(float) - 2,
        "negative": lambda y: y * 7 - 11,
        "far apart": lambda y: y * 10**9,
        "words": lambda y: WORDS[y],
        "objects": lambda y: WORDS[y].astype(object),
        "lists": lambda y: y.tolist(),
        "lists of words": lambda y: WORDS[y].tolist(),
        "column": lambda y: y[:, None],
        "Series": lambda y: pd.Series(y),
    }
    return made[kind](true), made[kind](pred)


KINDS = ("int64", "int32", "uint8", "bool", "whole floats", "negative", "far apart", "words",
         "objects", "lists", "lists of words", "column", "Series")  # fmt: skip


def same(name, *arguments, **options):
    """Both packages give the same, value and warnings."""
    results = []
    for package in (metrics, sklearn.metrics):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            results.append((getattr(package, name)(*arguments, **options), told))
    (found, ours), (expected, theirs) = results
    if isinstance(expected, str):
        assert found == expected
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            assert found[key] == pytest.approx(expected[key], rel=1e-12, nan_ok=True)
    elif isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            assert (a is None) == (b is None)
            if b is not None:
                np.testing.assert_allclose(a, b, rtol=1e-12)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
    assert {str(w.message) for w in ours} == {str(w.message) for w in theirs}
    assert {w.category for w in ours} == {w.category for w in theirs}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SIMPLE)
def test_labels_of_every_kind(name, kind):
    y, p = labels(kind)
    same(name, y, p)
    same(name, y, p, sample_weight=RNG.random(200))
    same(name, y, p, sample_weight=RNG.integers(0, 3, 200))


@pytest.mark.parametrize("kind", KINDS)
def test_report_of_every_kind(kind):
    y, p = labels(kind)
    same("classification_report", y, p)
    same("classification_report", y, p, output_dict=True, sample_weight=RNG.random(200))


@pytest.mark.parametrize("average", [None, "micro", "macro", "weighted"])
@pytest.mark.parametrize("name", OF_LABELS)
def test_averages(name, average):
    y, p = labels("int64")
    same(name, y, p, average=average)
    same(name, y, p, average=average, labels=[3, 1, 9])
    same(name, y, p, average=average, sample_weight=RNG.random(200), labels=[0, 2])
    same(name, np.where(y == 3, 2, y), np.where(p == 0, 1, p), average=average)
    if name != "jaccard_score":
        for zero_division in (0, 1, np.nan):
            same(name, y, np.minimum(p, 2), average=average, zero_division=zero_division)


@pytest.mark.parametrize("average", [None, "micro", "macro", "weighted", "samples"])
@pytest.mark.parametrize("name", OF_LABELS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.ndarray.tolist])
def test_several_labels_a_row(name, average, form):
    y, p = RNG.integers(0, 2, (2, 30, 4))
    y[0] = p[0] = 0
    same(name, form(y), form(p), average=average)
    same(name, form(y), form(p), average=average, sample_weight=RNG.random(30))
    same(name, form(y), form(p), average=average, labels=[2, 0])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_indicator_matrices(form):
    y, p = RNG.integers(0, 2, (2, 30, 4))
    w = RNG.random(30)
    for name in ("accuracy_score", "hamming_loss", "zero_one_loss", "classification_report",
                 "multilabel_confusion_matrix"):  # fmt: skip
        same(name, form(y), form(p))
        more = {"output_dict": True} if name == "classification_report" else {}
        same(name, form(y), form(p), sample_weight=w, **more)
    for options in ({"samplewise": True}, {"samplewise": True, "sample_weight": w}):
        same("multilabel_confusion_matrix", form(y), form(p), **options)
    with pytest.raises(ValueError, match="multilabel-indicator is not supported"):
        metrics.confusion_matrix(form(y).tolist() if form is np.asarray else y, p)


def test_binary_labels():
    y, p = labels("int64", 2)
    for pos_label in (0, 1):
        for name in OF_LABELS:
            same(name, y, p, pos_label=pos_label)
    for beta in (0, 0.5, 2, np.inf):
        same("fbeta_score", y, p, beta=beta)
    same("class_likelihood_ratios", y, p)
    same("precision_recall_fscore_support", y, p, average="binary")
    same("balanced_accuracy_score", y, p, adjusted=True)
    words = WORDS[y], WORDS[p]
    same("f1_score", *words, pos_label="spam")


@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
@pytest.mark.parametrize("chosen", [None, [2, 0], [0, 1, 2, 3, 7], [3]])
def test_confusion_matrix(normalize, chosen):
    y, p = labels("int64")
    same("confusion_matrix", y, p, labels=chosen, normalize=normalize)
    p = np.where(p == 3, 0, p)
    same("confusion_matrix", y, p, labels=chosen, normalize=normalize)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa(weights):
    y, p = labels("int64")
    same("cohen_kappa_score", y, p, weights=weights)
    same("cohen_kappa_score", y, p, weights=weights, labels=[1, 2])
    same("cohen_kappa_score", np.zeros(3, int), np.zeros(3, int), weights=weights)


@pytest.mark.parametrize("n", [250_000])
def test_large_counts_do_not_overflow(n):
    """scikit-learn#8354, #9622."""
    y = np.arange(n) % 2
    p = np.where(np.arange(n) % 8 == 0, 1 - y, y)
    share = 7 / 8
    assert metrics.cohen_kappa_score(y, p) == pytest.approx(2 * share - 1, abs=1e-4)
    assert metrics.matthews_corrcoef(y, p) == pytest.approx(
        sklearn.metrics.matthews_corrcoef(y, p), rel=1e-12
    )


def test_more_words_than_the_table_takes():
    y = np.array([f"word {i}" for i in range(5000)])
    assert metrics.accuracy_score(y, y) == 1.0
    assert metrics.accuracy_score(y, np.roll(y, 1)) == 0.0


def test_degenerate_ratios_warn():
    same("precision_score", [0, 0, 1], [0, 0, 0])
    same("recall_score", [0, 0, 0], [0, 0, 1])
    same("f1_score", [0, 0, 0], [0, 0, 0])
    same("jaccard_score", [0, 0, 0], [0, 0, 0])
    same("balanced_accuracy_score", [0, 0, 1], [0, 2, 1])
    same("classification_report", [0, 0, 1], [0, 2, 1])
    with pytest.warns(UndefinedMetricWarning, match="`positive_likelihood_ratio` is ill-defined"):
        positive, negative = metrics.class_likelihood_ratios([1, 1, 0], [1, 1, 0])
    assert np.isnan(positive)
    assert negative == 0.0
    same("confusion_matrix", [1, 1], [1, 1])
    with pytest.warns(UndefinedMetricWarning, match="no negative samples"):
        assert metrics.specificity_score([1, 1], [1, 0]) == 0.0


BAD = {
    "lengths": ([0, 1], [0, 1, 1]),
    "empty": ([], []),
    "continuous": ([0, 1, 1], [0.2, 0.7, 0.4]),
    "words and numbers": (np.array(["a", "b"]), np.array([0, 1])),
    "NaN": (np.array([0.0, 1.0, np.nan]), np.array([0, 1, 1])),
    "labels and matrix": (np.array([0, 1]), np.array([[0, 1], [1, 0]])),
    "columns": (np.array([[0, 1], [1, 0]]), np.array([[0, 1, 1], [1, 0, 0]])),
    "sequences": ([[1], [1, 2]], [[1], [2]]),
    "bytes": (np.array([b"a", b"b"]), np.array([b"a", b"a"])),
}


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("name", ["accuracy_score", "f1_score", "classification_report"])
def test_bad_labels_are_refused_in_the_same_words(name, kind):
    with pytest.raises((ValueError, TypeError)) as expected:
        getattr(sklearn.metrics, name)(*BAD[kind])
    with pytest.raises((ValueError, TypeError)) as found:
        getattr(metrics, name)(*BAD[kind])
    assert type(found.value) is type(expected.value)
    assert str(found.value) == str(expected.value)


def test_masked_labels_are_refused():
    masked = np.ma.masked_array([0, 1, 1], mask=[True, False, False])
    with pytest.raises(TypeError, match="masked labels"):
        metrics.accuracy_score(masked, [0, 1, 1])


def test_type_of_the_labels():
    """That of the true labels, unless others are predicted."""
    for name in ("wholefloat", "uint64", "bool"):
        other = {"wholefloat": float, "uint64": np.uint64, "bool": bool}[name]
        same("classification_report", np.array([0, 1, 1]), np.array([0, 1, 0]).astype(other))
    same("classification_report", np.array([0, 1, 1]), np.array([0.0, 1.0, 2.0]))


def sorted_words(error):
    """The message's words; options among them are a set, whose order is chance."""
    return sorted(re.findall(r"\w+", str(error)))


def test_bad_options_are_refused_in_the_same_words():
    y, p = labels("int64")
    for options in ({}, {"average": "none"}, {"average": "macro", "zero_division": 2}):
        with pytest.raises(ValueError) as expected:  # noqa: PT011 (words are compared)
            sklearn.metrics.f1_score(y, p, **options)
        with pytest.raises(ValueError) as found:  # noqa: PT011 (words are compared)
            metrics.f1_score(y, p, **options)
        assert sorted_words(found.value) == sorted_words(expected.value)
    with pytest.raises(ValueError, match="pos_label=5 is not a valid label"):
        metrics.f1_score([0, 1], [0, 1], pos_label=5)


def test_specificity():
    y, p = labels("int64")
    counted = sklearn.metrics.multilabel_confusion_matrix(y, p)
    expected = counted[:, 0, 0] / counted[:, 0].sum(axis=1)
    np.testing.assert_allclose(metrics.specificity_score(y, p, average=None), expected)
    np.testing.assert_allclose(metrics.false_positive_rate(y, p, average=None), 1 - expected)
    assert metrics.specificity_score(y, p, average="macro") == pytest.approx(expected.mean())
    binary = y > 1, p > 1
    assert metrics.specificity_score(*binary) == pytest.approx(
        sklearn.metrics.recall_score(*binary, pos_label=False)
    )


# ---------------------------------------------------------------------------- probabilities


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["int64", "words", "lists", "whole floats"])
@pytest.mark.parametrize("k", [2, 4])
def test_probabilities(k, kind, dtype):
    y = labels(kind, k)[0]
    p = RNG.dirichlet(np.ones(k), 200).astype(dtype)
    w = RNG.random(200)
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    for name in ("log_loss", "brier_score_loss", "d2_log_loss_score", "d2_brier_score"):
        for options in ({}, {"sample_weight": w}, {"labels": np.unique(y).tolist()}):
            found, expected = (
                getattr(package, name)(y, p, **options) for package in (metrics, sklearn.metrics)
            )
            assert found == pytest.approx(expected, rel=rtol)
    if k == 2 and kind in ("int64", "lists"):
        for name in ("log_loss", "brier_score_loss", "d2_log_loss_score", "d2_brier_score"):
            found, expected = (
                getattr(package, name)(y, p[:, 1]) for package in (metrics, sklearn.metrics)
            )
            assert found == pytest.approx(expected, rel=rtol)


def test_certain_probabilities():
    """scikit-learn#24315: float32 and p = 1."""
    for dtype in (np.float32, np.float64):
        p = np.array([1.0, 0.0, 1.0, 0.5], dtype=dtype)
        found = metrics.log_loss([1, 0, 0, 1], p)
        assert np.isfinite(found)
        assert found == pytest.approx(sklearn.metrics.log_loss([1, 0, 0, 1], p), rel=1e-5)


BAD_PROBABILITIES = {
    "above one": ([0, 1], [0.2, 1.2]),
    "below zero": ([0, 1], [-0.2, 0.2]),
    "NaN": ([0, 1], [np.nan, 0.2]),
    "one label": ([1, 1], [0.1, 0.2]),
    "columns": ([0, 1, 1], [[0.1, 0.2, 0.7]] * 3),
    "lengths": ([0, 1, 1], [0.1, 0.2]),
}


@pytest.mark.parametrize("kind", BAD_PROBABILITIES)
@pytest.mark.parametrize("as_arrays", [True, False])
def test_bad_probabilities(kind, as_arrays):
    given = BAD_PROBABILITIES[kind]
    if as_arrays:
        given = tuple(map(np.array, given))
    with pytest.raises(ValueError) as expected:  # noqa: PT011 (words are compared)
        sklearn.metrics.log_loss(*given)
    with pytest.raises(ValueError) as found:  # noqa: PT011 (words are compared)
        metrics.log_loss(*given)
    assert str(found.value) == str(expected.value)


def test_probabilities_that_do_not_sum_to_one_warn():
    same("log_loss", np.array([0, 1]), np.array([[0.5, 0.4], [0.2, 0.8]]))


def test_hinge_loss():
    decisions = RNG.normal(size=(200, 4))
    y = labels("int64")[0]
    same("hinge_loss", y, decisions)
    same("hinge_loss", WORDS[y], decisions, sample_weight=RNG.random(200))
    same("hinge_loss", y % 2, decisions[:, 0])
    same("hinge_loss", np.minimum(y, 2), decisions, labels=[0, 1, 2, 3])
