"""Kernels compiled ahead of time for a level of CPUs: found, checked, and never trusted blindly."""

import argparse
import json
import os
import time
from pathlib import Path

import pytest
from subprocesses import run_python

from fastml import _jit, _warmup
from fastml.__main__ import main
from fastml._cli.prebuild import add_arguments
from fastml._prebuilt import levels as prebuilt
from fastml._prebuilt.levels import LEVELS, Level, Shelf, levels_of
from fastml._sources import read_imports

PROBE = """
from pathlib import Path
from fastml import _jit
from fastml._prebuilt import levels
levels.FOLDER = Path({folder!r})
import numpy as np
from fastml.kernels.numeric.exp import exp_array
x = np.arange(3.0)
exp_array(x, x)
print(repr(x.tolist()), _jit.statistics.compiled, _jit.statistics.prebuilt)
"""


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("x86-64-v4", ["x86-64-v4", "x86-64-v3", "x86-64-v2"]),
        ("x86-64-v3", ["x86-64-v3", "x86-64-v2"]),
        ("x86-64-v2", ["x86-64-v2"]),
    ],
)
def test_a_cpu_runs_its_level_and_those_below(name, runs):
    features = dict.fromkeys(LEVELS[name].needs, True)
    assert [level.name for level in levels_of(features)] == runs


@pytest.mark.parametrize("missing", LEVELS["x86-64-v3"].needs)
def test_one_missing_instruction_rules_a_level_out(missing):
    features = {**dict.fromkeys(LEVELS["x86-64-v3"].needs, True), missing: False}
    assert "x86-64-v3" not in [level.name for level in levels_of(features)]


def test_tuning_flags_are_not_instructions():
    """A host that LLVM describes with flags of its own, or hides AVX-512 as a hypervisor does."""
    features = dict.fromkeys(LEVELS["x86-64-v4"].needs, True)
    tuning = {"prefer-256-bit": False, "slow-3ops-lea": True, "fast-variable-shuffle": False}
    assert levels_of({**features, **tuning}) == levels_of(features)
    hidden = {**features, **tuning, "avx512f": False}
    assert [level.name for level in levels_of(hidden)] == ["x86-64-v3", "x86-64-v2"]


