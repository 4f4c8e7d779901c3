"""Cold start: import, and the first call of every family in a new process, by state of the cache.

Everything runs in processes of its own; times are taken inside them, from before the import to
after the call, so the start of Python is left out. A family's call is its case of the demo, on tiny
data. `Prebuilt`, `WarmUp` and `Demo` compile whole families and take many minutes: none of their
names matches ``.time_``, by which CI chooses. ``FASTML_BENCH_FAMILIES=svm,tree`` in the environment
leaves out all other families.
"""

import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time

from benchmarks.bench_cases import load_cases


def chosen(known):
    """Those of the ``known`` families that the environment names, or all."""
    names = os.environ.get("FASTML_BENCH_FAMILIES", "").replace(",", " ").split()
    if unknown := sorted(set(names) - set(known)):
        raise ValueError(f"FASTML_BENCH_FAMILIES: no families {unknown}; there are {list(known)}")
    return tuple(family for family in known if not names or family in names)


FAMILIES = chosen(load_cases().FAMILIES)
LEVEL = "x86-64-v3"

SHELF = """
import pathlib
from fastml._prebuilt import levels
levels.FOLDER = pathlib.Path({shelf!r})
"""
"""Before everything else: prebuilt kernels are in this folder, not in the package."""

PROGRAM = """
import json, os, time, warnings
warnings.simplefilter("ignore")
from fastml._cases._case import cases
case = min(cases({family!r}), key=lambda case: case.draw is None)
data = case.build("tiny")

def first(library):
    start, cpu = time.perf_counter(), time.process_time()
    case.prepare(library, data)()
    return time.perf_counter() - start, time.process_time() - cpu

theirs = first("sklearn") if {after_sklearn!r} and "sklearn" in case.libraries else (0.0, 0.0)
ours = first("fastml")
from fastml._jit import statistics
print(json.dumps([*ours, statistics.compiled, *theirs]))
"""

COMMAND = """
import sys
from fastml.__main__ import main
code = main({arguments!r})
from fastml._jit import statistics
print(statistics.compiled)
sys.exit(code)
"""

SPEEDS = """
import json, time, warnings
warnings.simplefilter("ignore")
from fastml._cases._case import cases
best = {{}}
for case in cases({family!r}):
    call = case.prepare("fastml", case.build("quick"))
    call()
    took, end = [], time.perf_counter() + {seconds!r}
    while len(took) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        took.append(time.perf_counter() - start)
    best[case.id] = min(took)
print(json.dumps(best))
"""


def run(program, cache, shelf=None, **environment):
    """What a new process prints last; None if this version of fastml lacks something."""
    program = program if shelf is None else SHELF.format(shelf=shelf) + program
    env = {**os.environ, "FASTML_CACHE_DIR": cache, "FASTML_QUIET": "1", **environment}
    command = [sys.executable, "-c", program]
    finished = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if "ImportError" in finished.stderr or "ModuleNotFoundError" in finished.stderr:
        return None
    finished.check_returncode()
    return json.loads(finished.stdout.splitlines()[-1])


def first_call(family, cache, shelf=None, after_sklearn=False, **environment):
    """[seconds, CPU seconds, functions compiled, seconds and CPU seconds of scikit-learn's]."""
    program = PROGRAM.format(family=family, after_sklearn=after_sklearn)
    return run(program, cache, shelf, **environment)


