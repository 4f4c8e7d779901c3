"""The k-means family: scikit-learn's answers, and the mathematics itself."""

import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import BisectingKMeans as SklearnBisecting
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.cluster import MiniBatchKMeans as SklearnMiniBatch
from sklearn.cluster import kmeans_plusplus as sklearn_plusplus
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from subprocesses import run_python

from fastml._engines.kmeans import seeding
from fastml._engines.kmeans.lloyd import run_kmeans, run_starts
from fastml._engines.kmeans.make_rows import make_rows
from fastml._engines.kmeans.rows import DenseRows
from fastml._engines.kmeans.scaling import column_means, scaled_tolerance
from fastml.cluster import BisectingKMeans, KMeans, MiniBatchKMeans, k_means, kmeans_plusplus
from fastml.kernels.numeric.csr import Csr

floats = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def blobs(n=600, d=4, k=6, dtype=np.float64, seed=0):
    return make_blobs(n, d, centers=k, cluster_std=2.0, random_state=seed)[0].astype(dtype)


@floats
@pytest.mark.parametrize("algorithm", ["lloyd", "elkan", "auto"])
@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("sparse", [False, True])
def test_kmeans_equals_scikit_learn(init, algorithm, sparse, dtype):
    X = blobs(dtype=dtype)
    weights = np.random.default_rng(0).random(len(X))
    X = sp.csr_array(X) if sparse else X
    ours = KMeans(5, init=init, random_state=3, algorithm=algorithm).fit(X, sample_weight=weights)
    theirs = SklearnKMeans(5, init=init, random_state=3).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-4)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-5)
    np.testing.assert_array_equal(ours.predict(X), ours.labels_)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-3, atol=1e-3)
    assert ours.score(X, sample_weight=weights) == pytest.approx(-ours.inertia_, rel=1e-5)
    assert ours.cluster_centers_.dtype == dtype


@floats
@pytest.mark.parametrize("sparse", [False, True])
def test_seeding_equals_scikit_learn(sparse, dtype):
    X = blobs(dtype=dtype)
    X = sp.csr_array(X) if sparse else X
    for k in (1, 2, 9, 30):
        centers, indices = kmeans_plusplus(X, k, random_state=k)
        _, expected = sklearn_plusplus(X, k, random_state=k)
        np.testing.assert_array_equal(indices, expected)
        np.testing.assert_array_equal(centers, X[indices].toarray() if sparse else X[indices])


@floats
def test_batches_equal_scikit_learn(dtype):
    X = blobs(dtype=dtype)
    for parameters in ({}, {"init": "random"}, {"tol": 1e-2, "max_no_improvement": None}):
        parameters = {"batch_size": 64, "random_state": 1, "max_iter": 5, **parameters}
        ours = MiniBatchKMeans(6, **parameters).fit(X)
        theirs = SklearnMiniBatch(6, **parameters).fit(X)
        np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-3)
        assert (ours.n_iter_, ours.n_steps_) == (theirs.n_iter_, theirs.n_steps_)
    ours, theirs = MiniBatchKMeans(4, random_state=0), SklearnMiniBatch(4, random_state=0)
    for part in np.array_split(X, 5):
        ours.partial_fit(part)
        theirs.partial_fit(part)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-4)


@pytest.mark.parametrize("strategy", ["biggest_inertia", "largest_cluster"])
@pytest.mark.parametrize("sparse", [False, True])
def test_bisection_equals_scikit_learn(strategy, sparse):
    X = sp.csr_array(blobs()) if sparse else blobs()
    parameters = {"random_state": 0, "n_init": 2, "bisecting_strategy": strategy}
    ours = BisectingKMeans(7, **parameters).fit(X)
    theirs = SklearnBisecting(7, **parameters).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_)
    assert ours.inertia_ == pytest.approx(theirs.inertia_)
    fresh = blobs(seed=5)
    np.testing.assert_array_equal(ours.predict(fresh), theirs.predict(fresh))
    np.testing.assert_array_equal(ours.predict(sp.csr_array(fresh)), theirs.predict(fresh))


@pytest.mark.small
@floats
def test_inertia_never_rises(dtype):
    X = np.random.default_rng(0).normal(size=(300, 3)).astype(dtype)
    inertias = []
    for max_iter in range(1, 15):
        run = run_kmeans(DenseRows(X, n_jobs=1), X[:5].copy(), max_iter=max_iter, tol=0)
        inertias.append(run.inertia)
    steps = np.diff(inertias)
    assert (steps <= 1e-9 * inertias[0]).all()
    assert steps.min() < 0


