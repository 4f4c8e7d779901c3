"""KMedoids, KMedians, SphericalKMeans, SoftKMeans and BFR: what each minimises, and limits."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from assertions import assert_bit_equal, assert_same_partition
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from fastml.cluster import BFR, KMeans, KMedians, KMedoids, SoftKMeans, SphericalKMeans


def blobs(n=300, d=3, k=3, seed=0, scale=10.0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    return rng.normal(size=(k, d))[labels] * scale + rng.normal(size=(n, d)), labels


@pytest.mark.parametrize("init", ["random", "build", "k-medoids++"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_medoids_are_locally_best(init, metric):
    X, _ = blobs(120)
    fitted = KMedoids(3, init=init, metric=metric, random_state=0).fit(X)
    D = cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    medoids = fitted.medoid_indices_
    np.testing.assert_allclose(fitted.inertia_, D[medoids].min(axis=0).sum(), rtol=1e-6)
    np.testing.assert_array_equal(fitted.labels_[medoids], [0, 1, 2])
    for m in range(3):
        for c in range(0, 120, 7):
            other = medoids.copy()
            other[m] = c
            assert D[other].min(axis=0).sum() >= fitted.inertia_ * (1 - 1e-6)
    np.testing.assert_array_equal(fitted.predict(X), D[medoids].argmin(axis=0))


def test_medoids_equal_fasterpam_of_kmedoids():
    kmedoids = pytest.importorskip("kmedoids")
    X, _ = blobs(400, k=5)
    D, start = cdist(X, X), np.arange(8)
    ours = KMedoids(8, metric="precomputed", init=start).fit(D)
    theirs = kmedoids.fasterpam(D, start.copy().astype(np.uint64), n_cpu=1)
    np.testing.assert_allclose(ours.inertia_, theirs.loss, rtol=1e-12)
    np.testing.assert_array_equal(np.sort(ours.medoid_indices_), np.sort(theirs.medoids))


def test_clara_finds_the_clusters_from_samples():
    X, labels = blobs(3000)
    fitted = KMedoids(3, method="fasterclara", random_state=0).fit(X)
    assert_same_partition(fitted.labels_, labels)
    whole = KMedoids(3, method="fasterpam", random_state=0).fit(X)
    assert whole.inertia_ <= fitted.inertia_ <= 1.1 * whole.inertia_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 500}, "n_clusters=500"),
        ({"init": [0, 0, 1]}, "different row numbers"),
        ({"init": [0, 1, 999]}, "different row numbers"),
        ({"init": [0.0, 1.5, 2.0]}, "different row numbers"),
        ({"init": np.ones((3, 4))}, "different row numbers"),
        ({"metric": "precomputed"}, "square"),
    ],
)
def test_medoids_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        KMedoids(**{"n_clusters": 3, **options}).fit(blobs()[0])


def test_one_medoid_is_the_most_central_row():
    X, _ = blobs(50)
    fitted = KMedoids(1).fit(X)
    assert fitted.medoid_indices_[0] == cdist(X, X).sum(axis=1).argmin()


def test_medians_are_a_fixed_point(dtype):
    X, _ = blobs()
    X = X.astype(dtype)
    fitted = KMedians(3, random_state=0).fit(X)
    D = cdist(X, fitted.cluster_centers_, "cityblock")
    np.testing.assert_array_equal(fitted.labels_, D.argmin(axis=1))
    np.testing.assert_allclose(fitted.inertia_, D.min(axis=1).sum(), rtol=1e-5)
    for c in range(3):
        expected = np.median(X[fitted.labels_ == c].astype(float), axis=0)
        np.testing.assert_allclose(fitted.cluster_centers_[c], expected, rtol=1e-6)
    np.testing.assert_allclose(fitted.transform(X), D, rtol=1e-5)


def test_medians_weights_equal_repeated_rows():
    X, _ = blobs(100)
    weights = np.random.default_rng(0).integers(1, 4, size=100)
    start = X[:3]
    weighted = KMedians(3, init=start).fit(X, sample_weight=weights)
    repeated = KMedians(3, init=start).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_)
    np.testing.assert_allclose(weighted.inertia_, repeated.inertia_)


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_spherical_ignores_lengths(metric):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=200)
    X = rng.normal(size=(3, 6))[labels] + 0.05 * rng.normal(size=(200, 6))
    fitted = SphericalKMeans(3, metric=metric, n_init=5, random_state=0).fit(X)
    assert_same_partition(fitted.labels_, labels)
    stretched = X * rng.uniform(0.1, 10, size=(200, 1))
    if metric == "correlation":
        stretched += rng.normal(size=(200, 1))
    again = SphericalKMeans(3, metric=metric, n_init=5, random_state=0).fit(stretched)
    np.testing.assert_array_equal(again.labels_, fitted.labels_)
    np.testing.assert_allclose(np.linalg.norm(fitted.cluster_centers_, axis=1), 1.0)
    expected = cdist(X, fitted.cluster_centers_, metric)
    np.testing.assert_allclose(fitted.transform(X), expected, atol=1e-12)
    np.testing.assert_allclose(fitted.inertia_, expected.min(axis=1).sum(), atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)


def test_spherical_sparse_equals_dense():
    X = np.abs(np.random.default_rng(0).normal(size=(100, 8))) * (np.arange(8) % 3 == 0)
    X[3] = 0.0
    dense = SphericalKMeans(4, random_state=0).fit(X)
    thin = SphericalKMeans(4, random_state=0).fit(sp.csr_array(X))
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    np.testing.assert_allclose(dense.cluster_centers_, thin.cluster_centers_, atol=1e-12)


@pytest.mark.parametrize("method", ["soft", "fuzzy"])
def test_soft_objective_falls_and_shares_sum_to_one(method):
    X, _ = blobs(scale=2.0)
    objectives = []
    for n_iter in (1, 2, 5, 20):
        model = SoftKMeans(3, method=method, init=X[:3], max_iter=n_iter, tol=0.0)
        with pytest.warns(ConvergenceWarning):
            objectives.append(model.fit(X).objective_)
    assert (np.diff(objectives) <= 1e-12 * abs(objectives[0])).all()
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), shares.argmax(axis=1))


@pytest.mark.parametrize("options", [{"beta": 1e4}, {"method": "fuzzy", "m": 1.0001}])
def test_stiff_shares_are_k_means(options):
    X, _ = blobs()
    soft = SoftKMeans(3, init=X[:3], **options).fit(X)
    hard = KMeans(3, init=X[:3], n_init=1).fit(X)
    np.testing.assert_array_equal(soft.labels_, hard.labels_)
    np.testing.assert_allclose(soft.cluster_centers_, hard.cluster_centers_, rtol=1e-6)


@pytest.mark.parametrize("cls", [KMedians, SoftKMeans, KMedoids, BFR])
def test_threads_do_not_matter(cls):
    X, _ = blobs(4000, 20)
    one, two = (cls(5, random_state=0, n_jobs=j).fit(X) for j in (1, 2))
    assert_bit_equal(one.cluster_centers_, two.cluster_centers_)
    assert_bit_equal(one.labels_, two.labels_)


@pytest.mark.parametrize("cls", [KMedians, SoftKMeans, SphericalKMeans, BFR])
def test_bad_input(cls):
    X, _ = blobs(10)
    with pytest.raises(ValueError, match="n_clusters=11"):
        cls(11).fit(X)
    with pytest.raises(ValueError, match="n_clusters"):
        cls(0).fit(X)
    if cls is not BFR:
        with pytest.raises(ValueError, match="initial centers"):
            cls(3, init=X[:2]).fit(X)
        with pytest.raises(ValueError, match="Negative"):
            cls(3).fit(X, sample_weight=-np.ones(10))


@pytest.mark.parametrize("cls", [KMedians, KMedoids, SoftKMeans, SphericalKMeans, BFR])
def test_frames_in_and_out(cls):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(blobs(60)[0], columns=list("abc"))
    model = cls(3, random_state=0).set_output(transform="pandas").fit(X)
    names = [f"{cls.__name__.lower()}{c}" for c in range(3)]
    assert list(model.transform(X).columns) == names == list(model.get_feature_names_out())
    assert len(model.predict(X[:1])) == 1


@pytest.mark.parametrize("cls", [KMedians, KMedoids, SoftKMeans, SphericalKMeans, BFR])
def test_float32_stays(cls):
    X = blobs(60)[0].astype(np.float32)
    model = cls(3, random_state=0).fit(X)
    assert model.cluster_centers_.dtype == model.transform(X).dtype == np.float32


@pytest.mark.parametrize("cls", [KMedians, SoftKMeans, SphericalKMeans])
def test_random_starts_are_rows_of_positive_weight(cls):
    X, _ = blobs(60)
    weights = np.zeros(60)
    weights[:3] = 1.0
    model = cls(3, init="random", random_state=0).fit(X, sample_weight=weights)
    alone = cls(3, init=X[:3]).fit(X[:3])
    order, other = (np.argsort(m.cluster_centers_[:, 0]) for m in (model, alone))
    np.testing.assert_allclose(model.cluster_centers_[order], alone.cluster_centers_[other])
    with pytest.raises(ValueError, match="n_clusters=4 rows of positive weight, got 3"):
        cls(4, init="random").fit(X, sample_weight=weights)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_directions_of_huge_and_tiny_rows(container):
    X, _ = blobs(60)
    for scale in (1e-200, 1e200):
        found, expected = (
            SphericalKMeans(3, init=X[:3]).fit(container(rows)) for rows in (scale * X, X)
        )
        np.testing.assert_allclose(found.cluster_centers_, expected.cluster_centers_)


def test_a_constant_row_correlates_with_nothing():
    X = np.concatenate([blobs(20, 6)[0], np.full((1, 6), 0.1)])
    model = SphericalKMeans(3, metric="correlation", init=X[:3]).fit(X)
    np.testing.assert_array_equal(model.transform(X)[-1], 1.0)


def test_given_medoids_are_rows_of_the_data_in_samples_too():
    X, _ = blobs(500)
    given = [499, 250, 0]
    model = KMedoids(
        3, method="fasterclara", init=given, n_samples_clara=3, n_repeats_clara=1, random_state=0
    ).fit(X)
    sample = np.union1d(np.random.RandomState(0).permutation(500)[:3], given)
    part = KMedoids(3, init=np.searchsorted(sample, given)).fit(X[sample])
    np.testing.assert_array_equal(model.medoid_indices_, sample[part.medoid_indices_])


def test_medoids_need_finite_distances():
    with pytest.raises(ValueError, match="finite"):
        KMedoids(2, metric="correlation").fit([[1.0, 1.0], [1.0, 2.0], [2.0, 1.0]])


def test_bfr_is_silent_about_equal_outliers(recwarn):
    X, _ = blobs(300)
    outliers = np.repeat([[900.0, 900.0, 900.0], [-900.0, 900.0, 0.0]], 20, axis=0)
    model = BFR(3, random_state=0).partial_fit(X).partial_fit(outliers)
    assert model.counts_.sum() == 340
    assert not recwarn.list


def test_bfr_sets_account_for_every_row():
    X, labels = blobs(5000)
    model = BFR(3, random_state=0)
    for chunk in np.array_split(X, 10):
        model.partial_fit(chunk)
    stored = model.discard_set_.counts.sum() + model.compression_set_.counts.sum()
    assert stored + len(model.retained_set_) == len(X) == model.counts_.sum()
    assert model.discard_set_.counts.sum() > 0.9 * len(X)
    assert_same_partition(model.predict(X), labels)
    exact = np.array([X[model.predict(X) == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, exact, atol=0.05)


def test_bfr_keeps_outliers_out_of_the_clusters():
    X, _ = blobs(2000)
    far = np.array([[500.0, 500.0, 500.0]])
    model = BFR(3, random_state=0, threshold=3.0).partial_fit(X[:1000])
    model.partial_fit(np.concatenate([X[1000:], far]))
    np.testing.assert_array_equal(model.retained_set_.max(axis=0), far[0])


@pytest.mark.parametrize("cls", [KMeans, KMedians, KMedoids, SphericalKMeans, BFR])
def test_fewer_distinct_rows_than_clusters(cls):
    X = np.repeat([[0.0, 1.0], [5.0, 0.0]], 10, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\) found smaller than"):
        model = cls(3, random_state=0).fit(X)
    assert len(set(model.labels_[:10])) <= 2
    if cls is KMedoids:
        with pytest.warns(ConvergenceWarning, match="distinct clusters"):
            KMedoids(3, metric="precomputed", random_state=0).fit(np.abs(X[:, :1] - X[:, 0]))


# ---------------------------------------------------------------------------- medoids of anything


def edits(a, b):
    """Levenshtein's distance."""
    before = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        now = [i]
        for j, y in enumerate(b, 1):
            now.append(min(before[j] + 1, now[-1] + 1, before[j - 1] + (x != y)))
        before = now
    return before[-1]


