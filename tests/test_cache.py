"""The on-disk cache: hits across processes, never stale, never in the way."""

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest
from subprocesses import finish, run_python, start_python

import fastml
from fastml import _jit, _sources
from fastml._jit import jit_enabled

pytestmark = pytest.mark.skipif(not jit_enabled(), reason="nothing is compiled, nothing is cached")

TWO_KERNELS = """
import numpy as np
from fastml import _jit
from fastml.kernels.numeric.exp import exp_array
x = np.zeros(3)
exp_array(x, x)
print(x[0], _jit.statistics.compiled, _jit.statistics.loaded)
"""


def result(output):
    value, compiled, loaded = output.split()
    return float(value), int(compiled), int(loaded)


def entries(folder):
    return sorted(folder.rglob("*.fml"))


@pytest.fixture(scope="module")
def filled_once(tmp_path_factory):
    """A cache folder in which the two kernels are."""
    folder = tmp_path_factory.mktemp("filled")
    run_python(TWO_KERNELS, FASTML_CACHE_DIR=folder)
    return folder


@pytest.fixture
def filled(filled_once, tmp_path):
    """A copy of it, to be harmed."""
    return Path(shutil.copytree(filled_once, tmp_path / "filled"))


def test_second_process_compiles_nothing(tmp_path):
    value, compiled, loaded = result(run_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path))
    assert (value, loaded) == (1.0, 0)
    assert compiled == len(entries(tmp_path)) >= 1
    again = result(run_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path))
    assert again[:2] == (1.0, 0)
    assert again[2] >= 1


IMPORTS = {
    "a name of a file": ("from fastml.kernels.far.room.helper import helper", "helper"),
    "a file of a folder": ("from fastml.kernels.far.room import helper as file", "file.helper"),
    "a file in full": ("import fastml.kernels.far.room.helper as file", "file.helper"),
    "through another file": ("from fastml.kernels.near.between import helper", "helper"),
}
"""How the caller reaches the helper, which lies two folders away: (import, what it calls)."""


@pytest.fixture
def package_copy(tmp_path):
    """A copy of the package with a kernel that calls a helper of a file in another folder."""
    package = tmp_path / "copy" / "fastml"
    shutil.copytree(Path(fastml.__file__).parent, package)
    kernels = package / "kernels"
    for folder in ("near", "far", "far/room"):
        (kernels / folder).mkdir()
        (kernels / folder / "__init__.py").write_text("")
    (kernels / "near" / "between.py").write_text(IMPORTS["a name of a file"][0] + "\n")

    def helper_file(source):
        return f"from fastml._jit import kernel\n@kernel\ndef helper(c):\n    return {source}\n"

    def run(helper_source, n_threads=2, meanwhile=None, imports="a name of a file", share=True):
        """``meanwhile``: what the helper becomes between the import and the call."""
        statement, called = IMPORTS[imports]
        (kernels / "near" / "caller.py").write_text(
            "from fastml._jit import kernel, parallel_kernel, prange\n"
            f"{statement}\n"
            "@kernel\n"
            "def _chunk(c, out):\n"
            f"    out[c] = {called}(c)\n"
            "@parallel_kernel\n"
            "def fill(out):\n"
            "    for c in prange(out.shape[0]):\n"
            "        _chunk(c, out)\n"
        )
        path = kernels / "far" / "room" / "helper.py"
        path.write_text(helper_file(helper_source))
        edit = "" if meanwhile is None else helper_file(meanwhile)
        code = f"""
        import sys
        sys.path.insert(0, {str(package.parent)!r})
        import numpy as np
        from fastml import _jit
        from fastml.kernels.near.caller import fill
        assert _jit.__file__.startswith({str(package.parent)!r})
        if not {share}:
            _jit._sharing.share = None
        if {edit!r}:
            open({str(path)!r}, "w").write({edit!r})
        out = np.zeros(3)
        fill(out, n_threads={n_threads})
        print(out.sum(), _jit.statistics.compiled, _jit.statistics.loaded)
        """
        return result(run_python(code, FASTML_CACHE_DIR=tmp_path / "cache"))

    return run


