"""Textbook examples (inputs and values in data/worked_examples.json), computed by fastml.

An example joins by a function below that names what it needs; it is tested as soon as fastml has
those names, and it must not disappear again: see `MUST_BE_COVERED`.
"""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

STORED = json.loads((Path(__file__).parent / "data" / "worked_examples.json").read_text())
EXAMPLES = {example["id"]: example for example in STORED["examples"]}
COMPUTATIONS: dict = {}
"""id → (names needed, function of (inputs, parameters, names) → values by key of `recomputed`)."""

MUST_BE_COVERED = {
    "000-boosting-a",
    "000-entropy-A",
    "000-entropy-B",
    "000-entropy-D",
    "000-entropy-E",
    "000-knn-k3",
    "000-knn-refusal",
    "000-knn-weighted-k5",
    "000-rf-max-features",
    "000-taxi-P2",
    "000-unit-balls",
    "003-binary-entropy",
    "003-error-rate-zero-gain",
    "003-region-means",
    "004-kde-kernels",
    "004-normalised-kernel",
    "004-ridge-dual",
    "derived-active-learning",
    "derived-classical-mds",
    "derived-elbow-ratio",
    "derived-kde",
    "derived-kernel-pca-duality",
    "derived-knn-distance-weights",
    "derived-regression-splits",
    "derived-sne",
}


def example(id_, *needs):
    def register(function):
        COMPUTATIONS[id_] = (needs, function)
        return function

    return register


