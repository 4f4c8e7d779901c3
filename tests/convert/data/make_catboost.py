"""Writes the models of CatBoost in this folder, and what CatBoost itself predicts with them."""

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
COMMON = {
    "iterations": 4,
    "learning_rate": 0.3,
    "depth": 3,
    "verbose": 0,
    "thread_count": 1,
    "allow_writing_files": False,
    "random_seed": 0,
}


def rows(model) -> np.ndarray:
    """Random ones with missing values, and each border and one float32 step beside it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.3] = np.nan
    parts = [X]
    for column, borders in model.get_borders().items():
        for border in np.array(borders, np.float32)[:6]:
            for way in (-np.inf, np.inf):
                near = X[:2].copy()
                near[:, column] = border, np.nextafter(border, np.float32(way))
                parts.append(near)
    return np.concatenate(parts)


def main():
    import catboost  # here: pytest looks for doctests in every file

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(np.float32)
    y = X[:, 0] + 0.5 * X[:, 1] ** 2
    X[rng.random(X.shape) < 0.1] = np.nan
    modes = ["0:nan_mode=Max", "1:nan_mode=Min"]
    models = {
        "regression": catboost.CatBoostRegressor(
            loss_function="Poisson", per_float_feature_quantization=modes, **COMMON
        ).fit(X, np.exp(y)),
        "classes": catboost.CatBoostClassifier(**COMMON).fit(
            X, np.array(["a", "b", "c"])[np.digitize(y, [0.0, 1.0])]
        ),
        "lossguide": catboost.CatBoostClassifier(
            grow_policy="Lossguide", max_leaves=5, nan_mode="Max", **COMMON
        ).fit(X, np.where(y > 0.5, 7, 3)),
    }
    for name, model in models.items():
        file = HERE / f"catboost_{name}.json"
        model.save_model(str(file), format="json")
        content = json.loads(file.read_text())
        facts = content["model_info"]  # without 10 kB of settings of training
        content["model_info"] = {
            "made_by": f"catboost {catboost.__version__}",
            "params": {"loss_function": facts["params"]["loss_function"]},
            "class_params": facts.get("class_params", {}),
        }
        T = rows(model)
        content["expected"] = {
            "rows": T.astype(float).tolist(),
            "raw": model.predict(T, prediction_type="RawFormulaVal").tolist(),
            "predict": np.ravel(model.predict(T)).tolist(),
        }
        file.write_text(json.dumps(content) + "\n")


if __name__ == "__main__":
    main()
