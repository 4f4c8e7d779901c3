"""Textbook examples (inputs and values in data/worked_examples.json), computed by fastml.

An example joins by a function below that names what it needs; it is tested as soon as fastml has
those names, and it must not disappear again: see `MUST_BE_COVERED`.
"""

import importlib
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

STORED = json.loads((Path(__file__).parent / "data" / "worked_examples.json").read_text())
EXAMPLES = {example["id"]: example for example in STORED["examples"]}
COMPUTATIONS: dict = {}
"""id → (names needed, function of (inputs, parameters, names) → values by key of `recomputed`)."""

MUST_BE_COVERED = {
    "000-age-bins",
    "000-auc-inversions",
    "000-auc-vs-prc",
    "000-boosting-a",
    "000-boxplot-percentile",
    "000-confusion-P5",
    "000-entropy-A",
    "000-entropy-B",
    "000-entropy-D",
    "000-entropy-E",
    "000-indicator-feature",
    "000-knn-k3",
    "000-knn-refusal",
    "000-knn-weighted-k5",
    "000-majority-accuracy",
    "000-mape-example",
    "000-pr-roc-P9-P10",
    "000-pr-roc-table",
    "000-quality-improvement",
    "000-rf-max-features",
    "000-taxi-P2",
    "000-unit-balls",
    "001-one-hot",
    "001-polynomial-count",
    "001-resampled-ttest",
    "001-startups-excerpt",
    "001-thermometer",
    "003-binary-entropy",
    "003-error-rate-zero-gain",
    "003-executors",
    "003-node-failures",
    "003-one-hot",
    "003-region-means",
    "003-word-count",
    "004-kde-kernels",
    "004-normalised-kernel",
    "004-ridge-dual",
    "derived-active-learning",
    "derived-classical-mds",
    "derived-combiner",
    "derived-elbow-ratio",
    "derived-kde",
    "derived-kernel-pca-duality",
    "derived-knn-distance-weights",
    "derived-pca-svd",
    "derived-procrustes",
    "derived-regression-metrics",
    "derived-regression-splits",
    "derived-scaling",
    "derived-sne",
    "derived-total-variation",
    "derived-winsorize",
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


# ---------------------------------------------------------------------------- columns


@example("001-startups-excerpt", "feature_selection.r_regression")
def startups(inputs, parameters, r_regression):
    columns, table = inputs["columns"], np.array(inputs["rows"])
    target = columns.index(parameters["target"])
    names = [name for name in columns if name != parameters["target"]]
    r = dict(zip(names, r_regression(np.delete(table, target, axis=1), table[:, target]).tolist()))
    return {"pearson": r, "ranking": sorted(names, key=lambda name: -abs(r[name]))}


@example("derived-total-variation", "feature_selection.total_variation")
def total_variation_of_bars(inputs, parameters, total_variation):
    counts = 2 * np.array([inputs["p_given_0"], inputs["p_given_1"]])
    y = np.repeat([0, 1], counts.sum(axis=1).astype(int))
    bars = [np.repeat(np.arange(counts.shape[1]), row.astype(int)) for row in counts]
    found = total_variation(np.concatenate(bars)[:, None], y, bins="values")[0]
    return {"notes_formula": 2.0 * found, "standard_TV": found}


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


# ---------------------------------------------------------------------------- metrics

REGRESSION = {
    "SSR": "residual_sum_of_squares",
    "MSE": "mean_squared_error",
    "RMSE": "root_mean_squared_error",
    "MAE": "mean_absolute_error",
    "MAPE": "mean_absolute_percentage_error",
    "MSLE": "mean_squared_log_error",
    "RMSLE": "root_mean_squared_log_error",
    "R2": "r2_score",
    "RSE_standard_without_root": "relative_squared_error",
    "RAE": "relative_absolute_error",
}
MORE = ("adjusted_r2_score", "residual_standard_error", "mean_huber_error", "mean_pinball_loss")


@example(
    "derived-regression-metrics",
    *(f"metrics.{name}" for name in (*REGRESSION.values(), *MORE)),
)
def regression_metrics(inputs, parameters, *functions):
    y, f, n = inputs["y"], inputs["pred"], parameters["n_features"]
    values = {key: function(y, f) for key, function in zip(REGRESSION, functions)}
    relative, (adjusted, standard, huber, pinball) = functions[8], functions[-4:]
    return {
        **values,
        "MAPE_percent": 100 * values["MAPE"],
        "RSE_001_with_root": relative(y, f, root=True),
        "adjusted_R2": adjusted(y, f, n),
        "residual_standard_error_003": standard(y, f, n),
        "Huber_eps_0_1": huber(y, f, epsilon=0.1),
        "Huber_eps_1": huber(y, f, epsilon=1.0),
        "Quantile_tau_0_5": pinball(y, f, alpha=0.5),
        "Quantile_tau_0_9": pinball(y, f, alpha=0.9),
    }


@example("000-mape-example", "metrics.mean_absolute_percentage_error")
def mape(inputs, parameters, error):
    first, second = zip(inputs["y"], inputs["pred"])
    return {"first": error(*([v] for v in first)), "second_correct": error(*([v] for v in second))}


@example("000-majority-accuracy", "metrics.report")
def majority(inputs, parameters, report):
    y = [1] * inputs["n_pos"] + [0] * inputs["n_neg"]
    values = report(y, [1] * len(y)).values
    return {"accuracy": values["accuracy"], "balanced_accuracy": values["balanced_accuracy"]}


CURVES = (
    "metrics.roc_curve",
    "metrics.precision_recall_curve",
    "metrics.roc_auc_score",
    "metrics.average_precision_score",
    "metrics.auc",
    "metrics.ordered_pair_share",
)


@example("000-pr-roc-table", *CURVES)
@example("000-pr-roc-P9-P10", *CURVES)
def curves(inputs, parameters, roc_curve, pr_curve, roc_auc, average_precision, auc, pair_share):
    y, s = inputs["y"], inputs["score"]
    fpr, tpr, thresholds = roc_curve(y, s, drop_intermediate=False)
    precision, recall, _ = pr_curve(y, s)
    pairs = pair_share(y, s)
    return {
        "thresholds_desc": thresholds[1:],
        "roc_fpr_tpr": np.column_stack([fpr, tpr]),
        "pr_recall_precision": np.column_stack([recall, precision])[-2::-1],
        "roc_auc": roc_auc(y, s),
        "average_precision": average_precision(y, s),
        "pr_auc_trapezoid_from_0_1": auc(recall, precision),
        "inversions": pairs.inversions,
        "pairs": sum(pairs[:3]),
    }


@example("000-auc-inversions", "metrics.ordered_pair_share", "metrics.report")
def inversions(inputs, parameters, pair_share, report):
    y, s = inputs["y1"], inputs["a1"]
    pairs = pair_share(y, s)
    labels = report(y, inputs["yhat1"])
    scores = report(y, y_score=np.array(s)).values
    (tn, fp), (fn, tp) = labels.confusion
    return {
        "inversions_a1": pairs.inversions,
        "pairs": sum(pairs[:3]),
        "inversion_fraction_a1": 1 - pairs.share,
        "roc_auc_a1": scores["roc_auc"],
        "average_precision_a1": scores["average_precision"],
        "roc_auc_a2": pair_share(inputs["y2"], inputs["a2"]).share,
        "confusion_a1_TP_FP_FN_TN": [tp, fp, fn, tn],
        **{f"{key}_a1": labels.values[key] for key in ("accuracy", "precision", "recall")},
    }


@example("000-auc-vs-prc", "metrics.roc_auc_score", "metrics.average_precision_score")
def auc_beside_precision(inputs, parameters, roc_auc, average_precision):
    n = inputs["n_neg"] + 1
    y = np.zeros(n, dtype=int)
    y[inputs["rank_of_positive"] - 1] = 1
    scores = -np.arange(n)
    return {"auc_roc": roc_auc(y, scores), "average_precision": average_precision(y, scores)}


@example("000-quality-improvement", "metrics.improvement")
def quality_improvement(inputs, parameters, improvement):
    found = [improvement(*pair) for pair in zip(inputs["old"], inputs["new"])]
    return {
        "absolute": [each.absolute for each in found],
        "relative_percent": [100 * each.relative for each in found],
    }


@example("000-confusion-P5", "metrics.report", "metrics.fbeta_score")
def confusion(inputs, parameters, report, fbeta_score):
    y = np.array(inputs["y"])
    predicted = np.where(np.array(inputs["score"]) > parameters["threshold"], 1, -1)
    found = report(y, predicted)
    (tn, fp), (fn, tp) = found.confusion
    names = ("precision", "recall", "accuracy", "specificity", "balanced_accuracy")
    return {
        **{"TP": tp, "FP": fp, "FN": fn, "TN": tn, "F1": found.values["f1"]},
        **{name: found.values[name] for name in names},
        "F2_correct": fbeta_score(y, predicted, beta=2),
        "F0_5_correct": fbeta_score(y, predicted, beta=0.5),
    }


# ---------------------------------------------------------------------------- kernels


@example("004-normalised-kernel", "metrics.pairwise.rbf_kernel")
def normalised_kernel(inputs, parameters, rbf_kernel):
    """exp(x·y / σ²), divided by what it is for x, x and y, y, is the Gaussian kernel."""
    x, y = (np.array([inputs[key]], dtype=float) for key in ("x", "x2"))
    value = rbf_kernel(x, y, gamma=1 / (2 * parameters["sigma"] ** 2))[0, 0]
    return {"normalised": value, "gaussian": value}


@example("004-ridge-dual", "kernel_ridge.KernelRidge")
def ridge_dual(inputs, parameters, KernelRidge):
    X, y = np.array(inputs["X"]), np.array(inputs["y"])
    model = KernelRidge(parameters["lam"], kernel="linear").fit(X, y)
    return {"alpha": model.dual_coef_, "W_dual": model.predict(np.eye(X.shape[1]))}


@example("derived-active-learning", "metrics.pairwise.rbf_kernel", "kernel_ridge.KernelRidge")
def active_learning(inputs, parameters, rbf_kernel, KernelRidge):
    """What a Gaussian process knows at a candidate is its kernel with the rows, smoothed."""
    x, candidates = (np.array(inputs[key])[:, None] for key in ("x", "candidates"))
    model = KernelRidge(parameters["noise_variance"], kernel="rbf", gamma=0.5)
    known = model.fit(x, rbf_kernel(x, candidates, gamma=0.5)).predict(candidates)
    return {"variance": 1.0 - np.diag(known)}


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


@example("000-knn-weighted-k5", "neighbors.KNeighborsClassifier", "neighbors.KNeighborsRegressor")
def knn_rank_weights(inputs, parameters, KNeighborsClassifier, KNeighborsRegressor):
    k = parameters["k"]
    X, y = on_a_line(inputs["neighbour_labels_by_distance"])

    def voted(weights, total):
        return votes(KNeighborsClassifier(k, weights=weights).fit(X, y), total)

    shares = KNeighborsRegressor(k, weights="linear").fit(X[:k], np.eye(k)).predict([[0.0]])[0]
    linear = shares / shares[0]  # the nearest counts once
    return {
        "weights": linear,
        "unweighted": voted("uniform", k),
        "weighted": voted("linear", linear.sum()),
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
    from fastml.kernels.losses.pointwise import (
        sample_loss,  # gradient 2 (a - y), hessian 1
    )

    X, y = np.array(inputs["x"], dtype=float)[:, None], np.array(inputs["y"], dtype=float)
    model = HistGradientBoostingRegressor(
        loss=sample_loss,
        learning_rate=parameters["eta"],
        l2_regularization=parameters["lam"],
        max_iter=parameters["n_stumps"],
        max_leaf_nodes=2,
        min_samples_leaf=1,
        gamma=-1000.0,  # the notes split even where no split lowers the regularised loss
        init=0.0,
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


# ---------------------------------------------------------------------------- linear models

MUST_BE_COVERED |= {
    "000-linear-prediction",
    "000-linreg-exercise",
    "000-rooms-model",
    "001-polynomial",
    "003-cross-entropy-labels",
    "derived-eps-insensitive",
    "derived-lad",
    "derived-margin-losses",
    "derived-penalty-scalings",
}


def line_of(model, inputs):
    """(intercept, slope) of a model of one column."""
    model.fit(np.reshape(inputs["x"], (-1, 1)), inputs["y"])
    return [float(model.intercept_), float(model.coef_[0])]


def line_through(LinearRegression, parameters):
    """The model with these weights, learned from two of its points."""
    w0, w1 = parameters["w0"], parameters["w1"]
    return LinearRegression().fit([[0.0], [1.0]], [w0, w0 + w1])


@example("000-linear-prediction", "linear_model.LinearRegression", "losses.Absolute")
def price_of_an_apartment(inputs, parameters, LinearRegression, Absolute):
    model = line_through(LinearRegression, parameters)
    price = model.predict([[inputs["x"]]])[0]
    return {
        "prediction": price,
        "abs_loss_vs_210000": float(Absolute().value(inputs["y_true"], price)),
        "abs_loss_if_prediction_were_300000": float(Absolute().value(inputs["y_true"], 300000)),
    }


@example("000-rooms-model", "linear_model.LinearRegression")
def price_of_rooms(inputs, parameters, LinearRegression):
    model = line_through(LinearRegression, parameters)
    return {"prediction": model.predict(np.reshape(inputs["rooms"], (-1, 1)))}


@example("000-linreg-exercise", "linear_model.LinearRegression")
def three_points(inputs, parameters, LinearRegression):
    w0, w1 = line_of(LinearRegression(), inputs)
    back = line_of(LinearRegression(), {"x": inputs["y"], "y": inputs["x"]})[1]
    rho = np.sqrt(w1 * back)
    spread = np.std(inputs["y"]) / np.std(inputs["x"])
    return {
        "w0": w0, "w1": w1, "rho": rho, "slope_from_rho_sigmaY_over_sigmaX": rho * spread,
        "slope_as_printed_in_eq_4_36": rho / spread,
    }  # fmt: skip


@example("001-polynomial", "linear_model.LinearRegression")
def parabola(inputs, parameters, LinearRegression):
    x = np.array(inputs["x"])
    model = LinearRegression(fit_intercept=parameters["intercept"])
    return {"theta": model.fit(np.c_[x, x**2], inputs["y"]).coef_}


@example("derived-lad", "linear_model.LeastAbsoluteDeviations")
def least_absolute_deviations(inputs, parameters, LeastAbsoluteDeviations):
    w0, w1 = line_of(LeastAbsoluteDeviations(), inputs)
    left = np.abs(w0 + w1 * np.array(inputs["x"]) - inputs["y"])
    return {"w0": w0, "w1": w1, "SAR": left.sum(), "mean_abs": left.mean()}


@example(
    "derived-penalty-scalings",
    "linear_model.Ridge", "linear_model.Lasso", "linear_model.ElasticNet",
)  # fmt: skip
def scalings_of_five_notes(inputs, parameters, Ridge, Lasso, ElasticNet):
    """alpha and l1_ratio of the elastic nets follow from l1 and l2 / 2."""

    def net(l1, squares, scaling):
        alpha = l1 + 2.0 * squares
        model = ElasticNet(alpha, l1_ratio=l1 / alpha, scaling=scaling, tol=1e-14)
        return line_of(model, inputs)

    def ridge(alpha, scaling):
        return line_of(Ridge(alpha, scaling=scaling), inputs)

    def lasso(alpha, scaling):
        return line_of(Lasso(alpha, scaling=scaling, tol=1e-14), inputs)

    both = Ridge(1.0, fit_intercept=False).fit(np.c_[np.ones(3), inputs["x"]], inputs["y"])
    return {
        "ridge: SSR + a w^2, a=1 (000 eq 5.15, 001 5.3, 004)": ridge(1.0, "sum"),
        "ridge: SSR/(2n) + l/2 w^2, l=1 (002 2.6.4)": ridge(0.5, "half_mean"),
        "ridge: SSR/m + l w^2, l=1 (003 6, alpha=0)": ridge(1.0, "mean"),
        "lasso: SSR + a|w|, a=1 (000 eq 5.16, 001, 004)": lasso(1.0, "sum"),
        "lasso: SSR/2 + a|w|, a=1 (000 eq 5.26-5.27)": lasso(1.0, "half_sum"),
        "lasso: SSR/(2n) + l|w|, l=0.1 (002)": lasso(0.1, "half_mean"),
        "lasso: SSR/m + l|w|, l=0.1 (003, alpha=1)": lasso(0.1, "mean"),
        "elastic net: SSR/(2n) + l(a|w| + (1-a)/2 w^2), l=0.1, a=0.5 (002 = scikit-learn)": net(
            0.05, 0.025, "half_mean"
        ),
        "elastic net: SSR/m + l(a|w| + (1-a) w^2), l=0.1, a=0.5 (003)": net(0.05, 0.05, "mean"),
        "elastic net: SSR + l((1-a)|w| + a w^2), l=0.1, a=0.25 (004)": net(0.075, 0.025, "sum"),
        "elastic net: SSR + a w^2 + b|w|, a=1, b=0.5 (000 5.4, 001 5.3)": net(0.5, 1.0, "sum"),
        "ridge penalising the intercept too: (X^T X + I)^-1 X^T y (001 5.3, 004 literal formula)": (
            both.coef_
        ),
    }


SURROGATES = ("Hinge", "SquaredHinge", "Logistic", "Exponential", "PerceptronLoss")


@example("derived-margin-losses", *(f"losses.{name}" for name in SURROGATES))
def losses_of_margins(inputs, parameters, *losses):
    hinge, squared, logistic, exponential, perceptron = (
        loss().value(1, inputs["margin"]) for loss in losses
    )
    return {
        "hinge": hinge, "squared_hinge": squared, "log_natural": logistic,
        "log_base2": logistic / np.log(2), "exponential": exponential, "perceptron": perceptron,
    }  # fmt: skip


@example("derived-eps-insensitive", "losses.EpsilonInsensitive")
def losses_of_a_tube(inputs, parameters, EpsilonInsensitive):
    return {"loss": EpsilonInsensitive(parameters["eps"]).value(0.0, inputs["residual"])}


@example("003-cross-entropy-labels", "losses.Logistic")
def cross_entropy(inputs, parameters, Logistic):
    loss, raw = Logistic(), inputs["signal"]
    return {"pm": loss.value(inputs["y_pm"], raw), "zero_one": loss.value(inputs["y01"], raw)}


# ---------------------------------------------------------------------------- optimisation

MUST_BE_COVERED |= {
    "000-gd-1d",
    "000-gd-2d",
    "000-gd-matrix",
    "000-sgd-exercise",
    "002-gradients",
    "002-quadratic-form",
    "003-eigen-2x2",
    "derived-backtracking",
    "derived-soft-threshold",
}


def path_of(minimise, *problem, n_steps, **options):
    """The points after each step."""
    from fastml.optimize import Steps

    run = minimise(*problem, stop=Steps(n_steps), keep_points=True, **options)
    return run.trace.points[1:]


@example("000-gd-1d", "optimize.gradient_descent", "optimize.numeric_gradient")
def descent_on_a_parabola(inputs, parameters, gradient_descent, numeric_gradient):
    problem = (lambda w: w[0] ** 2, [inputs["x0"]], lambda w: 2 * w)
    slow, fast = parameters["eta"]
    slope = problem[2](np.array([2.0]))[0]
    assert abs(numeric_gradient(problem[0], [2.0])[0] - slope) < 1e-8
    return {
        "derivative_at_2": slope,
        "normal": [slope, -1],
        "uphill_point": inputs["x0"] + slope,
        "eta1": path_of(gradient_descent, *problem, n_steps=2, step=slow)[:, 0],
        "eta05": path_of(gradient_descent, *problem, n_steps=1, step=fast)[:, 0],
    }


@example("000-gd-2d", "optimize.gradient_descent", "optimize.numeric_gradient")
def descent_in_the_plane(inputs, parameters, gradient_descent, numeric_gradient):
    def f(w):
        return w[0] ** 2 + (w[1] - 1) ** 2

    slope = numeric_gradient(f, inputs["point"])
    found = gradient_descent(f, inputs["point"], step=0.25)
    return {
        "value": f(inputs["point"]),
        "gradient": [Within(g, 1e-8) for g in slope],
        "n_x": [Within(slope[0], 1e-8), 0, -1],
        "n_y": [0, Within(slope[1], 1e-8), -1],
        "minimum": [Within(w, 1e-6) for w in found.point],
        "minimum_value": found.value,
        "one_step_eta_0_5": [
            Within(w, 1e-8)
            for w in path_of(gradient_descent, f, inputs["point"], n_steps=1, step=0.5)[0]
        ],
    }


def squares_of_three_points(inputs):
    """Design, residuals and start of the line through three points."""
    X = np.c_[np.ones(3), inputs["x"]]
    return X, lambda w: X @ w - inputs["y"], np.array(inputs["w_init"], dtype=float)


@example("000-gd-matrix", "optimize.gradient_descent")
def descent_by_matrices(inputs, parameters, gradient_descent):
    X, left, start = squares_of_three_points(inputs)
    problem = (lambda w: left(w) @ left(w), start, lambda w: 2 * X.T @ left(w))
    points = path_of(gradient_descent, *problem, n_steps=2, step=parameters["eta"])
    return {"after_1_step": points[0], "after_2_steps": points[1]}


@example("000-sgd-exercise", "optimize.stochastic_gradient")
def one_epoch_of_single_rows(inputs, parameters, stochastic_gradient):
    X, left, start = squares_of_three_points(inputs)

    def slope(w, rows):
        return 2 * X[rows].T @ left(w)[rows] / len(rows)

    def epoch(eta):
        loss = (lambda w, rows: np.mean(left(w)[rows] ** 2), start, 3, slope)
        points = path_of(stochastic_gradient, *loss, n_steps=1, step=eta, shuffle=False)
        before = np.vstack([start, points[:-1]])
        steps = [
            {"x": x, "y": y, "grad": slope(w, [i]), "w": points[i]}
            for i, (x, y, w) in enumerate(zip(inputs["x"], inputs["y"], before))
        ]
        return {"steps": steps, "w_final": points[-1]}

    first = epoch(parameters["eta"])
    return {
        **first,
        "diverges": bool(np.abs(first["w_final"]).max() > 100),
        "eta_0_05": epoch(0.05),
    }


@example("derived-soft-threshold", "optimize.soft_threshold")
def thresholds(inputs, parameters, soft_threshold):
    return {"prox": soft_threshold(inputs["z"], parameters["alpha"] * parameters["eta"])}


@example("derived-backtracking", "optimize.Backtracking", "optimize.gradient_descent")
def line_search(inputs, parameters, Backtracking, gradient_descent):
    step = Backtracking(sufficient=parameters["alpha"], shrink=parameters["beta"])
    tried = []

    def f(w):
        tried.append((w[0] - inputs["x"]) / inputs["direction"])
        return w[0] ** 2

    t = step.search(f, np.array([float(inputs["x"])]), 4.0, np.array([-4.0]), -16.0)
    found = gradient_descent(lambda w: w[0] ** 2, [inputs["x"]], lambda w: 2 * w, step=step)
    return {"rejected_t": tried[:-1], "accepted_t": t, "x_new": found.point[0]}


@example("002-gradients", "optimize.numeric_gradient")
def gradient_identities(inputs, parameters, numeric_gradient):
    A, w, X, y = (np.array(inputs[key]) for key in ("A", "w", "X", "y"))
    functions = {
        "wTw": lambda w: w @ w,
        "wTAw": lambda w: w @ A @ w,
        "residual": lambda w: (X @ w - y) @ (X @ w - y),
    }
    return {key: [Within(g, 1e-8) for g in numeric_gradient(f, w)] for key, f in functions.items()}


@example("002-quadratic-form", "optimize.numeric_hessian", "optimize.power_iteration")
def quadratic_form(inputs, parameters, numeric_hessian, power_iteration):
    M = np.array(inputs["M"])

    def f(w):
        return 0.5 * w @ M @ w

    hessian = numeric_hessian(f, [0.3, 0.7], lambda w: M @ w)
    largest = power_iteration(M, [1.0, 1.0])
    smallest = power_iteration(largest.value * np.eye(2) - M, [1.0, 1.0])
    return {
        "hessian": [[Within(h, 1e-8) for h in row] for row in hessian],
        "eigenvalues": [largest.value - smallest.value, largest.value],
        "f_at_e1": f(np.array([1.0, 0.0])),
        "f_at_e2": f(np.array([0.0, 1.0])),
    }


@example("003-eigen-2x2", "optimize.power_iteration")
def eigenvectors(inputs, parameters, power_iteration):
    from fractions import Fraction

    K = np.array([[float(Fraction(entry)) for entry in row] for row in inputs["K"]])
    first = power_iteration(K, [1.0, 0.0])
    rest = K - first.value * np.outer(first.vector, first.vector)
    second = power_iteration(rest, [1.0, -1.0])
    return {
        "lambda1": first.value,
        "lambda2": second.value,
        "ratio": first.vector[0] / first.vector[1],
        "unit_e1": first.vector,
        "unit_e2": second.vector,
        "explained_variance_ratio": np.array([first.value, second.value]) / np.trace(K),
    }


# ---------------------------------------------------------------------------- statistical view

MUST_BE_COVERED |= {"003-degrees-of-freedom", "derived-prediction-variance"}


def summary_of_a_line(summary, x, y):
    from sklearn.linear_model import LinearRegression

    X = np.array(x, dtype=float)[:, None]
    return summary(LinearRegression().fit(X, y), X, y)


@example("003-degrees-of-freedom", "linear_model.summary")
def degrees_of_freedom(inputs, parameters, summary):
    found = [summary_of_a_line(summary, np.arange(m), np.arange(m) % 2) for m in inputs["m"]]
    return {"df": [s.df_residual for s in found]}


@example("derived-prediction-variance", "linear_model.summary")
def prediction_variance(inputs, parameters, summary):
    found = summary_of_a_line(summary, inputs["x_design"], [1.0, 1.5, 2.5])
    errors = found.predict(np.array(inputs["at"], dtype=float)[:, None]).std_error
    singular = np.linalg.svd(found.design.triangle, compute_uv=False)
    return {
        "variance": parameters["sigma2"] * errors**2 / found.dispersion,
        "eigenvalues_XtX": np.sort(singular**2),
    }


# ---------------------------------------------------------------------------- information

MUST_BE_COVERED |= {"000-perplexity", "derived-kl-sign", "derived-mutual-information"}


@example(
    "derived-kl-sign", *(f"information.{n}" for n in ("kl_divergence", "entropy", "cross_entropy"))
)
def divergence(inputs, parameters, kl_divergence, entropy, cross_entropy):
    p, q = inputs["p"], inputs["q"]
    return {
        "correct": kl_divergence(p, q),
        "by_printed_formula": -kl_divergence(p, q),
        "H_p": entropy(p),
        "H_pq": cross_entropy(p, q),
    }


@example("000-perplexity", "information.perplexity")
def equal_neighbours(inputs, parameters, perplexity):
    return {"perplexity": [perplexity(np.ones(k), normalise=True) for k in inputs["k"]]}


@example("derived-mutual-information", "information.mutual_information")
def information_of_pairs(inputs, parameters, mutual_information):
    return {"mi": mutual_information(inputs["joints"])}


# ---------------------------------------------------------------------------- naive Bayes

MUST_BE_COVERED |= {"derived-nb-smoothing"}


@example("derived-nb-smoothing", "naive_bayes.MultinomialNB")
def smoothed_words(inputs, parameters, MultinomialNB):
    counts = [inputs["ham_words"].count(word) for word in inputs["vocabulary"]]
    return {
        f"delta_{delta}": np.exp(
            MultinomialNB(alpha=delta).fit([counts], ["ham"]).feature_log_prob_[0]
        )
        for delta in parameters["delta"]
    }


# ---------------------------------------------------------------------------- the perceptron

MUST_BE_COVERED |= {"derived-perceptron"}


@example("derived-perceptron", "linear_model.Perceptron")
def perceptron_trace(inputs, parameters, Perceptron):
    X, y = (np.array(part) for part in zip(*inputs["sequence"]))
    model = Perceptron(fit_intercept=False)
    weights, mistakes = [], []
    for row, label in zip(X, y):
        model.partial_fit([row], [label], [-1, 1])
        weights.append(model.coef_[0])
        mistakes.append(model.mistakes_[0])
    steps = np.flatnonzero(np.diff(mistakes, prepend=0)) + 1
    bound = model.mistake_bound(X, y)[0]
    R = np.sqrt(np.square(X).sum(axis=1).max())
    return {
        "weights_after_each": weights,
        "update_steps": steps,
        "n_updates": mistakes[-1],
        "R": R,
        "rho": R / np.sqrt(bound),
        "bound": bound,
    }


# ---------------------------------------------------------------------------- discriminants

MUST_BE_COVERED |= {"derived-gda-lda"}


@example(
    "derived-gda-lda",
    "discriminant_analysis.LinearDiscriminantAnalysis",
    "discriminant_analysis.QuadraticDiscriminantAnalysis",
)
def discriminants(inputs, parameters, Linear, Quadratic):
    X, y = np.array(inputs["x"])[:, None], inputs["y"]
    linear = Linear(store_covariance=True).fit(X, y)
    quadratic = Quadratic(store_covariance=True).fit(X, y)
    return {
        "priors": linear.priors_,
        "means": linear.means_[:, 0],
        "variances": [covariance[0, 0] for covariance in quadratic.covariance_],
        "pooled_variance": linear.covariance_[0, 0],
        "gda_posterior_positive_at_0_25": quadratic.predict_proba([[0.25]])[0, 1],
        "lda_posterior_positive_at_0_25": linear.predict_proba([[0.25]])[0, 1],
    }


@example(
    "002-parameter-counts",
    "discriminant_analysis.LinearDiscriminantAnalysis",
    "discriminant_analysis.QuadraticDiscriminantAnalysis",
    "linear_model.LinearRegression",
)
def numbers_learned(inputs, parameters, Linear, Quadratic, LinearRegression):
    """Entries of means and of triangles of covariances; weights and the constant."""
    counts = {"GDA": [], "LDA": [], "LSR": []}
    rng = np.random.default_rng(0)
    for d in inputs["d"]:
        X, y = rng.normal(size=(60, d)), np.arange(60) % parameters["classes"]
        quadratic = Quadratic(store_covariance=True).fit(X, y)
        linear = Linear(store_covariance=True).fit(X, y)
        triangle = np.triu_indices(d)
        of_classes = sum(len(np.asarray(C)[triangle]) for C in quadratic.covariance_)
        counts["GDA"].append(of_classes + quadratic.means_.size)
        counts["LDA"].append(len(linear.covariance_[triangle]) + linear.means_.size)
        model = LinearRegression().fit(X, y)
        counts["LSR"].append(model.coef_.size + np.size(model.intercept_))
    return counts


# ---------------------------------------------------------------------------- logistic regression

MUST_BE_COVERED |= {
    "000-hyperplane-distance",
    "002-parameter-counts",
    "003-arctan-squash",
    "003-likelihood-signs",
    "003-odds-ratio",
    "derived-conditional-gaussian",
    "derived-softmax",
}


def logistic_with(LogisticRegression, coef, intercept, classes):
    """A fitted model, with these weights instead of its own."""
    coef = np.atleast_2d(np.array(coef, dtype=float))
    X = np.resize(np.eye(max(coef.shape)), (len(classes), coef.shape[1]))
    model = LogisticRegression().fit(X, classes)
    model.coef_, model.intercept_ = coef, np.array(intercept, dtype=float)
    return model


@example("003-odds-ratio", "linear_model.LogisticRegression", "linear_model.odds_ratios")
def one_unit_more(inputs, parameters, LogisticRegression, odds_ratios):
    """A table whose odds are 0.25 and 0.27: 20 of 100, and 27 of 127."""
    X = np.repeat([[0.0], [1.0]], [100, 127], axis=0)
    y = np.r_[np.arange(100) < 20, np.arange(127) < 27]
    model = LogisticRegression(C=np.inf, tol=1e-12, keep_summary=True).fit(X, y)
    p = model.predict_proba([[0.0], [1.0]])
    odds = p[:, 1] / p[:, 0]
    return {
        "theta": model.coef_[0, 0],
        "increase_percent": 100.0 * (odds_ratios(model).ratio[0] - 1.0),
        "odds_from_p_0_2": odds[0],
        "odds_after": odds[1],
        "p_after": p[1, 1],
    }


@example("derived-softmax", "linear_model.LogisticRegression", "losses.Multinomial")
def shifted_scores(inputs, parameters, LogisticRegression, Multinomial):
    model = logistic_with(LogisticRegression, np.zeros((3, 1)), inputs["logits"], [0, 1, 2])
    softmax = model.predict_proba([[0.0]])[0]
    loss = [Multinomial().value(np.array([k]), np.array([inputs["logits"]])) for k in range(3)]
    model.intercept_ = model.intercept_ - model.intercept_[-1]
    return {
        "softmax": softmax,
        "shifted_by_minus_last": model.predict_proba([[0.0]])[0],
        "log_odds_vs_last": model.decision_function([[0.0]])[0],
        "cross_entropy_if_true_class_is": np.ravel(loss),
    }


@example("003-likelihood-signs", "linear_model.LogisticRegression")
def likelihood_of_labels(inputs, parameters, LogisticRegression):
    model = logistic_with(LogisticRegression, [[1.0]], [0.0], [-1, 1])
    p = model.predict_proba(np.reshape(inputs["signal"], (-1, 1)).astype(float))
    right = (np.array(inputs["y"])[:, None] == model.classes_).argmax(axis=1)
    found = p[np.arange(len(p)), right], p[np.arange(len(p)), 1 - right]
    assert np.ptp(found[0]) < 1e-12
    assert np.ptp(found[1]) < 1e-12
    return {"concordant": found[0][0], "discordant": found[1][0]}


@example("003-arctan-squash", "linear_model.LogisticRegression")
def squashed(inputs, parameters, LogisticRegression):
    model = logistic_with(LogisticRegression, [[1.0]], [0.0], [0, 1])
    return {"logistic": model.predict_proba(np.reshape(inputs["x"], (-1, 1)).astype(float))[:, 1]}


@example(
    "000-hyperplane-distance",
    "linear_model.LogisticRegression",
    "svm.signed_distances",
    "svm.geometric_margins",
    "svm.margins",
)
def distance_from_a_line(inputs, parameters, LogisticRegression, distances, geometric, margins):
    model = logistic_with(LogisticRegression, [inputs["w"]], [inputs["w0"]], [-1, 1])
    X = np.array([inputs["x"]] * 2, dtype=float)
    return {
        "distance": distances(model, X)[0],
        "margins": geometric(model, X, parameters["y"]),
        "functional_margins": margins(model, X, parameters["y"]).margin,
    }


@example("derived-conditional-gaussian", "linear_model.LinearRegression")
def line_of_a_normal_pair(inputs, parameters, LinearRegression):
    """Four points that have the moments exactly."""
    (mx, my), sx, sy, rho = inputs["mu"], inputs["sigma_x"], inputs["sigma_y"], inputs["rho"]
    u, v = np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, -1.0, 1.0, -1.0])
    x, y = mx + sx * u, my + sy * (rho * u + np.sqrt(1.0 - rho**2) * v)
    model = LinearRegression(keep_summary=True).fit(x[:, None], y)
    found = model.summary()
    return {
        "Sigma": np.cov(x, y, ddof=0),
        "slope": model.coef_[0],
        "intercept": model.intercept_,
        "mean_at_x": model.predict([[float(inputs["x"])]])[0],
        "conditional_variance": found.dispersion * found.df_residual / found.n_samples,
    }


# ---------------------------------------------------------------------------- tests of models


@example("001-resampled-ttest", "model_selection.resampled_t_test")
def resampled_t(inputs, parameters, resampled_t_test):
    """Thirty differences of scores whose mean is t standard errors; the test without correction."""
    noise = np.sin(np.arange(30.0))
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    scores = inputs["t"] / np.sqrt(30) + noise
    with pytest.warns(UserWarning, match="correction"):
        found = resampled_t_test(scores, np.zeros(30), correction=False)
    return {"p_k30_df29": found.p_value, "reject": bool(found.p_value < parameters["alpha"])}


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


# ---------------------------------------------------------------------------- preparing columns


@example("001-one-hot", "preprocessing.OneHotEncoder")
def one_hot(inputs, parameters, OneHotEncoder):
    encoder = OneHotEncoder(categories=[inputs["categories"]], sparse_output=False)
    return {"codes": encoder.fit_transform([[v] for v in inputs["values"]]).tolist()}


@example("003-one-hot", "preprocessing.OneHotEncoder")
def one_hot_of_the_weather(inputs, parameters, OneHotEncoder):
    encoder = OneHotEncoder(categories=[inputs["categories"]], sparse_output=False)
    return {"code": encoder.fit_transform([[inputs["value"]]])[0].tolist()}


@example("000-indicator-feature", "preprocessing.CombinationFeatures")
def product_of_indicators(inputs, parameters, CombinationFeatures):
    parts = re.findall(r"\[(\d+) < (\w+) < (\d+)\]", parameters["rule"])
    bounds = {name: (int(low), int(high)) for low, name, high in parts}
    table = pd.DataFrame({"area": inputs["area_ft2"], "rooms": inputs["rooms"]})
    model = CombinationFeatures([("interval", bounds)], closed="neither")
    return {"feature": model.fit_transform(table).ravel().tolist()}


@example("000-boxplot-percentile", "outliers.BoxPlotRule", "outliers.PercentileRule")
def box_plot(inputs, parameters, BoxPlotRule, PercentileRule):
    """By interpolated quartiles; the notes' own percentile is an error (its median is not one)."""
    X = np.array(inputs["values"])[:, None]
    quartiles, middle = PercentileRule(25, 75).fit(X), PercentileRule(50, 50).fit(X)
    rule = BoxPlotRule(parameters["whisker"]).fit(X)
    values = {
        "q1": quartiles.lower_[0], "median": middle.lower_[0], "q3": quartiles.upper_[0],
        "LB": rule.lower_[0], "UB": rule.upper_[0], "outliers": X[rule.is_outlier(X)].tolist(),
    }  # fmt: skip
    return {"linear_interpolation": values}


@example("001-thermometer", "preprocessing.ThermometerEncoder")
def thermometer(inputs, parameters, ThermometerEncoder):
    encoder = ThermometerEncoder(categories=[inputs["categories"]])
    rows = encoder.fit_transform([[value] for value in inputs["values"]]).tolist()
    return {"correct": dict(zip(inputs["values"], rows))}


@example("000-age-bins", "preprocessing.EdgeDiscretizer")
def age_bins(inputs, parameters, EdgeDiscretizer):
    model = EdgeDiscretizer([float(edge) for edge in parameters["edges"]])
    return {"codes": model.fit_transform([[age] for age in inputs["ages"]]).ravel().tolist()}


@example(
    "derived-scaling",
    "preprocessing.StandardScaler", "preprocessing.MinMaxScaler", "preprocessing.MaxAbsScaler",
)  # fmt: skip
def scalings(inputs, parameters, StandardScaler, MinMaxScaler, MaxAbsScaler):
    X = np.array(inputs["x"])[:, None]
    return {
        "z_score": StandardScaler().fit_transform(X).ravel().tolist(),
        "min_max": MinMaxScaler().fit_transform(X).ravel().tolist(),
        "max_abs": MaxAbsScaler().fit_transform(X).ravel().tolist(),
    }


@example("001-polynomial-count", "preprocessing.PolynomialFeatures")
def polynomial_count(inputs, parameters, PolynomialFeatures):
    pairs = zip(inputs["d"], inputs["p"])
    counts = [PolynomialFeatures(p).fit(np.ones((1, d))).n_output_features_ for d, p in pairs]
    return {"count": counts}


@example("derived-winsorize", "outliers.trim", "outliers.winsorize")
def cut_off(inputs, parameters, trim, winsorize):
    left = trim(inputs["values"], parameters["share"])
    drawn_in = winsorize(inputs["values"], parameters["share"])
    return {
        "trimmed": left.tolist(), "trimmed_mean": left.mean(),
        "winsorised": drawn_in.tolist(), "winsorised_mean": drawn_in.mean(),
    }  # fmt: skip


# ---------------------------------------------------------------------------- embeddings


@example("derived-procrustes", "manifold.procrustes")
def rotation(inputs, parameters, procrustes):
    found = procrustes(inputs["X"], inputs["Y"], translation=False)
    return {
        "W": found.rotation.tolist(), "residual": found.residual,
        "singular_values": found.singular_values.tolist(),
    }  # fmt: skip


@example("derived-classical-mds", "manifold.ClassicalMDS", "preprocessing.KernelCenterer")
def triangle(inputs, parameters, ClassicalMDS, KernelCenterer):
    D = np.array(inputs["D"])
    model = ClassicalMDS(3, metric="precomputed").fit(D)
    return {
        "double_centred_B": KernelCenterer().fit_transform(-0.5 * D**2).tolist(),
        "eigenvalues_B": model.eigenvalues_[::-1].tolist(),
    }


@example(
    "derived-sne", "manifold.SNE", "manifold.perplexity", "metrics.pairwise.euclidean_distances"
)
def sne(inputs, parameters, SNE, perplexity, euclidean_distances):
    x, z = (np.array(inputs[name])[:, None] for name in "xz")
    there = SNE(1, sigma=parameters["sigma"], init=z, tol=1e9)  # stays at the start
    here = SNE(1, sigma=0.5**0.5)
    p = there.affinities(euclidean_distances(x))
    return {
        "p_j_given_i": p.tolist(),
        "q_j_given_i": here.affinities(euclidean_distances(z)).tolist(),
        "perplexities": perplexity(p).tolist(),
        "cost": there.fit(x).kl_divergence_,
    }


@example("derived-pca-svd", "decomposition.PCA")
def variances(inputs, parameters, PCA):
    X = np.array(inputs["X"])
    model = PCA().fit(X)
    one = PCA(1).fit(X)
    left = X - one.inverse_transform(one.transform(X))
    return {
        "singular_values": model.singular_values_.tolist(),
        "lambda_notes_1_over_n": PCA(ddof=0).fit(X).explained_variance_.tolist(),
        "lambda_sklearn_1_over_n_minus_1": model.explained_variance_.tolist(),
        "explained_ratio": model.explained_variance_ratio_.tolist(),
        "reconstruction_error_one_component": (left**2).sum(),
    }


@example("derived-kernel-pca-duality", "decomposition.TruncatedSVD", "decomposition.KernelPCA")
def duality(inputs, parameters, TruncatedSVD, KernelPCA):
    X = np.array(inputs["X"])
    return {
        "XtX": (TruncatedSVD(2).fit(X).singular_values_ ** 2).tolist(),
        "XXt": KernelPCA(4, kernel="linear").fit(X).eigenvalues_.tolist(),
    }


# ---------------------------------------------------------------------------- clusters of machines


@example("003-word-count", "mapreduce.run")
def counted(inputs, parameters, run):
    pairs = [(word, one) for word, ones in inputs["intermediate"].items() for one in ones]
    found = run(pairs, lambda pair: [pair], lambda word, ones: [(word, sum(ones))])
    return {"output_from_printed_pairs": dict(found.output)}


@example("derived-combiner", "mapreduce.word_count", "mapreduce.mean_by_key")
def combined(inputs, parameters, word_count, mean_by_key):
    found = word_count(inputs["chunks"], n_splits=2)
    pairs = [("all", value) for values in inputs["values_for_average"] for value in values]
    return {
        "word_counts": dict(found.output),
        "pairs_without_combiner": found.pairs_mapped,
        "pairs_with_combiner": found.pairs_combined,
        "average": mean_by_key(pairs).output[0][1],
    }


@example("003-node-failures", "spark.plan")
def failures(inputs, parameters, plan):
    found = plan(10**9, 10, nodes=inputs["N"], mttf=inputs["mttf_days"])
    return {"expected_failures_per_day": found.failures_per_day}


@example("003-executors", "spark.executors")
def sizes(inputs, parameters, executors):
    cluster = inputs["nodes"], inputs["cores_per_node"], inputs["ram_gb_per_node"]
    bare = {"reserved_cores": 0, "reserved_memory": 0.0, "overhead": 0.0}
    tiny, fat = (executors(*cluster, kind, **bare) for kind in ("tiny", "fat"))
    total, per_node, _, memory = executors(
        *cluster, cores_each=parameters["cores_per_executor"],
        reserved_cores=parameters["reserved_cores_per_node"],
        overhead=parameters["overhead_fraction"],
    )  # fmt: skip
    return {
        "tiny": {"executors": tiny[0], "cores": tiny[2], "memory_gb": tiny[3]},
        "fat": {"executors": fat[0], "cores": fat[2], "memory_gb": fat[3]},
        "balanced": {
            "executors_after_one_for_application_master": total,
            "executors_per_node": per_node,
            "executor_memory_gb_with_7_percent": memory,
        },
    }


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
