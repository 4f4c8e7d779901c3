"""Cold start is a feature: what a new process waits for.

Seconds of a machine that is slow, or busy, say nothing. So a process counts its own CPU time, and
compares it with what Numba takes in that same process: to be imported, or to compile a function of
its own. Everything runs on a copy of the package with bytecode, as pip leaves one behind.
"""

import json
import os
import shutil
from pathlib import Path

import pytest
from subprocesses import run_python

import fastml
from fastml._jit import jit_enabled

pytestmark = pytest.mark.skipif(not jit_enabled(), reason="about compiled kernels")

FIT = {
    "KMeans": ("cluster", "KMeans(8, n_init=1, random_state=0).fit(X).predict(X)"),
    "KNeighborsClassifier": ("neighbors", "KNeighborsClassifier().fit(X, y).predict(X)"),
    "KernelDensity": ("neighbors", "KernelDensity().fit(X).score_samples(X)"),
    "GaussianMixture": ("mixture", "GaussianMixture(3, random_state=0).fit(X).predict(X)"),
}

FIRST_CALL = """
import json, os, sys
from time import process_time
import numpy as np
X, y = np.random.default_rng(0).random((1000, 5)), np.arange(1000) % 3
from sklearn.{module} import {name}
{call}
start = process_time()
import numba
importing = process_time() - start
compiling = 0.0
if {reference}:
    @numba.njit
    def reference(x):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] = np.exp(-x[i, j]) / (1.0 + x[i, j] ** 2)
        return np.sort(x[0]), x.mean()
    start = process_time()
    reference(X.copy())
    compiling = process_time() - start
start = process_time()
from fastml.{module} import {name}
{call}
first = process_time() - start
from fastml import _jit, _sources
assert _jit.__file__.startswith(os.environ["PYTHONPATH"])
print(json.dumps(dict(
    importing=importing, compiling=compiling, first=first, parsed=len(_sources.found),
    compiled=_jit.statistics.compiled, refreshed="numba.np.polynomial" in sys.modules,
)))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Variables of an environment with a copy of the package in it, and a cache of its own."""
    folder = tmp_path_factory.mktemp("installed")
    package = Path(fastml.__file__).parent
    shutil.copytree(package, folder / "fastml", ignore=shutil.ignore_patterns("__pycache__"))
    return {
        "PYTHONPATH": folder,
        "PYTHONSAFEPATH": 1,  # not the package in the current folder
        "PYTHONDONTWRITEBYTECODE": None,
        "FASTML_CACHE_DIR": os.environ.get("FASTML_CACHE_DIR"),
    }


def first_call(name, environment, reference=False):
    module, call = FIT[name]
    code = FIRST_CALL.format(module=module, name=name, call=call, reference=reference)
    return json.loads(run_python(code, **environment))


def test_import_is_instant(installed):
    """A tenth of Numba's own; neither Numba nor scikit-learn is loaded."""
    code = """
    import sys
    from time import process_time
    import numpy
    start = process_time()
    import fastml
    own = process_time() - start
    assert not {"numba", "sklearn", "scipy"} & sys.modules.keys()
    start = process_time()
    import numba
    print(own / (process_time() - start))
    """
    assert min(float(run_python(code, **installed)) for _ in range(5)) <= 0.1


WARM = 2.0
"""Imports, loading and running, Numba's import among it, in imports of Numba."""


@pytest.mark.parametrize("name", FIT)
def test_first_call_from_a_warm_cache(name, installed):
    first_call(name, installed)  # fills the cache, and makes the bytecode
    ratios = []
    for _ in range(8):
        took = first_call(name, installed)
        assert (took["compiled"], took["parsed"], took["refreshed"]) == (0, 0, False)
        ratios.append(1 + took["first"] / took["importing"])
        if ratios[-1] <= WARM:
            return
    pytest.fail(f"{min(ratios):.2f} imports of Numba: {took}")


EMPTY = {"GaussianMixture": 5.0}  # the kernels of k-means and of the mixture
"""Compilation by our kernels, in compilations of a function of ten lines that sorts."""


@pytest.mark.parametrize("name", FIT)
def test_first_call_with_an_empty_cache(name, installed, tmp_path):
    ratios = []
    for attempt in range(3):
        environment = {**installed, "FASTML_CACHE_DIR": tmp_path / str(attempt)}
        took = first_call(name, environment, reference=True)
        assert took["compiled"] > 0
        assert os.listdir(tmp_path / str(attempt))
        ratios.append(took["first"] / took["compiling"])
        if ratios[-1] <= EMPTY.get(name, 4.0):
            return
    pytest.fail(f"{min(ratios):.2f} compilations of the reference: {took}")
