"""Estimators of `fastml.neighbors` beside scikit-learn, and what they add to it."""

import tracemalloc
import warnings

import numpy as np
import pytest
import sklearn.neighbors as peer
from scipy import sparse
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_score

from fastml import neighbors as ours
from fastml.neighbors._weights import neighbour_weights

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = (X[:, 0] + 0.3 * RNG.normal(size=300) > 0).astype(int) + (X[:, 1] > 1)
Q = RNG.normal(size=(60, 3))
ALGORITHMS = ("brute", "kd_tree", "ball_tree", "auto")


# ---------------------------------------------------------------------------- beside scikit-learn


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_classifier_and_regressor_equal_scikit_learn(algorithm, weights):
    settings = {"n_neighbors": 6, "algorithm": algorithm, "weights": weights}
    mine = ours.KNeighborsClassifier(**settings).fit(X, Y)
    theirs = peer.KNeighborsClassifier(**settings).fit(X, Y)
    np.testing.assert_array_equal(mine.predict(Q), theirs.predict(Q))
    np.testing.assert_allclose(mine.predict_proba(Q), theirs.predict_proba(Q))
    assert mine.score(None, Y) == theirs.score(None, Y)  # leave-one-out
    targets = np.column_stack([X[:, 0], X[:, 1] ** 2])
    np.testing.assert_allclose(
        ours.KNeighborsRegressor(**settings).fit(X, targets).predict(Q),
        peer.KNeighborsRegressor(**settings).fit(X, targets).predict(Q),
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_radius_estimators_equal_scikit_learn(algorithm):
    settings = {"radius": 1.2, "algorithm": algorithm, "weights": "distance"}
    mine = ours.RadiusNeighborsClassifier(outlier_label=0, **settings).fit(X, Y)
    theirs = peer.RadiusNeighborsClassifier(outlier_label=0, **settings).fit(X, Y)
    np.testing.assert_allclose(mine.predict_proba(Q), theirs.predict_proba(Q))
    near = Q[np.abs(Q).max(axis=1) < 1]
    np.testing.assert_allclose(
        ours.RadiusNeighborsRegressor(**settings).fit(X, X[:, 0]).predict(near),
        peer.RadiusNeighborsRegressor(**settings).fit(X, X[:, 0]).predict(near),
    )


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_sparse_input_equals_dense(metric):
    rows = sparse.random(80, 12, 0.3, format="csr", random_state=0)
    found = ours.NearestNeighbors(n_neighbors=4, metric=metric).fit(rows)
    dense = ours.NearestNeighbors(n_neighbors=4, metric=metric, algorithm="brute").fit(
        rows.toarray()
    )
    expected, _ = dense.kneighbors(rows.toarray())
    np.testing.assert_allclose(found.kneighbors(rows)[0], expected, atol=1e-7)


def test_precomputed_dense_and_sparse():
    D = np.sqrt(((X[:40, None] - X[None, :40]) ** 2).sum(-1))
    expected = ours.NearestNeighbors(n_neighbors=3).fit(X[:40]).kneighbors()
    found = ours.NearestNeighbors(n_neighbors=3, metric="precomputed").fit(D).kneighbors()
    np.testing.assert_array_equal(found[1], expected[1])
    graph = ours.KNeighborsTransformer(n_neighbors=5).fit_transform(X[:40])
    search = ours.NearestNeighbors(n_neighbors=3, metric="precomputed").fit(graph)
    np.testing.assert_array_equal(search.kneighbors()[1], expected[1])


def test_a_callable_metric():
    search = ours.NearestNeighbors(n_neighbors=3, metric=lambda a, b: np.abs(a - b).sum())
    expected = ours.NearestNeighbors(n_neighbors=3, metric="manhattan").fit(X[:50])
    np.testing.assert_allclose(
        search.fit(X[:50]).kneighbors(Q[:5])[0], expected.kneighbors(Q[:5])[0]
    )


def test_graphs_equal_scikit_learn():
    for mode in ("connectivity", "distance"):
        for name, value in (("kneighbors_graph", 4), ("radius_neighbors_graph", 0.8)):
            mine = getattr(ours, name)(X, value, mode=mode)
            theirs = getattr(peer, name)(X, value, mode=mode)
            np.testing.assert_allclose(mine.toarray(), theirs.toarray())


@pytest.mark.parametrize("novelty", [False, True])
def test_local_outlier_factor_equals_scikit_learn(novelty):
    mine = ours.LocalOutlierFactor(15, novelty=novelty, contamination=0.1).fit(X)
    theirs = peer.LocalOutlierFactor(15, novelty=novelty, contamination=0.1).fit(X)
    np.testing.assert_allclose(mine.negative_outlier_factor_, theirs.negative_outlier_factor_)
    if novelty:
        np.testing.assert_allclose(mine.score_samples(Q), theirs.score_samples(Q))
        np.testing.assert_array_equal(mine.predict(Q), theirs.predict(Q))


@pytest.mark.parametrize(
    "settings",
    [{}, {"metric": "manhattan"}, {"shrink_threshold": 0.3}, {"priors": [0.2, 0.3, 0.5]}],
)
def test_nearest_centroid_equals_scikit_learn(settings):
    mine = ours.NearestCentroid(**settings).fit(X, Y)
    theirs = peer.NearestCentroid(**settings).fit(X, Y)
    np.testing.assert_allclose(mine.centroids_, theirs.centroids_)
    np.testing.assert_array_equal(mine.predict(Q), theirs.predict(Q))
    if settings.get("metric") != "manhattan":
        np.testing.assert_allclose(mine.predict_proba(Q), theirs.predict_proba(Q))


def test_trees_equal_scikit_learn():
    for mine, theirs in ((ours.KDTree, peer.KDTree), (ours.BallTree, peer.BallTree)):
        a, b = mine(X), theirs(X)
        np.testing.assert_allclose(a.query(Q, 4)[0], b.query(Q, 4)[0])
        np.testing.assert_array_equal(
            a.query_radius(Q, 0.7, count_only=True), b.query_radius(Q, 0.7, count_only=True)
        )
        r = [0.2, 0.7, 2.0]
        np.testing.assert_array_equal(a.two_point_correlation(Q, r), b.two_point_correlation(Q, r))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_same_bits_for_any_n_jobs_and_algorithm(algorithm):
    rows = RNG.normal(size=(3000, 4))
    expected = ours.NearestNeighbors(algorithm=algorithm, n_jobs=1).fit(rows).kneighbors()
    found = ours.NearestNeighbors(algorithm=algorithm, n_jobs=2).fit(rows).kneighbors()
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    brute = ours.NearestNeighbors(algorithm="brute").fit(rows).kneighbors()
    np.testing.assert_array_equal(found[1], brute[1])


# ---------------------------------------------------------------------------- beyond it


def test_rank_weights_of_the_textbook():
    """Labels by distance: triangle, triangle, square, square, square (textbook example)."""
    rows, labels = [[1.0], [2.0], [3.0], [4.0], [5.0]], ["t", "t", "s", "s", "s"]
    query = [[0.0]]
    predict = {
        weights: ours.KNeighborsClassifier(5, weights=weights).fit(rows, labels).predict(query)[0]
        for weights in ("uniform", "linear", "geometric")
    }
    assert predict == {"uniform": "s", "linear": "t", "geometric": "t"}
    shares = ours.KNeighborsClassifier(5, weights="linear").fit(rows, labels).predict_proba(query)
    np.testing.assert_allclose(shares, [[1.2 / 3.0, 1.8 / 3.0]])


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "triangular", "rectangular"])
def test_kernel_weights(kernel):
    distances = np.array([[0.0, 1.0, 3.0], [5.0, 6.0, 7.0]])
    weights = neighbour_weights(kernel, distances, bandwidth=2.0)
    u = distances[0] / 2.0
    formula = {
        "gaussian": np.exp(-(u**2) / 2),
        "epanechnikov": np.maximum(0, 1 - u**2),
        "triangular": np.maximum(0, 1 - u),
        "rectangular": (u <= 1).astype(float),
    }[kernel]
    np.testing.assert_allclose(weights[0], formula)
    assert (weights[1] > 0).all()  # beyond a finite kernel all count alike
    model = ours.KNeighborsRegressor(4, weights=kernel).fit(X, X[:, 0])
    near, indices = model.kneighbors(Q, 5)
    expected = neighbour_weights(kernel, near[:, :4], bandwidth=near[:, 4])
    np.testing.assert_allclose(
        model.predict(Q), np.average(X[indices[:, :4], 0], weights=expected, axis=1)
    )


