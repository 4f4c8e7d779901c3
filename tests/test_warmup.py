"""`fastml.warmup` compiles everything: no kernel is left, no later fit compiles or loads one."""

import json

import pytest
from subprocesses import run_python

from fastml._jit import jit_enabled
from fastml._warmup import FAMILIES, warmup

pytestmark = pytest.mark.skipif(not jit_enabled(), reason="about compiled kernels")

PROBE = """
import importlib, json, pkgutil, sys, warnings
sys.path.insert(0, {tests!r})
import numpy as np
import fastml, fastml.kernels, fastml._threads
from fastml._jit import REGISTRY, ParallelKernel, statistics
for found in pkgutil.walk_packages(fastml.kernels.__path__, "fastml.kernels."):
    importlib.import_module(found.name)
fastml.warmup()

import specimens
signatures = specimens.compiled_signatures()

# A kernel that came from the cache brings the kernels it calls along, without their signatures.
def called(kernel):
    function = getattr(kernel, "py_func", kernel)
    names = function.__code__.co_names
    return [function.__globals__[name] for name in names if name in function.__globals__]

keys = {{id(kernel): key for key, kernel in REGISTRY.items()}}
reached = [k for key, k in REGISTRY.items() if any(v for s, v in signatures.items()
                                                  if s.partition(" ")[0] == key)]
seen = set()
while reached:
    kernel = reached.pop()
    if id(kernel) in keys and id(kernel) not in seen:
        seen.add(id(kernel))
        reached += called(kernel)
half = [s for s, v in signatures.items() if s.endswith(")") and not v]
left = sorted({{*(keys.values())}} - {{keys[i] for i in seen}} | {{*half}})

late = []
warnings.simplefilter("ignore")
for dtype in (np.float64, np.float32):
    for name, cls, parameters in specimens.specimens():
        for limit, enough in ((1, 1 << 18), (2, 1 << 18), (2, 256)):  # serial, default, parallel
            fastml._threads.OPERATIONS_PER_THREAD = enough
            before = statistics.compiled + statistics.loaded
            with fastml.thread_limit(limit):
                specimens.everything(specimens.make(cls, **parameters), specimens.rows(dtype=dtype))
            if statistics.compiled + statistics.loaded > before:
                after = specimens.compiled_signatures()
                new = [k for k in after if after[k] - signatures.get(k, set())]
                late.append([name, np.dtype(dtype).name, limit, enough, new])
                signatures = after
print("RESULT" + json.dumps([left, late]))
"""


FOR_FAMILIES_TO_COME = ("fastml.kernels.rng.", "fastml.kernels.exp.")
"""Foundations of which no estimator uses every function yet."""


@pytest.fixture(scope="module")
def probe(request):
    output = run_python(PROBE.format(tests=str(request.path.parent)), timeout=1800)
    return json.loads(output.rpartition("RESULT")[2])


def test_no_kernel_is_left_uncompiled(probe):
    left, _ = probe
    left = [name for name in left if not name.startswith(FOR_FAMILIES_TO_COME)]
    assert not left, "add calls to fastml/_warmup.py for\n" + "\n".join(left)


def test_nothing_compiles_after_it(probe):
    _, late = probe
    assert not late, "add calls to fastml/_warmup.py for\n" + "\n".join(map(str, late))


def test_progress_is_told():
    steps = []
    warmup(next(iter(FAMILIES)), progress=lambda what, done, total: steps.append((done, total)))
    assert [done for done, _ in steps] == list(range(len(steps)))
    assert {total for _, total in steps} == {len(steps)}


def test_unknown_family():
    with pytest.raises(ValueError, match="family 'nonsense'; it must be one of"):
        warmup("nonsense")
