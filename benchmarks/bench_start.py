"""Cold start: import, and the first fit of a new process with an empty and with a warm cache.

Everything runs in processes of its own; times are taken inside them, from before the import to
after the fit, so the start of Python is left out.
"""

import os
import subprocess
import sys
import tempfile

FIRST_USE = {
    "KMeans": "from fastml.cluster import KMeans; KMeans(8, n_init=1).fit(X)",
    "KNeighborsClassifier": (
        "from fastml.neighbors import KNeighborsClassifier;"
        " KNeighborsClassifier().fit(X, y).predict(X)"
    ),
    "pairwise_distances": (
        "from fastml.metrics.pairwise import pairwise_distances; pairwise_distances(X)"
    ),
}

PROGRAM = """
import time, warnings
import numpy as np
warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(1000, 8))
y = np.arange(1000) % 3
start = time.perf_counter()
{code}
print(time.perf_counter() - start)
"""


def seconds(code, cache):
    """Time of ``code`` in a new process, or NaN if this version does not have it."""
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(code=code)],
        env={**os.environ, "FASTML_CACHE_DIR": cache, "FASTML_QUIET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if "ImportError" in finished.stderr or "ModuleNotFoundError" in finished.stderr:
        return float("nan")
    finished.check_returncode()
    return float(finished.stdout)


class Import:
    """``import fastml`` loads neither Numba nor scikit-learn."""

    def timeraw_fastml(self):
        return "import fastml"

    def timeraw_fastml_cluster(self):
        return "import fastml.cluster"


class FirstFit:
    param_names = ("what",)
    params = (list(FIRST_USE),)
    unit = "seconds"

    def setup_cache(self):
        measured = {}
        for what, code in FIRST_USE.items():
            with tempfile.TemporaryDirectory() as cache:
                cold = seconds(code, cache)
                warm = min(seconds(code, cache) for _ in range(3))
            measured[what] = {"cold": cold, "warm": warm}
        return measured

    setup_cache.timeout = 300

    def track_empty_cache(self, measured, what):
        return measured[what]["cold"]

    def track_warm_cache(self, measured, what):
        return measured[what]["warm"]

    track_empty_cache.unit = "seconds"
    track_warm_cache.unit = "seconds"
