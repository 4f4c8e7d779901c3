"""What displays draw is what scikit-learn's metrics say."""

import numpy as np
import pytest
import sklearn.metrics as theirs
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

from fastml import plot
from fastml.metrics import wilson_interval
from fastml.model_selection import bias_variance, friedman_test

plt = pytest.importorskip("matplotlib.pyplot")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 2))
Y = (X[:, 0] + RNG.normal(size=90) > 0).astype(int)
SCORE = np.round(X[:, 0], 1)
WEIGHTS = RNG.random(90)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def drawn(display):
    return display.line_.get_xydata()


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weights"])
def test_roc_and_rejection(weights):
    fpr, tpr, _ = theirs.roc_curve(Y, SCORE, sample_weight=weights, drop_intermediate=False)
    shown = plot.RocCurveDisplay.from_predictions(
        Y, SCORE, sample_weight=weights, name="line", plot_chance_level=True
    )
    np.testing.assert_allclose(drawn(shown), np.column_stack([fpr, tpr]), atol=1e-14)
    area = theirs.roc_auc_score(Y, SCORE, sample_weight=weights)
    assert shown.roc_auc == pytest.approx(area)
    labels = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert f"line (AUC = {area:.2f})" in labels
    physics = plot.BackgroundRejectionDisplay.from_predictions(Y, SCORE, sample_weight=weights)
    np.testing.assert_allclose(drawn(physics), np.column_stack([tpr, 1 - fpr]), atol=1e-14)
    inverse = physics.plot(inverse=True)
    assert inverse.ax_.get_yscale() == "log"
    kept = fpr > 0
    np.testing.assert_allclose(drawn(inverse)[:, 1], 1 / fpr[kept])


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weights"])
def test_precision_and_recall(weights):
    precision, recall, _ = theirs.precision_recall_curve(Y, SCORE, sample_weight=weights)
    shown = plot.PrecisionRecallDisplay.from_predictions(
        Y, SCORE, sample_weight=weights, plot_chance_level=True, f_levels=True
    )
    np.testing.assert_allclose(drawn(shown), np.column_stack([recall, precision]), atol=1e-14)
    expected = theirs.average_precision_score(Y, SCORE, sample_weight=weights)
    assert shown.average_precision == pytest.approx(expected)
    assert shown.line_.get_drawstyle() == "steps-post"


