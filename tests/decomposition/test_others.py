"""IncrementalPCA, TruncatedSVD, KernelPCA and FactorAnalysis beside scikit-learn's."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition as theirs
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

import fastml.decomposition._incremental_pca as incremental
from fastml.decomposition import PCA, FactorAnalysis, IncrementalPCA, KernelPCA, TruncatedSVD
from fastml.metrics.pairwise import kernel_metrics, make_kernel


def rows(n=200, d=8, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) * 2.0 ** -np.arange(d)) @ rng.normal(size=(d, d)) + 2.0


# ---------------------------------------------------------------------------- IncrementalPCA


@pytest.mark.parametrize("batch_size", [7, 64, 1000])
def test_batches_do_not_matter(batch_size):
    X = rows()
    whole = PCA(3, svd_solver="covariance_eigh").fit(X)
    ours = IncrementalPCA(3, batch_size=batch_size).fit(X)
    parts = IncrementalPCA(3)
    for first in range(0, len(X), max(batch_size, 3)):
        parts.partial_fit(X[first : first + max(batch_size, 3)])
    for model in (ours, parts, IncrementalPCA(3).fit(sp.csr_array(X))):
        assert model.n_samples_seen_ == len(X)
        for name in ("mean_", "explained_variance_", "noise_variance_", "singular_values_"):
            assert_allclose(getattr(model, name), getattr(whole, name), rtol=1e-9, err_msg=name)
        assert_allclose(model.components_, whole.components_, atol=1e-9)
        assert_allclose(model.var_, X.var(axis=0))


def test_many_columns_are_kept_as_a_few_rows(monkeypatch):
    """Beyond the limit it does as scikit-learn does, batch by batch."""
    monkeypatch.setattr(incremental, "SCATTER_COLUMNS", 4)
    X = rows()
    ours = IncrementalPCA(3, batch_size=20).fit(X)
    other = theirs.IncrementalPCA(3, batch_size=20).fit(X)
    for name in (
        "mean_",
        "var_",
        "explained_variance_",
        "explained_variance_ratio_",
        "components_",
    ):
        assert_allclose(getattr(ours, name), getattr(other, name), rtol=1e-7, err_msg=name)
    ours.partial_fit(X[:5])
    other.partial_fit(X[:5])
    assert_allclose(ours.components_, other.components_, rtol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_models_of_parts_merge_to_that_of_all_rows(dtype):
    X = rows(210).astype(dtype)
    whole = IncrementalPCA(3).fit(X)
    parts = [IncrementalPCA(3).fit(X[cut]) for cut in (slice(0, 50), slice(50, 51), slice(51, 210))]
    kept = parts[1].mean_.copy()
    merged = parts[0].merge(parts[1]).merge(parts[2])
    assert merged is parts[0]
    assert_array_equal(parts[1].mean_, kept)
    assert merged.n_samples_seen_ == 210
    assert merged.components_.dtype == dtype
    for name in ("mean_", "var_", "explained_variance_", "noise_variance_", "components_"):
        close = {"rtol": 1e-4 if dtype == np.float32 else 1e-9, "atol": 1e-5}
        assert_allclose(getattr(merged, name), getattr(whole, name), err_msg=name, **close)
    merged.partial_fit(X[:4])  # goes on
    assert merged.n_samples_seen_ == 214


def test_few_rows_of_many_columns_merge(monkeypatch):
    """Rank 3: the leading axes of the parts are all there is."""
    monkeypatch.setattr(incremental, "SCATTER_COLUMNS", 4)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)) @ rng.normal(size=(3, 8)) + 5.0
    merged = IncrementalPCA(4).fit(X[:40]).merge(IncrementalPCA(4).fit(X[40:]))
    whole = PCA(4).fit(X)
    assert_allclose(merged.explained_variance_[:3], whole.explained_variance_[:3])
    assert_allclose(merged.components_[:3], whole.components_[:3], atol=1e-9)
    assert_allclose(merged.mean_, whole.mean_)


def test_merging_what_does_not_fit():
    model = IncrementalPCA(2).fit(rows(20, 4))
    with pytest.raises(TypeError, match="IncrementalPCA, got PCA"):
        model.merge(PCA(2).fit(rows(20, 4)))
    with pytest.raises(ValueError, match="5 columns, this model of 4"):
        model.merge(IncrementalPCA(2).fit(rows(20, 5)))
    with pytest.raises(NotFittedError):
        model.merge(IncrementalPCA(2))


def test_a_small_last_batch():
    """sk#12234: only the first batch needs n_components rows."""
    X = rows(21, 8)
    model = IncrementalPCA(5, batch_size=10).fit(X)
    assert model.n_samples_seen_ == 21
    model = IncrementalPCA(5).partial_fit(X[:10])
    assert model.partial_fit(X[10:12]).n_samples_seen_ == 12
    with pytest.raises(ValueError, match="first partial_fit"):
        IncrementalPCA(5).partial_fit(X[:4])


