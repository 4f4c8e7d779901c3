"""Validation by resampling: what is timed are the fits of the models."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import Case, Quality, find, sizes
from fastml._cases._data import labelled_blobs


def tree_and_rows(n, d):
    data = labelled_blobs(n, d)
    model = find("fastml.tree.DecisionTreeClassifier")(random_state=0)
    return SimpleNamespace(model=model, X=data.X, y=data.y, arguments=("model", "X", "y"))


def _loop(data):
    """scikit-learn's tree on the same draws, in a loop."""
    tree = find("sklearn.tree.DecisionTreeClassifier")

    def run():
        splits = find("fastml.model_selection.BootstrapSplit")(20, random_state=0).split(data.X)
        scores = []
        for train, test in splits:
            model = tree(random_state=0).fit(data.X[train], data.y[train])
            scores.append(model.score(data.X[test], data.y[test]))
        return SimpleNamespace(out_of_bag=float(np.mean(scores)))

    return run


def _score(data, found) -> float:
    return float(found.out_of_bag)


CASES = (
    Case(
        "bootstrap-validate", "model_selection.bootstrap_validate",
        "bootstrap_validate, tree, {n:,} × {d}, 20 resamples",
        tree_and_rows, sizes(n=(100, 2_000, 20_000), d=10),
        Quality("out-of-bag accuracy", _score, tolerance=0.02, tiny=0.2),
        {"n_resamples": 20, "random_state": 0}, "call", peers={"sklearn": _loop},
    ),
)  # fmt: skip
