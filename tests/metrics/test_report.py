"""The report of all measures: equal to each measure, with the same keys for any data."""

import numpy as np
import pytest

from fastml import metrics
from fastml.metrics._report._measures import CLASS_KEYS, CLASSIFICATION_KEYS, REGRESSION_KEYS

RNG = np.random.default_rng(0)


def test_regression():
    y = RNG.normal(size=80)
    p = y + 0.3 * RNG.normal(size=80)
    for weights in (None, RNG.random(80)):
        found = metrics.report(y, p, n_features=2, sample_weight=weights)
        assert found.task == "regression"
        assert tuple(found.values) == REGRESSION_KEYS
        for key in ("mean_absolute_error", "median_absolute_error", "mean_squared_error",
                    "root_mean_squared_error", "mean_absolute_percentage_error",
                    "relative_absolute_error", "relative_squared_error",
                    "residual_sum_of_squares"):  # fmt: skip
            expected = getattr(metrics, key)(y, p, sample_weight=weights)
            assert found.values[key] == pytest.approx(expected, rel=1e-12), key
        for key, name in (("r2", "r2_score"), ("explained_variance", "explained_variance_score")):
            expected = getattr(metrics, name)(y, p, sample_weight=weights)
            assert found.values[key] == pytest.approx(expected, rel=1e-12)
        for key, name in (("adjusted_r2", "adjusted_r2_score"),
                          ("residual_standard_error", "residual_standard_error")):  # fmt: skip
            expected = getattr(metrics, name)(y, p, 2, sample_weight=weights)
            assert found.values[key] == pytest.approx(expected, rel=1e-12)
    assert found.values["max_error"] == metrics.max_error(y, p)
    assert np.isnan(metrics.report(y, p).values["adjusted_r2"])


def test_labels():
    y = RNG.integers(0, 3, 100)
    p = np.where(RNG.random(100) < 0.6, y, RNG.integers(0, 3, 100))
    for weights in (None, RNG.random(100)):
        found = metrics.report(y, p, sample_weight=weights)
        assert tuple(found.values) == CLASSIFICATION_KEYS
        plain = {"accuracy": "accuracy_score", "balanced_accuracy": "balanced_accuracy_score",
                 "matthews_corrcoef": "matthews_corrcoef",
                 "cohen_kappa": "cohen_kappa_score"}  # fmt: skip
        for key, name in plain.items():
            expected = getattr(metrics, name)(y, p, sample_weight=weights)
            assert found.values[key] == pytest.approx(expected, rel=1e-11), key
        for key in ("precision", "recall", "f1"):
            for average in ("macro", "weighted"):
                expected = getattr(metrics, f"{key}_score")(
                    y, p, average=average, sample_weight=weights
                )
                assert found.values[f"{key}_{average}"] == pytest.approx(expected, rel=1e-12)
            each = getattr(metrics, f"{key}_score")(y, p, average=None, sample_weight=weights)
            assert [found.classes[c][key] for c in (0, 1, 2)] == pytest.approx(each, rel=1e-12)
        expected = metrics.confusion_matrix(y, p, sample_weight=weights)
        np.testing.assert_allclose(found.confusion, expected)


@pytest.mark.parametrize("words", [False, True])
def test_scores(words):
    y = RNG.integers(0, 2, 100)
    p = 1 / (1 + np.exp(-(RNG.normal(size=100) + 2 * y - 1)))
    given = np.array(["no", "yes"])[y] if words else y
    found = metrics.report(given, p)
    values = found.values
    assert values["roc_auc"] == metrics.roc_auc_score(y, p)
    assert values["average_precision"] == metrics.average_precision_score(y, p)
    assert values["log_loss"] == pytest.approx(metrics.log_loss(y, p), rel=1e-12)
    assert values["brier_score"] == pytest.approx(metrics.brier_score_loss(y, p), rel=1e-12)
    predicted = (p >= 0.5).astype(int)
    for key, name in (("precision", "precision_score"), ("specificity", "specificity_score")):
        assert values[key] == pytest.approx(getattr(metrics, name)(y, predicted), rel=1e-12)
    other = metrics.report(given, p, pos_label=given[y == 0][0])
    assert other.values["roc_auc"] == pytest.approx(1 - values["roc_auc"])


def test_probabilities_of_several_classes():
    y, p = RNG.integers(0, 3, 100), RNG.dirichlet(np.ones(3), 100)
    found = metrics.report(y, p).values
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, p), rel=1e-12)
    assert found["roc_auc"] == metrics.roc_auc_score(y, p, multi_class="ovr")
    assert found["accuracy"] == metrics.accuracy_score(y, p.argmax(axis=1))


def test_keys_are_the_same_for_any_data():
    """scikit-learn#18340: the keys of its report change with the data."""
    for y, p in (([0, 0], [0, 0]), ([0, 1, 2], [2, 2, 2]), (["a", "b"], ["a", "a"])):
        found = metrics.report(y, p)
        assert tuple(found.values) == CLASSIFICATION_KEYS
        assert all(tuple(row) == CLASS_KEYS for row in found.classes.values())
        assert found.to_dict().keys() == metrics.report([0.5], [0.1]).to_dict().keys()
        assert str(found).startswith("classification\n")


