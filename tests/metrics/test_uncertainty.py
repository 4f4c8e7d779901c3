"""Bootstrap, DeLong and Wilson beside scikit-learn's metrics in a loop, SciPy and definitions."""

import pickle
from types import SimpleNamespace

import naive_validation as naive
import numpy as np
import pytest
import scipy.stats
import sklearn.metrics as theirs

from fastml.metrics import bootstrap_metric, delong_interval, delong_test, wilson_interval

RNG = np.random.default_rng(0)
N = 80
Y = RNG.integers(2, size=N)
SCORE = np.round(Y + RNG.normal(size=N), 1)
LABEL = (SCORE > 0.5).astype(int)
THREE = RNG.integers(3, size=N)
GUESS = np.where(RNG.random(N) < 0.6, THREE, RNG.integers(3, size=N))
TARGET = RNG.normal(size=N) + 5.0
FIT = TARGET + RNG.normal(scale=0.5, size=N)
SHARE = 1.0 / (1.0 + np.exp(-SCORE))
SHARES = RNG.dirichlet(np.ones(3), size=N)


def of_three(metric, **options):
    return lambda y, f: metric(y, f, average="macro", zero_division=0.0, **options)


def of_shares(**options):
    return lambda y, f: theirs.roc_auc_score(y, f, **options)


