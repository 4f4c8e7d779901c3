"""Figures of docs/cluster.md: `python docs/cluster.py` writes the table and cluster.svg,
`--rates` measures kernels, `--check` compares plans with Spark on this machine."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from fastml.spark._plan import plan

NODES = (1, 2, 5, 10, 30, 100, 300, 1000)
ROWS, COLUMNS = 1_000_000_000, 20
WORK = {
    "kmeans": {"clusters": 100, "iterations": 20},
    "logistic": {"iterations": 10},
    "boosting": {"trees": 100, "depth": 6},
}
NAMES = {
    "kmeans": "k-means, 100 centres, 20 iterations",
    "logistic": "logistic regression, 10 iterations",
    "boosting": "boosting, 100 trees of depth 6",
}


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def curve(algorithm: str):
    return [plan(ROWS, COLUMNS, algorithm, nodes=n, **WORK[algorithm]) for n in NODES]


def table() -> str:
    lines = [
        "| nodes | " + " | ".join(f"{NAMES[a]} | limit" for a in WORK) + " |",
        "|---|" + "---|---|" * len(WORK),
    ]
    for i, n in enumerate(NODES):
        cells = []
        for algorithm in WORK:
            found = curve(algorithm)[i]
            cells.append(f"{found.seconds:,.0f} s, {found.cost:,.2f} | {found.limit}")
        lines.append(f"| {n:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(path: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "fastml"  # the same file every time
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for algorithm in WORK:
        seconds = [found.seconds for found in curve(algorithm)]
        axes.loglog(NODES, seconds, marker="o", label=NAMES[algorithm])
        ideal = [seconds[0] / n for n in NODES]
        axes.loglog(NODES, ideal, color=axes.lines[-1].get_color(), lw=0.5, ls=":")
    axes.set(xlabel="nodes of 16 cores and 64 GB", ylabel="seconds (plan)", ylim=(10, None))
    axes.set_title("10⁹ rows × 20 columns; dotted: the first node's time divided")
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None})


def models(d: int, trees: int):
    """(name, estimator, sizes of the plan)."""
    from fastml.cluster import KMeans
    from fastml.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from fastml.linear_model import LinearRegression, LogisticRegression

    rng = np.random.default_rng(0)
    start = rng.normal(size=(100, d))
    boosting = HistGradientBoostingClassifier(
        max_iter=trees, max_depth=5, max_leaf_nodes=None, early_stopping=False
    )
    yield "kmeans", KMeans(100, init=start, n_init=1, max_iter=10, tol=0.0), {
        "clusters": 100, "iterations": 10,
    }  # fmt: skip
    yield "logistic", LogisticRegression(), {"iterations": 2}
    yield "linear", LinearRegression(), {}
    yield "boosting", boosting, {"trees": trees, "depth": 5}
    yield "forest", RandomForestClassifier(trees, max_depth=8), {"trees": trees, "depth": 8}


def data(n: int, d: int, folder: str | None = None):
    """Blocks of arrays in memory, or of files that other processes read too."""
    from fastml.blocks import Blocks

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=n) > 0.0).astype(int)
    if folder is None:
        return Blocks.from_npy(X, y)
    np.save(f"{folder}/X.npy", X)
    np.save(f"{folder}/y.npy", y)
    return Blocks.from_npy(f"{folder}/X.npy", f"{folder}/y.npy")


def seconds_of(model, blocks, executor) -> float:
    from fastml.blocks import fit

    best = np.inf
    for _ in range(2):
        began = time.perf_counter()
        fit(model, blocks, executor=executor)
        best = min(best, time.perf_counter() - began)
    return best


def rates() -> None:
    """Seconds of one core per unit of work, without Spark."""
    from fastml.blocks import ThreadsExecutor
    from fastml.spark._plan import ALGORITHMS, RATES

    n, d = 300_000, 16
    blocks = data(n, d)
    for name, model, sizes in models(d, 20):
        found = seconds_of(model, blocks, ThreadsExecutor(1))
        does = ALGORITHMS[name](d, **sizes)
        said = does.passes * does.seconds_per_row * n
        say(f"{name:10} {found:7.3f} s, plan {said:7.3f} s, rate {RATES[name] * found / said:.2e}")


def check() -> None:
    """Plans beside Spark in local mode, on one core and on two."""
    import os

    from pyspark.sql import SparkSession

    from fastml.blocks import SparkExecutor

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    n, d = 500_000, 20
    folder = tempfile.mkdtemp()
    for cores in (1, 2):
        session = SparkSession.builder.master(f"local[{cores}]").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        blocks = data(n, d, folder)
        for name, model, sizes in models(d, 20):
            if name in WORK:
                found = seconds_of(model, blocks, SparkExecutor(session))
                said = plan(
                    n, d, name, cores=cores, memory=8.0, reserved_cores=0, disk=4.0, **sizes
                )
                say(f"{name:10} {cores} cores: {found:6.2f} s, plan {said.seconds:6.2f} s")
        session.stop()
    shutil.rmtree(folder)


if __name__ == "__main__":
    if "--rates" in sys.argv:
        rates()
    elif "--check" in sys.argv:
        check()
    else:
        picture(Path(__file__).with_suffix(".svg"))
        say(table())