def test_many_rows_do_not_overflow():
    """sk#17985: 500,000 rows of two columns overflowed 32-bit products of counts."""
    X = np.random.default_rng(0).normal(size=(500_000, 2)).astype(np.float32)
    model = IncrementalPCA(2, batch_size=100_000).fit(X)
    assert_allclose(model.explained_variance_, 1.0, atol=0.01)
    assert model.n_samples_seen_ == 500_000


def test_incremental_bad_input():
    X = rows(20, 4)
    with pytest.raises(TypeError, match="sparse"):
        IncrementalPCA(2).partial_fit(sp.csr_array(X))
    with pytest.raises(ValueError, match="invalid for n_features"):
        IncrementalPCA(5).fit(X)
    X[0, 0] = np.nan
    for call in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match="NaN"):
            getattr(IncrementalPCA(2), call)(X)


# ---------------------------------------------------------------------------- TruncatedSVD


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("algorithm", ["arpack", "randomized"])
@pytest.mark.parametrize("shape", [(200, 60), (60, 200)])
def test_truncated_svd(shape, algorithm, container):
    X = rows(*shape) * (np.random.default_rng(0).random(shape) < 0.4)
    ours = TruncatedSVD(4, algorithm=algorithm, random_state=0, n_iter=8)
    Z = ours.fit_transform(container(X))
    other = theirs.TruncatedSVD(4, algorithm="arpack", random_state=0)
    expected = other.fit_transform(X)
    assert_allclose(ours.singular_values_, other.singular_values_, rtol=1e-5)
    assert_allclose(Z, expected, atol=0.02 if algorithm == "randomized" else 1e-8)
    assert_allclose(ours.explained_variance_ratio_, other.explained_variance_ratio_, rtol=1e-3)
    assert_array_equal(Z, ours.transform(container(X)))
    assert_allclose(ours.inverse_transform(Z), Z @ ours.components_)


def test_krylov_is_no_worse_than_power_iterations():
    rng = np.random.default_rng(0)
    for scale in (np.ones(300), 0.97 ** np.arange(300), 0.5 ** np.arange(300)):
        X = rng.normal(size=(400, 300)) * scale
        for n_iter in (0, 1, 2, 3, 5, 7):
            ours, other = (
                cls(5, n_iter=n_iter, random_state=0).fit(X).singular_values_.sum()
                for cls in (TruncatedSVD, theirs.TruncatedSVD)
            )
            assert ours >= other * (1.0 - 1e-9), (scale[1], n_iter)


def test_truncated_bad_input():
    X = rows(20, 4)
    with pytest.raises(ValueError, match="n_features"):
        TruncatedSVD(5).fit(X)
    with pytest.raises(ValueError, match="less than min"):
        TruncatedSVD(4, algorithm="arpack").fit(X)
    assert_array_equal(TruncatedSVD(2).fit(np.zeros((5, 3))).explained_variance_ratio_, [0.0, 0.0])


# ---------------------------------------------------------------------------- KernelPCA


