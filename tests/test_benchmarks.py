"""The asv suite: made from the cases of this checkout, valid for asv, no measurement compiles."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from subprocesses import run_python

from benchmarks import bench_cases, bench_start
from fastml import _jit
from fastml._cases._case import FAMILIES, Case, Quality, cases, family_of, sizes

ROOT = Path(__file__).parent.parent
FIRST = {family_of(case): case for case in reversed(cases())}


def methods(cls):
    return [name for name in dir(cls) if name.startswith(("time_", "track_", "peakmem_"))]


def test_every_case_has_a_class():
    names = [name for name in vars(bench_cases) if name.startswith(FAMILIES)]
    assert len(names) == len(cases())
    for name in names:
        cls = getattr(bench_cases, name)
        assert cls.__name__ == name
        assert {kind.partition("_")[0] for kind in methods(cls)} == {"time", "track", "peakmem"}
    assert {"time_fit", "time_predict", "time_transform"} < set(
        methods(bench_cases.cluster_kmeans_16)
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_a_benchmark_of_each_family_runs_without_compiling(family, monkeypatch):
    monkeypatch.setattr(bench_cases, "PROFILE", "tiny")
    cls = bench_cases.make_class(FIRST[family], "tiny")
    for (dtype,) in [cls.params[0]] if len(cls.params[0]) == 1 else [(d,) for d in cls.params[0]]:
        benchmark = cls()
        benchmark.setup(dtype)
        for name in methods(cls):
            result = getattr(benchmark, name)(dtype)
            if name.startswith("track_"):
                assert np.isfinite(result)
            benchmark.teardown(dtype)


def heap(n):
    return SimpleNamespace(X=np.arange(n * 1.0)[:, None])


def toy(**fields):
    chosen = {"path": "cluster.KMeans", "data": heap, "sizes": sizes(n=(9, 10, 20)), **fields}
    return Case(id="toy", work="toy", quality=Quality("points", lambda data, answer: 1.0), **chosen)


def test_a_measurement_that_compiles_fails(monkeypatch):
    monkeypatch.setattr(_jit, "statistics", _jit.CacheStatistics())
    benchmark = bench_cases.make_class(toy(path="cluster.kmeans_plusplus", step=nothing), "quick")()
    benchmark.setup("float64")
    benchmark.teardown("float64")
    _jit.statistics.compiled += 1
    with pytest.raises(RuntimeError, match="inside the measurement"):
        benchmark.teardown("float64")


def nothing(make, data):
    return lambda: None


@pytest.mark.parametrize("path", ["cluster.NoSuchEstimator", "no_such_module.KMeans"])
def test_what_fastml_lacks_is_skipped(path):
    benchmark = bench_cases.make_class(toy(path=path), "quick")()
    with pytest.raises(NotImplementedError, match=r"no_such|NoSuch"):
        benchmark.setup("float64")
    benchmark.teardown("float64")


def test_another_work_has_another_version():
    def other_heap(n):
        return heap(n + 1)

    version = toy().version("quick")
    assert toy().version("quick") == version
    assert toy(variants=({"n_clusters": 2},)).version("quick") == version
    assert toy(sizes=sizes(n=(1, 10, 30))).version("quick") == version
    for change in (
        {"sizes": sizes(n=(9, 11, 20))},
        {"params": {"n_clusters": 2}},
        {"path": "cluster.KMedians"},
        {"step": "predict"},
        {"step": nothing},
        {"data": other_heap},
    ):
        assert toy(**change).version("quick") != version, change


def test_the_cases_are_those_of_the_checkout():
    """An installed fastml without them, or with others, is measured by this checkout's."""
    out = run_python(
        f"""
        import sys, types
        import fastml
        sys.path.insert(0, {str(ROOT)!r})
        old = types.ModuleType("fastml._cases._case")
        old.cases = lambda: ()
        sys.modules["fastml._cases"] = types.ModuleType("fastml._cases")
        sys.modules["fastml._cases"].__path__ = []
        sys.modules["fastml._cases"].__spec__ = types.SimpleNamespace(origin="elsewhere")
        sys.modules["fastml._cases._case"] = old
        from benchmarks import bench_cases
        print(len([name for name in vars(bench_cases) if name.startswith("cluster_")]))
        """
    )
    assert int(out) == sum(family_of(case) == "cluster" for case in cases())


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
    assert bench_cases.read_profile(environment) == profile


def test_an_unknown_profile_is_an_error():
    with pytest.raises(ValueError, match="'quick', 'full'"):
        bench_cases.read_profile({"FASTML_ASV_PROFILE": "Full "})


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


def test_the_first_call_of_a_family_is_measured(tmp_path):
    folder = _jit._cache_root()
    took, cpu, compiled, _, _ = bench_start.first_call("density", str(folder or tmp_path))
    assert min(took, cpu) > 0
    assert compiled >= 0
    assert bench_start.first_call("no_such_family", str(tmp_path)) is None
    assert bench_start.FirstCall.params == (list(FAMILIES),)
    with pytest.raises(NotImplementedError, match="no density"):
        bench_start.FirstCall().setup({}, "density")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a.fml").write_bytes(b"x" * 2000)
    assert bench_start.megabytes(tmp_path) == 0.002


def test_the_environment_chooses_families(monkeypatch):
    monkeypatch.setenv("FASTML_BENCH_FAMILIES", "tree,svm")
    assert bench_start.chosen(("svm", "cluster", "tree")) == ("svm", "tree")
    with pytest.raises(ValueError, match=r"no families \['tree'\]"):
        bench_start.chosen(("svm", "cluster"))
    monkeypatch.delenv("FASTML_BENCH_FAMILIES")
    assert bench_start.chosen(("svm", "cluster")) == ("svm", "cluster")


def test_prebuilt_kernels_are_measured_from_a_folder_of_their_own(tmp_path):
    shelf, cache = str(tmp_path / "shelf"), str(tmp_path / "cache")
    level = ("--levels", bench_start.LEVEL, "--only", "metrics.adjusted_mutual_info_score")
    seconds, cpu, compiled = bench_start.command(cache, "prebuild", *level, shelf=shelf)
    assert compiled == 0, "in the process of the command itself"
    assert min(seconds, cpu) > 0
    assert bench_start.megabytes(shelf) > 0
    assert bench_start.megabytes(cache) == 0


def test_slowdown_is_of_the_best_times(monkeypatch):
    answers = iter(
        [{"a": 2.0, "b": 9.0}, {"a": 3.0, "b": 4.0}, {"a": 4.0, "b": 1.0}, {"a": 8.0, "b": 8.0}]
    )
    folders = []

    def run(program, cache, shelf):
        folders.append(shelf)
        return next(answers)

    monkeypatch.setattr(bench_start, "run", run)
    assert bench_start.slowdown("density", "native", "shelf") == {"a": 1.5, "b": 4.0}
    assert folders == [None, "shelf"] * 2
    assert bench_start.geometric_mean([2.0, 8.0]) == pytest.approx(4.0)


def test_what_takes_minutes_is_not_chosen_by_ci():
    for cls in (bench_start.Prebuilt, bench_start.WarmUp, bench_start.Demo):
        assert methods(cls)
        assert not any(name.startswith("time") for name in dir(cls))