def test_refusal_on_a_tie():
    rows, labels = [[-1.0], [1.0]], [-1, 1]
    for rule, at_centre, off_centre in (("smallest", -1, -1), ("nearest", 0, 1), ("refuse", 0, 0)):
        model = ours.KNeighborsClassifier(2, on_tie=rule).fit(rows, labels)
        np.testing.assert_array_equal(model.predict([[0.0], [0.4]]), [at_centre, off_centre])
    model = ours.KNeighborsClassifier(2, on_tie="refuse", refusal_label=99).fit(rows, labels)
    assert model.predict([[0.0]])[0] == 99
    with pytest.raises(TypeError, match="refusal_label"):
        ours.KNeighborsClassifier(2, on_tie="refuse", refusal_label="no").fit(rows, labels)


def test_the_refusal_label_is_no_class():
    rows = [[-1.0], [1.0]]
    for labels, expected in (
        ([0, 1], -1),
        ([1, 2], 0),
        ([-1, 0], -2),
        (["a", "b"], "refused"),
        (["refused", "b"], "refused_"),
        ([0.0, 1.0], -1.0),
    ):
        model = ours.KNeighborsClassifier(2, on_tie="refuse").fit(rows, labels)
        assert model.refusal_label_ == expected
        assert model.predict([[0.0]])[0] == expected
    with pytest.raises(ValueError, match="refusal_label 0 is a class"):
        ours.KNeighborsClassifier(2, on_tie="nearest", refusal_label=0).fit(rows, [0, 1])
    ours.KNeighborsClassifier(2, refusal_label=0).fit(rows, [0, 1])  # it never refuses