@pytest.mark.parametrize("solver", ["auto", "dense", "arpack", "randomized"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine"])
def test_kernel_pca(kernel, solver):
    X = rows(230, 5)
    options = {"kernel": kernel, "gamma": 0.05, "degree": 2, "random_state": 0}
    ours = KernelPCA(3, eigen_solver=solver, **options)
    other = theirs.KernelPCA(3, eigen_solver="dense", **options)
    Z, expected = ours.fit_transform(X), other.fit_transform(X)
    assert_allclose(ours.eigenvalues_, other.eigenvalues_, rtol=1e-6)
    assert_allclose(Z, expected, atol=1e-3 * np.abs(expected).max())
    assert_allclose(ours.transform(X[:20]), Z[:20], atol=1e-6 * np.abs(Z).max())


def test_kernels_of_the_library():
    X = np.abs(rows(60, 4))
    for kernel in ("laplacian", "chi2", make_kernel("rbf", gamma=0.3) + make_kernel("linear")):
        model = KernelPCA(2, kernel=kernel)
        assert_allclose(model.fit_transform(X), model.transform(X), atol=1e-8)


@pytest.mark.parametrize("kernel", sorted(kernel_metrics()))
def test_rows_come_back_from_components_of_every_kernel(kernel):
    """Components are negative, or e^60 for the exponential kernel: neither may stop the inverse."""
    X = np.abs(rows(80, 4))
    model = KernelPCA(4, kernel=kernel, gamma=0.3, alpha=1e-3, fit_inverse_transform=True)
    back = model.inverse_transform(model.fit_transform(X))
    assert np.isfinite(back).all()
    if kernel not in ("cosine", "linear", "sigmoid"):  # which lose lengths, the mean, large values
        assert np.sum((X - back) ** 2) < 0.5 * np.sum((X - X.mean(axis=0)) ** 2)


def test_zero_eigenvalues():
    """sk#12141: a kernel of rank 1 divided by eigenvalues that are 0 or slightly negative."""
    X = np.ones((40, 1)) * np.arange(40)[:, None]
    for solver in ("dense", "arpack", "randomized"):
        model = KernelPCA(4, eigen_solver=solver, random_state=0)
        Z = model.fit_transform(X)
        assert_array_equal(model.eigenvalues_[1:], 0.0)
        assert_allclose(model.transform(X), Z, atol=1e-8)
        assert_array_equal(Z[:, 1:], 0.0)
    assert KernelPCA(4, remove_zero_eig=True).fit_transform(X).shape == (40, 1)
    assert KernelPCA().fit_transform(X).shape == (40, 1)
    with pytest.raises(ValueError, match="negative eigenvalues"):
        KernelPCA(kernel="precomputed").fit(np.diag([1.0, 1.0, -1.0, -2.0]))


def test_the_inverse_uses_the_gamma_of_the_fit():
    """sk#26280: gamma=None took 1 / n_components in the inverse."""
    X = rows(80, 6)
    none = KernelPCA(2, kernel="rbf", fit_inverse_transform=True, alpha=0.01)
    given = KernelPCA(2, kernel="rbf", gamma=1 / 6, fit_inverse_transform=True, alpha=0.01)
    one, two = (m.inverse_transform(m.fit_transform(X)) for m in (none, given))
    assert_array_equal(one, two)
    other = theirs.KernelPCA(2, kernel="rbf", fit_inverse_transform=True, alpha=0.01)
    assert_allclose(one, other.inverse_transform(other.fit_transform(X)), rtol=1e-6)


def test_more_components_than_rows():
    X = rows(30)
    for solver in ("auto", "dense", "randomized"):
        options = {"kernel": "rbf", "gamma": 0.01, "eigen_solver": solver}
        ours, other = (module(40, **options) for module in (KernelPCA, theirs.KernelPCA))
        assert ours.fit_transform(X).shape == other.fit_transform(X).shape == (30, 30)
        assert_allclose(ours.eigenvalues_, other.eigenvalues_, atol=1e-9)
    for module in (KernelPCA, theirs.KernelPCA):
        with pytest.warns(RuntimeWarning):
            assert module(40, kernel="rbf", eigen_solver="arpack").fit_transform(X).shape == (
                30,
                30,
            )


# ---------------------------------------------------------------------------- FactorAnalysis


@pytest.mark.parametrize("method", ["lapack", "randomized"])
@pytest.mark.parametrize("shape", [(200, 8), (30, 60)])
def test_factor_analysis(shape, method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1]))
    X += rng.normal(size=shape) * np.linspace(0.5, 2.0, shape[1])
    ours = FactorAnalysis(2, svd_method=method, tol=1e-6).fit(X)
    other = theirs.FactorAnalysis(2, svd_method="lapack", tol=1e-6).fit(X)
    assert_allclose(ours.loglike_[-1], other.loglike_[-1], rtol=1e-6)
    assert np.all(np.diff(ours.loglike_) > -1e-6)
    assert_allclose(ours.noise_variance_, other.noise_variance_, rtol=0.01)
    assert_allclose(ours.get_covariance(), other.get_covariance(), atol=0.02)
    assert_allclose(ours.get_precision() @ ours.get_covariance(), np.eye(shape[1]), atol=1e-8)
    assert_allclose(ours.score_samples(X), other.score_samples(X), rtol=1e-3)
    assert_allclose(np.abs(ours.transform(X)), np.abs(other.transform(X)), atol=0.02)


