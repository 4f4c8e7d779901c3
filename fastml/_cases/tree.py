"""Single trees on the same rows; judged by what they predict for new ones."""

from __future__ import annotations

from functools import partial

import numpy as np

from fastml._cases._case import SINGLE, SKLEARN, Case, Data, find, sizes
from fastml._cases._data import few_rows, with_test
from fastml._cases._judges import ACCURACY, R2
from fastml._cases._panels import regions


def rows(n, d, classes=False):
    """A signal of sums, products and sines with noise; as many new rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n, d)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3.0 * X[:, 3]) + 0.5 * rng.normal(size=2 * n)
    return with_test(X, (signal > 0).astype(int) if classes else signal, n)


def _tree(id, name, what="", n=(400, 20_000, 100_000), d=20, **more):
    classes = name.endswith("Classifier")
    params = {"random_state": 0, **more.pop("params", {})}
    return Case(
        id, f"tree.{name}", (what or name) + ", {n:,} × {d} float32",
        partial(rows, classes=classes), sizes(n=n, d=d), ACCURACY if classes else R2, params,
        also=("predict",), peers=SKLEARN, dtypes=SINGLE, **more,
    )  # fmt: skip


def categories(n, d):
    """Two columns of 12 categories, the others numbers; the class hangs on all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n, d))
    X[:, :2] = rng.integers(0, 12, (2 * n, 2))
    signal = np.sin(5 * X[:, 0]) + np.cos(3 * X[:, 1]) + 0.5 * X[:, 2:].sum(axis=1)
    return with_test(X, (signal > 0).astype(int), n, categorical=[0, 1])


def _two_way(data):
    """A tree of two branches a node, for which the categories are numbers."""
    Tree = find("sklearn.tree.DecisionTreeClassifier")
    return lambda: Tree(min_samples_leaf=5, random_state=0).fit(data.X, data.y)


CASES = (
    Case(
        "multiway-tree", "tree.MultiwayTreeClassifier",
        "MultiwayTreeClassifier, {n:,} × {d}, two columns of categories",
        categories, sizes(n=(300, 2_000, 20_000), d=6), ACCURACY,
        {"categorical_features": Data("categorical"), "min_samples_leaf": 5}, also=("predict",),
        peers={"sklearn": _two_way},
        variants=({"criterion": "entropy", "max_depth": 4}, {"criterion": "gini"}),
    ),
    _tree("tree-classifier", "DecisionTreeClassifier", draw=regions, headline=True, variants=(
        {"criterion": "entropy", "max_leaf_nodes": 5},
        {"criterion": "error", "max_depth": 3},
        {"splitter": "random", "max_features": 2},
    )),
    _tree("tree-regressor", "DecisionTreeRegressor", variants=(
        {"criterion": "absolute_error", "ccp_alpha": 0.01},
        {"max_leaf_nodes": 5},
    )),
    _tree("tree-absolute-error", "DecisionTreeRegressor", "absolute-error tree",
          (400, 4_000, 20_000), 10, params={"criterion": "absolute_error"}),
    _tree("tree-entropy", "DecisionTreeClassifier", "entropy tree",
          params={"criterion": "entropy"}),
    _tree("extra-tree-classifier", "ExtraTreeClassifier"),
    _tree("extra-tree-regressor", "ExtraTreeRegressor"),
)  # fmt: skip


def odd_branches():
    from fastml import tree
    from fastml._engines.trees.grow import grow, presort
    from fastml.kernels.tree.exact_split import GrowthRules
    from fastml.kernels.tree.nodes import ABSOLUTE_ERROR, GINI, SQUARED_ERROR

    many, labels = few_rows(np.float32, 12_000, 6)
    X, y = many[:60], labels[:60]

    def side_by_side(criterion):
        if criterion == GINI:
            target = {"classes": labels[None].astype(np.int32), "n_classes": [3]}
        else:
            target = {"values": labels[None].astype(np.float64)}
        grow(presort(many, 2), GrowthRules(criterion), n_threads=2, **target)

    for criterion in (GINI, SQUARED_ERROR, ABSOLUTE_ERROR):
        yield f"criterion {criterion}, in parallel", partial(side_by_side, criterion)

    def classify():
        for targets in (y, np.column_stack([y, y])):
            model = tree.DecisionTreeClassifier(ccp_alpha=0.4).fit(X, targets)
            model.predict(X)
            model.feature_importances_  # noqa: B018
        codes = (X[:, :1] > 0).astype(np.float32)
        tree.DecisionTreeClassifier(categorical_features=[0]).fit(codes, y)

    def regress():
        for targets in (y * 1.0, np.column_stack([y, y])):
            for criterion in ("squared_error", "absolute_error"):
                model = tree.DecisionTreeRegressor(criterion=criterion).fit(X, targets)
                model.feature_importances_  # noqa: B018
        model = tree.DecisionTreeRegressor(max_leaf_nodes=3).fit(X, y)
        model._compute_partial_dependence_recursion(X[:1, :1], [0])

    def by_loss():
        from fastml.kernels.tree.loss_split import sample_impurity_loss

        model = tree.DecisionTreeRegressor(criterion=sample_impurity_loss, max_depth=2)
        for n_jobs in (1, 2):
            model.set_params(n_jobs=n_jobs).fit(X, X[:, 0])

    yield "several outputs, categories, pruning", classify
    yield "a loss as criterion", by_loss
    yield "several outputs, dependence", regress
