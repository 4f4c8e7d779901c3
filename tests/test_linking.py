"""Kernels inside kernels stay LLVM IR; only what Python calls becomes machine code."""

import gc
import os
import textwrap

import numba
import numpy as np
import pytest
from subprocesses import run_python

from fastml import _linking
from fastml._jit import jit_enabled, kernel, parallel_kernel, prange

pytestmark = pytest.mark.skipif(not jit_enabled(), reason="about compiled kernels")


@kernel
def double(x):
    return 2 * x


@kernel
def fill(i, out):
    out[i] = double(i)


@parallel_kernel
def fill_all(out):
    for i in prange(out.shape[0]):
        fill(np.intp(i), out)


@kernel
def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


@pytest.fixture(autouse=True)
def compiled_here():
    """What comes from the disk brings no helpers along."""
    fill_all.shared._cache.disable()


def test_linking_works_with_this_numba():
    assert _linking.adopt is not None
    assert _linking.sound


@pytest.mark.parametrize("n_threads", [1, 2])
def test_helpers_have_no_code_of_their_own(n_threads):
    out = np.zeros(5, dtype=np.intp)
    fill_all(out, n_threads=n_threads)
    np.testing.assert_array_equal(out, [0, 2, 4, 6, 8])
    ours = [args for args in fill.inner.signatures if str(args[1].dtype) == "int64"]
    assert len(ours) == 1  # the others are of other tests in this process
    for compiled in fill.inner.overloads.values():
        assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0
    assert not fill.signatures


def test_a_helper_may_be_called_from_python_as_well():
    fill_all(np.zeros(2, dtype=np.intp), n_threads=1)
    assert double(21) == 42
    assert double(0.5) == 1.0
    assert len(double.signatures) == 2


@pytest.mark.parametrize(
    ("compiled", "wanted", "serve"),
    [
        ("a", "a", True),
        ("a", "b", False),
        ("Array(float64, 1, 'C', True, aligned=True)",) * 2 + (True,),
        ("Array(x, 1, 'C', True, aligned=True)", "Array(x, 1, 'C', False, aligned=True)", True),
        ("Array(x, 1, 'C', False, aligned=True)", "Array(x, 1, 'C', True, aligned=True)", False),
        ("Array(x, 1, 'F', True, aligned=True)", "Array(x, 1, 'C', False, aligned=True)", False),
        ("P(readonly array(x, 1d, C), bool)", "P(array(x, 1d, C), bool)", True),
        ("P(array(x, 1d, C), bool)", "P(readonly array(x, 1d, C), bool)", False),
        ("P(array(x, 1d, C))", "P(array(x, 2d, C))", False),
    ],
)
def test_code_that_only_reads_serves_writable_arrays(compiled, wanted, serve):
    assert _linking.serves(compiled, wanted) == serve


def test_nothing_is_compiled_again_for_writable_arrays(tmp_path):
    code = """
    import numpy as np
    from fastml import _jit
    from fastml.kernels.numeric.exp import exp_array
    x, out = np.zeros(3), np.ones(3)
    x.setflags(write=WRITE)
    for _ in range(2):
        exp_array(x, out)
    assert out.tolist() == [1.0, 1.0, 1.0]
    if not WRITE:
        exp_array(out, out)
    print(_jit.statistics.compiled, _jit.statistics.loaded, len(exp_array.signatures))
    """

    def run(write):
        return run_python(code.replace("WRITE", str(write)), FASTML_CACHE_DIR=tmp_path).split()

    assert run(False) == ["1", "0", "2"]
    assert run(True) == ["0", "1", "2"]


def test_recursion():
    assert factorial(5) == 120


def test_inside_a_users_function():
    @numba.njit
    def users(x):
        return double(x) + 1

    assert users(3) == 7


