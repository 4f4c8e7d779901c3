"""Values for what is missing."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import BOTH, SKLEARN, Case, Quality, sizes


def with_holes(n, d):
    """Correlated columns, a tenth of the values missing."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n, 3))
    truth = hidden @ rng.normal(size=(3, d)) + 0.3 * rng.normal(size=(n, d))
    X = truth.copy()
    X[rng.random(size=(n, d)) < 0.1] = np.nan
    return SimpleNamespace(X=X, truth=truth)


def _fit_transform(make, data):
    return lambda: make().fit_transform(data.X)


def _error(data, answer) -> float:
    """Root mean square of what is filled in wrongly."""
    holes = np.isnan(data.X)
    return float(np.sqrt(np.mean((np.asarray(answer)[holes] - data.truth[holes]) ** 2)))


def _found(data, answer) -> float:
    return float(np.mean(np.asarray(answer)))


def _sklearn(name, **parameters):
    """scikit-learn's imputer, which has to be switched on."""

    def prepare(data):
        import sklearn.experimental.enable_iterative_imputer
        import sklearn.impute

        return lambda: getattr(sklearn.impute, name)(**parameters).fit_transform(data.X)

    return prepare


ERROR = Quality("error", _error, "same", 1e-6)
TABLE = {"n": (300, 100_000, 500_000), "d": (5, 20, 20)}
NEAR = {"n": (200, 5_000, 20_000), "d": (5, 20, 20)}

CASES = (
    Case("simple-imputer", "impute.SimpleImputer", "SimpleImputer, median, {n:,} × {d}", with_holes,
         sizes(**TABLE), ERROR, params={"strategy": "median"}, step=_fit_transform, peers=SKLEARN,
         variants=({"strategy": "mean"}, {"strategy": "most_frequent"}), dtypes=BOTH),
    Case("knn-imputer", "impute.KNNImputer", "KNNImputer, {n:,} × {d}, 10 % missing", with_holes,
         sizes(**NEAR), ERROR, step=_fit_transform, peers=SKLEARN,
         variants=({"weights": "distance"},)),
    Case("iterative-imputer", "impute.IterativeImputer", "IterativeImputer, {n:,} × {d}",
         with_holes, sizes(n=(200, 5_000, 20_000), d=(4, 10, 10)),
         Quality("error", _error, "same", 1e-3), params={"random_state": 0}, step=_fit_transform,
         settings={"max_iter": 30},
         peers={"sklearn": _sklearn("IterativeImputer", random_state=0)}),
    Case("missing-indicator", "impute.MissingIndicator", "MissingIndicator, {n:,} × {d}",
         with_holes, sizes(**TABLE), Quality("share", _found, "same", 1e-9), step=_fit_transform,
         peers=SKLEARN, variants=({"features": "all"},)),
)  # fmt: skip


def odd_branches():
    """Columns with holes, which the plain rows of warm-up do not have."""
    import fastml.impute as module

    for dtype in BOTH:
        X = with_holes(60, 4).X.astype(dtype)
        for name in ("SimpleImputer", "KNNImputer"):
            yield (
                f"{name}, {dtype}",
                lambda name=name, X=X: getattr(module, name)().fit_transform(X),
            )
