"""Sparse matrices with indices outside of them are an error before anything reads by them."""

import numpy as np
import pytest
from scipy.sparse import bsr_array, coo_array, csc_array, csr_array

from fastml import cluster, ensemble, kernel_ridge, metrics, neighbors, svm, tree
from fastml._validation import check_indices

rng = np.random.default_rng(0)
ROWS = rng.random((12, 6)) * (rng.random((12, 6)) < 0.5)
y = np.arange(12) % 2


def damaged(index, like=csr_array):
    matrix = like(ROWS)
    matrix.indices[3] = index
    return matrix


FITS = {
    "KMeans": cluster.KMeans(2, n_init=1),
    "MiniBatchKMeans": cluster.MiniBatchKMeans(2, n_init=1),
    "BisectingKMeans": cluster.BisectingKMeans(2),
    "SphericalKMeans": cluster.SphericalKMeans(2),
    "DBSCAN": cluster.DBSCAN(),
    "KNeighborsClassifier": neighbors.KNeighborsClassifier(2),
    "KNeighborsRegressor": neighbors.KNeighborsRegressor(2),
    "NearestNeighbors": neighbors.NearestNeighbors(n_neighbors=2),
    "NearestCentroid": neighbors.NearestCentroid(),
    "SVC": svm.SVC(),
    "SVC linear": svm.SVC(kernel="linear"),
    "NuSVC": svm.NuSVC(),
    "SVR": svm.SVR(),
    "OneClassSVM": svm.OneClassSVM(),
    "LinearSVC": svm.LinearSVC(),
    "LinearSVR": svm.LinearSVR(),
    "KernelLogisticRegression": svm.KernelLogisticRegression(),
    "KernelPerceptron": svm.KernelPerceptron(),
    "KernelRidge": kernel_ridge.KernelRidge(),
    "RandomForestClassifier": ensemble.RandomForestClassifier(2),
    "IsolationForest": ensemble.IsolationForest(n_estimators=2),
    "GradientBoostingRegressor": ensemble.GradientBoostingRegressor(n_estimators=2),
    "AdaBoostClassifier": ensemble.AdaBoostClassifier(n_estimators=2),
    "DecisionTreeClassifier": tree.DecisionTreeClassifier(),
}


@pytest.mark.parametrize("index", [6, 1_000_000_000, -1])
@pytest.mark.parametrize("name", FITS)
def test_fit(name, index):
    with pytest.raises(ValueError, match="damaged"):
        FITS[name].fit(damaged(index), y)


def test_predict():
    model = svm.SVC(kernel="linear").fit(csr_array(ROWS), y)
    with pytest.raises(ValueError, match="damaged"):
        model.predict(damaged(77))
    ridge = kernel_ridge.KernelRidge().fit(csr_array(ROWS), y)
    with pytest.raises(ValueError, match="damaged"):
        ridge.predict(damaged(77))


@pytest.mark.parametrize(
    "measure",
    [
        metrics.pairwise.euclidean_distances,
        metrics.pairwise.manhattan_distances,
        metrics.pairwise.cosine_distances,
        metrics.pairwise.linear_kernel,
        metrics.pairwise.polynomial_kernel,
        metrics.pairwise.rbf_kernel,
        metrics.pairwise.laplacian_kernel,
        metrics.pairwise.paired_manhattan_distances,
    ],
)
def test_measures(measure):
    for pair in ((damaged(99), csr_array(ROWS)), (csr_array(ROWS), damaged(99))):
        with pytest.raises(ValueError, match="damaged"):
            measure(*pair)


def test_scores():
    for score in (metrics.silhouette_score, metrics.silhouette_samples):
        with pytest.raises(ValueError, match="damaged"):
            score(damaged(99), y)


def test_every_format():
    check_indices(csr_array(ROWS))
    check_indices(csr_array((0, 3)))
    with pytest.raises(ValueError, match="6 columns, and a value in column 99"):
        check_indices(damaged(99))
    with pytest.raises(ValueError, match="12 rows, and a value in row 99"):
        check_indices(damaged(99, csc_array))
    matrix = bsr_array(ROWS, blocksize=(2, 2))
    check_indices(matrix)
    matrix.indices[0] = 3
    with pytest.raises(ValueError, match="damaged"):
        check_indices(matrix)
    matrix = coo_array(ROWS)
    check_indices(matrix)
    matrix.row[0] = 12
    with pytest.raises(ValueError, match="row 12"):
        check_indices(matrix)
    matrix = csr_array(ROWS)
    matrix.indptr[1] = 2**30
    with pytest.raises(ValueError, match="indptr"):
        check_indices(matrix)


def wide(matrix):
    """The same with 64-bit indices."""
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


@pytest.mark.parametrize("measure", [metrics.pairwise.rbf_kernel, metrics.euclidean_distances])
def test_64_bit_indices_give_the_same(measure):
    found = measure(wide(csr_array(ROWS)))
    np.testing.assert_array_equal(found, measure(csr_array(ROWS)))


@pytest.mark.parametrize("name", ["KMeans", "KNeighborsClassifier", "KernelRidge"])
def test_64_bit_indices_in_estimators(name):
    model = FITS[name]
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    expected = model.fit(csr_array(ROWS), y).predict(csr_array(ROWS))
    found = model.fit(wide(csr_array(ROWS)), y).predict(wide(csr_array(ROWS)))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM", "LinearSVC"])
def test_64_bit_indices_are_refused_where_they_are_not_served(name):
    with pytest.raises(ValueError, match="32-bit"):
        FITS[name].fit(wide(csr_array(ROWS)), y)
