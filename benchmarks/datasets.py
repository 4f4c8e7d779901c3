"""Data for the benchmarks, made once and kept on disk in ``benchmarks/.data``."""

import functools
import hashlib
import inspect
import os
import tempfile
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / ".data"


def kept_on_disk(build):
    """Keep the arrays that ``build(*args)`` returns, under a hash of its source and arguments."""
    source = inspect.getsource(build)

    @functools.wraps(build)
    def load(*args):
        key = hashlib.sha256(repr((source, args)).encode()).hexdigest()[:16]
        path = FOLDER / f"{build.__name__}-{key}.npz"
        if not path.exists():
            _save(path, build(*args))
        with np.load(path) as stored:
            return tuple(stored[name] for name in sorted(stored.files))

    return load


def _save(path, arrays):
    path.parent.mkdir(exist_ok=True)
    (path.parent / ".gitignore").write_text("*\n")
    handle, part = tempfile.mkstemp(dir=path.parent, suffix=".npz")
    with os.fdopen(handle, "wb") as file:
        np.savez(file, **{f"array{i}": array for i, array in enumerate(arrays)})
    os.replace(part, path)


@kept_on_disk
def blobs(n, d, k, dtype):
    """Overlapping Gaussian classes: (X, y)."""
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    X = rng.normal(scale=2.0, size=(k, d))[y] + rng.normal(size=(n, d))
    return X.astype(dtype), y


@kept_on_disk
def points(n, n_queries, d, dtype):
    """Gaussian points and queries: (X, Q)."""
    rng = np.random.default_rng(0)
    return (
        rng.normal(size=(n, d)).astype(dtype),
        rng.normal(size=(n_queries, d)).astype(dtype),
    )


@kept_on_disk
def booleans(n, d):
    """Two matrices of fair coins: (X, Y)."""
    rng = np.random.default_rng(0)
    return rng.random((n, d)) > 0.5, rng.random((n, d)) > 0.5
