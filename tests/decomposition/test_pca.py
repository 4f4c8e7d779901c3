"""PCA beside scikit-learn's, and the cases that peers got wrong."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition as theirs
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, make_low_rank_matrix
from sklearn.exceptions import ConvergenceWarning

from fastml._engines.spectral import blocks
from fastml.decomposition import PCA

SOLVERS = ["auto", "full", "covariance_eigh", "arpack", "randomized", "power"]


def rows(n=200, d=8, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) * 2.0 ** -np.arange(d)) @ rng.normal(size=(d, d)) + 2.0


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("shape", [(200, 8), (30, 80)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_gives_scikit_learns_answer(solver, shape, container):
    """Signs included (sk#28826), and sparse rows are centred in every solver."""
    X = rows(*shape)
    ours = PCA(3, svd_solver=solver, random_state=0, tol=1e-9 * (solver == "power"))
    ours.fit(container(X))
    full = theirs.PCA(3, svd_solver="full").fit(X)
    for name in ("mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        assert_allclose(getattr(ours, name), getattr(full, name), rtol=1e-9, err_msg=name)
    assert_allclose(ours.components_, full.components_, atol=1e-6)
    assert_allclose(ours.noise_variance_, full.noise_variance_, rtol=1e-8)
    assert_allclose(ours.transform(container(X)), full.transform(X), atol=1e-5)
    assert_allclose(ours.score_samples(X), full.score_samples(X), rtol=1e-5)
    assert_allclose(ours.get_covariance(), full.get_covariance(), atol=1e-5)
    assert_allclose(ours.get_precision() @ ours.get_covariance(), np.eye(shape[1]), atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fit_transform_is_fit_then_transform(solver, dtype):
    """sk#15144: to the bit."""
    X = rows().astype(dtype)
    model = PCA(2, svd_solver=solver, random_state=0, whiten=True)
    both = model.fit_transform(X)
    assert both.dtype == model.components_.dtype == dtype
    assert_array_equal(
        both, PCA(2, svd_solver=solver, random_state=0, whiten=True).fit(X).transform(X)
    )
    assert_allclose(model.inverse_transform(both), model.inverse_transform(model.transform(X)))


@pytest.mark.parametrize("k", [None, 0, 1, 8, 0.5, 0.999, "mle"])
def test_numbers_of_components(k):
    X = rows()
    ours, other = PCA(k).fit(X), theirs.PCA(k).fit(X)
    assert ours.n_components_ == other.n_components_
    assert_allclose(ours.explained_variance_ratio_, other.explained_variance_ratio_, rtol=1e-8)
    assert_allclose(ours.noise_variance_, other.noise_variance_, rtol=1e-8, atol=1e-14)


@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_are_repeated_rows(solver):
    X = rows()
    u = np.random.default_rng(0).integers(0, 4, size=len(X))
    weighted = PCA(2, svd_solver=solver, random_state=0).fit(X, sample_weight=u)
    repeated = PCA(2, svd_solver=solver, random_state=0).fit(np.repeat(X, u, axis=0))
    assert_allclose(weighted.explained_variance_, repeated.explained_variance_, rtol=1e-9)
    assert_allclose(weighted.components_, repeated.components_, atol=1e-6)


def test_variances_over_n():
    X = rows()
    assert_allclose(
        PCA(2, ddof=0).fit_transform(X).var(axis=0), PCA(2, ddof=0).fit(X).explained_variance_
    )


def test_missing_values():
    """Of rows near two dimensions, EM finds what all values would give, and fills the gaps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 7)) + 0.05 * rng.normal(size=(300, 7)) + 3.0
    holes = rng.random(X.shape) < 0.2
    holes[holes.all(axis=1)] = False
    gaps = np.where(holes, np.nan, X)
    model, whole = PCA(2, missing="em").fit(gaps), PCA(2).fit(X)
    assert_allclose(model.components_, whole.components_, atol=0.02)
    assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=0.03)
    assert_allclose(model.noise_variance_, whole.noise_variance_, rtol=0.1)
    back = model.inverse_transform(model.transform(gaps))
    by_means = (X - np.nanmean(gaps, axis=0))[holes]
    assert np.mean((back - X)[holes] ** 2) < 0.03 * np.mean(by_means**2)
    one = X.copy()
    one[0, 0] = np.nan
    assert_allclose(
        PCA(2, missing="em").fit(one).explained_variance_, whole.explained_variance_, rtol=0.01
    )
    assert_allclose(PCA(2, missing="em").fit(X).components_, whole.components_)  # none is missing
    with pytest.raises(ValueError, match="NaN"):
        PCA(2).fit(gaps)
    with pytest.raises(ValueError, match="missing='em' needs n_components"):
        PCA(missing="em").fit(gaps)
    gaps[:, 3] = np.nan
    with pytest.raises(ValueError, match="column 3"):
        PCA(2, missing="em").fit(gaps)


def test_threads_do_not_matter(monkeypatch):
    monkeypatch.setattr(blocks, "SMALL", 0)
    X = rows(9000, 30)
    for solver in ("covariance_eigh", "full", "randomized"):
        one, two = (
            PCA(3, svd_solver=solver, random_state=0, n_jobs=n).fit_transform(X) for n in (1, 2)
        )
        assert_array_equal(one, two)


# ---------------------------------------------------------------------------- what peers got wrong


def test_whitening_of_low_rank():
    """sk#29534: the largest whitened value was 8.7e5 by the covariance, 3.9 by singular values."""
    X = make_low_rank_matrix(1000, 10, effective_rank=2, tail_strength=0, random_state=0)
    exact = theirs.PCA(whiten=True, svd_solver="full").fit_transform(X)
    auto = PCA(whiten=True)
    assert_allclose(np.abs(auto.fit_transform(X)), np.abs(exact), atol=1e-3)
    assert auto._fit_svd_solver == "full"  # the gate saw that digits were lost
    asked = PCA(whiten=True, svd_solver="covariance_eigh").fit_transform(X)
    assert np.abs(asked).max() < 10.0  # what rounding made is 0


def test_one_component_of_noise():
    """sk#20589: the fast solver's variance was too small on noise."""
    X = np.random.default_rng(0).normal(size=(20_000, 20))
    best = np.linalg.eigvalsh(np.cov(X.T))[-1]
    for solver in ("auto", "randomized", "arpack"):
        found = PCA(1, svd_solver=solver, random_state=0).fit(X).explained_variance_[0]
        assert_allclose(found, best, rtol=1e-6)


def test_whitened_digits_have_variance_one():
    """sk#13032 (arpack, 61 components) and sk#11001."""
    X = load_digits().data[:600]
    model = PCA(61, whiten=True, svd_solver="arpack", random_state=0)
    Z = model.fit_transform(X)
    real = model.explained_variance_ > 1e-20
    assert_allclose(Z.var(axis=0, ddof=1)[real], 1.0, rtol=1e-6)
    assert_allclose(Z[:, ~real], 0.0)


@pytest.mark.filterwarnings("error")
def test_scores_of_degenerate_rows_are_finite():
    """sk#8544: score_samples divided by zero."""
    flat = np.c_[rows(50, 3), np.zeros(50), np.ones(50)]
    for model in (PCA(), PCA(2), PCA(3), PCA(0), PCA(4)):
        assert np.isfinite(model.fit(flat).score_samples(flat)).all(), model
        assert np.isfinite(model.get_precision()).all()
    constant = np.ones((10, 3))
    model = PCA(2, whiten=True).fit(constant)
    assert_array_equal(model.explained_variance_ratio_, [0.0, 0.0])
    assert_array_equal(model.transform(constant), np.zeros((10, 2)))


def test_whitening_does_not_change_the_covariance():
    X = rows()
    assert_allclose(PCA(3, whiten=True).fit(X).get_covariance(), PCA(3).fit(X).get_covariance())


def test_large_means_cost_no_digits():
    X = rows(2000, 6)
    near, far = PCA(6).fit(X), PCA(6).fit(X + 1e7)
    assert_allclose(far.explained_variance_, near.explained_variance_, rtol=1e-5)


def test_bad_input():
    X = rows(20, 4)
    for parameters, words in (
        ({"n_components": 5}, "between 0 and min"),
        ({"n_components": 4, "svd_solver": "arpack"}, "strictly less"),
        ({"n_components": 0.5, "svd_solver": "randomized"}, "between 1 and min"),
        ({"n_components": "mle", "svd_solver": "power"}, "cannot be a string"),
        ({"ddof": 2}, "ddof"),
        ({"missing": "drop"}, "missing"),
        ({"n_jobs": 0}, "n_jobs"),
    ):
        with pytest.raises(ValueError, match=words):
            PCA(**parameters).fit(X)
    for bad in (np.nan, np.inf):
        broken = X.copy()
        broken[3, 1] = bad
        for solver in SOLVERS:
            with pytest.raises(ValueError, match="contains"):
                PCA(2, svd_solver=solver).fit(broken)
        with pytest.raises(ValueError, match="contains"):
            PCA(2).fit(X).transform(broken)
    with pytest.raises(ValueError, match="overflow"):
        PCA(2).fit(X * 1e200)
    with pytest.raises(ValueError, match="1 sample"):
        PCA().fit(X[:1])
    with pytest.raises(ValueError, match="Sample weights"):
        PCA(2).fit(X, sample_weight=np.zeros(20))
    with pytest.raises(ValueError, match="has 2 components"):
        PCA(2).fit(X).inverse_transform(X)
    with pytest.warns(ConvergenceWarning, match="power iterations"):
        PCA(3, svd_solver="power", max_iter=2, random_state=0).fit(X)
