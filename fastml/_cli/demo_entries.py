"""What the demo shows: one entry per family, each run with fastml's module and scikit-learn's.

A new family adds an entry to `ENTRIES`; an entry whose estimator does not exist yet is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from fastml._cli import demo_panels as panels
from fastml._cli.case import find


@dataclass(frozen=True)
class Entry:
    """One line of the table, and perhaps a panel of the figure.

    Attributes
    ----------
    module, name : str
        Where the estimator or function is, below ``fastml`` and below ``sklearn``.
    work : str
        What is done, with sizes.
    data : callable
        Makes the data.
    run : callable
        ``run(estimator, data)``: train and predict; this is what is timed.
    score : callable
        ``score(data, answer)``, the higher the better.
    yardstick : str
        The name of the score.
    draw : callable or None
        ``draw(axes, estimator)``: a panel of the figure.
    """

    module: str
    name: str
    work: str
    data: Callable[[], SimpleNamespace]
    run: Callable[[Any, SimpleNamespace], Any]
    score: Callable[[SimpleNamespace, Any], float]
    yardstick: str
    draw: Callable[[Any, Any], None] | None = None

    def find(self, library: str) -> Any:
        """The library's estimator, or None."""
        try:
            return find(f"{library}.{self.module}", self.name)
        except ImportError:
            return None


def _blobs(n: int, d: int, k: int, spread: float) -> SimpleNamespace:
    """Gaussian classes; every fifth row is for testing."""
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    X = rng.normal(size=(k, d))[y] * spread + rng.normal(size=(n, d))
    test = np.arange(n) % 5 == 0
    return SimpleNamespace(
        X=X, y=y, k=k, X_train=X[~test], y_train=y[~test], X_test=X[test], y_test=y[test]
    )


def _agreement(data, labels) -> float:
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(data.y, labels))


def _accuracy(data, predicted) -> float:
    return float(np.mean(predicted == data.y_test))


def _leave_one_out_accuracy(data, distances) -> float:
    """Of the nearest other row's label."""
    others = distances + np.diag(np.full(len(data.y), np.inf))
    return float(np.mean(data.y[others.argmin(axis=1)] == data.y))


ENTRIES = (
    Entry(
        module="cluster",
        name="KMeans",
        work="KMeans, 100,000 × 8, 20 clusters",
        data=lambda: _blobs(100_000, 8, 20, spread=2.0),
        run=lambda KMeans, data: KMeans(data.k, n_init=1, random_state=0).fit_predict(data.X),
        score=_agreement,
        yardstick="adjusted Rand",
        draw=panels.clusters,
    ),
    Entry(
        module="neighbors",
        name="KNeighborsClassifier",
        work="KNeighborsClassifier, 40,000 + 10,000 × 16",
        data=lambda: _blobs(50_000, 16, 10, spread=1.0),
        run=lambda Classifier, data: (
            Classifier(n_neighbors=10, n_jobs=-1)
            .fit(data.X_train, data.y_train)
            .predict(data.X_test)
        ),
        score=_accuracy,
        yardstick="accuracy",
        draw=panels.decision_regions,
    ),
    Entry(
        module="svm",
        name="SVC",
        work="SVC, 8,000 + 2,000 × 16",
        data=lambda: _blobs(10_000, 16, 10, spread=1.0),
        run=lambda Machine, data: Machine().fit(data.X_train, data.y_train).predict(data.X_test),
        score=_accuracy,
        yardstick="accuracy",
    ),
    Entry(
        module="svm",
        name="LinearSVC",
        work="LinearSVC, 24,000 + 6,000 × 16",
        data=lambda: _blobs(30_000, 16, 10, spread=1.0),
        run=lambda Machine, data: Machine().fit(data.X_train, data.y_train).predict(data.X_test),
        score=_accuracy,
        yardstick="accuracy",
    ),
    Entry(
        module="ensemble",
        name="RandomForestClassifier",
        work="RandomForestClassifier, 16,000 + 4,000 × 16, 30 trees",
        data=lambda: _blobs(20_000, 16, 5, spread=0.7),
        run=lambda Forest, data: (
            Forest(30, n_jobs=-1, random_state=0)
            .fit(data.X_train, data.y_train)
            .predict(data.X_test)
        ),
        score=_accuracy,
        yardstick="accuracy",
    ),
    Entry(
        module="ensemble",
        name="AdaBoostClassifier",
        work="AdaBoostClassifier, 8,000 + 2,000 × 16, 30 stumps",
        data=lambda: _blobs(10_000, 16, 2, spread=0.5),
        run=lambda Boost, data: (
            Boost(n_estimators=30, random_state=0)
            .fit(data.X_train, data.y_train)
            .predict(data.X_test)
        ),
        score=_accuracy,
        yardstick="accuracy",
    ),
    Entry(
        module="ensemble",
        name="HistGradientBoostingClassifier",
        work="HistGradientBoostingClassifier, 40,000 + 10,000 × 16",
        data=lambda: _blobs(50_000, 16, 5, spread=0.7),
        run=lambda Trees, data: (
            Trees(max_iter=20, early_stopping=False)
            .fit(data.X_train, data.y_train)
            .predict(data.X_test)
        ),
        score=_accuracy,
        yardstick="accuracy",
    ),
    Entry(
        module="metrics.pairwise",
        name="pairwise_distances",
        work="pairwise_distances, manhattan, 4,000 × 4,000 × 32",
        data=lambda: _blobs(4_000, 32, 10, spread=0.7),
        run=lambda distances, data: distances(data.X, metric="manhattan", n_jobs=-1),
        score=_leave_one_out_accuracy,
        yardstick="1-NN accuracy",
    ),
    Entry(
        module="neighbors",
        name="KernelDensity",
        work="KernelDensity, 10,000 + 2,500 × 4",
        data=lambda: _blobs(12_500, 4, 5, spread=3.0),
        run=lambda Density, data: (
            Density(bandwidth=0.5).fit(data.X_train).score_samples(data.X_test)
        ),
        score=lambda data, log_density: float(np.mean(log_density)),
        yardstick="log-likelihood",
        draw=panels.density,
    ),
)