@pytest.mark.parametrize("imports", IMPORTS)
def test_a_helper_two_folders_away_is_seen(package_copy, imports):
    assert package_copy("c + 1.0", n_threads=1, imports=imports)[0] == 6.0
    assert package_copy("c + 2.0", n_threads=1, imports=imports)[0] == 9.0


def imported_files(source):
    names = _sources.imported_names(source, Path("caller.py"))
    return [file for name in names for file in _sources.files_of(name, Path("caller.py"))]


LINALG = [f"linalg/{name}.py" for name in ("__init__", "band_inverse", "panel_products")]


@pytest.mark.parametrize(
    ("source", "files"),
    [
        ("from fastml.kernels.tree import grow", ["tree/grow.py"]),
        ("from fastml.kernels.tree import grow, walk as w", ["tree/grow.py", "tree/walk.py"]),
        ("from fastml.kernels.tree.grow import no_matter_what", ["tree/grow.py"]),
        ("import fastml.kernels.tree.grow", ["tree/grow.py"]),
        ("def f():\n    from fastml.kernels.tree import grow", ["tree/grow.py"]),
        ("from fastml.kernels import linalg", LINALG),
        ("import fastml.kernels.linalg", LINALG),
        ("'from fastml.kernels.tree import grow'", []),
        ("from fastml._jit import kernel\nimport numpy", []),
    ],
)
def test_imports_are_read_off_the_syntax_tree(source, files):
    folder = Path(fastml.__file__).parent / "kernels"
    found = imported_files(source)
    assert found == [folder / file for file in files]


def test_importing_the_folder_of_all_kernels_depends_on_all():
    found = imported_files("from fastml import kernels")
    assert set(found) == set((Path(fastml.__file__).parent / "kernels").rglob("*.py"))


@pytest.mark.parametrize(
    "source",
    [
        "from fastml.kernels.tree import no_such_file",
        "from fastml.kernels.no_such_room.grow import f",
        "from fastml.kernels import no_such_room",
        "import fastml.kernels.no_such_room",
    ],
)
def test_a_kernel_file_that_cannot_be_found_is_an_error(source):
    with pytest.raises(FileNotFoundError, match="no_such"):
        imported_files(source)
    with pytest.raises(FileNotFoundError):
        _sources.digest(Path(fastml.__file__).parent / "kernels" / "no_such_file.py")


def test_relative_imports_of_kernels_are_an_error():
    with pytest.raises(ImportError, match="full name"):
        imported_files("from . import grow")


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
    assert package_copy("c + 1.0", n_threads=2, share=False)[:2] == (6.0, 1)
    assert package_copy("c + 1.0", n_threads=1, share=False)[:2] == (6.0, 1)


def test_one_entry_of_shared_loops_serves_one_thread_and_many(package_copy):
    assert package_copy("c + 1.0", n_threads=2)[:2] == (6.0, 1)
    assert package_copy("c + 1.0", n_threads=1)[:2] == (6.0, 0)


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"", bytes])
def test_damaged_files_are_compiled_again(filled, damage):
    for path in entries(filled):
        path.write_bytes(damage(path.read_bytes()))
    value, compiled, _ = result(run_python(TWO_KERNELS, FASTML_CACHE_DIR=filled))
    assert value == 1.0
    assert (compiled == 0) == (damage is bytes)  # ``bytes`` leaves the file as it is
    assert result(run_python(TWO_KERNELS, FASTML_CACHE_DIR=filled))[1] == 0  # and repaired


def test_a_flipped_bit_is_noticed(filled):
    for path in entries(filled):
        data = bytearray(path.read_bytes())
        data[-100] ^= 1
        path.write_bytes(data)
    value, compiled, _ = result(run_python(TWO_KERNELS, FASTML_CACHE_DIR=filled))
    assert value == 1.0
    assert compiled >= 1


WITHOUT_A_SYMBOL = """
from fastml import _jit
supply = _jit._supply
_jit._supply = lambda symbols, context: supply([*symbols, "of_a_library_that_is_gone"], context)
"""


def test_code_that_wants_what_this_process_does_not_have_is_compiled_again(filled):
    """LLVM would end the process."""
    output = run_python(WITHOUT_A_SYMBOL + TWO_KERNELS, FASTML_CACHE_DIR=filled)
    value, compiled, loaded = result(output)
    assert (value, loaded) == (1.0, 0)
    assert compiled >= 1


