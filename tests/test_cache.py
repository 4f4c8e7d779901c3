"""The on-disk cache: hits across processes, never stale, never in the way."""

import shutil
import sys
from pathlib import Path

import pytest
from subprocesses import finish, run_python, start_python

import fastml
from fastml._jit import jit_enabled

pytestmark = pytest.mark.skipif(not jit_enabled(), reason="nothing is compiled, nothing is cached")

TWO_KERNELS = """
import numpy as np
from fastml import _jit
from fastml.kernels.exp import exp_array
x = np.zeros(3)
exp_array(x, x)
print(x[0], _jit.statistics.compiled, _jit.statistics.loaded)
"""


def result(output):
    value, compiled, loaded = output.split()
    return float(value), int(compiled), int(loaded)


def entries(folder):
    return sorted(folder.rglob("*.fml"))


def test_second_process_compiles_nothing(tmp_path):
    value, compiled, loaded = result(run_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path))
    assert (value, loaded) == (1.0, 0)
    assert compiled == len(entries(tmp_path)) >= 1
    again = result(run_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path))
    assert again[:2] == (1.0, 0)
    assert again[2] >= 1


@pytest.fixture
def package_copy(tmp_path):
    """A copy of the package with a kernel that calls a helper of another file."""
    package = tmp_path / "copy" / "fastml"
    shutil.copytree(Path(fastml.__file__).parent, package)
    (package / "kernels" / "caller.py").write_text(
        "from fastml._jit import kernel, parallel_kernel, prange\n"
        "from fastml.kernels.helper import helper\n"
        "@kernel\n"
        "def _chunk(c, out):\n"
        "    out[c] = helper(c)\n"
        "@parallel_kernel\n"
        "def fill(out):\n"
        "    for c in prange(out.shape[0]):\n"
        "        _chunk(c, out)\n"
    )

    def helper_file(source):
        return f"from fastml._jit import kernel\n@kernel\ndef helper(c):\n    return {source}\n"

    def run(helper_source, n_threads=2, meanwhile=None):
        """``meanwhile``: what the helper becomes between the import and the call."""
        path = package / "kernels" / "helper.py"
        path.write_text(helper_file(helper_source))
        edit = "" if meanwhile is None else helper_file(meanwhile)
        code = f"""
        import sys
        sys.path.insert(0, {str(package.parent)!r})
        import numpy as np
        from fastml import _jit
        from fastml.kernels.caller import fill
        assert _jit.__file__.startswith({str(package.parent)!r})
        if {edit!r}:
            open({str(path)!r}, "w").write({edit!r})
        out = np.zeros(3)
        fill(out, n_threads={n_threads})
        print(out.sum(), _jit.statistics.compiled, _jit.statistics.loaded)
        """
        return result(run_python(code, FASTML_CACHE_DIR=tmp_path / "cache"))

    return run


def test_an_edited_helper_changes_the_result(package_copy):
    assert package_copy("c + 1.0")[0] == 6.0
    assert package_copy("c + 1.0")[:2] == (6.0, 0)
    assert package_copy("c + 2.0")[0] == 9.0
    assert package_copy("c + 1.0")[:2] == (6.0, 0)  # the first build is still there


def test_a_file_replaced_while_a_process_runs(package_copy):
    """What the process compiles is the code that it has imported; it is kept under that name."""
    assert package_copy("c + 1.0", meanwhile="c + 2.0")[0] == 6.0
    assert package_copy("c + 2.0")[0] == 9.0


def test_twins_do_not_share_an_entry(package_copy):
    assert package_copy("c + 1.0", n_threads=2)[0] == 6.0
    value, compiled, _ = package_copy("c + 1.0", n_threads=1)
    assert value == 6.0
    assert compiled >= 1  # the serial twin was not mistaken for the parallel one
    assert package_copy("c + 1.0", n_threads=1)[:2] == (6.0, 0)


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"", bytes])
def test_damaged_files_are_compiled_again(tmp_path, damage):
    run_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path)
    for path in entries(tmp_path):
        path.write_bytes(damage(path.read_bytes()))
    value, compiled, _ = result(run_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path))
    assert value == 1.0
    assert (compiled == 0) == (damage is bytes)  # ``bytes`` leaves the file as it is
    assert result(run_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path))[1] == 0  # and repaired


def test_a_flipped_bit_is_noticed(tmp_path):
    run_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path)
    for path in entries(tmp_path):
        data = bytearray(path.read_bytes())
        data[-100] ^= 1
        path.write_bytes(data)
    value, compiled, _ = result(run_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path))
    assert value == 1.0
    assert compiled >= 1


def test_unwritable_folder_means_in_memory(tmp_path):
    blocked = tmp_path / "a file"
    blocked.write_text("")
    value, compiled, loaded = result(run_python(TWO_KERNELS, FASTML_CACHE_DIR=blocked / "cache"))
    assert value == 1.0
    assert compiled >= 1
    assert loaded == 0


def test_no_home_and_nothing_written_into_the_package():
    package = Path(fastml.__file__).parent
    before = {path for path in package.rglob("*") if "__pycache__" not in path.parts}
    nowhere = "/dev/null/home"
    env = {"HOME": nowhere, "XDG_CACHE_HOME": None, "LOCALAPPDATA": nowhere}
    value, compiled, _ = result(run_python(TWO_KERNELS, FASTML_CACHE_DIR=None, **env))
    assert value == 1.0
    assert compiled >= 1
    assert {path for path in package.rglob("*") if "__pycache__" not in path.parts} == before


def test_cache_can_be_switched_off(tmp_path):
    env = {"FASTML_CACHE_DIR": tmp_path, "FASTML_NO_CACHE": 1}
    assert result(run_python(TWO_KERNELS, **env))[0] == 1.0
    assert result(run_python(TWO_KERNELS, **env))[2] == 0
    assert entries(tmp_path) == []


def test_sixteen_processes_on_an_empty_cache(tmp_path):
    processes = [start_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path) for _ in range(16)]
    assert {result(finish(process)[0])[0] for process in processes} == {1.0}
    assert result(run_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path))[1] == 0
    assert not list(tmp_path.rglob("*.part"))


def test_plain_caching_if_numba_moves_its_internals(tmp_path):
    code = """
    import numba.core.caching
    del numba.core.caching._Cache
    import numpy as np
    from fastml import _jit
    from fastml.kernels.exp import exp_array
    assert _jit._FileCache is None
    x = np.zeros(3)
    exp_array(x, x)
    print(x[0])
    """
    assert float(run_python(code, NUMBA_CACHE_DIR=tmp_path)) == 1.0


def test_the_notice_is_given_once_and_can_be_silenced(tmp_path):
    _, err = finish(start_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path, FASTML_QUIET=None))
    assert err.count("fastml: compiling") == 1
    assert "fastml warmup" in err
    _, err = finish(start_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path, FASTML_QUIET=None))
    assert err == ""  # nothing to compile, nothing to say
    _, err = finish(start_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path / "2", FASTML_QUIET=1))
    assert err == ""


@pytest.mark.skipif(sys.platform != "linux", reason="XDG folders")
def test_default_folder(monkeypatch, tmp_path):
    from fastml import _jit

    monkeypatch.delenv("FASTML_CACHE_DIR", raising=False)
    monkeypatch.delenv("FASTML_NO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _jit._cache_root() == tmp_path / "fastml"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _jit._cache_root() == tmp_path / ".cache" / "fastml"
