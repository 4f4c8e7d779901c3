"""Cold start: import, and the first call of every family in a new process, by state of the cache.

Everything runs in processes of its own; times are taken inside them, from before the import to
after the call, so the start of Python is left out. A family's call is its case of the demo, on tiny
data. If the installed fastml carries prebuilt kernels, an empty cache means that they are used.
"""

import json
import os
import subprocess
import sys
import tempfile

from benchmarks.bench_cases import load_cases

FAMILIES = load_cases().FAMILIES

PROGRAM = """
import json, os, time, warnings
warnings.simplefilter("ignore")
from fastml._cases._case import cases
case = min(cases({family!r}), key=lambda case: case.draw is None)
data = case.build("tiny")
start, cpu = time.perf_counter(), time.process_time()
case.prepare("fastml", data)()
took, cpu = time.perf_counter() - start, time.process_time() - cpu
from fastml._jit import statistics
print(json.dumps([took, cpu, statistics.compiled]))
"""


def first_call(family, cache, **environment):
    """(seconds, CPU seconds, functions compiled) in a new process; None if it is not there."""
    command = [sys.executable, "-c", PROGRAM.format(family=family)]
    env = {**os.environ, "FASTML_CACHE_DIR": cache, "FASTML_QUIET": "1", **environment}
    finished = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if "ImportError" in finished.stderr or "ModuleNotFoundError" in finished.stderr:
        return None
    finished.check_returncode()
    return json.loads(finished.stdout)


def megabytes(folder):
    files = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    return sum(map(os.path.getsize, files)) / 1e6


class Import:
    def timeraw_fastml(self):
        return "import fastml"

    def timeraw_fastml_cluster(self):
        return "import fastml.cluster"


class FirstCall:
    param_names = ("family",)
    params = (list(FAMILIES),)

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

    def setup(self, measured, family):
        if family not in measured:
            raise NotImplementedError(f"this version has no {family}")

    def track_empty_cache(self, measured, family):
        return measured[family]["empty"]

    def track_empty_cache_cpu(self, measured, family):
        return measured[family]["cpu"]

    def track_warm_cache(self, measured, family):
        return measured[family]["warm"]

    def track_functions_compiled(self, measured, family):
        return measured[family]["compiled"]

    def track_compiled_code(self, measured, family):
        return measured[family]["size"]

    track_empty_cache.unit = track_empty_cache_cpu.unit = track_warm_cache.unit = "seconds"
    track_functions_compiled.unit = "functions"
    track_compiled_code.unit = "MB"