def found(name):
    """fastml's object of this path, or None."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(f"fastml.{module}"), attribute, None)
    except ModuleNotFoundError:
        return None


# ---------------------------------------------------------------------------- distances


@example("000-taxi-P2", "metrics.pairwise_distances", "neighbors.KNeighborsClassifier")
def taxi(inputs, parameters, pairwise_distances, KNeighborsClassifier):
    records, query = np.array(inputs["records"]), np.array([inputs["query"]])
    spread = np.ptp(np.vstack([records, query]), axis=0)
    model = KNeighborsClassifier(parameters["k"], metric="l1").fit(records, inputs["labels"])

    def distances(X, q, metric):
        return pairwise_distances(q, X, metric=metric)[0]

    return {
        "l1": distances(records, query, "l1"),
        "l2": distances(records, query, "l2"),
        "linf": distances(records, query, "chebyshev"),
        "l1_each_feature_divided_by_range_incl_query": distances(
            records / spread, query / spread, "manhattan"
        ),
        "counting_distance_per_feature_sum": 4 * distances(records, query, "hamming"),
        "prediction": model.predict(query)[0],
    }


@example("000-unit-balls", "metrics.pairwise_distances")
def unit_balls(inputs, parameters, pairwise_distances):
    points, center = np.array(inputs["points"]), np.array([parameters["center"]], dtype=float)

    def inside(metric, scale=1):
        distances = scale * pairwise_distances(points, center, metric=metric)[:, 0]
        return distances < parameters["radius"]

    return {"l2": inside("l2"), "l1": inside("l1"), "counting": inside("hamming", 2)}


@example("derived-classical-mds", "metrics.pairwise.euclidean_distances")
def classical_mds(inputs, parameters, euclidean_distances):
    D = euclidean_distances(np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]]))
    np.testing.assert_allclose(D, inputs["D"], atol=1e-12)
    first = D[parameters["reference_point"] - 1] ** 2
    centering = np.eye(3) - 1 / 3
    B = -0.5 * centering @ D**2 @ centering
    return {
        "S_correct_minus_sign": 0.5 * (first[:, None] + first - D**2),
        "double_centred_B": B,
        "eigenvalues_B": np.linalg.eigvalsh(B),
    }


@example("derived-sne", "metrics.pairwise.euclidean_distances")
def sne(inputs, parameters, euclidean_distances):
    def conditional(x, two_sigma_squared):
        x = np.array(x)[:, None]
        similarity = np.exp(-euclidean_distances(x, squared=True) / two_sigma_squared)
        np.fill_diagonal(similarity, 0.0)
        return similarity / similarity.sum(axis=1, keepdims=True)

    p, q = conditional(inputs["x"], 2 * parameters["sigma"] ** 2), conditional(inputs["z"], 1.0)
    off = ~np.eye(3, dtype=bool)
    entropy = -np.where(off, p * np.log2(np.where(off, p, 1.0)), 0.0).sum(axis=1)
    return {
        "p_j_given_i": p,
        "q_j_given_i": q,
        "cost": (p[off] * np.log(p[off] / q[off])).sum(),
        "perplexities": 2**entropy,
    }


# ---------------------------------------------------------------------------- kernels


@example("004-normalised-kernel", "metrics.pairwise.rbf_kernel", "metrics.pairwise.linear_kernel")
def normalised_kernel(inputs, parameters, rbf_kernel, linear_kernel):
    x, y = (np.array([inputs[key]], dtype=float) for key in ("x", "x2"))
    scale = parameters["sigma"] ** 2

    def exponential(a, b):
        return np.exp(linear_kernel(a, b)[0, 0] / scale)

    return {
        "exp_value": exponential(x, y),
        "normalised": exponential(x, y) / np.sqrt(exponential(x, x) * exponential(y, y)),
        "gaussian": rbf_kernel(x, y, gamma=1 / (2 * scale))[0, 0],
    }


@example("004-ridge-dual", "metrics.pairwise.linear_kernel")
def ridge_dual(inputs, parameters, linear_kernel):
    X, y = np.array(inputs["X"]), np.array(inputs["y"])
    alpha = np.linalg.solve(linear_kernel(X) + parameters["lam"] * np.eye(len(X)), y)
    return {"alpha": alpha, "W_dual": X.T @ alpha}


@example("derived-active-learning", "metrics.pairwise.rbf_kernel")
def active_learning(inputs, parameters, rbf_kernel):
    x, candidates = (np.array(inputs[key])[:, None] for key in ("x", "candidates"))
    K = rbf_kernel(x, gamma=0.5) + parameters["noise_variance"] * np.eye(len(x))
    cross = rbf_kernel(x, candidates, gamma=0.5)
    return {"variance": 1.0 - np.einsum("ij,ij->j", cross, np.linalg.solve(K, cross))}


@example("derived-kernel-pca-duality", "metrics.pairwise.linear_kernel")
def kernel_pca(inputs, parameters, linear_kernel):
    X = np.array(inputs["X"], dtype=float)
    return {
        "XtX": np.linalg.eigvalsh(linear_kernel(X.T))[::-1],
        "XXt": np.linalg.eigvalsh(linear_kernel(X))[::-1],
    }


# ---------------------------------------------------------------------------- neighbours


def on_a_line(labels):
    """Training rows at distance 1, 2, 3 … from the origin: neighbours in the order given."""
    return np.arange(1.0, len(labels) + 1)[:, None], np.array(labels)


def votes(model, k):
    """Class → sum of weights, with the prediction, for a query at the origin."""
    shares = model.predict_proba([[0.0]])[0]
    return dict(zip(model.classes_, shares * k)) | {"prediction": model.predict([[0.0]])[0]}


@example("000-knn-k3", "neighbors.KNeighborsClassifier")
def knn_k3(inputs, parameters, KNeighborsClassifier):
    model = KNeighborsClassifier(parameters["k"])
    counted = votes(model.fit(*on_a_line(inputs["neighbour_labels_by_distance"])), parameters["k"])
    return {"prediction": counted.pop("prediction"), "votes": counted}


@example("000-knn-weighted-k5", "neighbors.KNeighborsClassifier")
def knn_rank_weights(inputs, parameters, KNeighborsClassifier):
    k = parameters["k"]
    X, y = on_a_line(inputs["neighbour_labels_by_distance"])

    def voted(weights, total):
        return votes(KNeighborsClassifier(k, weights=weights).fit(X, y), total)

    linear = [(k + 1 - s) / k for s in range(1, k + 1)]
    return {
        "weights": linear,
        "unweighted": voted("uniform", k),
        "weighted": voted("linear", sum(linear)),
        "geometric_q_0_5": voted("geometric", sum(0.5**s for s in range(1, k + 1))),
    }


@example("000-knn-refusal", "neighbors.KNeighborsClassifier")
def knn_refusal(inputs, parameters, KNeighborsClassifier):
    model = KNeighborsClassifier(parameters["k"], on_tie="refuse", refusal_label=0)
    model.fit(np.array(inputs["train_x"], dtype=float)[:, None], inputs["train_y"])
    return {"prediction": model.predict([[float(inputs["query"])]])[0]}


@example("derived-knn-distance-weights", "neighbors.KNeighborsRegressor")
def knn_distance_weights(inputs, parameters, KNeighborsRegressor):
    model = KNeighborsRegressor(parameters["k"], weights="distance")
    model.fit(np.array(inputs["x"])[:, None], inputs["y"])
    return {"normalised": model.predict([[inputs["query"]]])[0]}


# ---------------------------------------------------------------------------- densities

DENSITIES = {
    "rectangular": "tophat",
    "triangular": "linear",
    "gaussian": "gaussian",
    "epanechnikov": "epanechnikov",
}


@example("derived-kde", "neighbors.KernelDensity")
def kde(inputs, parameters, KernelDensity):
    x = np.array(inputs["x"])[:, None]

    def density(kernel):
        model = KernelDensity(bandwidth=float(parameters["h"]), kernel=kernel).fit(x)
        return np.exp(model.score_samples([[inputs["at"]]])[0])

    return {name: density(kernel) for name, kernel in DENSITIES.items()}


@example("004-kde-kernels", "neighbors.KernelDensity")
def kde_kernels(inputs, parameters, KernelDensity):
    """One point at zero, bandwidth one: the density is the kernel. Midpoint rule."""
    width = 1e-4
    grid = np.arange(-9 + width / 2, 9, width)
    found = {"value_at_0": [], "mass": [], "variance": []}
    for name in inputs["kernels"]:
        model = KernelDensity(bandwidth=1.0, kernel=DENSITIES[name]).fit([[0.0]])
        density = np.exp(model.score_samples(grid[:, None]))
        found["value_at_0"].append(np.exp(model.score_samples([[0.0]])[0]))
        found["mass"].append(Within(density.sum() * width, 1e-7))
        found["variance"].append(Within((density * grid**2).sum() * width, 1e-7))
    return found


class Within(float):
    """A value that was computed by a rule coarser than the example's tolerance."""

    def __new__(cls, value, tolerance):
        made = super().__new__(cls, value)
        made.tolerance = tolerance
        return made


