"""KernelDensity: the mathematics, agreement with exact sums and scikit-learn, bad input."""

import pickle

import naive
import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import gammaln

from fastml._engines.smoothing.names import SMOOTHING_KERNELS
from fastml._engines.smoothing.smoother import log_kernel_integral
from fastml.neighbors import KernelDensity

KERNELS = pytest.mark.parametrize("kernel", SMOOTHING_KERNELS)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# ---------------------------------------------------------------------------- mathematics


@KERNELS
@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_normalising_constant(kernel, d):
    """The surface of the sphere times the integral over the radius."""
    surface = 2.0 * np.pi ** (d / 2) / np.exp(gammaln(d / 2))
    end = 60.0 if kernel in ("gaussian", "exponential") else 1.0
    radius = np.linspace(0.0, end, 200_001)
    radial = integrate.simpson(naive.smoothing_kernel(kernel, radius) * radius ** (d - 1), x=radius)
    np.testing.assert_allclose(np.exp(log_kernel_integral(kernel, d)), surface * radial, rtol=2e-4)


@KERNELS
@pytest.mark.parametrize("bandwidth", [0.4, "per feature", "matrix"])
@pytest.mark.parametrize("d", [1, 2])
def test_density_integrates_to_one(kernel, d, bandwidth, rng):
    X, w = rng.normal(size=(30, d)), rng.random(30)
    if bandwidth == "per feature":
        bandwidth = np.array([0.4, 0.7])[:d]
    elif bandwidth == "matrix":
        bandwidth = np.array([[0.3, 0.1], [0.1, 0.2]])[:d, :d]
    model = KernelDensity(kernel=kernel, bandwidth=bandwidth).fit(X, sample_weight=w)
    reach = 12.0 if kernel == "exponential" else 6.0
    axis = np.linspace(-reach, reach, 40_001 if d == 1 else 501)
    grid = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
    mass = np.exp(model.score_samples(grid)).sum() * (axis[1] - axis[0]) ** d
    assert mass == pytest.approx(1.0, abs=3e-3)


@KERNELS
def test_agrees_with_the_exact_sum(kernel, rng):
    X, Q = rng.normal(size=(2_000, 3)), rng.normal(size=(300, 3)) * 2
    found = KernelDensity(kernel=kernel, bandwidth=0.5).fit(X).score_samples(Q)
    constant = log_kernel_integral(kernel, 3) + 3 * np.log(0.5) + np.log(2_000)
    exact = naive.log_kernel_sums(kernel, X, Q, bandwidth=0.5) - constant
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(exact))
    np.testing.assert_allclose(found[np.isfinite(exact)], exact[np.isfinite(exact)], atol=1e-8)


def test_full_covariance_is_scipys(rng):
    X = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 3))
    theirs = stats.gaussian_kde(X.T, bw_method=0.3)
    ours = KernelDensity(bandwidth=theirs.covariance).fit(X)
    np.testing.assert_allclose(ours.score_samples(X), theirs.logpdf(X.T), atol=1e-8)


def test_per_feature_bandwidth_is_a_diagonal_covariance(rng):
    X = rng.normal(size=(100, 2))
    a = KernelDensity(bandwidth=[0.5, 2.0]).fit(X).score_samples(X)
    b = KernelDensity(bandwidth=np.diag([0.25, 4.0])).fit(X).score_samples(X)
    np.testing.assert_allclose(a, b, atol=1e-10)


@KERNELS
def test_weights_are_repetitions(kernel, rng):
    X, w = rng.normal(size=(60, 2)), rng.integers(0, 4, size=60)
    weighted = KernelDensity(kernel=kernel).fit(X, sample_weight=w)
    repeated = KernelDensity(kernel=kernel).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.score_samples(X), repeated.score_samples(X), atol=1e-9)


@pytest.mark.parametrize("kernel, log_of", [("gaussian", -0.5e8), ("exponential", -1e4)])
def test_far_away_does_not_underflow(kernel, log_of):
    for d in (1, 3):
        X = np.zeros((200, d))
        Q = np.zeros((2, d))
        Q[0, 0] = 1e4
        far, near = KernelDensity(kernel=kernel).fit(X).score_samples(Q)
        assert far - near == pytest.approx(log_of)


@KERNELS
@pytest.mark.parametrize("d", [1, 2])
def test_leave_one_out_is_n_fits(kernel, d, rng):
    X, w = rng.normal(size=(40, d)), rng.random(40) + 0.1
    found = KernelDensity(kernel=kernel, bandwidth=0.6).fit(X, sample_weight=w).leave_one_out()
    for i in range(40):
        rest = np.arange(40) != i
        model = KernelDensity(kernel=kernel, bandwidth=0.6).fit(X[rest], sample_weight=w[rest])
        np.testing.assert_allclose(found[i], model.score_samples(X[i : i + 1])[0], atol=1e-8)