@pytest.mark.small
@floats
def test_runs_that_share_passes_equal_single_runs(dtype):
    X = np.random.default_rng(0).normal(size=(400, 3)).astype(dtype)
    X[200:] = X[:200]
    weights = np.random.default_rng(1).integers(0, 4, 400).astype(dtype)
    rows = DenseRows(X, weights, X.mean(axis=0), n_jobs=1)
    starts = np.stack([rows.take(range(i, i + 40, 8)) for i in range(6)])
    starts[2, 3] = 1e3  # an empty cluster: its rule applies to that run only
    starts[4] = starts[4, 0]  # all but one are empty
    options = {"max_iter": 11, "tol": 0.02}
    together = run_starts(rows, starts.copy(), **options)
    alone = [run_kmeans(rows, start, **options) for start in starts]
    assert len({run.n_iter for run in alone}) > 2  # runs end one by one
    assert max(run.n_iter for run in alone) == 11
    for ours, theirs in zip(together, alone):
        np.testing.assert_array_equal(ours.labels, theirs.labels)
        np.testing.assert_array_equal(ours.centers, theirs.centers)
        assert ours.inertia == theirs.inertia
        assert ours.n_iter == theirs.n_iter


def test_as_many_runs_at_once_as_labels_fit_beside_the_data():
    rows = DenseRows(np.zeros((300, 10)))
    assert rows.runs_at_once(8, "lloyd") == 19  # beside the labels of the best so far
    assert rows.runs_at_once(8, "elkan") == 1  # bounds are as long as the data
    assert DenseRows(np.zeros((300, 1), np.float32)).runs_at_once(8, "lloyd") == 1
    assert make_rows(sp.csr_array((300, 10))).runs_at_once(8, "lloyd") == 1
    # 25 starts of four columns are four batches.
    X = blobs(150, k=9)
    options = {"n_clusters": 9, "init": "random"}
    best_of_25 = KMeans(n_init=25, random_state=5, **options).fit(X)
    state = np.random.RandomState(5)
    alone = [KMeans(n_init=1, random_state=state, **options).fit(X) for _ in range(25)]
    best = min(alone, key=lambda km: km.inertia_)
    assert np.argmin([km.inertia_ for km in alone]) > 8
    assert best_of_25.inertia_ == best.inertia_
    np.testing.assert_array_equal(best_of_25.labels_, best.labels_)
    assert best_of_25.labels_.base is None


@pytest.mark.small
@floats
@pytest.mark.parametrize("shape", [(1, 3), (700, 1), (301, 10), (40, 600)])
def test_column_means(shape, dtype):
    X = np.random.default_rng(0).normal(3.0, 2.0, shape).astype(dtype)
    means = column_means(X)
    assert means.dtype == dtype
    np.testing.assert_allclose(means, X.mean(axis=0, dtype=np.float64), rtol=1e-5)
    expected = 0.1 * X.astype(np.float64).var(axis=0).mean()
    assert scaled_tolerance(X, 0.1) == pytest.approx(expected, rel=1e-5)


@pytest.mark.small
def test_stops_where_labels_and_centers_agree():
    X = blobs(200)
    km = KMeans(4, random_state=0, tol=0).fit(X)
    for j in range(4):
        np.testing.assert_allclose(km.cluster_centers_[j], X[km.labels_ == j].mean(axis=0))
    distances = ((X[:, None] - km.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(distances.argmin(axis=1), km.labels_)
    assert km.inertia_ == pytest.approx(distances.min(axis=1).sum())


@pytest.mark.small
@pytest.mark.parametrize("sparse", [False, True])
def test_weights_are_repeated_rows(sparse):
    X = blobs(60)
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    repeated = np.repeat(X, weights, axis=0)
    if sparse:
        X, repeated = sp.csr_array(X), sp.csr_array(repeated)
    init = blobs(60)[:4]
    weighted = KMeans(4, init=init).fit(X, sample_weight=weights)
    plain = KMeans(4, init=init).fit(repeated)
    np.testing.assert_allclose(weighted.cluster_centers_, plain.cluster_centers_)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, weights), plain.labels_)
    assert weighted.inertia_ == pytest.approx(plain.inertia_)


@floats
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_init", [1, 4])
def test_threads_do_not_change_a_bit(n_init, sparse, dtype):
    X = blobs(20_000, 8, 5, dtype)
    X = sp.csr_array(X) if sparse else X
    options = {"init": "random", "n_init": n_init, "random_state": 0, "max_iter": 6}
    fits = [KMeans(9, n_jobs=n, **options).fit(X) for n in (1, 2)]
    for name in ("labels_", "cluster_centers_", "inertia_"):
        np.testing.assert_array_equal(getattr(fits[0], name), getattr(fits[1], name))


