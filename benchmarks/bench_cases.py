"""One class per case of ``fastml/_cases``: ``time_<step>``, ``peakmem_<step>``, ``track_quality``.

The cases are those of this checkout, whatever version of fastml is installed; what that version
lacks is skipped.
"""

import contextlib
import importlib.util
import os
import sys
import warnings
from pathlib import Path

# asv forks each benchmark from a server that has loaded this file, hence these two.
import sklearn.metrics  # noqa: F401

import fastml._jit

PROFILES = ("quick", "full")
FOLDER = Path(__file__).parents[1] / "fastml" / "_cases"


def load_cases(folder=FOLDER):
    """``fastml._cases._case`` of the folder, whatever the installed fastml has."""
    name, first = "fastml._cases", folder / "__init__.py"
    installed = importlib.util.find_spec(name)
    if installed is None or Path(installed.origin) != first:
        for loaded in [module for module in sys.modules if module.startswith(name)]:
            del sys.modules[loaded]
        spec = importlib.util.spec_from_file_location(name, first)
        sys.modules[name] = importlib.util.module_from_spec(spec)
    return importlib.import_module(f"{name}._case")


def read_profile(environment=os.environ):
    chosen = environment.get("FASTML_ASV_PROFILE") or "quick"
    if chosen not in PROFILES:
        raise ValueError(f"FASTML_ASV_PROFILE must be one of {PROFILES}, got {chosen!r}")
    return chosen


def both_twins():
    """Small data run serially; compile what large data run as well."""
    return getattr(fastml._jit, "compile_both_twins", contextlib.nullcontext)()


def kernel_count():
    return fastml._jit.statistics.compiled + fastml._jit.statistics.loaded


class CaseBenchmark:
    """``setup`` calls once what will be measured; ``teardown`` fails if a measurement compiled."""

    timeout = 300
    param_names = ("dtype",)

    def setup(self, dtype):
        warnings.simplefilter("ignore")  # fixed work stops before convergence on purpose
        self.data = self.case.build(PROFILE, dtype)
        with both_twins():
            try:
                self.call = self.case.prepare("fastml", self.data)
            except ImportError as missing:
                raise NotImplementedError(f"not in this version: {missing}") from missing
            self.answer = self.call()
            self.rows = getattr(self.data, "Q", getattr(self.data, "X", None))
            for method in self.case.also:
                getattr(self.answer, method)(self.rows)
        self.kernels = kernel_count()

    def teardown(self, dtype):
        if kernel_count() != getattr(self, "kernels", kernel_count()):
            raise RuntimeError("a kernel was compiled or loaded inside the measurement: warm it up")


def measure(benchmark, dtype):
    benchmark.call()


def measure_method(name):
    def time(benchmark, dtype):
        getattr(benchmark.answer, name)(benchmark.rows)

    return time


def track(benchmark, dtype):
    found = float(benchmark.case.quality.judge(benchmark.data, benchmark.answer))
    benchmark.kernels = kernel_count()  # judging is not timed: it may load what it likes
    return found


def make_class(case, profile):
    """The benchmarks of a case."""
    name = f"{case.path.partition('.')[0]}_{case.id.replace('-', '_')}"
    quality = "".join(c if c.isalnum() else "_" for c in case.quality.name)
    body = {
        "case": case,
        "version": case.version(profile),
        "params": (list(case.dtypes[:1] if profile == "quick" else case.dtypes),),
        f"time_{case.step_name}": measure,
        f"peakmem_{case.step_name}": measure,
        f"track_{quality}": track,
        **{f"time_{method}": measure_method(method) for method in case.also},
    }
    return type(name, (CaseBenchmark,), body)


PROFILE = read_profile()
os.environ.setdefault("FASTML_QUIET", "1")
for _case in load_cases().cases():
    _class = make_class(_case, PROFILE)
    globals()[_class.__name__] = _class
del _class