# ---------------------------------------------------------------------------- clusters


@example("003-purity", "metrics.cluster.purity_score")
def purity(inputs, parameters, purity_score):
    counts = np.array(inputs["n_ij_cluster_by_label"])
    clusters, labels = (np.repeat(i.ravel(), counts.ravel()) for i in np.indices(counts.shape))
    return {
        "standard_purity": purity_score(labels, clusters),
        "macro_purity": purity_score(labels, clusters, average="macro"),
    }


@example("derived-elbow-ratio", "cluster.elbow_ratios")
def elbow(inputs, parameters, elbow_ratios):
    ratios = elbow_ratios({int(k): q for k, q in inputs["Q_by_K"].items()})
    best = min(ratios, key=ratios.get)
    return {"D": {str(k): d for k, d in ratios.items()}, "best_K": best}


# ---------------------------------------------------------------------------- trees


def rows_of(*sides):
    """A column that tells the sides apart, and labels by their counts on each side."""
    X = np.repeat(np.arange(len(sides)), [sum(counts) for counts in sides])[:, None]
    return X, np.concatenate([np.repeat(np.arange(len(counts)), counts) for counts in sides])


def impurities(Tree, criterion, left, right):
    """Of the root and its children, and what the split gains."""
    model = Tree(criterion=criterion, max_depth=1).fit(*rows_of(left, right)).tree_
    parent, *children = model.impurity
    within = np.average(children, weights=model.n_node_samples[1:])
    return {
        "parent": parent, "left": children[0], "right": children[1],
        "weighted_children": within, "gain": parent - within,
    }  # fmt: skip


def split_of_counts(inputs, parameters, Tree):
    names = {"entropy_bits": "entropy", "gini": "gini", "miss_rate": "error"}
    sides = inputs["left_counts"], inputs["right_counts"]
    return {key: impurities(Tree, criterion, *sides) for key, criterion in names.items()}


for letter in "ABDE":
    example(f"000-entropy-{letter}", "tree.DecisionTreeClassifier")(split_of_counts)


@example("003-binary-entropy", "tree.DecisionTreeClassifier")
def binary_entropy(inputs, parameters, Tree):
    useless = impurities(Tree, "entropy", *inputs["useless_split"].values())
    roots = [
        Tree(criterion="entropy").fit(*rows_of(counts)).tree_.impurity[0]
        for counts in inputs["counts"]
    ]
    return {
        "H": roots,
        "useless_split_entropy": useless["weighted_children"],
        "useless_split_gain": useless["gain"],
    }


@example("003-error-rate-zero-gain", "tree.DecisionTreeClassifier")
def zero_gain(inputs, parameters, Tree):
    names = {"gain_error": "error", "gain_entropy_bits": "entropy", "gain_gini": "gini"}
    sides = inputs["left"], inputs["right"]
    return {key: impurities(Tree, criterion, *sides)["gain"] for key, criterion in names.items()}


@example("003-region-means", "tree.DecisionTreeRegressor")
def region_means(inputs, parameters, Tree):
    y = np.repeat(list(inputs["region_means"].values()), 2) + np.array([-1.0, 1.0, -2.0, 2.0])
    model = Tree(max_depth=1).fit([[0.0], [0.1], [1.0], [1.1]], y)
    return dict(zip(("predict_R1", "predict_R2"), model.predict([[0.0], [1.0]])))