def test_counting_distances_by_name():
    points = np.array([[1.0, 2.0, 3.0], [1.0, 5.0, 3.0], [4.0, 5.0, 6.0]])
    for metric, expected in (("l0", [0.0, 1.0, 3.0]), ("discrete", [0.0, 1.0, 1.0])):
        search = ours.NearestNeighbors(n_neighbors=3, metric=metric).fit(points)
        distances, indices = search.kneighbors(points[:1])
        np.testing.assert_array_equal(distances[0], expected)
        np.testing.assert_array_equal(indices[0], [0, 1, 2])


@pytest.mark.parametrize("algorithm", ["auto", "brute", "ball_tree"])
def test_haversine_needs_two_columns_at_fit(algorithm):
    with pytest.raises(ValueError, match="2 dimensions"):
        ours.NearestNeighbors(metric="haversine", algorithm=algorithm).fit(np.ones((10, 3)))


def test_validation_curve_where_the_errors_meet():
    data = np.random.default_rng(0)
    points = data.normal(size=(150, 2))
    labels = (points[:, 0] + data.normal(size=150) > 0).astype(int)
    ks = [15, 1, 3, 25, 7, 60]
    curve = ours.knn_validation_curve(points, labels, ks, rule="meet")
    gap = dict(zip(ks, curve.mean_train_score - curve.mean_test_score))
    meets = [k for k in sorted(ks) if gap[k] <= 0]
    expected = meets[0] if meets else min(ks, key=gap.__getitem__)
    assert curve.best_n_neighbors == expected != 1
    assert curve.best_score == dict(zip(ks, curve.mean_test_score))[expected]
    never = ours.knn_validation_curve(points, labels, [1, 3], rule="meet")
    assert never.best_n_neighbors == 3
    with pytest.raises(ValueError, match="rule must be one of"):
        ours.knn_validation_curve(points, labels, ks, rule="cross")


