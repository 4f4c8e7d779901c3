"""What the fuzzer gives to functions: arguments by name, several of them drawn together."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import scipy.sparse as sp
import specimens
from fuzz_draws import WEIGHTS, Data, Targets, draw_data

METRICS = ("euclidean", "manhattan", "cosine", "hamming", "jaccard")
WORDS = np.array(["a", "bb", "c", "dd"])
ORDINARY_TARGETS = ("binary", "classes", "words", "numbers", "positive", "outputs", "indicators")
TARGETS = (
    *ORDINARY_TARGETS, "signs", "one class", "booleans", "object", "NaN", "infinite", "huge",
    "tiny", "unlike", "shorter", "column", "list", "text and numbers", "empty",
)  # fmt: skip
CLASSES = {"binary", "classes", "words", "indicators", "signs", "one class", "booleans", "object"}


def _labels(rng, n: int, kind: str):
    """A vector of targets of one kind."""
    k = rng.integers(0, 3, n)
    numbers = rng.normal(size=n)
    return {
        "binary": lambda: k % 2,
        "signs": lambda: (k % 2) * 2 - 1,
        "booleans": lambda: k % 2 == 1,
        "classes": lambda: k,
        "one class": lambda: np.ones(n, int),
        "words": lambda: WORDS[k],
        "object": lambda: WORDS[k].astype(object),
        "indicators": lambda: rng.integers(0, 2, (n, 3)),
        "numbers": lambda: numbers,
        "positive": lambda: np.abs(numbers) + 0.1,
        "outputs": lambda: rng.normal(size=(n, 2)),
        "NaN": lambda: np.where(np.arange(n) == n // 2, np.nan, numbers),
        "infinite": lambda: np.where(np.arange(n) == n // 2, np.inf, numbers),
        "huge": lambda: numbers * 1e300,
        "tiny": lambda: numbers * 1e-300,
        "column": lambda: (k % 2)[:, None],
        "list": lambda: (k % 2).tolist(),
        "text and numbers": lambda: np.array(["1", "2"], dtype=object)[k % 2],
        "empty": lambda: np.empty(0),
        "shorter": lambda: (k % 2)[: n // 2],
        "unlike": lambda: k + 0.5,
    }[kind]()


def draw_targets(rng) -> tuple[dict, str, bool]:
    """Arguments of scores, (by name, what they are, whether they are ordinary)."""
    n = int(rng.choice([1, 2, 5, 30, 70], p=[0.05, 0.05, 0.1, 0.4, 0.4]))
    kind = str(rng.choice(ORDINARY_TARGETS if rng.random() < 0.6 else TARGETS))
    other = kind if rng.random() < 0.8 else str(rng.choice(TARGETS))
    true, pred = _labels(rng, n, kind), _labels(rng, n, other)
    n_classes = int(rng.choice([1, 2, 3, 4]))
    score = rng.normal(size=n if rng.random() < 0.5 else (n, n_classes))
    if rng.random() < 0.3:
        score = np.round(score)
    shares = rng.random(n) if rng.random() < 0.5 else rng.dirichlet(np.ones(n_classes), n)
    odd = rng.random() < 0.15
    if odd:
        with np.errstate(all="ignore"):
            score = score * rng.choice([1e300, 1e-310, np.inf, np.nan])
            shares = shares * rng.choice([2.0, -1.0, np.nan, 1e-320])
    if kind == "indicators":
        score, shares = rng.normal(size=(n, 3)), rng.random((n, 3))
    weighted = str(rng.choice(list(WEIGHTS)))
    given = {
        "y_true": true, "y_pred": pred, "y_score": score, "y_proba": shares, "y_prob": shares,
        "other_score": rng.permutation(score), "pred_decision": score, "y1": true, "y2": pred,
        "sample_weight": WEIGHTS[weighted](rng, n),
        "average": [None, "micro", "macro", "weighted", "samples", "binary"][rng.integers(6)],
        "pos_label": [1, 0, -1, "a", None, True, 9][rng.integers(7)],
        "labels": [None, [0, 1], [1], [0, 1, 2, 3], ["a", "bb"], []][rng.integers(6)],
        "normalize": [True, False, None, "true", "all"][rng.integers(5)],
        "multioutput": ["raw_values", "variance_weighted", [0.3, 0.7], [1.0]][rng.integers(4)],
        "zero_division": [0, 1, np.nan, "warn"][rng.integers(4)],
        "k": int(rng.integers(1, 6)), "beta": float(rng.choice([0.0, 0.5, 2.0, np.inf])),
        "alpha": float(rng.choice([0.0, 0.2, 1.0])), "max_fpr": float(rng.choice([0.1, 0.5, 1.0])),
        "power": float(rng.choice([-1, 0, 1, 1.5, 2, 3])), "n_features": int(rng.integers(0, 9)),
        "multi_class": str(rng.choice(["raise", "ovr", "ovo"])),
        "weights": [None, "linear", "quadratic"][rng.integers(3)], "output_dict": True,
        "rejection": float(rng.choice([0.0, 0.5, 1.0])), "adjusted": True, "samplewise": True,
        "drop_intermediate": bool(rng.integers(2)), "force_finite": False, "ignore_ties": True,
        "replace_undefined_by": float(rng.choice([0.0, 1.0])), "log_base": 3.0,
    }  # fmt: skip
    what = f"{n} targets: {kind}, {other}; scores {score.shape}; weights: {weighted}"
    ordinary = kind == other and kind in ORDINARY_TARGETS and n > 5 and not odd
    return given, what, ordinary


def draw_matrices(rng) -> tuple[dict, str, bool]:
    """Arguments of functions of rows and their labels."""
    first = draw_data(rng, Targets())
    width = np.shape(first.X)[1] if np.ndim(first.X) == 2 else None
    second = draw_data(rng, Targets(), width)
    n = np.shape(first.X)[0]
    other = rng.integers(0, 4, n)
    labels = first.y if np.ndim(first.y) == 1 else other
    given = {
        "X": first.X, "Y": second.X, "labels": labels, "labels_true": labels, "labels_pred": other,
        "n_clusters": int(rng.integers(1, 5)), "n_neighbors": int(rng.integers(1, 6)),
        "radius": float(rng.choice([0.5, 2.0])), "X_embedded": rng.normal(size=(n, 2)),
    }  # fmt: skip
    return given, f"X [{first.what}], Y [{second.what}]", first.ordinary


def draw_regression(rng) -> tuple[dict, str, bool]:
    """Arguments of the paths of linear models."""
    data = draw_data(rng, Targets(classes=False))
    given = {
        "X": data.X, "y": data.y, "alpha": [0.0, 1e-3, 1.0, 1e9, -1.0][rng.integers(5)],
        "l1_ratio": float(rng.choice([0.1, 0.5, 1.0])), "method": str(rng.choice(["lar", "lasso"])),
        "positive": bool(rng.integers(2)), "return_path": bool(rng.integers(2)),
        "n_nonzero_coefs": int(rng.integers(1, 4)), "precompute": bool(rng.integers(2)),
        "alphas": [3, [1.0, 0.1], [0.5]][rng.integers(3)], "return_n_iter": True,
        "solver": str(rng.choice(["auto", "svd", "cholesky", "lsqr", "sag", "lbfgs"])),
        "max_iter": int(rng.choice([1, 50, 1000])), "sample_weight": data.weights,
    }  # fmt: skip
    A, y = data.X, np.asarray(data.y)
    if not isinstance(A, np.ndarray) or A.ndim != 2 or A.dtype.kind not in "fiu":
        A = rng.normal(size=(len(y), 3))
    with np.errstate(all="ignore"):
        given |= {"Gram": A.T @ A, "Xy": A.T @ y, "n_samples": len(y)}
    return given, data.what, data.ordinary


def draw_vectors(rng) -> tuple[dict, str, bool]:
    """Numbers, distributions, tables and distances, some of them broken."""
    n = int(rng.choice([1, 2, 5, 30]))
    values = {
        "ordinary": rng.normal(size=n), "NaN": np.full(n, np.nan), "huge": rng.random(n) * 1e300,
        "tiny": rng.random(n) * 1e-310, "constant": np.ones(n), "infinite": np.full(n, np.inf),
        "whole": rng.integers(0, 5, n), "empty": np.empty(0), "text": np.full(n, "x"),
    }  # fmt: skip
    kind = "ordinary" if rng.random() < 0.4 else str(rng.choice(list(values)))
    v = values[kind]
    numbers = np.asarray(v) if kind != "text" else np.arange(n)
    with np.errstate(all="ignore"):
        p = np.abs(numbers) / max(np.abs(numbers).sum(), 1e-320) if len(numbers) else numbers
        distances = np.abs(numbers[:, None] - numbers)
    binary = rng.integers(0, 2, n)
    graph = sp.csr_array(np.where(distances > 0.5, distances, 0.0))
    given = {
        "x": np.sort(v), "y": rng.permutation(v), "p": p, "q": rng.permutation(p),
        "joint": np.outer(p, p), "first": v, "second": rng.permutation(v), "scores": distances,
        "dissimilarities": distances, "contingency": rng.integers(0, 9, (2, 3)), "z": v,
        "n_samples": int(rng.integers(0, 99)), "n_successes": float(rng.integers(0, 20)),
        "n_trials": float(rng.integers(0, 20)), "graph": graph,
        "n_models": int(rng.integers(0, 12)), "n_blocks": int(rng.integers(0, 12)),
        "log_likelihood": float(rng.normal()),
        "n_parameters": int(rng.integers(0, 9)), "amount": float(rng.choice([-1.0, 0.0, 1.0])),
        "y_true": binary, "models": [binary, rng.permutation(binary)], "n_init": 1, "metric": True,
        "matrix": distances, "normalized_stress": "auto",
    }  # fmt: skip
    return given, f"{n} numbers: {kind}", kind == "ordinary" and n > 2


TOGETHER = (draw_targets, draw_matrices, draw_regression, draw_vectors)
ALWAYS = {"random_state": 0}
SOMETIMES = 0.35
"""Share of the optional arguments that are given."""


@functools.cache
def drawn_names() -> list[set[str]]:
    return [set(draw(np.random.default_rng(0))[0]) for draw in TOGETHER]


def _required(function) -> set[str]:
    return {
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    }


@functools.cache
def callable_functions(only: str) -> dict:
    """Functions whose arguments can be drawn, and by which of the draws."""
    found = {}
    for path, function in specimens.functions().items():
        if only not in path or path.startswith("plot."):
            continue
        draws = [d for d, names in zip(TOGETHER, drawn_names()) if _required(function) <= names]
        if draws and inspect.signature(function).parameters:
            found[path] = function, draws
    return found


def draw_call(rng, path: str) -> tuple[dict, Data]:
    """Keyword arguments of one call; what they are."""
    function, draws = callable_functions("")[path]
    known, what, ordinary = draws[rng.integers(len(draws))](rng)
    given = {}
    for name, parameter in inspect.signature(function).parameters.items():
        required = parameter.default is parameter.empty
        if name in ALWAYS:
            given[name] = ALWAYS[name]
        elif name == "metric" and isinstance(parameter.default, str) and "kernels" not in path:
            given[name] = str(rng.choice(METRICS))
        elif name in known and (required or rng.random() < SOMETIMES):
            given[name] = known[name]
        elif name in ("squared", "sparse", "mean_n_ij") and rng.random() < 0.5:
            given[name] = True
    return given, Data(0, 0, 0, 0, what, ordinary)
