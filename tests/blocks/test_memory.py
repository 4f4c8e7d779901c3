"""Rows of twice the memory that a process may have."""

import subprocess
import sys

import numpy as np
import pytest

LIMITED = """
import resource, sys
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
resource.setrlimit(resource.RLIMIT_DATA, (used + limit, used + limit))
try:
    np.ones(2 * limit // 8)  # as many bytes as the rows have
except MemoryError:
    print("limited")
blocks = Blocks.from_npy(folder + "/X.npy", folder + "/y.npy")
assert blocks.n_rows * blocks.n_features * 8 >= 2 * limit
for model in models():
    fit(model, blocks)
    found = model.cluster_centers_ if hasattr(model, "cluster_centers_") else model.coef_
    print(type(model).__name__, np.isfinite(found).all())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on data is Linux's")
def test_twice_the_memory_limit(tmp_path):
    """A limit of 96 MB beyond what an idle process has; the rows, 192 MB, are mapped."""
    limit = 96 << 20
    rng = np.random.default_rng(0)
    X = rng.random(size=(limit // 4 // 16, 16))
    assert X.nbytes >= 2 * limit
    y = (X[:, 0] + rng.random(len(X)) > 1.0).astype(int)
    for name, rows in (("", slice(None)), ("few", slice(70_000))):
        np.save(tmp_path / f"{name or 'X'}.npy", X[rows])
        np.save(tmp_path / f"{name + '_y' if name else 'y'}.npy", y[rows])
    found = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path), str(limit)],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    expected = ["limited", "KMeans True", "LogisticRegression True"]
    assert found.stdout.splitlines() == expected, found.stderr