# ---------------------------------------------------------------------------- grids


@pytest.mark.parametrize("kernel", sorted(set(SMOOTHING_KERNELS) - {"tophat"}))
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("limits", [None, [-0.5, 0.75]])
def test_grid_is_within_its_error(kernel, d, limits, rng):
    X, w = rng.normal(size=(400, d)), rng.random(400)
    model = KernelDensity(kernel=kernel, bandwidth=0.5).fit(X, sample_weight=w)
    grid = model.score_grid(60, None if limits is None else [limits] * d)
    nodes = np.stack(np.meshgrid(*grid.axes, indexing="ij"), axis=-1).reshape(-1, d)
    exact = np.exp(model.score_samples(nodes)).reshape(grid.density.shape)
    assert grid.density.shape == (60,) * d
    worst = np.abs(grid.density - exact).max()
    assert worst <= grid.error
    assert worst < 0.05 * exact.max()


def test_gaussian_grid_error_shrinks_with_the_square_of_the_step(rng):
    model = KernelDensity(bandwidth=[0.5, 1.0]).fit(rng.normal(size=(300, 2)))
    coarse, fine = (model.score_grid(n, [[-3, 3], [-3, 3]]) for n in (31, 301))
    assert coarse.error / fine.error == pytest.approx(100.0, rel=1e-3)
    nodes = np.stack(np.meshgrid(*fine.axes, indexing="ij"), axis=-1).reshape(-1, 2)
    exact = np.exp(model.score_samples(nodes)).reshape(fine.density.shape)
    assert np.abs(fine.density - exact).max() <= fine.error < 2e-4


def test_grid_with_covariance(rng):
    model = KernelDensity(bandwidth=[[0.5, 0.3], [0.3, 0.4]]).fit(rng.normal(size=(100, 2)))
    grid = model.score_grid((80, 90))
    nodes = np.stack(np.meshgrid(*grid.axes, indexing="ij"), axis=-1).reshape(-1, 2)
    exact = np.exp(model.score_samples(nodes)).reshape(80, 90)
    assert np.abs(grid.density - exact).max() <= grid.error


def test_what_grids_cannot_do(rng):
    X = rng.normal(size=(20, 3))
    with pytest.raises(ValueError, match="one or two features, got 3"):
        KernelDensity().fit(X).score_grid()
    with pytest.raises(ValueError, match="continuous kernel"):
        KernelDensity(kernel="tophat").fit(X[:, :1]).score_grid()
    with pytest.raises(ValueError, match="n_points must be at least 2"):
        KernelDensity().fit(X[:, :1]).score_grid(1)
    with pytest.raises(ValueError, match="low < high"):
        KernelDensity().fit(X[:, :1]).score_grid(10, [[1.0, 0.0]])
    with pytest.raises(ValueError, match="euclidean"):
        KernelDensity(metric="manhattan").fit(X[:, :1]).score_grid()


# ---------------------------------------------------------------------------- the estimator


def test_engine_is_reported(rng):
    x = rng.normal(size=(5_000, 1))
    assert KernelDensity(bandwidth=0.2).fit(x).engine_ == "expansion"
    assert KernelDensity(bandwidth=0.2, kernel="cosine").fit(x).engine_ == "tiles"
    assert KernelDensity(bandwidth=0.2).fit(np.hstack([x, x])).engine_ == "tiles"
    assert KernelDensity(bandwidth=0.2, metric="manhattan").fit(x[:9]).engine_ == "pairs"


@pytest.mark.parametrize("bandwidth", ["isj", "loo", "lscv"])
def test_selected_bandwidth(bandwidth, rng):
    x = rng.normal(size=(300, 1)) * 7.0
    model = KernelDensity(bandwidth=bandwidth).fit(x)
    assert 0.5 < model.bandwidth_ < 5.0
    assert model.score(x) > KernelDensity(bandwidth=50.0).fit(x).score(x)


def test_selected_bandwidth_with_other_kernels_and_features(rng):
    X = rng.normal(size=(200, 2))
    model = KernelDensity(bandwidth="loo", kernel="epanechnikov").fit(X)
    assert np.all(np.isfinite(model.leave_one_out()))
    with pytest.raises(ValueError, match="one feature, got 2"):
        KernelDensity(bandwidth="isj").fit(X)
    assert 0.3 < KernelDensity(bandwidth="lscv", kernel="cosine").fit(X).bandwidth_ < 3.0
    with pytest.raises(ValueError, match="euclidean"):
        KernelDensity(bandwidth="loo", metric="manhattan").fit(X)