def test_input_is_not_modified_and_may_be_read_only():
    X = blobs(100)
    frozen = X.copy()
    frozen.flags.writeable = False
    init = X[:3].copy()
    kept = init.copy()
    km = KMeans(3, init=init, copy_x=False).fit(frozen)
    np.testing.assert_array_equal(frozen, X)
    np.testing.assert_array_equal(init, kept)
    np.testing.assert_array_equal(km.labels_, KMeans(3, init=init).fit(X).labels_)


@pytest.mark.small
@pytest.mark.parametrize("size", [1, 30, 200])
def test_rows_are_drawn_as_numpy_draws_them(size, monkeypatch):
    weights = np.random.default_rng(0).random(300).astype(np.float32)
    weights[::3] = 0
    p = weights / weights.sum()
    monkeypatch.setattr(seeding, "ROWS_PER_BLOCK", 70)
    monkeypatch.setattr(seeding, "ROWS_PER_SHARE", 7)
    sampler = seeding.RowSampler(weights)
    rows = make_rows(np.zeros((300, 2), dtype=np.float32), weights)
    for seed in range(5):
        ours, theirs = np.random.RandomState(seed), np.random.RandomState(seed)
        drawn = sampler.draw(ours.random_sample(size))
        np.testing.assert_array_equal(drawn, theirs.choice(300, size, p=p))
        found = seeding.random_rows(rows, size, ours)
        np.testing.assert_array_equal(found, theirs.choice(300, size, replace=False, p=p))
    with pytest.raises(ValueError, match="201 rows of positive weight, got 200"):
        seeding.random_rows(rows, 201, np.random.RandomState(0))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "n, d, k, init, n_init",
    [
        (1_000_000, 2, 50, "rows", 1),
        (1_000_000, 2, 50, "k-means++", 1),
        (300_000, 16, 100, "k-means++", 1),
        (2_000_000, 2, 8, "random", 10),
        (1_000_000, 4, 8, "random", 10),
    ],
)
def test_peak_memory_is_at_most_twice_the_data(n, d, k, init, n_init):
    out = run_python(
        f"""
        import re
        import numpy as np
        from fastml.cluster import KMeans

        def resident(what):
            return 1024 * int(re.search(what + r":\\s+(\\d+)", open("/proc/self/status").read())[1])

        X = np.random.default_rng(0).random(({n}, {d}), dtype=np.float32)
        init = "{init}" if "{init}" != "rows" else X[:{k}].copy()
        model = KMeans({k}, init=init, n_init={n_init}, max_iter=2, tol=0, random_state=0)
        model.fit(X[:100_000])  # enough for two threads: nothing is compiled from here on
        open("/proc/self/clear_refs", "w").write("5")  # the peak starts from here
        before = resident("VmRSS")
        model.fit(X)
        print((resident("VmHWM") - before) / X.nbytes)
        """
    )
    assert 0.3 < float(out) < 2.0


def test_starts():
    X = blobs(120)
    given = KMeans(3, init=X[:3], max_iter=1).fit(X)
    called = KMeans(3, init=lambda X, k, random_state: X[:k], n_init=1, max_iter=1).fit(X)
    np.testing.assert_array_equal(given.labels_, called.labels_)
    parts = KMeans(3, init="random-partition", n_init=2, random_state=0).fit(X)
    assert parts.inertia_ == pytest.approx(KMeans(3, n_init=5, random_state=0).fit(X).inertia_)
    assert parts._n_init == 2
    rows = make_rows(X)
    from fastml._engines.kmeans.seeding import random_partition

    centers = random_partition(rows, 3, np.random.RandomState(0))
    assert np.abs(centers - X.mean(axis=0)).max() < X.std()


@pytest.mark.small
def test_empty_cluster_takes_the_farthest_row():
    X = np.array([[0.0, 0], [0.5, 0], [0.5, 1], [1, 1], [9, 9]])
    km = KMeans(2, init=np.array([[0.5, 0.5], [99, 99]]), max_iter=1).fit(X)
    np.testing.assert_array_equal(km.cluster_centers_[1], [9, 9])
    np.testing.assert_allclose(km.cluster_centers_[0], X[:4].mean(axis=0))


