"""Kernels inside kernels stay LLVM IR; only what Python calls becomes machine code."""

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
    for twin in (fill_all.parallel, fill_all.serial):
        twin._cache.disable()


def test_numba_has_what_linking_leans_on():
    assert _linking.adopt is not None


@pytest.mark.parametrize("n_threads", [1, 2])
def test_helpers_have_no_code_of_their_own(n_threads):
    out = np.zeros(5, dtype=np.intp)
    fill_all(out, n_threads=n_threads)
    np.testing.assert_array_equal(out, [0, 2, 4, 6, 8])
    assert len(fill.inner.signatures) == 1
    for compiled in fill.inner.overloads.values():
        assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0
    assert not fill.signatures


def test_a_helper_may_be_called_from_python_as_well():
    fill_all(np.zeros(2, dtype=np.intp), n_threads=1)
    assert double(21) == 42
    assert double(0.5) == 1.0
    assert len(double.signatures) == 2


def test_recursion():
    assert factorial(5) == 120


def test_inside_a_users_function():
    @numba.njit
    def users(x):
        return double(x) + 1

    assert users(3) == 7


def test_numba_compiles_its_own_as_before():
    class_before = numba.core.codegen.JITCPUCodegen._library_class
    fill_all(np.zeros(3, dtype=np.float32), n_threads=2)
    codegen = numba.core.registry.cpu_target.target_context.codegen()
    assert codegen._library_class is class_before

    @parallel_kernel
    def wrong(out):
        for i in prange(out.shape[0]):
            out[i] = no_such_name  # noqa: F821

    with pytest.raises(numba.TypingError):
        wrong(np.zeros(3), n_threads=2)
    assert codegen._library_class is class_before


def test_kernels_work_where_numba_has_moved():
    code = """
    import numba.core.registry as registry
    class Moved:
        pass
    kept, registry.CPUDispatcher = registry.CPUDispatcher, Moved
    from fastml import _linking
    registry.CPUDispatcher = kept
    assert _linking.adopt is None
    import numpy as np
    from fastml.cluster import KMeans
    X = np.random.default_rng(0).random((40, 2))
    print(len(set(KMeans(3, n_init=1, random_state=0).fit(X).labels_)))
    """
    assert run_python(code).strip() == "3"


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
