"""Balancing a small class against a large one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import Case, Quality, find, sizes


def unequal(n, few, d):
    """A large class and a small one beside it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + few, d))
    y = (np.arange(n + few) >= n).astype(np.intp)
    X[y == 1] += 1.0 / np.sqrt(d)
    return SimpleNamespace(X=X, y=y)


def resample(make, data):
    return lambda: make().fit_resample(data.X, data.y)


def _sum(data, found) -> float:
    """Of all numbers, by place: the same rows in the same order have the same."""
    return float(np.asarray(found[0]).sum(axis=1) @ np.sqrt(np.arange(1.0, 1.0 + len(found[0]))))


def with_categories(n, few, d):
    """Every second column is of five categories."""
    data = unequal(n, few, d)
    data.X[:, 1::2] = np.clip(np.floor(1.5 * data.X[:, 1::2]), -2.0, 2.0)
    return data


def _case(id, name, where, params=(), variants=(), data=unequal, **more):
    params = dict(params)

    def theirs(data):
        sampler = find(f"imblearn.{where}.{name}")
        return lambda: sampler(**params).fit_resample(data.X, data.y)

    return Case(
        id, f"imbalance.{name}", f"{name}, {{n:,}} + {{few:,}} × {{d}}", data, SIZES,
        Quality("sum by place", _sum, tolerance=1e-6, scale=1.0), params, step=resample,
        peers={"imblearn": theirs}, variants=variants, **more,
    )  # fmt: skip


SIZES = sizes(n=(60, 10_000, 50_000), few=(30, 1_000, 5_000), d=(4, 20, 20))
SEEDED = {"random_state": 0}

CASES = (
    _case("random-over-sampler", "RandomOverSampler", "over_sampling", SEEDED),
    _case("random-under-sampler", "RandomUnderSampler", "under_sampling", SEEDED),
    _case("smote", "SMOTE", "over_sampling", SEEDED),
    _case("borderline-smote", "BorderlineSMOTE", "over_sampling", SEEDED),
    _case("adasyn", "ADASYN", "over_sampling", SEEDED),
    _case("smote-nc", "SMOTENC", "over_sampling", {**SEEDED, "categorical_features": [1, 3]},
          data=with_categories, settings={"categorical_features": [1]}),
    _case("tomek-links", "TomekLinks", "under_sampling"),
    _case("edited-neighbours", "EditedNearestNeighbours", "under_sampling"),
)  # fmt: skip
