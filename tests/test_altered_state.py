"""Fitted arrays that were set by users or came in changed pickles: checked before kernels read."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from fastml.cluster import BisectingKMeans, KMeans, KMedians, MiniBatchKMeans, SoftKMeans
from fastml.kernel_ridge import KernelRidge
from fastml.mixture import GaussianMixture
from fastml.neighbors import (
    BallTree,
    KDTree,
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
)
from fastml.preprocessing import KBinsDiscretizer
from fastml.svm import SVC, SVR, KernelPerceptron, OneClassSVM

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y = rng.integers(0, 3, 60)


def narrow(array):
    return array[:, :2]


def short(array):
    return array[:1]


CASES = {
    "classes of k neighbours": (KNeighborsClassifier(3), "classes_", short),
    "labels of k neighbours": (KNeighborsClassifier(3), "_y", short),
    "points of k neighbours": (KNeighborsClassifier(3, algorithm="brute"), "_fit_X", narrow),
    "classes of neighbours in a ball": (RadiusNeighborsClassifier(9.0), "classes_", short),
    "targets of k neighbours": (KNeighborsRegressor(3), "_y", short),
    "support vectors, narrower": (SVC(), "support_vectors_", narrow),
    "support vectors, fewer": (SVC(), "support_vectors_", short),
    "coefficients of SVC": (SVC(), "_dual_coef_", narrow),
    "coefficients of SVR": (SVR(), "_dual_coef_", narrow),
    "coefficients of SVC, as users see them": (SVC(), "dual_coef_", narrow),
    "coefficients of SVR, as users see them": (SVR(), "dual_coef_", narrow),
    "intercepts, as users see them": (SVC(), "intercept_", short),
    "coefficients of KernelRidge": (KernelRidge(kernel="rbf"), "dual_coef_", short),
    "coefficients of KernelPerceptron": (KernelPerceptron(), "dual_coef_", narrow),
    "numbers of support vectors": (SVC(), "_n_support", np.sort),
    "intercepts": (SVC(), "_intercept_", short),
    "classes of SVC": (SVC(), "classes_", short),
    "OneClassSVM": (OneClassSVM(), "support_vectors_", narrow),
    "KMeans": (KMeans(3, n_init=1), "cluster_centers_", narrow),
    "MiniBatchKMeans": (MiniBatchKMeans(3, n_init=1), "cluster_centers_", narrow),
    "KMedians": (KMedians(3), "cluster_centers_", narrow),
    "SoftKMeans": (SoftKMeans(3), "cluster_centers_", narrow),
    "means of a mixture": (GaussianMixture(2), "means_", narrow),
    "weights of a mixture": (GaussianMixture(2), "weights_", short),
    "covariances of a mixture": (GaussianMixture(2), "precisions_cholesky_", narrow),
    "variances of a mixture": (
        GaussianMixture(2, covariance_type="diag"),
        "precisions_cholesky_",
        narrow,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_changed_attribute_is_a_value_error(name):
    model, attribute, change = CASES[name]
    model.fit(X, y)
    changed = change(getattr(model, attribute))
    if attribute == "_n_support":
        changed = changed + np.array([1, -2, 2], dtype=changed.dtype)
    setattr(model, attribute, changed)
    with pytest.raises(ValueError, match="was altered"):
        model.predict(X)


@pytest.mark.parametrize("model", [KMeans(3, n_init=1), BisectingKMeans(3), MiniBatchKMeans(3)])
@pytest.mark.parametrize("layout", [np.asarray, csr_array])
def test_narrowed_centres_in_transform(model, layout):
    model.fit(layout(X))
    model.cluster_centers_ = narrow(model.cluster_centers_)
    with pytest.raises(ValueError, match="was altered"):
        model.transform(layout(X))


def test_partial_fit_on_changed_centres_or_counts():
    model = MiniBatchKMeans(3, n_init=1).partial_fit(X)
    model._counts = short(model._counts)
    with pytest.raises(ValueError, match="was altered"):
        model.partial_fit(X)
    model = MiniBatchKMeans(3, n_init=1).partial_fit(X)
    model.cluster_centers_ = narrow(model.cluster_centers_)
    with pytest.raises(ValueError, match="was altered"):
        model.partial_fit(X)


def test_support_outside_of_a_given_kernel_matrix():
    K = X @ X.T
    model = SVC(kernel="precomputed").fit(K, y)
    model.support_ = model.support_ + 1000
    with pytest.raises(ValueError, match="was altered"):
        model.predict(K)


@pytest.mark.parametrize("tree", [KDTree, BallTree])
def test_changed_arrays_of_a_tree(tree):
    points = rng.normal(size=(100, 3))
    fields = tree(points)._tree._fields
    for field in fields:
        built = tree(points)
        built._tree = built._tree._replace(**{field: short(getattr(built._tree, field))})
        with pytest.raises(ValueError, match="was altered"):
            built.query(points)
        with pytest.raises(ValueError, match="was altered"):
            built.query_radius(points, 0.5)
        with pytest.raises(ValueError, match="was altered"):
            pickle.loads(pickle.dumps(built))
    built = tree(points)
    built.data = built.data[:, :2]
    with pytest.raises(ValueError, match="was altered"):
        built.query(points[:, :2])


@pytest.mark.parametrize("tree", [KDTree, BallTree])
def test_changed_indices_in_a_pickled_tree(tree):
    points = rng.normal(size=(100, 3))
    built = tree(points)
    again = pickle.loads(pickle.dumps(built))
    np.testing.assert_array_equal(again.query(points, k=3)[1], built.query(points, k=3)[1])
    built._tree.order[0] = 10**9
    with pytest.raises(ValueError, match="leads outside"):
        pickle.loads(pickle.dumps(built))
    built = tree(points)
    built._cells()[1][0] = 7
    with pytest.raises(ValueError, match="leads outside"):
        pickle.loads(pickle.dumps(built))


def test_another_tree_in_a_search():
    search = NearestNeighbors(algorithm="kd_tree").fit(X)
    search._tree = KDTree(X[:, :2])
    with pytest.raises(ValueError, match="was altered"):
        search.kneighbors(X)


@pytest.mark.parametrize("encode", ["ordinal", "onehot"])
@pytest.mark.parametrize("altered", ["bin_edges_", "n_bins_"])
def test_bins_of_other_columns(encode, altered):
    X = np.random.default_rng(0).normal(size=(40, 5))
    model = KBinsDiscretizer(3, encode=encode).fit(X)
    setattr(model, altered, getattr(model, altered)[:-1])
    with pytest.raises(ValueError, match="was altered"):
        model.transform(X)
