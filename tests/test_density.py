"""fastml.density: histograms and bandwidths."""

import numpy as np
import pytest
from scipy import integrate, stats

from fastml import density
from fastml._engines.smoothing.names import SMOOTHING_KERNELS
from fastml._engines.smoothing.self_convolution import SquaredDensity
from fastml.neighbors import KernelDensity


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_rules_are_scipys_factors_times_the_spread(rng):
    X = rng.normal(size=(200, 3)) * [1.0, 5.0, 0.1]
    w = rng.random(200)
    theirs = stats.gaussian_kde(X.T, weights=w)
    # SciPy's weighted covariance differs from ours by no more than 1 / n.
    spread = np.sqrt(np.diag(np.cov(X.T, aweights=w)))
    found = density.bandwidth_scott(X, sample_weight=w)
    np.testing.assert_allclose(found, theirs.scotts_factor() * spread, rtol=1e-10)
    found = density.bandwidth_silverman(X, sample_weight=w)
    np.testing.assert_allclose(found, theirs.silverman_factor() * spread, rtol=1e-10)
    assert isinstance(density.bandwidth_scott(X[:, 0]), float)


@pytest.mark.parametrize("rule", [density.bandwidth_scott, density.bandwidth_silverman])
def test_constant_feature(rule, rng):
    X = rng.normal(size=(20, 3))
    X[:, 1] = 0.1
    with pytest.raises(ValueError, match="feature 1 is constant"):
        rule(X)


def test_isj_near_the_best_bandwidth(rng):
    """Gaussian data: 1.06 sigma n^(-1/5); two distant peaks: that of one peak."""
    x = rng.normal(size=20_000)
    best = 1.06 * 20_000**-0.2
    assert density.bandwidth_isj(x) == pytest.approx(best, rel=0.15)
    assert density.bandwidth_isj(np.concatenate([x, x + 50])) == pytest.approx(best, rel=0.25)
    assert density.bandwidth_isj(1e6 + 1e-3 * x) == pytest.approx(1e-3 * best, rel=0.15)


def test_isj_refuses(rng):
    with pytest.raises(ValueError, match="constant"):
        density.bandwidth_isj(np.ones(10))
    with pytest.raises(ValueError, match="one feature"):
        density.bandwidth_isj(rng.normal(size=(10, 2)))


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "exponential"])
def test_loo_maximises_the_leave_one_out_likelihood(kernel, d, rng):
    X, w = rng.normal(size=(150, d)), rng.random(150) + 0.5
    chosen = density.bandwidth_loo(X, kernel=kernel, sample_weight=w)

    def likelihood(h):
        model = KernelDensity(kernel=kernel, bandwidth=h).fit(X, sample_weight=w)
        return w @ model.leave_one_out()

    others = [likelihood(h) for h in chosen * np.geomspace(0.5, 2.0, 15)]
    assert likelihood(chosen) >= max(others) - 1e-2 * abs(max(others))
    candidates = [0.2, 0.5, 1.0]
    assert density.bandwidth_loo(X, candidates, kernel=kernel, sample_weight=w) == max(
        candidates, key=likelihood
    )


def test_lscv_is_the_integrated_squared_error(rng):
    """The score of two bandwidths differs as the integral of f^2 - 2 f_{-i} says."""
    x = rng.normal(size=80)
    grid = np.linspace(-8.0, 8.0, 4_001)

    def score(h):
        model = KernelDensity(bandwidth=h).fit(x[:, None])
        square = np.exp(2.0 * model.score_samples(grid[:, None]))
        return integrate.simpson(square, x=grid) - 2.0 * np.mean(np.exp(model.leave_one_out()))

    candidates = [0.05, 0.2, 0.3, 0.5, 1.0]
    assert density.bandwidth_lscv(x, candidates) == min(candidates, key=score)
    chosen = density.bandwidth_lscv(x)
    assert score(chosen) <= min(score(h) for h in candidates) + 1e-9


