"""Cold start is a feature: what a new process waits for.

The figures are those of a user's first minutes: import, first fit from a warm cache beside
scikit-learn's, first fit with an empty cache. Best of several, interleaved: the machine is shared.
"""

import os
import resource
import subprocess
import sys
import time

import pytest
from subprocesses import environment, run_python

from fastml._jit import jit_enabled

pytestmark = pytest.mark.skipif(not jit_enabled(), reason="about compiled kernels")

FIT = {
    "KMeans": ("cluster", "KMeans(8, n_init=1, random_state=0).fit(X).predict(X)"),
    "KNeighborsClassifier": ("neighbors", "KNeighborsClassifier().fit(X, y).predict(X)"),
    "KernelDensity": ("neighbors", "KernelDensity().fit(X).score_samples(X)"),
    "GaussianMixture": ("mixture", "GaussianMixture(3, random_state=0).fit(X).predict(X)"),
}


def first_fit(package, name, n_rows=1000):
    module, call = FIT[name]
    return f"""
import numpy as np
X = np.random.default_rng(0).random(({n_rows}, 5))
y = np.arange({n_rows}) % 3
from {package}.{module} import {name}
{call}
"""


def seconds(code, **env):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=environment(**env), check=True)
    return time.perf_counter() - start


def cpu_seconds(code, **env):
    """Compilation is serial: CPU time is the wait on an idle machine; tests run two at a time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds(code, **env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_import_is_instant():
    code = """
    import time
    start = time.perf_counter()
    import fastml
    print(time.perf_counter() - start)
    """
    assert min(float(run_python(code)) for _ in range(5)) <= 0.1


@pytest.mark.parametrize("name", FIT)
def test_first_fit_from_a_warm_cache(name):
    ours, theirs = first_fit("fastml", name), first_fit("sklearn", name)
    seconds(ours)  # fills the cache
    a = b = float("inf")
    for _ in range(10):  # a shared machine: quiet moments count
        a, b = min(a, seconds(ours)), min(b, seconds(theirs))
        if a - b <= 0.8:
            return
    pytest.fail(f"{a:.2f} s, scikit-learn {b:.2f} s")


LIMITS = {"GaussianMixture": 18.0}  # the kernels of k-means and of the mixture
LIMIT = 12.0


@pytest.mark.parametrize("name", FIT)
def test_first_fit_with_an_empty_cache(name, tmp_path):
    limit, waits = LIMITS.get(name, LIMIT), []
    for attempt in range(3):  # a shared machine: one quiet attempt is enough
        waits.append(
            cpu_seconds(first_fit("fastml", name), FASTML_CACHE_DIR=tmp_path / str(attempt))
        )
        if waits[-1] <= limit:
            break
    assert min(waits) <= limit, waits
    assert os.listdir(tmp_path)
