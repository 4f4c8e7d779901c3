"""Naive Bayes: classes from means and variances, and from counts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import BOTH, SKLEARN, Case, Quality, sizes
from fastml._cases._panels import regions


def clouds(n, d, classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, size=n)
    centers = rng.normal(size=(classes, d))
    return SimpleNamespace(X=centers[y] + rng.normal(size=(n, d)), y=y)


def words(n, d, classes):
    """Counts of words in CSR: every class has words of its own."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, size=n)
    per_row = min(50, d // 2)
    common = (d * rng.random(size=(n, per_row)) ** 2).astype(np.int64)
    columns = np.where(rng.random(size=(n, per_row)) < 0.2, (y[:, None] * 97 + common) % d, common)
    counts = rng.integers(1, 4, size=n * per_row).astype(np.float64)
    X = csr_array((counts, columns.ravel(), np.arange(0, n * per_row + 1, per_row)), shape=(n, d))
    X.sum_duplicates()
    return SimpleNamespace(X=X, y=y)


def categories(n, d, classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, size=n)
    return SimpleNamespace(X=(y[:, None] + rng.integers(0, 6, size=(n, d))) % 8, y=y)


def mixed_table(n, d, classes):
    """Normal columns, of which every second is cut into ten categories."""
    data = clouds(n, d, classes)
    data.X[:, 1::2] = np.clip(np.floor(2.0 * data.X[:, 1::2]) + 5.0, 0.0, 9.0)
    return data


class _TwoModels:
    """GaussianNB of every second column, CategoricalNB of the others, which have one prior."""

    def fit(self, X, y):
        from sklearn.naive_bayes import CategoricalNB, GaussianNB

        self.normal = GaussianNB().fit(X[:, ::2], y)
        self.cut = CategoricalNB().fit(X[:, 1::2], y)
        return self

    def predict_log_proba(self, X):
        from scipy.special import log_softmax

        found = self.normal.predict_joint_log_proba(X[:, ::2])
        found = found + self.cut.predict_joint_log_proba(X[:, 1::2]) - self.cut.class_log_prior_
        return log_softmax(found, axis=1)


def _two_models(data):
    return lambda: _TwoModels().fit(data.X, data.y)


def _log_loss(data, model) -> float:
    """Of the labels of some rows."""
    labels = data.y[:1000]
    found = model.predict_log_proba(data.X[:1000])
    return -float(np.mean(found[np.arange(len(labels)), labels]))


def _accuracy(data, labels) -> float:
    return float(np.mean(labels == data.y))


def _case(id, name, work, data, shape, quality=("log loss", _log_loss), **more):
    return Case(
        id, f"naive_bayes.{name}", f"{name}, {work}", data, sizes(**shape),
        Quality(*quality, "same", 1e-6), peers=SKLEARN, **more,
    )  # fmt: skip


LARGE = {"n": (300, 100_000, 1_000_000), "d": (5, 20, 20), "classes": (3, 5, 5)}
TEXT = {"n": (200, 20_000, 100_000), "d": (60, 20_000, 20_000), "classes": (3, 20, 20)}
TABLE = {"n": (200, 20_000, 200_000), "d": (4, 20, 20), "classes": (3, 5, 5)}

CASES = (
    _case("gaussian-nb", "GaussianNB", "{n:,} × {d}", clouds, LARGE, dtypes=BOTH, draw=regions),
    _case(
        "gaussian-nb-predict", "GaussianNB", "predict {n:,} × {d}", clouds, LARGE, step="predict",
        quality=("accuracy", _accuracy),
    ),
    _case("multinomial-nb", "MultinomialNB", "CSR {n:,} × {d:,}", words, TEXT),
    _case("complement-nb", "ComplementNB", "CSR {n:,} × {d:,}", words, TEXT,
          variants=({"norm": True},)),
    _case("bernoulli-nb", "BernoulliNB", "CSR {n:,} × {d:,}", words, TEXT),
    _case("categorical-nb", "CategoricalNB", "{n:,} × {d}", categories, TABLE),
    Case(
        "mixed-nb", "naive_bayes.NaiveBayes", "NaiveBayes, mixed columns {n:,} × {d}", mixed_table,
        sizes(**TABLE), Quality("log loss", _log_loss, "same", 1e-6),
        peers={"sklearn": _two_models}, variants=({"columns": "kde"},),
    ),
)  # fmt: skip