@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", "roc_auc", "neg_log_loss"])
def test_validation_curve_scores_by_name(scoring):
    data = np.random.default_rng(1)
    points = data.normal(size=(90, 3))
    labels = np.where(points[:, 0] + data.normal(size=90) > 0, "yes", "no")
    curve = ours.knn_validation_curve(points, labels, [5, 11], cv=3, scoring=scoring)
    for k, scores in zip((5, 11), curve.test_scores):
        expected = cross_val_score(
            peer.KNeighborsClassifier(k), points, labels, cv=3, scoring=scoring
        )
        np.testing.assert_allclose(scores, expected)


def test_validation_curve_of_a_regression_scored_by_name():
    points = np.random.default_rng(1).normal(size=(90, 3))
    targets = points @ [1.0, 2.0, 3.0]
    scoring = "neg_mean_absolute_error"
    curve = ours.knn_validation_curve(points, targets, [4], cv=3, scoring=scoring)
    expected = cross_val_score(peer.KNeighborsRegressor(4), points, targets, cv=3, scoring=scoring)
    np.testing.assert_allclose(curve.test_scores[0], expected)


def test_validation_curve_equals_grid_search():
    ks = [1, 3, 8, 15]
    curve = ours.knn_validation_curve(X, Y, ks, cv=4, return_train_score=True)
    grid = GridSearchCV(
        peer.KNeighborsClassifier(), {"n_neighbors": ks}, cv=4, return_train_score=True
    ).fit(X, Y)
    np.testing.assert_allclose(curve.mean_test_score, grid.cv_results_["mean_test_score"])
    np.testing.assert_allclose(curve.mean_train_score, grid.cv_results_["mean_train_score"])
    assert curve.best_n_neighbors == grid.best_params_["n_neighbors"]
    targets = X[:, 0] ** 2
    curve = ours.knn_validation_curve(X, targets, ks, cv=4)
    grid = GridSearchCV(peer.KNeighborsRegressor(), {"n_neighbors": ks}, cv=4).fit(X, targets)
    np.testing.assert_allclose(curve.mean_test_score, grid.cv_results_["mean_test_score"])