WORDS = ["kitten", "mitten", "bitten", "sitting", "house", "mouse", "louse", "spouse"]


@pytest.mark.parametrize("given", [WORDS, np.array(WORDS), np.array(WORDS, dtype=object)])
def test_medoids_of_words(given):
    model = KMedoids(2, metric=edits, init="build").fit(given)
    assert_same_partition(model.labels_, [0, 0, 0, 0, 1, 1, 1, 1])
    assert set(model.cluster_centers_) <= set(WORDS)
    D = np.array([[edits(a, b) for b in WORDS] for a in WORDS], dtype=float)
    assert model.inertia_ == D[model.medoid_indices_].min(axis=0).sum()
    near = model.predict(["mittens", "blouse"])
    assert [model.cluster_centers_[k] in WORDS[:4] for k in near] == [True, False]


def test_medoids_of_text_columns_and_sets():
    table = [["red", "big"], ["red", "small"], ["red", "big"], ["blue", "x"], ["blue", "y"]]
    for rows in (table, np.array(table), np.array(table, dtype=object), pd.DataFrame(table)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # names of a frame's columns that are no strings
            model = KMedoids(2, metric="hamming", init="build").fit(rows)
        assert_same_partition(model.labels_, [0, 0, 0, 1, 1])
        assert model.n_features_in_ == 2
    sets = [{1, 2}, {1, 2, 3}, {2, 1}, {8, 9}, {9}]
    model = KMedoids(2, metric="jaccard", init="build").fit(sets)
    assert_same_partition(model.labels_, [0, 0, 0, 1, 1])
    assert model.predict([{9, 8, 7}])[0] == model.labels_[3]


def test_medoids_of_booleans():
    rng = np.random.default_rng(0)
    X = rng.random((60, 12)) < np.where(np.arange(60)[:, None] % 2, 0.8, 0.2)
    X[:, 0] = True  # Dice's distance of two empty sets is NaN
    for metric in ("jaccard", "dice", "hamming", "rogerstanimoto"):
        model = KMedoids(2, metric=metric, random_state=0).fit(X)  # no warning of a conversion
        D = cdist(X, X, metric)
        np.testing.assert_allclose(model.inertia_, D[model.medoid_indices_].min(axis=0).sum())
        np.testing.assert_allclose(model.transform(X), D[:, model.medoid_indices_])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("method", ["fasterpam", "fasterclara"])
def test_medoids_of_sparse_rows(metric, method):
    X = np.where(np.abs(blobs(150)[0]) > 5, blobs(150)[0], 0.0) + np.eye(150, 3)
    given = {"metric": metric, "method": method, "random_state": 0}
    dense = KMedoids(3, **given).fit(X)
    for kind in (sp.csr_array, sp.csr_matrix, sp.coo_array):
        model = KMedoids(3, **given).fit(kind(X))
        np.testing.assert_array_equal(model.medoid_indices_, dense.medoid_indices_)
        np.testing.assert_array_equal(model.labels_, dense.labels_)
        np.testing.assert_array_equal(model.predict(kind(X)), dense.predict(X))
        assert sp.issparse(model.cluster_centers_)
