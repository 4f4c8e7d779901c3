"""What the fuzzer does with classes that are no estimators of rows: it calls their methods."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import specimens
from fuzz_calls import METRICS, draw_targets
from fuzz_draws import Data, Targets, draw_data


@dataclass
class Plan:
    """Arguments of the constructor, and of methods by name."""

    made: dict
    calls: list[tuple[str, dict]]
    what: str
    ordinary: bool = False


def _vector(rng, n: int) -> tuple[np.ndarray, str]:
    kinds = {
        "ordinary": rng.normal(size=n), "zeros": np.zeros(n), "huge": rng.normal(size=n) * 1e300,
        "tiny": rng.normal(size=n) * 1e-310, "NaN": np.full(n, np.nan), "whole": np.arange(n),
        "infinite": np.full(n, -np.inf), "float32": rng.normal(size=n).astype(np.float32),
        "booleans": rng.random(n) < 0.5, "text": np.full(n, "x"), "two axes": np.ones((n, 2)),
        "signs": np.sign(rng.normal(size=n)), "empty": np.empty(0),
    }  # fmt: skip
    kind = "ordinary" if rng.random() < 0.4 else str(rng.choice(list(kinds)))
    return kinds[kind], kind


def draw_tree(rng, cls) -> Plan:
    data = draw_data(rng, Targets())
    width = np.shape(data.X)[1] if np.ndim(data.X) == 2 else None
    asked = draw_data(rng, Targets(), width if rng.random() < 0.8 else None)
    n = np.shape(data.X)[0]
    k, r = int(rng.choice([1, 2, n, n + 1, 0])), float(rng.choice([0.0, 1.0, np.inf, -1.0]))
    kernel = str(rng.choice(["gaussian", "tophat", "cosine", "no kernel"]))
    calls: list[tuple[str, dict]] = [
        ("query", {"X": asked.X, "k": k, "dualtree": bool(rng.integers(2))}),
        ("query_radius", {"X": asked.X, "r": r, "count_only": True}),
        ("kernel_density", {"X": asked.X, "h": float(rng.choice([0.5, 0.0, 3.0])),
                            "kernel": kernel}),
        ("two_point_correlation", {"X": asked.X, "r": np.array([0.1, 1.0, 5.0])}),
    ]  # fmt: skip
    made = {"X": data.X, "leaf_size": int(rng.choice([1, 2, 40]))}
    if rng.random() < 0.5:
        made["metric"] = str(rng.choice([*METRICS, "chebyshev", "haversine", "no metric"]))
    what = f"{data.what}; asked for {asked.what}"
    distinct = made.get("metric") not in ("hamming", "jaccard")  # else neighbours are drawn lots
    return Plan(made, calls, what, data.ordinary and asked.ordinary and distinct)


def draw_labels(rng, cls) -> Plan:
    given, what, ordinary = draw_targets(rng)
    y, other = given["y_true"], given["y_pred"]
    if cls.__name__ == "MultiLabelBinarizer" and rng.random() < 0.7:
        words = np.array(["a", "bb", "c", "dd"])
        y, other = ([list(words[rng.random(4) < 0.5]) for _ in range(5)] for _ in range(2))
    calls = [("fit", {"y": y}), ("transform", {"y": other}), ("fit_transform", {"y": y})]
    if rng.random() < 0.5:
        odd = [np.array([0, 1]), np.eye(3), np.array([-1, 99]), sp.csr_array(np.eye(2)), [[]]]
        name = "yt" if cls.__name__ == "MultiLabelBinarizer" else "y"
        name = "Y" if cls.__name__ == "LabelBinarizer" else name
        calls.append(("inverse_transform", {name: odd[rng.integers(len(odd))]}))
    made = {}
    if "sparse_output" in inspect.signature(cls).parameters:
        made["sparse_output"] = bool(rng.integers(2))
    return Plan(made, calls, what, ordinary)


def draw_centerer(rng, cls) -> Plan:
    data = draw_data(rng, Targets())
    K = data.X
    if isinstance(K, np.ndarray) and K.ndim == 2 and K.dtype.kind == "f" and rng.random() < 0.7:
        with np.errstate(all="ignore"):
            K = K @ K.T
    return Plan({}, [("fit", {"K": K}), ("transform", {"K": K})], data.what, data.ordinary)


OPTIONS = {
    "epsilon": (0.0, 0.1, -1.0, np.nan), "width": (1.35, 0.0, 1e300), "power": (1.5, 0.0, 1.0, 3.0),
    "quantile": (0.5, 0.0, 1.0, 2.0), "link": ("log", "identity", "none"), "norm": (1, 2, np.inf),
    "alpha": (1.0, 0.0, -1.0, 1e300), "l1_ratio": (0.5, 0.0, 1.0, 2.0), "positive": (True, False),
    "radius": (1.0, 0.0, -1.0), "low": (-np.inf, 0.0, 2.0), "high": (np.inf, 1.0, np.nan),
    "budget": (None, 0, 2, 99), "groups": (None, [0, 0, 1], [0]), "size": (0.1, 0.0, -1.0, 1e300),
    "of": ("point", "loss", "none"), "target": (0.0, np.nan), "most": (3, 0, -1),
    "sufficient": (0.25, 0.0, 1.0), "shrink": (0.5, 1.0), "first": (1.0, 0.0),
    "most_trials": (5, 0), "patience": (1, 0), "loss": (lambda w: float(np.sum(w * w)),),
    "task": ("classification", "regression", "none"), "n_splits": (3, 1, 0),
    "p": (1, 2, 0, 99), "random_state": (0,), "n_jobs": (None, 1, 2, 0),
}  # fmt: skip


def options(rng, cls) -> dict:
    """What the constructor needs, and some of what it takes."""
    found = {}
    for name, parameter in inspect.signature(cls).parameters.items():
        needed = parameter.default is parameter.empty
        if name in OPTIONS and (needed or name == "random_state" or rng.random() < 0.4):
            found[name] = OPTIONS[name][rng.integers(len(OPTIONS[name]))]
    return found


def draw_loss(rng, cls) -> Plan:
    n = int(rng.choice([1, 2, 7, 30]))
    (y, kind), (raw, other) = _vector(rng, n), _vector(rng, n)
    if cls.__name__ == "Multinomial" and rng.random() < 0.7:
        y, raw = rng.integers(0, 3, n), rng.normal(size=(n, 3))
    names = [name for name in ("value", "gradient", "curvature") if hasattr(cls, name)]
    calls: list[tuple[str, dict]] = [(name, {"y": y, "raw": raw}) for name in names]
    if hasattr(cls, "kinks"):
        calls.append(("kinks", {"y": y}))
    return Plan(options(rng, cls), calls, f"{n} targets: {kind}, {other}")


def draw_penalty(rng, cls) -> Plan:
    (w, kind), step = _vector(rng, 3), float(rng.choice([1.0, 0.0, 1e-300, -1.0]))
    calls = [("value", {"w": w}), ("prox", {"z": w, "step": step})]
    calls.append(("distance", {"w": w, "gradient": _vector(rng, 3)[0]}))
    return Plan(options(rng, cls), calls, f"weights: {kind}")


def draw_step(rng, cls) -> Plan:
    """Lengths of steps and rules that stop, in a descent."""
    start, kind = _vector(rng, 2)
    name = "stop" if hasattr(cls, "begin") else "step"
    return Plan(options(rng, cls), [("in gradient_descent", {"start": start, "as": name})], kind)


def draw_report(rng, cls) -> Plan:
    given, what, _ = draw_targets(rng)
    again, _, _ = draw_targets(rng)
    names = ("y_true", "y_pred", "sample_weight")
    calls = [("update", {n: g[n] for n in names}) for g in (given, again)]
    return Plan(options(rng, cls), [*calls, ("compute", {})], what)


def draw_splits(rng, cls) -> Plan:
    data = draw_data(rng, Targets())
    return Plan(options(rng, cls), [("split", {"X": data.X, "y": data.y})], data.what)


def draw_blocks(rng, cls) -> Plan:
    """A model of blocks: the rows of an array, a few at a time."""
    data = draw_data(rng, Targets())
    given = {"X": data.X, "y": data.y, "weights": data.weights}
    given["block_rows"] = int(rng.choice([1, 7, 64, 0]))
    from fastml.blocks import trainable

    path = str(rng.choice(trainable()))
    threads = [None, 1, 2][rng.integers(3)]
    return Plan({}, [("of blocks", {"given": given, "path": path, "n_jobs": threads})],
                f"{path}: {data.what}")  # fmt: skip


def draw_display(rng, cls) -> Plan:
    given, what, _ = draw_targets(rng)
    accepted = inspect.signature(cls.from_predictions).parameters
    names = ("y_true", "y_pred", "y_score", "y_prob", "sample_weight", "pos_label", "labels")
    found = {name: given[name] for name in names if name in accepted}
    return Plan({}, [("from_predictions", found)], what)


def draw_curve(rng, cls) -> Plan:
    """A display of curves that are given."""
    names = [n for n in inspect.signature(cls).parameters if n != "score_name"]
    n = int(rng.choice([1, 2, 5]))
    made = {name: rng.normal(size=n if "sizes" in name or "range" in name else (n, 3))
            for name in names}  # fmt: skip
    if "param_name" in made:
        made["param_name"] = "depth"
    return Plan(made, [("plot", {})], f"{n} points")


def _kind(path: str, cls) -> Callable | None:
    """How a class is drawn; None for those that users do not make or that need a cluster."""
    module, _, name = path.rpartition(".")
    if name in ("KDTree", "BallTree"):
        return draw_tree
    if name.startswith(("Label", "MultiLabel")):
        return draw_labels
    if name == "KernelCenterer":
        return draw_centerer
    if name in ("Blocks", "ThreadsExecutor"):
        return draw_blocks
    if name == "RunningReport":
        return draw_report
    if hasattr(cls, "split"):
        return draw_splits
    if module == "losses":
        return draw_loss
    if module == "penalties":
        return draw_penalty
    if module == "optimize" and any(hasattr(cls, n) for n in ("begin", "length", "search")):
        return draw_step
    if hasattr(cls, "from_predictions"):
        return draw_display
    return draw_curve if name.endswith("CurveDisplay") else None


@functools.cache
def estimators() -> dict[str, type]:
    return specimens.estimators()


@functools.cache
def objects(only: str) -> dict[str, tuple[type, Callable]]:
    """Classes that are drawn here, and how."""
    found = {}
    for path, cls in specimens.public_objects_once().items():
        if inspect.isclass(cls) and only in path and path not in estimators():
            draw = _kind(path, cls)
            if draw is not None:
                found[path] = cls, draw
    return found


def draw_path(rng, found: dict) -> str:
    """A kind of class first: there are eighteen losses and two trees."""
    kinds = sorted({draw.__name__ for _, draw in found.values()})
    kind = str(rng.choice(kinds))
    return str(rng.choice([path for path, (_, draw) in found.items() if draw.__name__ == kind]))


def draw_object(rng, path: str) -> tuple[type, dict, list[tuple[str, object]]]:
    """The class, arguments of its constructor, and the steps."""
    cls, draw = objects("")[path]
    plan = draw(rng, cls)
    steps: list[tuple[str, object]] = [("make", Data(0, 0, 0, 0, plan.what, plan.ordinary))]
    for name, given in plan.calls:
        steps.append((f".{name}", Data(given, 0, 0, 0, "", plan.ordinary)))
    return cls, plan.made, steps


def call(made, name: str, given: dict):
    """What a method returns, or one of the uses that are no method."""
    if name == "in gradient_descent":
        from fastml.optimize import Steps, gradient_descent

        rules = {"stop": Steps(50)}  # a rule alone may never hold
        rules[given["as"]] = made | Steps(50) if given["as"] == "stop" else made
        return gradient_descent(lambda w: float(np.sum(w * w)), given["start"], **rules).point
    if name == "of blocks":
        from fastml import blocks

        rows = blocks.Blocks.from_npy(**given["given"])
        executor = blocks.ThreadsExecutor(given["n_jobs"])
        model = blocks.fit(specimens.make(estimators()[given["path"]]), rows, executor)
        return blocks.predict(model, rows, executor) if hasattr(model, "predict") else None
    if name in ("from_predictions", "plot"):
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        getattr(made, name)(**given)
        plt.close("all")
        return None
    result = getattr(made, name)(**given)
    return None if result is made or hasattr(result, "fit") else result