def test_leave_one_out_in_one_pass():
    rows, labels = X[:60], Y[:60]
    curve = ours.knn_validation_curve(rows, labels, [1, 4], cv="loo")
    for k, score in zip((1, 4), curve.mean_test_score):
        expected = cross_val_score(
            peer.KNeighborsClassifier(k), rows, labels, cv=LeaveOneOut()
        ).mean()
        assert score == pytest.approx(expected)


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ours.KNeighborsClassifier(301).fit(X, Y).predict(Q), "n_neighbors"),
        (lambda: ours.NearestNeighbors().fit(X).kneighbors(Q[:, :2]), "features"),
        (lambda: ours.NearestNeighbors().fit(np.where(X > 2, np.nan, X)), "NaN"),
        (lambda: ours.NearestNeighbors(metric="nonsense").fit(X), "euclidean"),
        (lambda: ours.NearestNeighbors(p=0.5, algorithm="kd_tree").fit(X), "p"),
        (lambda: ours.NearestNeighbors(p=-1).fit(X), "p"),
        (lambda: ours.NearestNeighbors().fit(np.empty((0, 3))), "0 sample"),
        (lambda: ours.NearestNeighbors().fit(X.astype(complex)), "omplex"),
        (lambda: ours.KDTree(X, metric="cosine"), "cosine"),
        (lambda: ours.KDTree(X, p=0.5), "p must be"),
        (lambda: ours.KDTree(X).query(Q, k=301), "k must be"),
        (lambda: ours.KDTree(X).query(Q[:, :2]), "dimension"),
        (lambda: ours.BallTree(X, metric="haversine"), "2 dimensions"),
        (lambda: ours.NearestNeighbors(metric="precomputed").fit(np.abs(X)), "square"),
        (lambda: ours.KNeighborsClassifier(weights="cubic").fit(X, Y), "weights"),
        (lambda: ours.knn_validation_curve(X, Y, [0]), "at least 1"),
        (lambda: ours.knn_validation_curve(X, Y, [1.5]), "integers"),
        (lambda: ours.knn_validation_curve(X, Y, [300], cv="loo"), "below"),
        (lambda: ours.NearestCentroid().fit(X, np.zeros(300)), "greater than one"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_radius_without_neighbours_follows_scikit_learn():
    far = [[1e6, 0.0, 0.0]]
    with pytest.raises(ValueError, match="No neighbors found"):
        ours.RadiusNeighborsClassifier(1.0).fit(X, Y).predict(far)
    labelled = ours.RadiusNeighborsClassifier(1.0, outlier_label=-7).fit(X, Y)
    with pytest.warns(UserWarning, match="not in training"):
        assert labelled.predict(far)[0] == -7
    frequent = ours.RadiusNeighborsClassifier(1.0, outlier_label="most_frequent").fit(X, Y)
    assert frequent.predict(far)[0] == np.bincount(Y).argmax()
    regressor = ours.RadiusNeighborsRegressor(1.0).fit(X, X[:, 0])
    with pytest.warns(UserWarning, match="predicting NaN"):
        assert np.isnan(regressor.predict(far)[0])


# ---------------------------------------------------------------------------- plots


def test_plots_draw():
    plt = pytest.importorskip("matplotlib.pyplot")
    from fastml.plot import decision_regions, validation_curve

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        model = ours.KNeighborsClassifier(2, on_tie="refuse", refusal_label=-1).fit(X[:, :2], Y)
        ax = decision_regions(model, X[:, :2], Y, resolution=20)
        assert len(ax.collections) == 2
        curve = ours.knn_validation_curve(X, Y, [1, 5, 9], cv=3, return_train_score=True)
        ax = validation_curve(curve)
        assert [line.get_label() for line in ax.lines][:2] == ["validation", "training"]
        plt.close("all")
    with pytest.raises(ValueError, match="two columns"):
        decision_regions(model, X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_brute_search_needs_little_memory(dtype):
    """Far less than 300 MB above inputs and outputs; the distances alone would be 320 MB."""
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(20_000, 512)).astype(dtype), rng.normal(size=(2_000, 512)).astype(dtype)
    search = ours.NearestNeighbors(algorithm="brute").fit(X)
    search.kneighbors(Q[:20])
    tracemalloc.start()
    try:
        distances, indices = search.kneighbors(Q)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - distances.nbytes - indices.nbytes < 64e6


@pytest.mark.parametrize("metric", ["minkowski", "russellrao"])
def test_text_is_no_number(metric):
    X, text = np.eye(4), np.eye(4).astype(str)
    with pytest.raises(ValueError, match="arrays of bytes/strings"):
        ours.NearestNeighbors(metric=metric).fit(text)
    with pytest.raises(ValueError, match="arrays of bytes/strings"):
        ours.NearestNeighbors(n_neighbors=2).fit(X).kneighbors(text)


@pytest.mark.parametrize("algorithm", ["auto", "ball_tree"])
def test_function_by_name(algorithm):
    X = np.random.default_rng(0).normal(size=(20, 3))
    search = ours.NearestNeighbors(n_neighbors=2, metric="pyfunc", algorithm=algorithm)
    with pytest.raises(TypeError, match="func"):
        search.fit(X)
    search.set_params(metric_params={"func": lambda a, b: np.abs(a - b).sum()}).fit(X)
    expected = ours.NearestNeighbors(n_neighbors=2, metric="manhattan").fit(X).kneighbors(X)
    np.testing.assert_allclose(search.kneighbors(X)[0], expected[0])