NAMED = {
    "roc_auc_ovr": (of_shares(multi_class="ovr"), THREE, SHARES),
    "roc_auc_ovr_weighted": (of_shares(multi_class="ovr", average="weighted"), THREE, SHARES),
    "roc_auc_ovo": (of_shares(multi_class="ovo"), THREE, SHARES),
    "roc_auc_ovo_weighted": (of_shares(multi_class="ovo", average="weighted"), THREE, SHARES),
    "average_precision_score": (theirs.average_precision_score, THREE, SHARES),
    "roc_auc": (theirs.roc_auc_score, Y, SCORE),
    "average_precision": (theirs.average_precision_score, Y, SCORE),
    "accuracy": (theirs.accuracy_score, THREE, GUESS),
    "balanced_accuracy": (theirs.balanced_accuracy_score, THREE, GUESS),
    "f1": (theirs.f1_score, Y, LABEL),
    "precision": (theirs.precision_score, Y, LABEL),
    "recall": (theirs.recall_score, Y, LABEL),
    "jaccard": (theirs.jaccard_score, Y, LABEL),
    "f1_macro": (of_three(theirs.f1_score), THREE, GUESS),
    "f1_micro": (lambda y, f: theirs.f1_score(y, f, average="micro"), THREE, GUESS),
    "recall_weighted": (lambda y, f: theirs.recall_score(y, f, average="weighted"), THREE, GUESS),
    "matthews_corrcoef": (theirs.matthews_corrcoef, THREE, GUESS),
    "cohen_kappa": (theirs.cohen_kappa_score, THREE, GUESS),
    "log_loss": (theirs.log_loss, THREE, SHARES),
    "brier_score": (theirs.brier_score_loss, Y, SHARE),
    "brier_score_loss": (theirs.brier_score_loss, THREE, SHARES),
    "mean_squared_error": (theirs.mean_squared_error, TARGET, FIT),
    "root_mean_squared_error": (theirs.root_mean_squared_error, TARGET, FIT),
    "mean_absolute_error": (theirs.mean_absolute_error, TARGET, FIT),
    "mean_absolute_percentage_error": (
        theirs.mean_absolute_percentage_error, TARGET, FIT,
    ),
    "r2": (theirs.r2_score, TARGET, FIT),
    "explained_variance": (theirs.explained_variance_score, TARGET, FIT),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_a_name_is_the_function_in_a_loop(name):
    function, y, f = NAMED[name]
    found = bootstrap_metric(name, y, f, 40, random_state=1)

    def in_loop(a, b):
        return function(a, b)

    expected = bootstrap_metric(in_loop, y, f, 40, random_state=1)
    assert found.estimate == pytest.approx(function(y, f), rel=1e-12)
    np.testing.assert_allclose(found.distribution, expected.distribution, rtol=1e-11)
    for method in ("percentile", "basic", "bca"):  # bca: closed forms of leaving a row out
        assert found.interval(method) == pytest.approx(expected.interval(method), rel=1e-8)
    assert found.mean == pytest.approx(np.mean(expected.distribution))
    assert found.standard_deviation == pytest.approx(np.std(expected.distribution, ddof=1))
    assert (found.low, found.high) == found.interval("percentile", 0.95)


def test_scores_of_any_scale_and_ties():
    """sk#6688: scores times 1e-7; MLJBase#319: many ties; sk#8245: scores that are all equal."""
    few = np.round(SCORE)
    for name in ("roc_auc", "average_precision"):
        plain = bootstrap_metric(name, Y, few, 30, random_state=0)
        tiny = bootstrap_metric(name, Y, few * 1e-7, 30, random_state=0)
        np.testing.assert_array_equal(plain.distribution, tiny.distribution)
    same = bootstrap_metric("roc_auc", Y, np.ones(N), 30, random_state=0)
    np.testing.assert_array_equal(same.distribution, 0.5)
    share = bootstrap_metric("average_precision", Y, np.ones(N), 30, random_state=0)
    assert share.estimate == Y.mean()
    sure = bootstrap_metric("log_loss", Y, Y.astype(np.float32), 30, random_state=0)  # sk#24315
    assert 0.0 <= sure.estimate < 1e-6


def test_functions_of_scikit_learn_take_the_kernels_and_losses_may_be_negated():
    by_name = bootstrap_metric("roc_auc", Y, SCORE, 30, random_state=0)
    by_function = bootstrap_metric(theirs.roc_auc_score, Y, SCORE, 30, random_state=0)
    np.testing.assert_array_equal(by_name.distribution, by_function.distribution)
    plus = bootstrap_metric("mse", TARGET, FIT, 30, random_state=0)
    minus = bootstrap_metric("neg_mean_squared_error", TARGET, FIT, 30, random_state=0)
    np.testing.assert_array_equal(plus.distribution, -minus.distribution)
    assert minus.estimate == -plus.estimate


@pytest.mark.parametrize("name", ["roc_auc", "average_precision", "f1", "r2", "accuracy"])
def test_weights(name):
    function, y, f = NAMED[name]
    weights = RNG.random(N)
    found = bootstrap_metric(name, y, f, 20, sample_weight=weights, random_state=1)

    def in_loop(a, b, sample_weight):
        return function(a, b, sample_weight=sample_weight)

    expected = bootstrap_metric(in_loop, y, f, 20, sample_weight=weights, random_state=1)
    np.testing.assert_allclose(found.distribution, expected.distribution, rtol=1e-11)
    assert found.interval("bca") == pytest.approx(expected.interval("bca"), rel=1e-8)


def test_areas_of_several_classes():
    """Means over classes by name; a class that no row of a resample has is told of."""
    by_name = bootstrap_metric("roc_auc", THREE, SHARES, 20, random_state=0)
    against_rest = bootstrap_metric("roc_auc_ovr", THREE, SHARES, 20, random_state=0)
    np.testing.assert_array_equal(by_name.distribution, against_rest.distribution)
    weights = RNG.random(N)
    found = bootstrap_metric(
        "roc_auc_ovr_weighted", THREE, SHARES, 20, sample_weight=weights, random_state=1
    )

    def in_loop(a, b, sample_weight):
        told = {"multi_class": "ovr", "average": "weighted", "sample_weight": sample_weight}
        return theirs.roc_auc_score(a, b, **told)

    expected = bootstrap_metric(in_loop, THREE, SHARES, 20, sample_weight=weights, random_state=1)
    np.testing.assert_allclose(found.distribution, expected.distribution, rtol=1e-11)
    rare = np.where(np.arange(N) == 0, 2, Y)
    with pytest.warns(UserWarning, match="a class is missing"):
        found = bootstrap_metric("roc_auc_ovo", rare, SHARES, 40, random_state=0)
    assert 0 < found.n_undefined < 40
    assert np.isfinite(found.distribution).all()


@pytest.mark.parametrize(
    "name", ["roc_auc", "average_precision", "f1_macro", "mae", "roc_auc_ovo_weighted"]
)
def test_groups_are_drawn_whole(name):
    _, y, f = NAMED[{"mae": "mean_absolute_error"}.get(name, name)]
    groups = np.arange(N) // 4
    found = bootstrap_metric(name, y, f, 25, groups=groups, random_state=2)
    function = NAMED[{"mae": "mean_absolute_error"}.get(name, name)][0]
    seen = []

    def in_loop(a, b):
        seen.append(len(a))
        return function(a, b)

    expected = bootstrap_metric(in_loop, y, f, 25, groups=groups, random_state=2)
    np.testing.assert_allclose(found.distribution, expected.distribution, rtol=1e-11)
    assert found.interval("bca") == pytest.approx(expected.interval("bca"), rel=1e-8)
    assert set(seen[1:26]) == {N}, "twenty groups of four"


def test_strata_keep_their_sizes():
    y = np.array([1] * 2 + [0] * 60)
    scores = np.arange(62.0)
    kept = []
    bootstrap_metric(lambda a, b: kept.append(a.sum()) or 0.0, y, scores, 30, stratify=True,
                     random_state=0)  # fmt: skip
    assert set(kept) == {2}
    with pytest.warns(UserWarning, match="no value for"):
        found = bootstrap_metric("roc_auc", y, scores, 200, random_state=0)
    assert 0 < found.n_undefined == 200 - len(found.distribution)
    assert bootstrap_metric("roc_auc", y, scores, 200, stratify=True).n_undefined == 0
    with pytest.raises(ValueError, match="more than one stratum"):
        bootstrap_metric("roc_auc", y, scores, groups=np.arange(62) // 31, stratify=True)


@pytest.mark.parametrize("method", ["percentile", "basic", "BCa"])
def test_intervals_are_scipys_for_the_same_resamples(method):
    values = RNG.exponential(size=40)
    found = bootstrap_metric("mae", np.zeros(40), values, 999, random_state=0)
    expected = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=0, method=method, confidence_level=0.9,
        bootstrap_result=SimpleNamespace(bootstrap_distribution=found.distribution),
    )  # fmt: skip
    interval = expected.confidence_interval
    assert found.interval(method.lower(), 0.9) == pytest.approx((interval.low, interval.high))
    assert found.standard_deviation == pytest.approx(expected.standard_error)


def test_two_models_share_their_resamples():
    rival = SCORE + RNG.normal(scale=2.0, size=N)
    both = bootstrap_metric("roc_auc", Y, SCORE, 300, other=rival, random_state=4)
    alone = bootstrap_metric("roc_auc", Y, rival, 300, random_state=4)
    np.testing.assert_array_equal(both.second.distribution, alone.distribution)
    np.testing.assert_allclose(
        both.difference.distribution, both.first.distribution - both.second.distribution
    )
    same = bootstrap_metric("roc_auc", Y, SCORE, 100, other=SCORE, random_state=4)
    assert same.p_value == 1.0
    assert "do not differ" in same.meaning
    assert np.isfinite(both.difference.interval("bca")).all()


def test_one_sided_p_says_what_it_is_of():
    """pROC#64: the p of "greater" must be small where the first is greater, not near 1."""
    good, bad = Y + 0.1 * SCORE, RNG.normal(size=N)
    p = {
        side: bootstrap_metric("roc_auc", Y, good, 400, other=bad, alternative=side,
                               random_state=0).p_value
        for side in ("two-sided", "greater", "less")
    }  # fmt: skip
    assert p["greater"] < 0.01 < 0.9 < p["less"]
    assert p["two-sided"] == pytest.approx(2 * p["greater"])


def test_the_result_does_not_depend_on_threads_and_pickles():
    one = bootstrap_metric("roc_auc", Y, SCORE, 3000, random_state=0, n_jobs=1)
    two = bootstrap_metric("roc_auc", Y, SCORE, 3000, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(one.distribution, two.distribution)
    for name in ("roc_auc", "f1", "accuracy"):
        found = bootstrap_metric(name, Y, LABEL, 50, random_state=0)
        back = pickle.loads(pickle.dumps(found))
        assert back.interval("bca") == found.interval("bca")


def test_coverage_of_a_share():
    """Nine in ten of 90 % intervals of an accuracy hold the true one."""
    inside = 0
    for seed in range(120):
        right = np.random.default_rng(seed).random(150) < 0.8
        found = bootstrap_metric(
            "accuracy", np.ones(150), right.astype(float), 300, confidence_level=0.9,
            random_state=seed,
        )  # fmt: skip
        inside += found.low <= 0.8 <= found.high
    assert 96 <= inside <= 117


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing", Y, SCORE), "unknown metric"),
        (("roc_auc", Y, SCORE[1:]), "inconsistent numbers"),
        (("roc_auc", THREE, SCORE), "two classes"),
        (("f1", THREE, GUESS), "choose an average"),
        (("roc_auc", Y, np.where(SCORE > 1, np.nan, SCORE)), "finite"),
        (("log_loss", THREE, SHARES[:, :2]), "probability for each"),
        (("log_loss", Y, SCORE), "from 0 to 1"),
        (("mse", [], []), "no rows"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_metric(*arguments)


# ---------------------------------------------------------------------------- DeLong


def test_delong_by_definition():
    rival = np.round(SCORE + RNG.normal(size=N), 1)
    covariance = naive.delong_covariance(Y, np.stack([SCORE, rival]))
    found = delong_test(Y, SCORE, rival)
    areas = [theirs.roc_auc_score(Y, s) for s in (SCORE, rival)]
    assert (found.first.estimate, found.second.estimate) == pytest.approx(areas, rel=1e-12)
    errors = np.sqrt(np.diag(covariance))
    assert found.first.standard_error == pytest.approx(errors[0], rel=1e-10)
    gap = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    assert found.standard_error == pytest.approx(gap, rel=1e-10)
    z = (areas[0] - areas[1]) / gap
    assert found.p_value == pytest.approx(2 * scipy.stats.norm.sf(abs(z)), rel=1e-9)
    greater = delong_test(Y, SCORE, rival, alternative="greater").p_value
    less = delong_test(Y, SCORE, rival, alternative="less").p_value
    assert greater + less == pytest.approx(1.0)
    assert greater == pytest.approx(scipy.stats.norm.sf(z), rel=1e-9)


def test_delong_is_near_the_bootstrap_and_takes_labels_of_any_kind():
    found = delong_interval(Y, SCORE)
    by_bootstrap = bootstrap_metric("roc_auc", Y, SCORE, 2000, stratify=True, random_state=0)
    assert found.standard_error == pytest.approx(by_bootstrap.standard_deviation, rel=0.1)
    named = np.array(["no", "yes"])[Y]
    assert delong_interval(named, SCORE) == found
    flipped = delong_interval(named, -SCORE, pos_label="no")
    assert flipped.estimate == pytest.approx(found.estimate)
    perfect = delong_interval([0, 0, 1, 1], [1, 2, 3, 4])
    assert (perfect.estimate, perfect.low, perfect.high) == (1.0, 1.0, 1.0)
    bent = delong_interval(Y, SCORE, method="logit")
    assert 0 < bent.low < found.estimate < bent.high < 1
    assert delong_test(Y, SCORE, SCORE).p_value == 1.0
    with pytest.raises(ValueError, match="two classes"):
        delong_interval(np.ones(3), [1, 2, 3])


# ---------------------------------------------------------------------------- Wilson


@pytest.mark.parametrize("correction", [False, True])
@pytest.mark.parametrize(("k", "n"), [(0, 10), (10, 10), (3, 10), (450, 1000), (1, 1)])
def test_wilson_is_scipys(k, n, correction):
    method = "wilsoncc" if correction else "wilson"
    expected = scipy.stats.binomtest(k, n).proportion_ci(0.9, method=method)
    found = wilson_interval(k, n, confidence_level=0.9, correction=correction)
    assert found == pytest.approx((expected.low, expected.high), rel=1e-12, abs=1e-15)


def wilson_by_roots(k, n, level):
    """Shares p with (k / n - p)² = z² p (1 - p) / n."""
    z = scipy.stats.norm.isf((1 - level) / 2)
    roots = np.roots([1 + z * z / n, -(2 * k + z * z) / n, (k / n) ** 2])
    return tuple(sorted(roots))


def test_wilson_solves_its_equation_and_takes_arrays():
    low, high = wilson_interval([3, 7], [10, 20])
    for i, (k, n) in enumerate([(3, 10), (7, 20)]):
        assert (low[i], high[i]) == pytest.approx(wilson_by_roots(k, n, 0.95))
    assert np.isnan(wilson_interval(0, 0)).all()
    with pytest.raises(ValueError, match="between"):
        wilson_interval(5, 3)