@pytest.mark.parametrize("rotation", ["varimax", "quartimax"])
def test_rotation(rotation):
    X = rows(300, 6)
    ours = FactorAnalysis(2, rotation=rotation, svd_method="lapack").fit(X)
    other = theirs.FactorAnalysis(2, rotation=rotation, svd_method="lapack").fit(X)
    assert_allclose(np.abs(ours.components_), np.abs(other.components_), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", ["lapack", "randomized"])
@pytest.mark.parametrize(
    ("n", "d", "k"), [(30, 5, 8), (10, 600, 20), (10, 60, None), (40, 40, None)]
)
def test_more_factors_than_there_can_be(n, d, k, method):
    X = np.random.default_rng(0).normal(size=(n, d))
    ours = FactorAnalysis(k, svd_method=method).fit(X)
    other = theirs.FactorAnalysis(k, svd_method="lapack").fit(X)
    assert ours.components_.shape == other.components_.shape == (min(n, d), d)
    assert np.isfinite(ours.loglike_).all()
    assert ours.n_iter_ > 1
    assert ours.score(X) >= other.score(X) - 0.01 * abs(other.score(X))


def test_no_factors_are_variances():
    X = rows(50, 4)
    model = FactorAnalysis(0).fit(X)
    assert_allclose(model.get_covariance(), np.diag(X.var(axis=0)))


def test_factor_analysis_of_constant_rows_ends():
    model = FactorAnalysis(2).fit(np.ones((30, 4)))  # a warning would fail the test
    assert model.n_iter_ < 10
    assert_allclose(model.transform(np.ones((3, 4))), 0.0, atol=1e-12)


# ---------------------------------------------------------------------------- all of them

EACH = [
    PCA(3), PCA(3, whiten=True), IncrementalPCA(3), TruncatedSVD(3, random_state=0),
    FactorAnalysis(3), KernelPCA(3, kernel="rbf", gamma=0.1),
]  # fmt: skip


@pytest.mark.parametrize("model", EACH, ids=str)
def test_fit_then_transform_is_fit_transform(model):
    """sk#20253, cuml#2368."""
    X = rows(60)
    assert_allclose(model.fit_transform(X), model.fit(X).transform(X), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("model", EACH, ids=str)
def test_a_batch_is_its_rows_one_by_one(model):
    """umap#1224: what a new row becomes must not depend on the others."""
    new = rows(7, seed=1)
    model.fit(rows(60))
    single = np.vstack([model.transform(row[None]) for row in new])
    assert_allclose(model.transform(new), single, rtol=1e-10, atol=1e-12)
