"""Predictions of a model that LightGBM might have trained, and a forest written to a file."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np

from fastml._cases._case import BOTH, Case, Quality, find, sizes


def lightgbm_text(n_trees: int, n_leaves: int, d: int) -> str:
    """Trees with random splits in LightGBM's format: it need not be installed."""
    rng = np.random.default_rng(0)
    lines = [
        "tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0",
        f"max_feature_idx={d - 1}", "objective=binary sigmoid:1",
        "feature_names=" + " ".join(f"Column_{i}" for i in range(d)),
        "feature_infos=" + " ".join(["[-5:5]"] * d), "", "",
    ]  # fmt: skip
    for t in range(n_trees):
        left, right = _random_children(n_leaves, rng)
        n_splits = n_leaves - 1
        facts: dict = {
            "num_leaves": n_leaves,
            "num_cat": 0,
            "split_feature": rng.integers(0, d, n_splits),
            "split_gain": np.ones(n_splits),
            "threshold": np.round(rng.normal(size=n_splits), 2),
            "decision_type": rng.choice([8, 10], n_splits),
            "left_child": left,
            "right_child": right,
            "leaf_value": rng.normal(size=n_leaves) * 0.1,
            "leaf_weight": np.ones(n_leaves),
            "leaf_count": np.ones(n_leaves, int),
            "internal_value": np.zeros(n_splits),
            "internal_weight": np.ones(n_splits),
            "internal_count": np.ones(n_splits, int),
            "is_linear": 0,
            "shrinkage": 1,
        }
        lines.append(f"Tree={t}")
        lines += [f"{k}={' '.join(map(str, np.ravel(v).tolist()))}" for k, v in facts.items()]
        lines += ["", ""]
    return "\n".join([*lines, "end of trees", "", "pandas_categorical:null", ""])


def _random_children(n_leaves: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Children of the splits; leaf i is -i - 1. Each split takes the place of a random leaf."""
    left, right = np.full(n_leaves - 1, -1), np.full(n_leaves - 1, -2)
    for split in range(1, n_leaves - 1):
        leaf = int(rng.integers(split + 1))
        for side in (left, right):
            side[:split][side[:split] == -leaf - 1] = split
        left[split], right[split] = -leaf - 1, -split - 2
    return left, right


def trained_elsewhere(n, d, trees, leaves):
    X = np.random.default_rng(1).normal(size=(n, d))
    return SimpleNamespace(text=lightgbm_text(trees, leaves, d), X=X)


def converted(make, data):
    model = make(data.text)
    return lambda: model.predict_proba(data.X)[:, 1]


def _lightgbm(data):
    booster = find("lightgbm.Booster")(model_str=data.text)
    return lambda: booster.predict(data.X)


def one_row(make, data):
    model, row = make(data.text), data.X[:1].copy()
    return lambda: model.predict_proba(row)[:, 1]


def _one_row_lightgbm(data):
    booster, row = find("lightgbm.Booster")(model_str=data.text), data.X[:1].copy()
    return lambda: booster.predict(row)


def _sum(data, found) -> float:
    return float(found.sum())


def forest(n, d, trees):
    X = np.random.default_rng(0).normal(size=(n, d))
    y = (X[:, 0] + np.sin(3 * X[:, 1]) + np.random.default_rng(1).normal(size=n) > 0).astype(int)
    return SimpleNamespace(X=X, y=y)


def saved_and_loaded(make, data):
    from fastml.convert import load, save

    forest = find("fastml.ensemble.RandomForestClassifier")
    model = forest(data.trees, random_state=0).fit(data.X, data.y)

    def both():
        file = io.BytesIO()
        save(model, file)
        return load(file)

    return both


def _joblib(data):
    forest = find("sklearn.ensemble.RandomForestClassifier")
    dump, load = find("joblib.dump"), find("joblib.load")
    model = forest(data.trees, random_state=0, n_jobs=-1).fit(data.X, data.y)

    def both():
        file = io.BytesIO()
        dump(model, file)
        file.seek(0)
        return load(file)

    return both


def _accuracy(data, model) -> float:
    return float(model.score(data.X[:1000], data.y[:1000]))


CASES = (
    Case(
        "convert-lightgbm", "convert.from_lightgbm",
        "predict_proba of a LightGBM model, {trees} trees of {leaves} leaves, {n:,} × {d}",
        trained_elsewhere,
        sizes(n=(100, 50_000, 500_000), d=(4, 30, 30), trees=(5, 100, 100), leaves=(5, 31, 31)),
        Quality("sum of probabilities", _sum, tolerance=1e-9),
        step=converted, peers={"lightgbm": _lightgbm}, dtypes=BOTH,
    ),
    Case(
        "convert-one-row", "convert.from_lightgbm",
        "predict_proba of one row, LightGBM model of {trees} trees of {leaves} leaves",
        trained_elsewhere,
        sizes(n=(2, 2, 2), d=(4, 30, 30), trees=(5, 100, 100), leaves=(5, 31, 31)),
        Quality("probability", _sum, tolerance=1e-9),
        step=one_row, peers={"lightgbm": _one_row_lightgbm},
    ),
    Case(
        "save-forest", "convert.save", "save and load a forest of {trees} trees, {n:,} rows",
        forest, sizes(n=(100, 5_000, 50_000), d=(4, 20, 20), trees=(5, 100, 100)),
        Quality("accuracy", _accuracy, tolerance=0.02, tiny=0.1),
        step=saved_and_loaded, peers={"sklearn": _joblib},
    ),
)  # fmt: skip


def odd_branches():
    def large_trees():
        from fastml.convert import from_lightgbm

        X = np.random.default_rng(0).normal(size=(20, 4))
        from_lightgbm(lightgbm_text(2, 70, 4)).predict(X)

    def link_of_one_column():
        from fastml.convert import from_lightgbm

        text = lightgbm_text(2, 5, 4).replace("objective=binary", "objective=cross_entropy")
        from_lightgbm(text).predict(np.zeros((1, 4)))

    yield "a link without classes", link_of_one_column
    yield "trees of more leaves than bits", large_trees