def test_a_class_that_is_missing_is_told():
    found = metrics.report(["a", "b", "a"], ["a", "c", "a"])
    assert found.undefined == ("precision of b", "recall of c")
    assert found.values["recall_macro"] == 0.5  # of a and b
    assert "left out of averages: precision of b" in str(found)


def test_what_is_refused():
    with pytest.raises(ValueError, match="needs y_pred or y_score"):
        metrics.report([0, 1])
    with pytest.raises(ValueError, match="y_score has no meaning"):
        metrics.report([0.5, 1.0], y_score=[1.0, 2.0])
    with pytest.raises(ValueError, match="must have a column for each"):
        metrics.report([0, 1, 2], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="pos_label=7"):
        metrics.report([0, 1], [0.1, 0.7], pos_label=7)
    with pytest.raises(ValueError, match="2 columns"):
        metrics.report([0, 1, 2], np.full((3, 2), 0.5))


def test_models_beside_each_other():
    assert metrics.improvement(0.8, 0.9) == pytest.approx((0.1, 0.125))
    assert metrics.improvement(0.0, 1.0).relative == np.inf
    assert np.isnan(metrics.improvement(0, 0).relative)
    y, p = np.array([0, 1, 1]), np.array([0.2, 0.7, 0.9])
    log_likelihood = -metrics.log_loss(y, p, normalize=False)
    assert metrics.deviance(log_likelihood) == pytest.approx(6 * metrics.log_loss(y, p))
    assert metrics.aic(-7.0, 3) == 20.0
    assert metrics.aic(-7.0, 3, n_samples=10, per_sample=True) == 2.0
    assert metrics.bic(-7.0, 3, 100) == pytest.approx(14 + 3 * np.log(100))
    with pytest.raises(ValueError, match="needs n_samples"):
        metrics.aic(-7.0, 3, per_sample=True)


# ---------------------------------------------------------------------------- blocks


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_of_a_regression(weighted):
    y = RNG.normal(50.0, 2.0, 300)
    p, w = y + RNG.normal(size=300), RNG.random(300) if weighted else None
    states = []
    for rows in np.split(np.arange(300), [1, 40, 41, 200]):
        weights = None if w is None else w[rows]
        state = metrics.RunningReport("regression")
        states.append(state.update(y[rows], p[rows], sample_weight=weights))
    merged = states[0]
    for state in states[1:]:
        merged.merge(state)
    found = merged.compute(n_features=3).values
    expected = metrics.report(y, p, sample_weight=w, n_features=3).values
    for key in ("median_absolute_error", "relative_absolute_error"):
        assert np.isnan(found.pop(key))
        expected.pop(key)
    assert found == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("words", [False, True])
def test_blocks_of_labels(words):
    """torchmetrics#1989: the answer must not depend on the blocks."""
    y = RNG.integers(0, 4, 200)
    p = np.where(RNG.random(200) < 0.6, y, RNG.integers(0, 4, 200))
    if words:
        y, p = np.array(list("abcd"))[y], np.array(list("abcd"))[p]
    running = metrics.RunningReport("classification")
    for rows in np.split(np.arange(200), [1, 3, 90]):
        running.update(y[rows], p[rows])
    expected = metrics.report(y, p)
    found = running.compute()
    np.testing.assert_array_equal(found.confusion, expected.confusion)
    assert found.values == pytest.approx(expected.values, nan_ok=True)
    assert repr(running) == "RunningReport('classification') of 200 rows"


def test_blocks_that_are_refused():
    running = metrics.RunningReport("classification")
    with pytest.raises(ValueError, match="no rows yet"):
        running.compute()
    running.update([0, 1], [0, 1])
    with pytest.raises(ValueError, match="Mix of label input types"):
        running.update(["a"], ["b"])
    with pytest.raises(ValueError, match="of the same task"):
        running.merge(metrics.RunningReport("regression"))
    with pytest.raises(ValueError, match="task must be one of"):
        metrics.RunningReport("clustering")
    assert running.merge(metrics.RunningReport("classification")).compute().values["n_samples"] == 2