@example("derived-regression-splits", "tree.DecisionTreeRegressor")
def regression_splits(inputs, parameters, Tree):
    x, y = np.array(inputs["x"], dtype=float), np.array(inputs["y"], dtype=float)
    values = {"RSS": {}, "SAR": {}}
    for name, criterion in (("RSS", "squared_error"), ("SAR", "absolute_error")):
        for t in x[:-1]:
            model = Tree(criterion=criterion, max_depth=1).fit((x > t)[:, None], y).tree_
            within = np.average(model.impurity[1:], weights=model.n_node_samples[1:])
            values[name][f"x<={t:.0f}"] = within * len(x)
        values[f"parent_{name}"] = model.impurity[0] * len(x)
    values["gain_RSS"] = {t: values["parent_RSS"] - rss for t, rss in values["RSS"].items()}
    chosen = Tree(max_depth=1).fit(x[:, None], y).tree_.threshold[0]
    values["best_by_RSS"] = f"x<={np.floor(chosen):.0f}"
    return values


@example("000-rf-max-features", "ensemble.RandomForestClassifier", "ensemble.RandomForestRegressor")
def features_per_split(inputs, parameters, Classifier, Regressor):
    def drawn(forest, d):
        return forest.fit(np.eye(4, d), [0, 1, 0, 1]).estimators_[0].max_features_

    return {
        "classification": [drawn(Classifier(1), d) for d in inputs["d"]],
        "regression": [drawn(Regressor(1, max_features=1 / 3), d) for d in inputs["d"]],
    }


# ---------------------------------------------------------------------------- boosting


@example("000-boosting-a", "ensemble.HistGradientBoostingRegressor")
def boosted_stumps(inputs, parameters, HistGradientBoostingRegressor):
    from fastml.kernels.boost_loss import sample_loss  # gradient 2 (a - y), hessian 1, start 0

    X, y = np.array(inputs["x"], dtype=float)[:, None], np.array(inputs["y"], dtype=float)
    model = HistGradientBoostingRegressor(
        loss=sample_loss,
        learning_rate=parameters["eta"],
        l2_regularization=parameters["lam"],
        max_iter=parameters["n_stumps"],
        max_leaf_nodes=2,
        min_samples_leaf=1,
        gamma=-1000.0,  # the notes split even where no split lowers the regularised loss
    ).fit(X, y)
    before, values = np.zeros(4), []
    for a in model.staged_predict(X):
        b = a - before
        sse = float(((y - a) ** 2).sum())
        values.append(
            {"b": b.tolist(), "a": a.tolist(), "y_L": b[0], "y_R": b[3], "sse_after": sse}
        )
        before = a
    return values


# ---------------------------------------------------------------------------- the tests


def compare(actual, expected, tolerance, where):
    if isinstance(expected, dict):
        for key, value in actual.items():
            assert key in expected, f"{where}.{key} is not in the example"
            compare(value, expected[key], tolerance, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(actual) == len(expected), where
        for i, (a, b) in enumerate(zip(actual, expected)):
            compare(a, b, tolerance, f"{where}[{i}]")
    elif isinstance(expected, str | bool):
        assert actual == expected, f"{where}: {actual!r} instead of {expected!r}"
    else:
        tolerance = getattr(actual, "tolerance", tolerance)
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance, err_msg=where)


AVAILABLE = {
    id_: function
    for id_, (needs, function) in COMPUTATIONS.items()
    if all(found(name) is not None for name in needs)
}


def test_nothing_is_lost():
    assert set(AVAILABLE) >= MUST_BE_COVERED


@pytest.mark.parametrize("id_", AVAILABLE)
def test_worked_example(id_):
    stored = EXAMPLES[id_]
    needs, function = COMPUTATIONS[id_]
    values = function(stored["inputs"], stored["parameters"], *map(found, needs))
    assert values
    compare(values, stored["recomputed"], stored["tolerance_recomputed"], id_)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        ({"a": 1.0}, {"a": 1.1}),
        ({"a": 1.0}, {"b": 1.0}),
        ({"a": [1.0]}, {"a": [1.0, 1.0]}),
        ({"a": "yes"}, {"a": "no"}),
        ({"a": True}, {"a": False}),
        ({"a": [[1.0, 2.0]]}, {"a": [[1.0, 2.0 + 1e-8]]}),
    ],
)
def test_comparison_can_fail(actual, expected):
    with pytest.raises(AssertionError):
        compare(actual, expected, 1e-9, "example")