def command(cache, *arguments, shelf=None, **environment):
    """(seconds, CPU seconds, functions compiled in its own process) of ``python -m fastml``."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    compiled = run(COMMAND.format(arguments=list(arguments)), cache, shelf, **environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, cpu, compiled


def slowdown(family, native_cache, shelf, seconds=0.3, rounds=2):
    """Prebuilt code's time over native code's, by case: the best of several processes of each."""
    best = {}
    program = SPEEDS.format(family=family, seconds=seconds)
    with tempfile.TemporaryDirectory() as empty:
        for _ in range(rounds):
            for kind, cache, folder in (("native", native_cache, None), ("level", empty, shelf)):
                for case, took in run(program, cache, folder).items():
                    best[case, kind] = min(took, best.get((case, kind), math.inf))
    return {
        case: best[case, "level"] / took for (case, kind), took in best.items() if kind == "native"
    }


def geometric_mean(values):
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def megabytes(folder):
    files = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    return sum(map(os.path.getsize, files)) / 1e6


class Import:
    def timeraw_fastml(self):
        return "import fastml"

    def timeraw_fastml_cluster(self):
        return "import fastml.cluster"


class PerFamily:
    """``setup_cache`` measures all families; what one lacks in this version is skipped."""

    param_names = ("family",)
    params = (list(FAMILIES),)

    def setup(self, measured, family):
        if family not in measured:
            raise NotImplementedError(f"this version has no {family}")


def track(name, unit):
    def read(self, measured, family):
        return measured[family][name]

    read.unit = unit
    return read


class FirstCall(PerFamily):
    def setup_cache(self):
        measured = {}
        for family in FAMILIES:
            with tempfile.TemporaryDirectory() as cache:
                empty = first_call(family, cache)
                if empty is None:
                    continue
                warm = min(first_call(family, cache)[0] for _ in range(3))
                measured[family] = {
                    "empty": empty[0],
                    "cpu": empty[1],
                    "compiled": empty[2],
                    "warm": warm,
                    "size": megabytes(cache),
                }
        return measured

    setup_cache.timeout = 900

    track_empty_cache = track("empty", "seconds")
    track_empty_cache_cpu = track("cpu", "seconds")
    track_warm_cache = track("warm", "seconds")
    track_functions_compiled = track("compiled", "functions")
    track_compiled_code = track("size", "MB")


class Prebuilt(PerFamily):
    """Kernels of a level, from a folder as a platform wheel has it."""

    def setup_cache(self):
        measured = {}
        for family in FAMILIES:
            with tempfile.TemporaryDirectory() as place:
                shelf, native, empty, other = (
                    os.path.join(place, name) for name in ("shelf", "native", "empty", "other")
                )
                level = ("--levels", LEVEL, "--only", family)
                _, cpu, compiled = command(native, "prebuild", *level, shelf=shelf)
                if compiled is None:
                    continue
                ours, _, compiled, theirs, _ = first_call(family, empty, shelf, after_sklearn=True)
                figure = os.path.join(place, "demo.png")
                command(native, "warmup", family)
                measured[family] = {
                    "build": cpu,
                    "size": megabytes(shelf),
                    "excess": ours - theirs,
                    "compiled": compiled,
                    "demo": command(other, "demo", family, "--output", figure, shelf=shelf)[2],
                    "slowdown": geometric_mean(slowdown(family, native, shelf).values()),
                }
        return measured

    setup_cache.timeout = 7200

    track_build_cpu = track("build", "seconds")
    track_size = track("size", "MB")
    track_first_call_beyond_scikit_learns = track("excess", "seconds")
    track_functions_compiled = track("compiled", "functions")
    track_functions_compiled_by_the_demo = track("demo", "functions")
    track_slower_than_native = track("slowdown", "times")


class WarmUp(PerFamily):
    def setup_cache(self):
        measured = {}
        for family in FAMILIES:
            with tempfile.TemporaryDirectory() as cache:
                seconds, cpu, compiled = command(cache, "warmup", family)
                if compiled is not None:
                    measured[family] = {"wall": seconds, "cpu": cpu, "size": megabytes(cache)}
        return measured

    setup_cache.timeout = 3600

    track_wall = track("wall", "seconds")
    track_cpu = track("cpu", "seconds")
    track_compiled_code = track("size", "MB")


class Demo(PerFamily):
    """``python -m fastml demo FAMILY`` with an empty cache."""

    def setup_cache(self):
        measured = {}
        for family in FAMILIES:
            with tempfile.TemporaryDirectory() as cache:
                figure = os.path.join(cache, "demo.png")
                seconds, cpu, compiled = command(cache, "demo", family, "--output", figure)
                if compiled is not None:
                    measured[family] = {"wall": seconds, "cpu": cpu}
        return measured

    setup_cache.timeout = 1800

    track_wall = track("wall", "seconds")
    track_cpu = track("cpu", "seconds")