def test_intervals_are_those_of_the_bootstrap():
    """The same seed draws the same rows for every measure, here and in `bootstrap_metric`."""
    told = {"confidence_level": 0.9, "n_resamples": 60, "random_state": 3}
    rng = np.random.default_rng(5)
    n = 70
    weights, groups = rng.random(n), rng.integers(0, 20, n)
    y = rng.normal(size=n) + 3.0
    p = y + 0.4 * rng.normal(size=n)
    labels = rng.integers(0, 2, n)
    score = 1 / (1 + np.exp(-(labels + rng.normal(size=n))))
    three = rng.integers(0, 3, n)
    shares = rng.dirichlet(np.ones(3), n)
    functions = {
        "median_absolute_error": metrics.median_absolute_error,
        "relative_absolute_error": metrics.relative_absolute_error,
        "brier_score": metrics.brier_score_loss,
    }
    tasks = (
        (y, p, None, ("r2", "mean_absolute_error", "root_mean_squared_error",
                      "explained_variance", "mean_absolute_percentage_error",
                      "median_absolute_error", "relative_absolute_error")),
        (labels, None, score, ("roc_auc", "average_precision", "log_loss", "brier_score")),
        (three, None, shares, ("roc_auc", "average_precision", "log_loss", "brier_score")),
        (labels, (score > 0.4).astype(int), None,
         ("accuracy", "f1", "precision", "recall", "balanced_accuracy", "matthews_corrcoef")),
    )  # fmt: skip
    for truth, predicted, scores, names in tasks:
        for more in ({}, {"groups": groups}, {"sample_weight": weights}):
            found = metrics.report(truth, predicted, y_score=scores, **told, **more)
            assert tuple(found.intervals) == tuple(found.values)
            given = predicted if scores is None else scores
            for name in names:
                metric = functions.get(name, name)
                expected = metrics.bootstrap_metric(
                    metric, truth, given, 60, confidence_level=0.9, random_state=3, **more
                )
                bounds = found.intervals[name]
                assert bounds == pytest.approx((expected.low, expected.high), rel=1e-9), name
                assert found.values[name] == pytest.approx(expected.estimate, rel=1e-12), name


def test_intervals_have_a_fixed_schema_and_are_shown():
    y, p = np.arange(9.0) ** 1.5, np.arange(9.0)
    found = metrics.report(y, p, confidence_level=0.95, random_state=0, n_resamples=50)
    assert all(np.isnan(found.intervals[key]).all() for key in ("n_samples", "max_error"))
    low, high = found.intervals["mean_error"]
    assert low < found.values["mean_error"] < high < 0
    assert f"[{low:.6g}, {high:.6g}]" in str(found)
    assert found.to_dict()["intervals"]["mean_error"] == [low, high]
    assert metrics.report(y, p).to_dict()["intervals"] == {}
    words = metrics.report(["a", "a", "b"], ["a", "b", "b"], confidence_level=0.5, random_state=0)
    assert set(words.intervals) == set(CLASSIFICATION_KEYS)
    assert np.isnan(words.intervals["roc_auc"]).all()
    for wrong in (0.0, 1.0, "x"):
        with pytest.raises(ValueError, match="confidence_level"):
            metrics.report(y, p, confidence_level=wrong)


@pytest.mark.parametrize("pos_label", [None, "a", "b"])
def test_two_columns_of_probabilities_are_those_of_the_positive_label(pos_label):
    y = np.array(["a", "b", "b", "a", "b", "a", "a"])
    p = RNG.random(7)
    of_positive = 1 - p if pos_label == "a" else p
    one = metrics.report(y, y_score=of_positive, pos_label=pos_label)
    two = metrics.report(y, y_score=np.column_stack([1 - p, p]), pos_label=pos_label)
    for key in ("roc_auc", "average_precision", "log_loss", "brier_score", "precision"):
        assert two.values[key] == pytest.approx(one.values[key], rel=1e-12), key


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_probabilities_merge(n_classes, weighted):
    """The report of all rows, though a block lacks a class."""
    rng = np.random.default_rng(0)
    labels = np.array(["a", "b", "c"])[:n_classes]
    p = rng.dirichlet(np.ones(n_classes), 300)
    y = labels[rng.integers(0, n_classes, 300)]
    y[:100] = "a"
    weights = rng.random(300) if weighted else None
    predicted = labels[p.argmax(axis=1)]
    whole = metrics.report(y, predicted, y_score=p, sample_weight=weights).values
    running = metrics.RunningReport("classification")
    for rows in (slice(0, 100), slice(100, 130), slice(130, 300)):
        block = metrics.RunningReport("classification").update(
            y[rows], predicted[rows], y_score=p[rows], labels=labels,
            sample_weight=None if weights is None else weights[rows],
        )  # fmt: skip
        running.merge(block)
    found = running.compute().values
    for key in ("log_loss", "brier_score", "accuracy"):
        assert found[key] == pytest.approx(whole[key], rel=1e-12)
    assert np.isnan(found["roc_auc"])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"labels": None}, "needs labels"),
        ({"labels": np.array([1, 0])}, "ascending"),
        ({"labels": np.array([0, 2])}, "all that y_true has"),
        ({"y_score": np.full((2, 2), 1.5)}, "must have a probability"),
        ({"y_score": np.full((2, 3), 0.5)}, "must have a probability"),
    ],
)
def test_scores_of_blocks_that_do_not_merge(change, message):
    given = {"y_score": np.full((2, 2), 0.5), "labels": np.array([0, 1])}
    running = metrics.RunningReport("classification")
    with pytest.raises(ValueError, match=message):
        running.update([0, 1], [0, 1], **given | change)
    running.update([0, 1], [0, 1], **given)
    with pytest.raises(ValueError, match="for all blocks"):
        running.update([0, 1], [0, 1])
    with pytest.raises(ValueError, match="regression"):
        metrics.RunningReport("regression").update([0.5, 1], [0.5, 1], **given)