def test_numba_compiles_its_own_as_before():
    from numba.core.typed_passes import NativeLowering
    from numba.core.types import Function

    def methods():
        return NativeLowering.run_pass, Function.get_call_type, gc.isenabled()

    before = methods()
    fill_all(np.zeros(3, dtype=np.float32), n_threads=2)
    assert methods() == before

    @parallel_kernel
    def wrong(out):
        for i in prange(out.shape[0]):
            out[i] = no_such_name  # noqa: F821

    with pytest.raises(numba.TypingError):
        wrong(np.zeros(3), n_threads=2)
    assert methods() == before


def test_numbas_helpers_are_linked_and_serve_users_as_well():
    @kernel
    def ones_of(n):
        return np.ones(n, dtype=np.int16)

    ones_of._cache.disable()
    assert ones_of(3).tolist() == [1, 1, 1]

    @numba.njit
    def users(n):
        return np.ones(n, dtype=np.int16)

    assert users(2).tolist() == [1, 1]


def test_a_users_function_inside_a_kernel_can_be_called_from_python_too():
    @numba.njit
    def users(x):
        return 3 * x

    @kernel
    def call(function, x):
        return function(x)

    call._cache.disable()
    assert call(users, 2.0) == 6.0
    assert users(3.0) == 9.0


# ---------------------------------------------------------------------------- the proof

KERNELS = """
from fastml._jit import kernel, parallel_kernel, prange

@kernel
def double(x):
    return 2.0 * x

@parallel_kernel
def fill(out):
    for i in prange(out.shape[0]):
        out[i] = double(i)
"""

RUN = """
import numpy as np
from fastml import _linking
from kernels_of_a_test import fill

out = np.zeros(4)
fill(out, n_threads=1)
fill(out, n_threads=2)
print(out.sum(), _linking.sound)
"""


@pytest.fixture
def run(tmp_path):
    """Run code, then two twins of a kernel, in a process of its own; standard output in words."""

    def run(before="", after="", comment="", **env):
        (tmp_path / "kernels_of_a_test.py").write_text(KERNELS + f"# {comment}")
        code = "\n".join(map(textwrap.dedent, (before, RUN, after)))
        env = {"FASTML_CACHE_DIR": tmp_path / "cache", "PYTHONPATH": paths, **env}
        return run_python(code, **env).split()

    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    return run


BROKEN = {
    "an error in a pass of ours": """
        from numba.core.typed_passes import BaseNativeLowering
        kept = BaseNativeLowering.run_pass
        def run_pass(self, state):
            if self._name.startswith("fastml"):
                raise RuntimeError("moved")
            return kept(self, state)
        BaseNativeLowering.run_pass = run_pass
    """,
    "an error in drivers only": """
        from numba.core.cpu import CPUContext
        def add_linking_libs(self, libs):
            if isinstance(libs, list):
                raise AttributeError("moved")
            for library in libs:
                self.active_code_library.add_linking_library(library)
        CPUContext.add_linking_libs = add_linking_libs
    """,
    "a launch that leaves work out": """
        from fastml import _sharing
        import ctypes
        kept = _sharing.launcher
        launch = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, *[ctypes.c_ssize_t] * 3)
        nothing = launch(lambda *args: None)
        _sharing.launcher = lambda: ctypes.cast(nothing, ctypes.c_void_p).value
    """,
    "types that are resolved in another way": """
        from numba.core.types.functions import BaseFunction
        kept = BaseFunction.get_call_type
        def get_call_type(self, context, args, kws):
            self._impl_keys = self.__dict__.get("_moved", {})
            try:
                return kept(self, context, args, kws)
            finally:
                self._moved = self.__dict__.pop("_impl_keys")
        BaseFunction.get_call_type = get_call_type
        BaseFunction.get_impl_key = lambda self, signature: self._moved[signature.args]
    """,
    "a wrong result": """
        from numba.core import ir
        from numba.core.typed_passes import BaseNativeLowering
        kept = BaseNativeLowering.run_pass
        def run_pass(self, state):
            if self._name == "fastml_inner_lowering":
                for block in state.func_ir.blocks.values():
                    for assignment in block.find_insts(ir.Assign):
                        value = getattr(assignment.value, "value", None)
                        if isinstance(assignment.value, ir.Const) and isinstance(value, float):
                            assignment.value.value = value + 1.0
            return kept(self, state)
        BaseNativeLowering.run_pass = run_pass
    """,
}