@pytest.mark.parametrize("bandwidth", ["scott", "silverman"])
def test_rule_of_thumb_refuses_a_constant_feature(bandwidth, rng):
    X = rng.normal(size=(20, 3))
    X[1:, 2] = 7.0
    assert KernelDensity(bandwidth=bandwidth).fit(X).bandwidth_ > 0.0
    with pytest.raises(ValueError, match="feature 2 is constant"):
        KernelDensity(bandwidth=bandwidth).fit(X, sample_weight=np.arange(20))


def test_samples_follow_the_density(rng):
    X, w = np.array([[0.0, 0.0], [10.0, 10.0]]), [3.0, 1.0]
    H = np.array([[1.0, 0.8], [0.8, 1.0]])
    drawn = KernelDensity(bandwidth=H).fit(X, sample_weight=w).sample(20_000, random_state=0)
    low = drawn[:, 0] < 5.0
    assert low.mean() == pytest.approx(0.75, abs=0.02)
    np.testing.assert_allclose(np.cov(drawn[low].T), H, atol=0.05)
    round_ = KernelDensity(kernel="tophat", bandwidth=[2.0, 1.0]).fit(X[:1]).sample(5_000, 0)
    radius2 = (round_ / [2.0, 1.0]) ** 2 @ np.ones(2)
    assert radius2.max() <= 1.0
    assert np.mean(radius2 < 0.5) == pytest.approx(0.5, abs=0.03)


def test_pickle_holds_arrays_only(rng):
    X = rng.normal(size=(100, 2))
    model = KernelDensity().fit(X)
    data = pickle.dumps(model)
    assert b"numba" not in data
    np.testing.assert_array_equal(pickle.loads(data).score_samples(X), model.score_samples(X))


@pytest.mark.parametrize("parameters", [{}, {"kernel": "linear"}, {"metric": "manhattan"}])
@pytest.mark.parametrize("d", [1, 2])
def test_same_bits_for_any_number_of_threads(parameters, d, rng):
    X = rng.normal(size=(3_000, d))
    one, two = (
        KernelDensity(bandwidth=0.3, n_jobs=n, **parameters).fit(X).score_samples(X) for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_lattice_ties_are_decided_as_written():
    """|x - y| < h, not <=, also where h is no binary fraction."""
    X = np.arange(7)[:, None] * 0.1
    for h in (0.1, 0.2, 0.30000000000000004):
        found = KernelDensity(kernel="tophat", bandwidth=h).fit(X).score_samples(X)
        counts = (np.abs(X - X.T) < h).sum(axis=1)
        np.testing.assert_allclose(found, np.log(counts / (7 * 2 * h)))


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "bandwidth, message",
    [
        (0.0, "bandwidth"),
        (-1.0, "bandwidth"),
        (np.nan, "bandwidth"),
        ("best", "bandwidth"),
        ([1.0, 0.0], "every bandwidth must be positive, got 0.0"),
        ([1.0, np.inf], "finite"),
        ([1.0, 2.0, 3.0], r"got shape \(3,\)"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive definite"),
        ([[1.0, 0.5], [0.0, 1.0]], "symmetric"),
    ],
)
def test_bad_bandwidth(bandwidth, message, rng):
    with pytest.raises(ValueError, match=message):
        KernelDensity(bandwidth=bandwidth).fit(rng.normal(size=(10, 2)))


def test_bad_input(rng):
    X = rng.normal(size=(10, 2))
    with pytest.raises(ValueError, match="'epanechnikov'"):
        KernelDensity(kernel="box").fit(X)
    with pytest.raises(ValueError, match="NaN"):
        KernelDensity().fit(np.where(X > 0, X, np.nan))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        KernelDensity().fit(X, sample_weight=-np.ones(10))
    with pytest.raises(ValueError, match="zero"):
        KernelDensity().fit(X, sample_weight=np.zeros(10))
    with pytest.raises(ValueError, match="per feature"):
        KernelDensity(bandwidth=[1.0, 1.0], metric="manhattan").fit(X)
    with pytest.raises(ValueError, match="features"):
        KernelDensity().fit(X).score_samples(X[:, :1])
    with pytest.raises(ValueError, match="zero variance"):
        KernelDensity(bandwidth="loo").fit(np.ones((10, 2)))
