"""What the fuzzer tries: data, weights and parameters, drawn at random."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, Options, StrOptions


def _normal(rng, shape):
    return rng.normal(size=shape)


def _some(rng, shape, share, value):
    return np.where(rng.random(shape) < share, value, _normal(rng, shape))


VALUES = {
    "ordinary": _normal,
    "counts": lambda rng, shape: rng.integers(0, 5, shape).astype(float),
    "constant": lambda rng, shape: np.full(shape, rng.choice([0.0, 1.0, -3.5])),
    "duplicates": lambda rng, shape: rng.choice(_normal(rng, (3, shape[1])), shape[0]),
    "a constant column": lambda rng, shape: _normal(rng, shape) * (np.arange(shape[1]) > 0),
    "huge": lambda rng, shape: _normal(rng, shape) * 10.0 ** rng.choice([20, 37, 100, 160, 300]),
    "tiny": lambda rng, shape: _normal(rng, shape) * 10.0 ** -rng.choice([20, 45, 100, 160, 310]),
    "scales": lambda rng, shape: _normal(rng, shape) * 10.0 ** rng.integers(-12, 12, shape[1]),
    "far away": lambda rng, shape: _normal(rng, shape) + 1e9,
    "NaN": lambda rng, shape: _some(rng, shape, 0.2, np.nan),
    "infinity": lambda rng, shape: _some(rng, shape, 0.1, rng.choice([-np.inf, np.inf])),
    "zeros and ones": lambda rng, shape: (rng.random(shape) < 0.5).astype(float),
    "codes": lambda rng, shape: rng.integers(0, 300, shape).astype(float),
}
ORDINARY = ("classes", "two classes", "numbers", "words", "positive", "several")
COMMON = 0.5
"""Share of ordinary values, and of plain layouts."""


def _csr(X, rng):
    return sp.csr_matrix(X)


def _unsorted_csr(X, rng):
    """Entries of a row in any order, some of them twice; 64-bit indices."""
    A = sp.coo_matrix(X)
    order = rng.permutation(A.nnz)
    rows = A.row[order]
    stable = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=X.shape[0]))])
    found = sp.csr_matrix(X.shape, dtype=X.dtype)
    found.data, found.indices = A.data[order][stable], A.col[order][stable].astype(np.int64)
    found.indptr = indptr.astype(np.int64)
    return found


LAYOUTS = {
    "Fortran": lambda X, rng: np.asfortranarray(X),
    "strided": lambda X, rng: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X, rng: X[::-1],
    "list": lambda X, rng: X.tolist(),
    "frame": lambda X, rng: pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]),
    "csr": _csr,
    "csr array": lambda X, rng: sp.csr_array(X),
    "csc": lambda X, rng: sp.csc_matrix(X),
    "coo": lambda X, rng: sp.coo_matrix(X),
    "unsorted csr": _unsorted_csr,
    "object": lambda X, rng: X.astype(object),
    "strings": lambda X, rng: X.astype(str),
    "one dimension": lambda X, rng: X[:, 0],
    "three dimensions": lambda X, rng: X[None],
}
DTYPES = ("float64", "float32", "float16", "int64", "int8", "uint8", "bool", ">f8", "complex128")

WEIGHTS = {
    "ones": lambda rng, n: np.ones(n),
    "random": lambda rng, n: rng.random(n),
    "whole": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "zero": lambda rng, n: np.zeros(n),
    "one row": lambda rng, n: (np.arange(n) == n // 2).astype(float),
    "tiny": lambda rng, n: rng.random(n) * 1e-300,
    "huge": lambda rng, n: rng.random(n) * 1e300,
    "negative": lambda rng, n: rng.normal(size=n),
    "NaN": lambda rng, n: np.where(np.arange(n) == 0, np.nan, 1.0),
    "too few": lambda rng, n: np.ones(n // 2),
    "int32": lambda rng, n: rng.integers(0, 3, n).astype(np.int32),
    "number": lambda rng, n: 2.0,
}


@dataclass
class Data:
    """What one fit learns from, and what is predicted for."""

    X: object
    y: object
    weights: object
    new: object
    what: str
    ordinary: bool  # distinct finite values of one scale and weights that are none


@dataclass
class Targets:
    """What a class can learn."""

    classes: bool = True
    positive: bool = False
    several: bool = False
    positive_rows: bool = False


def _target(rng, n, wanted: Targets):
    wants_classes = wanted.classes
    kinds = ["classes", "two classes", "one class", "words", "many classes", "outputs"]
    if not wants_classes:
        kinds = ["numbers", "constant", "counts", "huge", "outputs", "infinite"]
    kinds = [*kinds[:1], *(["several"] * wanted.several + ["positive"] * wanted.positive)][
        -1:
    ] + kinds
    kind = kinds[0] if rng.random() < COMMON else str(rng.choice(kinds))
    k = rng.integers(0, 3, n)
    y = {
        "classes": k,
        "two classes": rng.integers(0, 2, n) * 2 - 1,
        "one class": np.zeros(n, int),
        "words": np.array(["a", "bb", "c"])[k],
        "many classes": rng.integers(0, max(1, n // 2), n),
        "outputs": np.column_stack([k, rng.integers(0, 2, n)]) * (1 if wants_classes else 1.5),
        "numbers": rng.normal(size=n),
        "positive": rng.gamma(2.0, size=n) + 0.1,
        "several": rng.normal(size=(n, 3)),
        "constant": np.full(n, 2.5),
        "counts": rng.poisson(2.0, n).astype(float),
        "huge": rng.normal(size=n) * 1e200,
        "infinite": np.where(np.arange(n) == 0, np.inf, 1.0),
    }[kind]
    return y, kind


def _laid_out(rng, X, dtype, layout):
    with np.errstate(all="ignore"):
        X = X.astype(dtype)
    if layout is None or (("cs" in layout or "coo" in layout) and dtype in ("float16", ">f8")):
        return X  # SciPy has no sparse matrices of these
    return LAYOUTS[layout](X, rng)


def draw_data(rng, wanted: Targets, n_columns: int | None = None) -> Data:
    """Data of a random kind; ``n_columns`` if a fitted model expects as many."""
    n = int(rng.choice([1, 2, 3, 8, 25, 70], p=[0.03, 0.04, 0.05, 0.13, 0.4, 0.35]))
    d = n_columns or int(rng.choice([1, 2, 3, 5, 9]))
    values = "ordinary" if rng.random() < COMMON else str(rng.choice(list(VALUES)))
    layout = None if rng.random() < COMMON else str(rng.choice(list(LAYOUTS)))
    dtype = "float64" if rng.random() < COMMON else str(rng.choice(DTYPES))
    X, new = VALUES[values](rng, (n, d)), VALUES[values](rng, (int(rng.integers(1, 12)), d))
    if rng.random() < 0.5:
        new = X[: len(new)]
    if wanted.positive_rows:
        X, new = np.abs(X), np.abs(new)
    y, kind = _target(rng, n, wanted)
    weights, weighted = None, "none"
    if rng.random() < 0.35:
        weighted = str(rng.choice(list(WEIGHTS)))
        weights = WEIGHTS[weighted](rng, n)
    what = f"{n} x {d} {dtype}, {values}, {layout or 'plain'}; y: {kind}; weights: {weighted}"
    ordinary = values == "ordinary" and dtype in ("float64", "float32", ">f8") and n >= 8
    ordinary = ordinary and kind in ORDINARY
    ordinary = ordinary and weights is None and layout not in ("strings", "object")
    return Data(
        _laid_out(rng, X, dtype, layout), y, weights, _laid_out(rng, new, dtype, layout), what,
        ordinary,
    )  # fmt: skip


# ---------------------------------------------------------------------------- parameters

FIXED = {
    "random_state": lambda rng: 0,
    "n_estimators": lambda rng: int(rng.integers(1, 6)),
    "n_init": lambda rng: int(rng.integers(1, 3)),
    "n_jobs": lambda rng: [None, 1, 2][rng.integers(3)],
    "n_clusters": lambda rng: int(rng.integers(1, 6)),
    "n_components": lambda rng: int(rng.integers(1, 4)),
    "n_neighbors": lambda rng: int(rng.integers(1, 9)),
    "radius": lambda rng: float(rng.choice([1e-3, 1.0, 5.0])),
    "eps": lambda rng: float(rng.choice([1e-3, 0.5, 5.0])),
    "p": lambda rng: float(rng.choice([1.0, 1.5, 2.0, 3.0, np.inf])),
    "degree": lambda rng: int(rng.integers(0, 4)),
    "max_depth": lambda rng: [None, 1, 2, 5, 40][rng.integers(5)],
    "max_leaf_nodes": lambda rng: [None, 2, 3, 10][rng.integers(4)],
}
"""How some parameters are drawn."""

LEFT_ALONE = {"verbose", "callbacks", "cache_size", "tol", "copy_x", "memory", "max_iter", "init"}
"""Parameters that say how far or how loudly to go, or that take objects."""

ALWAYS = {"random_state", "n_estimators", "n_init"}


def _choices(constraints) -> list:
    found: list = []
    for each in constraints:
        if isinstance(each, StrOptions | Options):
            found += sorted(each.options, key=str)
        elif isinstance(each, Interval):
            low = each.left if each.left is not None else -2
            high = each.right if each.right is not None else np.inf
            numbers = [low, low + 1, low + 2, low + 7]
            if each.type.__name__ != "Integral":
                numbers = [low, low + 1e-3, low + 0.3, low + 0.9, low + 3.0, low + 1e3]
            found += [number for number in numbers if number in each and number <= high]
        elif isinstance(each, str) and each == "boolean":
            found += [True, False]
        elif each is None:
            found.append(None)
    return found


def draw_parameters(rng, cls) -> dict:
    """Valid values of some parameters, as far as their constraints say."""
    found = {}
    constraints = getattr(cls, "_parameter_constraints", {})
    share = rng.choice([0.0, 0.2, 0.5])
    for name in inspect.signature(cls).parameters:
        if name in LEFT_ALONE or (name not in ALWAYS and rng.random() >= share):
            continue
        if name in FIXED:
            found[name] = FIXED[name](rng)
        elif choices := _choices(constraints.get(name, ())):
            found[name] = choices[rng.integers(len(choices))]
    return found