@pytest.mark.parametrize("how", BROKEN)
def test_linking_steps_aside_where_numba_has_moved(how, run, tmp_path):
    assert run(BROKEN[how]) == ["12.0", "False"]
    proven = [path.name for path in tmp_path.rglob("linking-proven*")]
    assert not proven


@pytest.mark.parametrize("name", ["CPUDispatcher", "no such name"])
def test_nothing_is_adopted_where_a_name_is_gone(name, monkeypatch):
    monkeypatch.setattr(numba.core.registry, name, int, raising=False)
    assert (_linking._make_adopt() is None) == (name == "CPUDispatcher")


def test_nothing_is_adopted_where_dispatchers_have_moved(monkeypatch):
    monkeypatch.setattr(numba.core.dispatcher._FunctionCompiler, "__slots__", (), raising=False)
    hidden = property(lambda self: None)
    monkeypatch.setattr(numba.core.registry.CPUDispatcher, "_compiler", hidden, raising=False)
    assert _linking._make_adopt() is None


NEVER = """
from fastml import _linking
def probe(*args):
    raise AssertionError("it was proven before")
_linking._probe = probe
"""


def test_the_proof_is_kept_in_the_cache_folder(run, tmp_path):
    assert run() == ["12.0", "True"]
    assert [path.name for path in tmp_path.rglob("linking-proven*")] == ["linking-proven-parallel"]
    assert run(NEVER, comment="other kernels") == ["12.0", "True"]


def test_code_from_the_cache_needs_no_proof(run, tmp_path):
    run()
    for marker in tmp_path.rglob("linking-proven*"):
        marker.unlink()
    assert run(NEVER) == ["12.0", "True"]


COUNT = """
import fastml.cluster
from fastml import _linking
assert not _linking._looked_at
probe, probed = _linking._probe, []
def counted(parallel, launch):
    probed.append(parallel)
    return probe(parallel, launch)
_linking._probe = counted
"""


@pytest.mark.parametrize(
    ("cache", "probes"),
    [({"FASTML_NO_CACHE": 1}, 1), ({"FASTML_CACHE_DIR": os.devnull + "/cache"}, 1)],
    ids=["no cache", "not writable"],
)
def test_the_proof_is_made_at_the_first_call_also_without_a_cache(cache, probes, run):
    assert run(COUNT, "print(len(probed))", **cache) == ["12.0", "True", str(probes)]


def test_linking_steps_aside_also_without_a_cache(run):
    broken = BROKEN["an error in a pass of ours"]
    assert run(broken, FASTML_NO_CACHE=1) == ["12.0", "False"]


def test_operations_are_resolved_once_and_only_for_kernels(monkeypatch):
    from numba.core import types, utils

    plain, order = types.Function.get_call_type, utils.order_by_target_specificity
    resolved = []

    def count(target, templates, fnkey=""):
        resolved.append(fnkey)
        return order(target, templates, fnkey)

    monkeypatch.setattr(utils, "order_by_target_specificity", count)
    counts = []
    for _ in range(2):

        @kernel
        def products(a):
            return a[0] * a[0] + a[1] * a[1]

        products._cache.disable()
        resolved.clear()
        assert products(np.array([1.0, 2.0])) == 5.0
        counts.append(len(resolved))
    assert counts[1] == 0, counts
    assert types.Function.get_call_type is plain

    resolved.clear()
    assert numba.njit(lambda a: a[0] * a[0])(np.array([3.0])) == 9.0
    assert resolved  # Numba's own functions are left alone
