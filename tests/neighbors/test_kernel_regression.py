"""KernelRegressor and KernelClassifier."""

import naive
import numpy as np
import pytest

from fastml._engines.smoothing.names import SMOOTHING_KERNELS
from fastml.neighbors import KernelClassifier, KernelDensity, KernelRegressor

KERNELS = pytest.mark.parametrize("kernel", SMOOTHING_KERNELS)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# ---------------------------------------------------------------------------- regression


@KERNELS
@pytest.mark.parametrize("d", [1, 3])
def test_nadaraya_watson_is_its_formula(kernel, d, rng):
    X, y, w = rng.uniform(size=(400, d)), rng.normal(size=(400, 2)) + 5.0, rng.random(400)
    Q = rng.uniform(size=(50, d))
    found = KernelRegressor(0.5, kernel=kernel).fit(X, y, sample_weight=w).predict(Q)
    distance = np.sqrt(((Q[:, None] - X[None]) ** 2).sum(-1))
    K = w * naive.smoothing_kernel(kernel, distance / 0.5)
    np.testing.assert_allclose(found, (K @ y) / K.sum(axis=1, keepdims=True), rtol=1e-8)


@pytest.mark.parametrize("bandwidth", [[0.5, 2.0], [[0.5, 0.2], [0.2, 0.4]]])
def test_bandwidth_per_feature_and_covariance(bandwidth, rng):
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    H = np.diag(np.square(bandwidth)) if np.ndim(bandwidth) == 1 else np.array(bandwidth)
    delta = X[:20, None] - X[None]
    K = np.exp(-0.5 * np.einsum("qni,ij,qnj->qn", delta, np.linalg.inv(H), delta))
    found = KernelRegressor(bandwidth).fit(X, y).predict(X[:20])
    np.testing.assert_allclose(found, K @ y / K.sum(axis=1), rtol=1e-8)


def test_local_linear_has_no_bias_on_a_plane(rng):
    X = rng.uniform(size=(300, 2))
    y = X @ [2.0, -3.0] + 1.0
    Q = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]])
    for kernel in SMOOTHING_KERNELS:
        found = KernelRegressor(0.5, kernel=kernel, local="linear").fit(X, y).predict(Q)
        np.testing.assert_allclose(found, [1.0, 0.0, 0.5], atol=1e-6)
    constant = KernelRegressor(0.5).fit(X, y).predict(Q)
    assert np.abs(constant - [1.0, 0.0, 0.5]).max() > 0.1


def test_leave_one_out_bandwidth_has_the_least_error(rng):
    x = rng.uniform(-3, 3, size=(200, 1))
    y = np.sin(2 * x[:, 0]) + 0.3 * rng.normal(size=200)
    for local in ("constant", "linear"):
        chosen = KernelRegressor("loo", local=local).fit(x, y).bandwidth_

        def error(h, local=local):
            rest = [np.arange(200) != i for i in range(200)]
            return sum(
                (KernelRegressor(h, local=local).fit(x[r], y[r]).predict(x[~r])[0] - y[~r][0]) ** 2
                for r in rest
            )

        best = error(chosen)
        assert best <= error(1.5 * chosen)
        assert best <= error(chosen / 1.5)


def test_out_of_reach():
    X, y, w = [[0.0], [1.0]], [1.0, 4.0], [2.0, 1.0]
    far = [[100.0]]
    for local in ("constant", "linear"):
        model = KernelRegressor(0.5, kernel="tophat", local=local).fit(X, y, sample_weight=w)
        assert model.predict(far)[0] == pytest.approx(2.0)
        model.set_params(out_of_reach="nan")
        assert np.isnan(model.predict(far)[0])
        assert model.predict([[0.1]])[0] == pytest.approx(1.0)
    for kernel in ("gaussian", "exponential"):
        found = KernelRegressor(0.01, kernel=kernel).fit(X, y).predict([[100.0], [-1e6]])
        np.testing.assert_allclose(found, [4.0, 1.0])


def test_weights_are_repetitions_in_regression(rng):
    X, y, w = rng.normal(size=(50, 2)), rng.normal(size=50), rng.integers(0, 3, size=50)
    for local in ("constant", "linear"):
        a = KernelRegressor(local=local).fit(X, y, sample_weight=w)
        b = KernelRegressor(local=local).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-7)


@pytest.mark.parametrize("local", ["constant", "linear"])
def test_same_bits_for_any_number_of_threads(local, rng):
    X, y = rng.normal(size=(2_000, 2)), rng.normal(size=2_000)
    one, two = (KernelRegressor(0.3, local=local, n_jobs=n).fit(X, y).predict(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_bad_regression_input(rng):
    X, y = rng.normal(size=(10, 2)), rng.normal(size=10)
    with pytest.raises(ValueError, match="'local' parameter"):
        KernelRegressor(local="quadratic").fit(X, y)
    with pytest.raises(ValueError, match="bandwidth"):
        KernelRegressor(-1.0).fit(X, y)
    with pytest.raises(ValueError, match="zero"):
        KernelRegressor().fit(X, y, sample_weight=np.zeros(10))
    with pytest.raises(ValueError, match="at least 2 samples"):
        KernelRegressor("loo").fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="NaN"):
        KernelRegressor().fit(X, np.where(y > 0, y, np.nan))


# ---------------------------------------------------------------------------- classification


@KERNELS
def test_classifier_is_bayes_rule(kernel, rng):
    X, w = rng.normal(size=(300, 2)), rng.random(300) + 0.1
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = KernelClassifier(0.8, kernel=kernel).fit(X, y, sample_weight=w)
    joint = np.empty((300, 3))
    for c, name in enumerate("abc"):
        density = KernelDensity(kernel=kernel, bandwidth=0.8).fit(X[y == name], None, w[y == name])
        joint[:, c] = np.exp(density.score_samples(X)) * w[y == name].sum() / w.sum()
    np.testing.assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(model.predict(X), np.array(list("abc"))[joint.argmax(axis=1)])
    assert model.score(X, y) > 0.9


def test_far_away_the_nearest_class_wins():
    model = KernelClassifier(0.1).fit([[0.0], [1.0], [5.0]], [0, 0, 1])
    assert model.predict([[1e5]])[0] == 1
    log_proba = model.predict_log_proba([[-1e3]])
    assert np.all(np.isfinite(log_proba))
    assert log_proba[0, 1] < -1e5


def test_out_of_reach_gives_priors():
    model = KernelClassifier(0.1, kernel="tophat", priors=[0.3, 0.7]).fit([[0.0], [1.0]], [0, 1])
    np.testing.assert_allclose(model.predict_proba([[50.0], [0.0]]), [[0.3, 0.7], [1.0, 0.0]])


def test_class_without_weight_is_never_predicted():
    model = KernelClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 1], sample_weight=[0, 1, 1])
    np.testing.assert_array_equal(model.predict_proba([[0.0]]), [[0.0, 1.0]])


def test_bad_priors():
    for priors, message in (([0.5], "one entry per class"), ([0.9, 0.3], "sum up to 1")):
        with pytest.raises(ValueError, match=message):
            KernelClassifier(priors=priors).fit([[0.0], [1.0]], [0, 1])