@pytest.mark.parametrize(
    "setting", ["NUMBA_OPT=2", "NUMBA_OPT=max", "NUMBA_LOOP_VECTORIZE=0", "NUMBA_SLP_VECTORIZE=1"]
)
def test_settings_that_numba_leaves_out_of_its_key_are_in_ours(setting):
    name, value = setting.split("=")
    output = run_python("from fastml._jit import build; print(build())", **{name: value})
    assert output.strip() != _jit.build()


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


def test_six_processes_on_an_empty_cache(tmp_path):
    processes = [start_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path) for _ in range(6)]
    results = [result(finish(process)[0]) for process in processes]
    assert {value for value, *_ in results} == {1.0}
    if _jit.fcntl is not None:
        assert sum(compiled for _, compiled, _ in results) == 1, "five wait for the first"
    assert result(run_python(TWO_KERNELS, FASTML_CACHE_DIR=tmp_path))[1] == 0
    assert not list(tmp_path.rglob("*.part"))
    assert not list(tmp_path.rglob("*.lock"))


@pytest.mark.skipif(_jit.fcntl is None, reason="locks of POSIX")
def test_a_process_that_was_halted_is_not_waited_for_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(_jit, "LONGEST_WAIT", 0.1)
    held, mine = (_jit._Lock(tmp_path / "a.lock") for _ in range(2))
    assert held.acquire()
    assert not mine.acquire()
    held.release()
    assert mine.acquire()
    mine.release()
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        "del numba.core.caching._Cache",
        "numba.core.caching._Cache = abc.ABCMeta('_Cache', (old,), {'more': more})",
    ],
)
def test_plain_caching_if_numba_moves_its_internals(tmp_path, change):
    """Without the class that ours extends, or with one that asks for another method."""
    code = f"""
    import abc
    import numba.core.caching
    old, more = numba.core.caching._Cache, abc.abstractmethod(lambda self: None)
    {change}
    import numpy as np
    from fastml import _jit
    from fastml.kernels.numeric.exp import exp_array
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


POSIX = pytest.mark.skipif(not hasattr(os, "getuid"), reason="POSIX owners and modes")


@POSIX
@pytest.mark.parametrize("chosen", [True, False])
def test_the_cache_is_private_and_a_chosen_folder_readable(tmp_path, chosen):
    place = {"FASTML_CACHE_DIR": tmp_path if chosen else None, "XDG_CACHE_HOME": tmp_path}
    run_python("import os; os.umask(0)\n" + TWO_KERNELS, **place)
    files = entries(tmp_path)
    assert files
    modes = {(stat.S_IMODE(f.parent.stat().st_mode), stat.S_IMODE(f.stat().st_mode)) for f in files}
    assert modes == {(0o755, 0o644) if chosen else (0o700, 0o600)}


def run_with_messages(folder):
    """(result, standard error) of the two kernels with that cache."""
    out, err = finish(start_python(TWO_KERNELS, FASTML_CACHE_DIR=folder, FASTML_QUIET=None))
    return result(out), err


@POSIX
@pytest.mark.parametrize("above", [True, False])
def test_a_folder_that_others_can_write_is_not_used(filled, above):
    before = entries(filled)
    place = filled if above else before[0].parent
    place.chmod(0o777)
    (value, compiled, loaded), err = run_with_messages(filled)
    assert (value, loaded) == (1.0, 0)
    assert compiled >= 1
    assert f"{place} can be written by others" in err
    place.chmod(0o1777 if above else 0o755)  # as /tmp: others cannot remove what is ours
    assert run_with_messages(filled)[0][1] == 0
    assert entries(filled) == before


@POSIX
@pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() != 0, reason="only root gives files away")
def test_a_folder_of_another_user_is_not_used(filled):
    os.chown(entries(filled)[0].parent, 12345, -1)
    (value, _, loaded), err = run_with_messages(filled)
    assert (value, loaded) == (1.0, 0)
    assert "belongs to another user" in err


@pytest.mark.skipif(sys.platform != "linux", reason="XDG folders")
def test_default_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("FASTML_CACHE_DIR", raising=False)
    monkeypatch.delenv("FASTML_NO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _jit._cache_root() == tmp_path / "fastml"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _jit._cache_root() == tmp_path / ".cache" / "fastml"