def test_estimators_and_axes():
    model = LogisticRegression().fit(X, np.array(["no", "yes"])[Y])
    ax = plt.subplots()[1]
    scores = model.predict_proba(X)[:, 1]
    for kind in (
        plot.RocCurveDisplay,
        plot.PrecisionRecallDisplay,
        plot.BackgroundRejectionDisplay,
    ):
        shown = kind.from_estimator(model, X, np.array(["no", "yes"])[Y], ax=ax)
        assert shown.ax_ is ax
        assert shown.pos_label == "yes"
        same = kind.from_predictions(Y, scores)
        np.testing.assert_array_equal(drawn(shown), drawn(same))
    with pytest.raises(ValueError, match="two classes"):
        plot.RocCurveDisplay.from_predictions([0, 1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="only one class"):
        plot.RocCurveDisplay.from_predictions([1, 1], [1, 2])


@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
@pytest.mark.parametrize("labels", [None, ["b", "a"]])
def test_confusion_matrix(normalize, labels):
    y, f = (np.array(list("abc"))[RNG.integers(3, size=40)] for _ in range(2))
    shown = plot.ConfusionMatrixDisplay.from_predictions(y, f, normalize=normalize, labels=labels)
    expected = theirs.confusion_matrix(y, f, normalize=normalize, labels=labels)
    np.testing.assert_allclose(shown.confusion_matrix, expected)
    np.testing.assert_allclose(shown.im_.get_array(), expected)
    if normalize is None:
        assert shown.text_[0, 1].get_text() == str(expected[0, 1])
    names = [text.get_text() for text in shown.ax_.get_xticklabels()]
    assert names == (labels or ["a", "b", "c"])


@pytest.mark.parametrize("odd", [{"labels": []}, {"sample_weight": [1.0]}])
def test_confusion_matrix_refuses(odd):
    with pytest.raises(ValueError, match=r"label|inconsistent"):
        plot.ConfusionMatrixDisplay.from_predictions([0, 1, 1], [0, 1, 0], **odd)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_calibration(strategy):
    p = 1 / (1 + np.exp(-SCORE))
    shown = plot.CalibrationDisplay.from_predictions(
        Y, p, n_bins=6, strategy=strategy, intervals=True
    )
    true, mean = calibration_curve(Y, p, n_bins=6, strategy=strategy)
    np.testing.assert_allclose(drawn(shown), np.column_stack([mean, true]))
    segments = shown.ax_.collections[0].get_segments()
    low, high = wilson_interval(true * shown.counts, shown.counts)
    np.testing.assert_allclose([s[:, 1] for s in segments], np.column_stack([low, high]))
    model = LogisticRegression().fit(X, Y)
    own = plot.CalibrationDisplay.from_estimator(model, X, Y, strategy=strategy)
    assert own.estimator_name == "LogisticRegression"
    with pytest.raises(ValueError, match="from 0 to 1"):
        plot.CalibrationDisplay.from_predictions(Y, SCORE)


def test_f_score_levels():
    ax = plot.f_score_levels([0.3, 0.7], beta=2.0)
    for line, level in zip(ax.lines, (0.3, 0.7)):
        recall, precision = line.get_xydata().T
        f = 5 * precision * recall / (4 * precision + recall)
        np.testing.assert_allclose(f, level)
        assert recall.max() == pytest.approx(1.0)
        assert precision.max() == pytest.approx(1.0)


def test_learning_and_validation_curves():
    from sklearn.model_selection import learning_curve, validation_curve

    y = X[:, 0] + 0.1 * X[:, 1]
    model = DecisionTreeRegressor(random_state=0)
    shown = plot.LearningCurveDisplay.from_estimator(model, X, y, cv=3)
    sizes, train, test = learning_curve(model, X, y, cv=3)
    np.testing.assert_allclose(shown.lines_[1].get_xydata(), np.column_stack([sizes, test.mean(1)]))
    edge = shown.fill_between_[0].get_paths()[0].vertices[:, 1]
    assert edge.max() == pytest.approx((train.mean(1) + train.std(1)).max())
    shown = plot.ValidationCurveDisplay.from_estimator(
        model, X, y, param_name="max_depth", param_range=[1, 2, 20], cv=3, score_type="test",
        std_display_style="errorbar",
    )  # fmt: skip
    _, test = validation_curve(model, X, y, param_name="max_depth", param_range=[1, 2, 20], cv=3)
    heights = shown.errorbar_[0][0].get_ydata()
    np.testing.assert_allclose(heights, test.mean(1))
    assert shown.ax_.get_xscale() == "log"
    with pytest.raises(ValueError, match="score_type"):
        shown.plot(score_type="none")


def test_bias_variance_and_ranks():
    y = X[:, 0]
    found = [
        bias_variance(DecisionTreeRegressor(max_depth=d), X, y, n_resamples=5, random_state=0)
        for d in (1, 3)
    ]
    ax = plot.bias_variance_curve([1, 3], found, name="depth")
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert lines.keys() == {"expected error", "bias²", "variance"}
    np.testing.assert_allclose(lines["variance"], [f.variance for f in found])
    ranks = friedman_test(RNG.normal([0, 0, 3, 3], size=(20, 4)), names=list("abcd"))
    ax = plot.critical_difference(ranks)
    bars = [line for line in ax.lines if line.get_linewidth() == 4]
    assert len(bars) == len(ranks.alike()) == 2
    place = dict(zip(ranks.names, ranks.mean_ranks))
    ends = {tuple(bar.get_xdata()) for bar in bars}
    assert ends == {(place[a[0]], place[a[-1]]) for a in ranks.alike()}
    texts = {text.get_text().strip() for text in ax.texts}
    assert {"a", "b", "c", "d", f"CD = {ranks.critical_difference:.2f}"} <= texts