def test_the_host_has_what_the_system_enables():
    """LLVM asks the system as well as the chip: the kernel lists what may be used."""
    from llvmlite.binding import get_host_cpu_features

    try:
        flags = Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split()
    except OSError:
        pytest.skip("not Linux")
    if not flags:
        pytest.skip("not x86")
    host = get_host_cpu_features()
    for name in ("avx", "avx2", "fma", "avx512f", "avx512bw", "avx512vl"):
        assert bool(host.get(name)) <= (name in flags), name


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A level that every machine runs, with one file."""
    level = Level("any", "generic", ())
    monkeypatch.setattr(prebuilt, "FOLDER", tmp_path / "package")
    monkeypatch.setattr(prebuilt, "LEVELS", {"any": level})
    (tmp_path / "a.fml").write_bytes(b"code")
    return prebuilt.write(level, "this build", [tmp_path / "a.fml"], {"abc": ["tree.grow"]})


def test_what_was_written_is_read(shipped):
    (shelf,) = prebuilt.shelves("this build", {})
    assert isinstance(shelf, Shelf)
    assert shelf.read("a.fml") == b"code"
    assert shelf.read("b.fml") is None
    assert shelf.imports == {"abc": ["tree.grow"]}


def test_a_changed_or_missing_file_counts_as_absent(shipped):
    (shelf,) = prebuilt.shelves("this build", {})
    (shipped / "a.fml").write_bytes(b"edoc")
    assert shelf.read("a.fml") is None
    (shipped / "a.fml").unlink()
    assert shelf.read("a.fml") is None


def test_a_file_that_the_manifest_does_not_name_is_not_read(shipped):
    (shipped / "b.fml").write_bytes(b"somebody's")
    (shelf,) = prebuilt.shelves("this build", {})
    assert shelf.read("b.fml") is None


def test_another_build_has_no_use_for_it(shipped):
    assert prebuilt.shelves("another build", {}) == ()


@pytest.mark.parametrize("manifest", ["", "[]", json.dumps({"files": {}}), '{"build": 1}'])
def test_a_broken_manifest_counts_as_absent(shipped, manifest):
    (shipped / prebuilt.MANIFEST).write_text(manifest)
    assert prebuilt.shelves("this build", {}) == ()


def test_writing_replaces_what_was_there(shipped, tmp_path):
    (tmp_path / "b.fml").write_bytes(b"new")
    prebuilt.write(prebuilt.LEVELS["any"], "next build", [tmp_path / "b.fml"], {})
    assert sorted(os.listdir(shipped)) == ["b.fml", prebuilt.MANIFEST]


@pytest.mark.skipif(not _jit.jit_enabled(), reason="nothing is compiled")
def test_a_kernel_of_a_lower_level_runs_and_a_corrupt_one_is_compiled(tmp_path):
    from llvmlite.binding import get_host_cpu_features

    if not (levels := levels_of(get_host_cpu_features())):
        pytest.skip("this CPU is of no level")
    level, folder = levels[-1], tmp_path / "package"
    probe = PROBE.format(folder=str(folder))

    def run(cache, **environment):
        output = run_python(probe, **{"FASTML_CACHE_DIR": tmp_path / cache, **environment})
        values, compiled, prebuilt = output.rsplit(maxsplit=2)
        return values, int(compiled), int(prebuilt)

    folder.mkdir()
    expected, compiled, _ = run("of the level", **level.environment)
    assert compiled >= 1
    prebuilt.write(
        level,
        _jit.build(),
        (tmp_path / "of the level").rglob("*.fml"),
        read_imports(next((tmp_path / "of the level").rglob(_jit.IMPORTS))),
        folder / prebuilt.folder_of(level).relative_to(prebuilt.FOLDER),
    )
    assert run("empty") == (expected, 0, compiled)
    assert run("empty", FASTML_CACHE_DIR="/dev/null/image")[1:] == (0, compiled), "read only"
    assert run("empty", FASTML_NO_PREBUILT="1")[1:] == (compiled, 0)
    assert run("empty")[1:] == (0, 0), "native code of one's own goes first"
    assert run("native", FASTML_NATIVE_IN_BACKGROUND=1)[1:] == (0, compiled)
    deadline = time.monotonic() + 200
    while len(list((tmp_path / "native").rglob("*.fml"))) < compiled:
        assert time.monotonic() < deadline, "no native code came"
        time.sleep(0.1)
    assert run("native") == (expected, 0, 0), "compiled beside the process that asked"
    for path in folder.rglob("*.fml"):
        path.write_bytes(path.read_bytes()[:-9])
    assert run("also empty") == (expected, compiled, 0)


WARMED = """
import json
import fastml
from fastml import _jit, _warmup
small = "metrics.adjusted_mutual_info_score"
n = fastml.warmup(small, n_jobs={n_jobs}) if {n_jobs} else 0
here = _jit.statistics.compiled
_warmup._in_this_process(_warmup.steps(small), None)
print(json.dumps([n, here, _jit.statistics.compiled, _jit.statistics.prebuilt]))
"""


@pytest.mark.skipif(not _jit.jit_enabled(), reason="nothing is compiled")
def test_a_warm_up_replaces_code_of_a_level_by_native_code(tmp_path):
    from llvmlite.binding import get_host_cpu_features

    if not (levels := levels_of(get_host_cpu_features())):
        pytest.skip("this CPU is of no level")
    level, folder, root = levels[-1], tmp_path / "package", Path(_jit.__file__).parents[1]
    # Processes of the warm-up are to find the level too: Python reads this file as it starts.
    (tmp_path / "sitecustomize.py").write_text(
        "from pathlib import Path\nfrom fastml._prebuilt import levels\n"
        f"levels.FOLDER = Path({str(folder)!r})\n"
    )
    path = os.pathsep.join([str(tmp_path), str(root), os.environ.get("PYTHONPATH", "")])

    def run(cache, n_jobs, **environment):
        cache = tmp_path / cache
        code = WARMED.format(n_jobs=n_jobs)
        return json.loads(run_python(code, FASTML_CACHE_DIR=cache, PYTHONPATH=path, **environment))

    _, _, n_functions, _ = run("of the level", 0, **level.environment)
    prebuilt.write(
        level,
        _jit.build(),
        (tmp_path / "of the level").rglob("*.fml"),
        {},
        folder / prebuilt.folder_of(level).relative_to(prebuilt.FOLDER),
    )
    assert run("empty", 0) == [0, 0, 0, n_functions]
    assert run("warm", 1) == [n_functions, 0, 0, 0]


@pytest.mark.skipif(not _jit.jit_enabled(), reason="nothing is compiled")
def test_a_step_that_fails_is_named_and_what_others_compiled_is_kept(tmp_path, monkeypatch, capsys):
    from llvmlite.binding import get_host_cpu_features

    if not (levels := levels_of(get_host_cpu_features())):
        pytest.skip("this CPU is of no level")
    bad = _warmup.Step("metrics", "", "no such step", None, print)
    good = _warmup.steps("metrics.adjusted_mutual_info_score", "float64")
    monkeypatch.setattr(prebuilt, "FOLDER", tmp_path)
    monkeypatch.setattr(_warmup, "steps", lambda only: [*good, bad])
    level = levels[-1].name
    small = "metrics.adjusted_mutual_info_score"
    assert main(["prebuild", "--levels", level, "--only", small]) == 2
    said = capsys.readouterr()
    assert f"{level}: metrics: no such step failed:" in said.err
    assert f"{len(good)} of {len(good) + 1} steps are done" in said.err
    (shelf,) = prebuilt.shelves(_jit.build(), dict.fromkeys(LEVELS[level].needs, True))
    assert f"{len(shelf.digests)} functions" in said.out
    assert len(shelf.digests) >= 1
    assert all(map(shelf.read, shelf.digests))


def test_a_higher_level_may_hold_some_kernels_only(tmp_path, monkeypatch):
    """AVX-512 is not always faster: v3 is the default, and v4 brings the kernels that gain."""
    monkeypatch.setattr(prebuilt, "FOLDER", tmp_path / "package")
    for name, files in (("x86-64-v3", "ab"), ("x86-64-v4", "a")):
        made = [tmp_path / f"{each}.fml" for each in files]
        for path in made:
            path.write_text(f"{path.stem} of {name}")
        prebuilt.write(LEVELS[name], "this build", made, {})
    features = dict.fromkeys(LEVELS["x86-64-v4"].needs, True)
    high, low = prebuilt.shelves("this build", features)
    assert (high.read("a.fml"), high.read("b.fml")) == (b"a of x86-64-v4", None)
    assert low.read("b.fml") == b"b of x86-64-v3"
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert parser.parse_args([]).levels == "x86-64-v3"


@pytest.mark.parametrize("module", ["numba", "llvmlite"])
def test_code_of_another_runtime_is_of_another_build(module, monkeypatch):
    before = _jit.build()
    monkeypatch.setattr(getattr(_jit, module), "__version__", "0.0.1")
    assert _jit.build.__wrapped__() != before
