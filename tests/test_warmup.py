"""`fastml.warmup` compiles everything: no kernel is left, no later fit compiles or loads one."""

import json

import pytest
from subprocesses import finish, run_python, start_python

from fastml import _warmup
from fastml._cases._case import FAMILIES
from fastml._jit import jit_enabled
from fastml._warmup import steps, warmup

pytestmark = pytest.mark.skipif(not jit_enabled(), reason="about compiled kernels")

PROBE = """
import importlib, json, pkgutil, sys, warnings
sys.path.insert(0, {tests!r})
import numpy as np
import fastml, fastml.kernels, fastml._threads
from fastml._jit import REGISTRY, ParallelKernel, statistics
for found in pkgutil.walk_packages(fastml.kernels.__path__, "fastml.kernels."):
    importlib.import_module(found.name)
families = {families!r}
fastml.warmup(families, n_jobs=1)

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
        if name.partition(".")[0] not in families:
            continue
        for limit, enough in ((1, 1 << 18), (2, 256)):  # serial, parallel
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


FOR_FAMILIES_TO_COME = ("fastml.kernels.numeric.rng.", "fastml.kernels.numeric.exp.")
"""Foundations of which no estimator uses every function yet."""


@pytest.fixture(scope="module")
def probe(request):
    """(kernels that no family reaches, what compiles late): half of the families in each process.

    It has more to do than any other test: on one core it would outlast the rest of the suite.
    """
    tests = str(request.path.parent)
    started = [start_python(PROBE.format(tests=tests, families=FAMILIES[i::2])) for i in range(2)]
    found = [json.loads(finish(each, 1800)[0].rpartition("RESULT")[2]) for each in started]
    left = set.intersection(*(set(left) for left, _ in found))
    return sorted(left), [row for _, late in found for row in late]


def test_no_kernel_is_left_uncompiled(probe):
    left, _ = probe
    left = [name for name in left if not name.startswith(FOR_FAMILIES_TO_COME)]
    assert not left, "add a case or an odd branch to fastml/_cases for\n" + "\n".join(left)


def test_nothing_compiles_after_it(probe):
    _, late = probe
    assert not late, "add a case or an odd branch to fastml/_cases for\n" + "\n".join(
        map(str, late)
    )


def test_progress_is_told():
    told = []
    warmup("density", progress=lambda what, done, total: told.append((done, total)), n_jobs=1)
    assert [done for done, _ in told] == list(range(len(told)))
    assert {total for _, total in told} == {len(told)}


# ---------------------------------------------------------------------------- which steps


def test_steps_have_names_of_their_own():
    """By which the processes, and the list of finished steps, know them."""
    for family in FAMILIES:
        names = [step.what for step in _warmup._calls(family)]
        assert len(set(names)) == len(names)


def test_one_estimator_or_one_type():
    everything = steps("cluster")
    assert {step.dtype for step in everything} == {"float64", "float32", None}
    chosen = steps("cluster.KMeans")
    assert {step.path for step in chosen} == {"cluster.KMeans"}
    assert 0 < len(chosen) < len(everything)
    assert {step.dtype for step in steps("cluster", "float32")} == {"float32", None}
    both = steps(["cluster.KMeans", "tree", "cluster.KMeans"])
    assert {step.family for step in both} == {"cluster", "tree"}
    assert len(both) == len(chosen) + len(steps("tree"))


@pytest.mark.parametrize(
    ("only", "dtype", "message"),
    [
        ("nonsense", None, "family 'nonsense'; it must be one of"),
        ("cluster.Nonsense", None, "no 'cluster.Nonsense' to warm up; there are .*cluster.KMeans"),
        ("cluster", "int8", "dtype 'int8'"),
    ],
)
def test_unknown_names(only, dtype, message):
    with pytest.raises(ValueError, match=message):
        warmup(only, dtype=dtype)


# ---------------------------------------------------------------------------- in processes

SMALL = "metrics.adjusted_mutual_info_score"

WARM = f"""
from fastml import _jit, _warmup

def warm():
    told = []
    tell = lambda what, done, total: told.append([what, done, total])
    return _warmup.warmup({SMALL!r}, tell, n_jobs=2), told

n_steps = len(_warmup.steps({SMALL!r}))
n, told = warm()
assert n >= 1
assert len(told) == n_steps
assert _jit.statistics.compiled == 0, "compiled in this process"
assert _warmup.warmup({SMALL!r}, n_jobs=1) == 0, "compiled although it had been warmed up"
assert warm() == (0, [])

diary = _jit.cache_folder() / _warmup.DONE
lines = diary.read_text().splitlines(keepends=True)
assert len(lines) == n_steps
diary.write_text("".join(lines[1:]))  # as if interrupted at the last step
assert warm() == (0, [[lines[0].partition(" ")[2].strip(), n_steps - 1, n_steps]])

diary.write_text("".join(line.replace(line[:16], "0" * 16) for line in lines))
assert len(warm()[1]) == n_steps, "what another version has finished does not count"
print("as it should be")
"""


def test_what_was_warmed_up_is_not_compiled_again_and_what_was_finished_not_repeated(tmp_path):
    assert run_python(WARM, FASTML_CACHE_DIR=tmp_path).strip() == "as it should be"


def test_the_demo_compiles_what_takes_longest_first():
    families = [step.family for step in _warmup.demo_steps()]
    assert families[-1] == "tree"  # processes take the last group
    assert set(_warmup.LONG) == set(families[-len(_warmup.LONG) :])


@pytest.mark.parametrize(
    ("family", "message"), [("density", "no such step failed:\n"), ("nowhere", "ended at nowhere")]
)
def test_a_step_that_fails_and_a_process_that_ends_are_named(family, message):
    bad = _warmup.Step(family, "", "no such step", None, print)
    with pytest.raises(RuntimeError, match=message):
        _warmup.in_processes([bad], 1, None, None)


@pytest.mark.parametrize("family", ["density", "nowhere"])
def test_steps_after_one_that_fails_are_done(tmp_path, family):
    """After one that ends its process, too: another process goes on."""
    bad = _warmup.Step(family, "", "no such step", None, print)
    good = steps(SMALL)
    told = []
    with pytest.raises(_warmup.StepError, match=f"{len(good)} of {len(good) + 1} steps are done"):
        _warmup.in_processes([bad, *good], 1, lambda *what: told.append(what[0]), tmp_path)
    assert sorted(told) == sorted(step.title for step in (bad, *good))
    noted = (tmp_path / _warmup.DONE).read_text().splitlines()
    assert sorted(line.partition(" ")[2] for line in noted) == sorted(s.title for s in good)


def test_processes_that_never_answer_are_not_started_for_ever():
    bad = [_warmup.Step("nowhere", str(i), "no such step", None, print) for i in range(9)]
    with pytest.raises(_warmup.StepError, match=r"ended at nowhere.*\n.*ended at.*\n0 of 9 steps"):
        _warmup.in_processes(bad, 1, None, None)
