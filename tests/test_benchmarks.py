"""The asv suite: importable, valid for asv, and every benchmark runs once."""

import importlib
import inspect
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import common, datasets
from fastml import _jit

ROOT = Path(__file__).parent.parent
MODULES = sorted(path.stem for path in (ROOT / "benchmarks").glob("bench_*.py"))


def benchmark_classes():
    for name in MODULES:
        module = importlib.import_module(f"benchmarks.{name}")
        for cls in vars(module).values():
            if inspect.isclass(cls) and cls.__module__ == module.__name__:
                yield cls


MEASURED = [cls for cls in benchmark_classes() if issubclass(cls, common.Benchmark)]


def test_bases_are_abstract_so_that_asv_skips_them():
    for base in (common.Benchmark, common.Estimator, common.Predictor, common.Transformer):
        assert inspect.isabstract(base)
    assert len(MEASURED) >= 10
    assert not any(inspect.isabstract(cls) for cls in MEASURED)


@pytest.mark.parametrize("cls", MEASURED, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_every_benchmark_runs_without_compiling(cls):
    params = next(itertools.product(*cls.params))
    methods = [name for name in dir(cls) if name.startswith(("time_", "track_", "peakmem_"))]
    assert methods
    benchmark = cls()
    try:
        benchmark.setup(*params)
    except NotImplementedError as missing:
        pytest.skip(str(missing))
    for name in methods:
        result = getattr(benchmark, name)(*params)
        if name.startswith("track_"):
            assert np.isfinite(result)
        benchmark.teardown(*params)


def test_a_measurement_that_compiles_fails(monkeypatch):
    class Careless(common.Benchmark):
        def prepare(self):
            pass

        def warm_up(self):
            pass

    monkeypatch.setattr(_jit, "statistics", _jit.CacheStatistics())
    benchmark = Careless()
    benchmark.setup()
    benchmark.teardown()
    _jit.statistics.compiled += 1
    with pytest.raises(RuntimeError, match="inside the measurement"):
        benchmark.teardown()


def test_what_fastml_lacks_is_skipped():
    with pytest.raises(NotImplementedError, match="NoSuchEstimator"):
        common.find("cluster", "NoSuchEstimator")
    with pytest.raises(NotImplementedError, match="no_such_module"):
        common.find("no_such_module", "KMeans")


@pytest.mark.parametrize(
    ("environment", "profile"),
    [
        ({}, "quick"),
        ({"FASTML_ASV_PROFILE": ""}, "quick"),
        ({"FASTML_ASV_PROFILE": "quick"}, "quick"),
        ({"FASTML_ASV_PROFILE": "full"}, "full"),
    ],
)
def test_profile(environment, profile):
    assert common.read_profile(environment) == profile


def test_an_unknown_profile_is_an_error():
    with pytest.raises(ValueError, match="'quick', 'full'"):
        common.read_profile({"FASTML_ASV_PROFILE": "Full "})


def test_data_are_built_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "FOLDER", tmp_path / "data")
    built = []

    @datasets.kept_on_disk
    def numbers(n):
        built.append(n)
        return np.arange(n), np.ones(n, dtype=np.float32)

    for n in (3, 3, 4):
        first, second = numbers(n)
        np.testing.assert_array_equal(first, np.arange(n))
        assert second.dtype == np.float32
    assert built == [3, 4]
    assert (tmp_path / "data" / ".gitignore").read_text() == "*\n"


def test_asv_accepts_the_suite():
    pytest.importorskip("asv")
    checked = subprocess.run(
        [sys.executable, "-m", "asv", "check", "--python=same"],
        cwd=ROOT,
        env={**os.environ, "FASTML_ASV_PROFILE": "quick"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
