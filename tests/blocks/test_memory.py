"""Rows of twice the memory that a process may have.

`python tests/blocks/test_memory.py [MB]` does it in full, 2,048 MB and 4 GB of rows by default,
with the limit and without, and says how long each fit took.
"""

import subprocess
import sys
import tempfile

import numpy as np
import pytest

LIMITED = """
import resource, sys, time
import numpy as np
from fastml.blocks import Blocks, fit
from fastml.cluster import KMeans
from fastml.linear_model import LogisticRegression
folder, limit = sys.argv[1], int(sys.argv[2])
small = Blocks.from_npy(folder + "/few.npy", folder + "/few_y.npy")
def models():
    start = np.load(folder + "/few.npy")[:4]
    return KMeans(4, init=start, n_init=1, max_iter=3, tol=0.0), LogisticRegression()
import ctypes, gc
for model in models():  # what the kernels and threads need is there already
    fit(model, small)
gc.collect()
if hasattr(ctypes.CDLL(None), "malloc_trim"):
    ctypes.CDLL(None).malloc_trim(0)
data = [line for line in open("/proc/self/status") if line.startswith("VmData")][0]
used = int(data.split()[1]) * 1024
if "free" not in sys.argv:
    resource.setrlimit(resource.RLIMIT_DATA, (used + limit, used + limit))
    try:
        np.ones(2 * limit // 8)  # as many bytes as the rows have
    except MemoryError:
        print("limited")
blocks = Blocks.from_npy(folder + "/X.npy", folder + "/y.npy")
assert blocks.n_rows * blocks.n_features * 8 >= 2 * limit
for model in models():
    began = time.perf_counter()
    fit(model, blocks)
    if "told" in sys.argv:
        print(f"{type(model).__name__} {time.perf_counter() - began:.2f} s")
        continue
    found = model.cluster_centers_ if hasattr(model, "cluster_centers_") else model.coef_
    print(type(model).__name__, np.isfinite(found).all())
"""


def save(folder, limit: int) -> None:
    """Twice as many bytes of rows as the limit, a part at a time."""
    n = limit // 4 // 16
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(f"{folder}/X.npy", "w+", np.float64, (n, 16))
    y = np.empty(n, np.int64)
    for first in range(0, n, 1 << 20):
        part = slice(first, min(n, first + (1 << 20)))
        X[part] = rng.random(size=(part.stop - first, 16))
        y[part] = X[part, 0] + rng.random(part.stop - first) > 1.0
    assert X.nbytes >= 2 * limit
    np.save(f"{folder}/y.npy", y)
    np.save(f"{folder}/few.npy", X[:70_000])
    np.save(f"{folder}/few_y.npy", y[:70_000])


def run(folder, limit: int, *more: str):
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(folder), str(limit), *more],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on data is Linux's")
def test_twice_the_memory_limit(tmp_path):
    """A limit of 96 MB beyond what an idle process has; the rows, 192 MB, are mapped."""
    limit = 96 << 20
    save(tmp_path, limit)
    found = run(tmp_path, limit)
    expected = ["limited", "KMeans True", "LogisticRegression True"]
    assert found.stdout.splitlines() == expected, found.stderr


if __name__ == "__main__":
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 2048
    with tempfile.TemporaryDirectory() as folder:
        save(folder, megabytes << 20)
        for more in (["told"], ["told", "free"], ["told"], ["told", "free"]):
            found = run(folder, megabytes << 20, *more)
            sys.stdout.write(f"{more}: {found.stdout.split(chr(10))} {found.stderr[-300:]}\n")