@pytest.mark.small
@pytest.mark.parametrize("algorithm", ["lloyd", "elkan"])
def test_fewer_distinct_rows_than_clusters(algorithm):
    X = np.repeat([[0.0, 0], [1, 1]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\) found smaller"):
        km = KMeans(4, random_state=0, algorithm=algorithm).fit(X)
    assert km.inertia_ == 0


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_rounding_does_not_move_equal_rows_for_ever(container, dtype):
    X = np.random.default_rng(0).normal(size=(20, 4)).astype(dtype)
    km = KMeans(40, random_state=0).fit(container(np.repeat(X, 10, axis=0)))
    assert km.n_iter_ < 10
    assert km.inertia_ < 1e-10


@pytest.mark.small
@pytest.mark.parametrize("estimator", [KMeans, MiniBatchKMeans, BisectingKMeans])
def test_extreme_shapes(estimator):
    assert estimator(1).fit([[1.0]]).cluster_centers_ == 1.0
    two = estimator(2, random_state=0).fit([[1.0, 2.0], [3.0, 4.0]])
    assert sorted(two.labels_) == [0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        constant = estimator(2, random_state=0).fit(np.ones((5, 2)))
    np.testing.assert_array_equal(constant.cluster_centers_, np.ones((2, 2)))


@pytest.mark.parametrize("estimator", [KMeans, MiniBatchKMeans, BisectingKMeans])
@pytest.mark.parametrize(
    ("parameters", "X", "weights", "message"),
    [
        ({"n_clusters": 9}, np.ones((3, 2)), None, "n_samples=3 should be >= n_clusters=9"),
        ({"n_clusters": 0}, np.ones((3, 2)), None, "n_clusters"),
        ({}, np.full((9, 2), np.nan), None, "NaN"),
        ({"n_clusters": 2}, np.ones((3, 2)), [1, -1, 1], "[Nn]egative"),
        ({"n_clusters": 2}, np.ones((3, 2)), [0, 0, 0], "zero"),
        ({"init": "best"}, np.ones((9, 2)), None, "init"),
    ],
)
def test_bad_input_is_named(estimator, parameters, X, weights, message):
    model = estimator(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, sample_weight=weights)
    assert not hasattr(model, "cluster_centers_")


def test_function_returns_what_the_class_finds():
    X = blobs(100)
    km = KMeans(3, random_state=0).fit(X)
    centers, labels, inertia, n_iter = k_means(X, 3, random_state=0, return_n_iter=True)
    np.testing.assert_array_equal(centers, km.cluster_centers_)
    np.testing.assert_array_equal(labels, km.labels_)
    assert (inertia, n_iter) == (km.inertia_, km.n_iter_)
    assert len(k_means(X, 3, random_state=0)) == 3


def test_csr_with_duplicate_entries():
    data, rows, columns = [1.0, 2.0, 4.0, 9.0], [0, 0, 1, 2], [0, 0, 1, 1]
    indices, indptr = np.array(columns, np.int32), np.array([0, 2, 3, 4], np.int32)
    X = sp.csr_array((data, indices, indptr), shape=(3, 2))
    dense = np.zeros((3, 2))
    np.add.at(dense, (rows, columns), data)
    init = dense[:2]
    ours = KMeans(2, init=init).fit(X)
    np.testing.assert_array_equal(ours.labels_, KMeans(2, init=init).fit(dense).labels_)
    assert ours.inertia_ == pytest.approx(KMeans(2, init=init).fit(dense).inertia_)


def with_index_type(X, index):
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


@pytest.mark.parametrize("model", [KMeans, MiniBatchKMeans, BisectingKMeans])
def test_csr_with_64_bit_indices(model):
    X = np.maximum(blobs(), 0)
    narrow, wide = with_index_type(X, np.int32), with_index_type(X, np.int64)
    assert wide.indptr.dtype == wide.indices.dtype == np.int64
    ours, expected = (model(4, random_state=0, n_init=1).fit(given) for given in (wide, narrow))
    np.testing.assert_array_equal(ours.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(ours.labels_, expected.labels_)
    np.testing.assert_array_equal(ours.predict(wide), expected.predict(narrow))
    np.testing.assert_array_equal(ours.transform(wide), expected.transform(narrow))
    for a, b in zip(
        kmeans_plusplus(wide, 4, random_state=0), kmeans_plusplus(narrow, 4, random_state=0)
    ):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_positions_in_csr_stay_64_bit(index):
    """More than 2**31 stored values must not wrap; so many cannot be allocated here."""
    csr = make_rows(with_index_type(np.eye(3), index)).csr
    assert isinstance(csr, Csr)
    assert csr.indptr.dtype == np.int64
    assert csr.indices.dtype == np.uint32


@pytest.mark.parametrize("column", [5, -1])
def test_a_column_outside_the_csr_matrix_is_an_error(column):
    X = with_index_type(np.eye(5), np.int64)
    X.indices[2] = column
    with pytest.raises(ValueError, match=f"5 columns, and a value in column {column}"):
        kmeans_plusplus(X, 2, random_state=0)
    with pytest.raises(ValueError, match=f"5 columns, and a value in column {column}"):
        KMeans(2, random_state=0).fit(X)