@pytest.mark.parametrize("kernel", sorted(set(SMOOTHING_KERNELS) - {"gaussian"}))
@pytest.mark.parametrize("d", [1, 2])
def test_square_of_the_density_integrates(kernel, d, rng):
    X, w = rng.normal(size=(60, d)), rng.random(60)
    h = 0.9
    nodes = np.linspace(-9.0, 9.0, {1: 100_001, 2: 701}[d])
    if kernel == "exponential":
        nodes = 4.0 * nodes
    grid = np.stack(np.meshgrid(*[nodes] * d, indexing="ij"), axis=-1).reshape(-1, d)
    model = KernelDensity(kernel=kernel, bandwidth=h).fit(X, sample_weight=w)
    square = np.exp(2.0 * model.score_samples(grid)).sum() * (nodes[1] - nodes[0]) ** d
    found = SquaredDensity(X, w, kernel, None)(h)
    assert found == pytest.approx(square, rel=1e-5 if d == 1 else 3e-3)


@pytest.mark.parametrize("kernel", ["epanechnikov", "exponential", "tophat"])
def test_lscv_of_other_kernels_finds_the_error(kernel, rng):
    """Against the true error: the chosen bandwidth does about as well as the best one."""
    x = rng.normal(size=400)
    grid = np.linspace(-12.0, 12.0, 4_001)
    truth = stats.norm.pdf(grid)

    def error(h):
        model = KernelDensity(kernel=kernel, bandwidth=h).fit(x[:, None])
        return integrate.simpson((np.exp(model.score_samples(grid[:, None])) - truth) ** 2, x=grid)

    chosen = density.bandwidth_lscv(x, kernel=kernel)
    assert error(chosen) < 2.0 * min(error(h) for h in np.geomspace(0.05, 3.0, 25))


@pytest.mark.parametrize("select", [density.bandwidth_loo, density.bandwidth_lscv])
def test_selectors_refuse(select, rng):
    x = rng.normal(size=20)
    for candidates, message in (([0.0, 1.0], "positive"), ([], "list of numbers")):
        with pytest.raises(ValueError, match=message):
            select(x, candidates)
    with pytest.raises(ValueError, match="at least 2 rows"):
        select(x, sample_weight=np.eye(20)[0])
    with pytest.raises(ValueError, match="kernel"):
        select(x, kernel="box")
    with pytest.raises(ValueError, match="NaN"):
        select(np.where(x > 0, x, np.nan))


# ---------------------------------------------------------------------------- histogram


@pytest.mark.parametrize("bins", ["fd", "scott", 7, [-9.0, 0.0, 0.5, 9.0]])
def test_histogram_integrates_to_one_and_is_numpys(bins, rng):
    x, w = rng.normal(size=500), rng.random(500)
    found = density.histogram_density(x, bins, sample_weight=w)
    assert np.sum(found.density * np.diff(found.edges)) == pytest.approx(1.0)
    expected, _ = np.histogram(x, found.edges, weights=w, density=True)
    np.testing.assert_allclose(found.density, expected)
    inside = (found.edges[1:] + found.edges[:-1]) / 2
    np.testing.assert_array_equal(found(inside), found.density)
    assert found(found.edges[-1]) == found.density[-1]
    np.testing.assert_array_equal(found([-1e9, 1e9]), 0.0)


@pytest.mark.parametrize("rule", ["fd", "scott"])
def test_number_of_bins_is_numpys(rule, rng):
    x = rng.normal(size=5_000)
    found = density.histogram_density(x, rule).density.shape[0]
    assert abs(found - (np.histogram_bin_edges(x, rule).shape[0] - 1)) <= 1


def test_histogram_of_constants_and_ranges():
    assert density.histogram_density([2.0, 2.0]).density == pytest.approx(1.0)
    found = density.histogram_density([0.0, 1.0, 9.0], 2, range=(0.0, 2.0))
    np.testing.assert_allclose(found.density, [0.5, 0.5])
    for bad in ((3.0, 2.0), (20.0, 30.0)):
        with pytest.raises(ValueError, match="range"):
            density.histogram_density([0.0, 1.0], range=bad)
    for bins in (0, "many", [1.0], [2.0, 1.0]):
        with pytest.raises(ValueError, match="bins"):
            density.histogram_density([0.0, 1.0], bins)
    with pytest.raises(ValueError, match="edges"):
        density.histogram_density([0.0, 1.0], [5.0, 6.0])
