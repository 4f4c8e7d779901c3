"""Kernels count no references to what is lent to them, and all to what they make."""

import sys
from typing import NamedTuple

import numpy as np
import pytest

from fastml import _jit, _linking
from fastml._jit import jit_enabled, kernel

pytestmark = pytest.mark.skipif(
    not jit_enabled() or _linking.adopt is None or not _linking.sound,
    reason="about kernels that are compiled in our way",
)


@pytest.fixture(autouse=True, scope="module")
def registry_without_this_file():
    """The kernels of this file are not the library's."""
    yield
    for name in [name for name in _jit.REGISTRY if name.startswith(__name__)]:
        del _jit.REGISTRY[name]


class Pair(NamedTuple):
    rows: np.ndarray
    weights: np.ndarray


@kernel
def weigh(pair, out):
    """Only reads parts and views of what it takes."""
    first, _ = pair
    swapped = Pair(first.T, pair.weights[1:])
    for i in range(out.shape[0]):
        row = pair.rows[i]
        own = row if i % 2 else pair.rows[i, ::-1]
        for j in range(own.shape[0]):
            out[i] += own[j] * pair.weights[j] + swapped.rows[j, i]


@kernel
def reads_only(pair, out):
    for _ in range(2):
        weigh(pair, out)


@kernel
def makes_some(pair, chosen, out):
    """Arrays of its own, in variables that hold lent ones at other times."""
    room = np.zeros(out.shape[0])
    for turn in range(3):
        target = out
        if turn == 1:
            target = room
        if turn == 2:
            target = np.zeros(out.shape[0])
        own = Pair(pair.rows[chosen], target)  # a copy: the index is an array
        weigh(Pair(own.rows, pair.weights), own.weights)
        kept = own.weights
        out[0] += kept[1]
    return out, room


if jit_enabled():
    for each in (weigh, reads_only, makes_some):
        each._cache.disable()  # what is loaded from a cache has no LLVM code


def data():
    rng = np.random.default_rng(0)
    return Pair(rng.normal(size=(4, 3)), rng.normal(size=3)), np.array([2, 0, 1, 1])


@pytest.mark.parametrize(("function", "more"), [(reads_only, 0), (makes_some, 1)])
def test_results_are_those_of_the_plain_functions(function, more):
    pair, chosen = data()
    found, expected = np.zeros(4), np.zeros(4)
    given = [pair, chosen][: 1 + more]
    answer = function(*given, found)
    plain = function.py_func(*given, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    if more:
        np.testing.assert_array_equal(answer[0], found)
        np.testing.assert_allclose(answer[1], plain[1], rtol=1e-12)


def counts_in(function) -> int:
    (compiled,) = function.overloads.values()
    return compiled.library.get_llvm_str().count("call void @NRT_incref")


def test_what_only_reads_counts_nothing():
    pair, chosen = data()
    for function, given in ((reads_only, (pair,)), (makes_some, (pair, chosen))):
        function(*given, np.zeros(4))
    assert counts_in(reads_only) == 0
    assert counts_in(makes_some) > 0


@pytest.fixture
def allocations():
    """How many arrays kernels have made and freed, and their owners."""
    from numba.core.runtime import _nrt_python, rtsys

    if not hasattr(_nrt_python, "memsys_enable_stats"):
        pytest.skip("this Numba counts no allocations")
    _nrt_python.memsys_enable_stats()
    yield rtsys.get_allocation_stats
    _nrt_python.memsys_disable_stats()


def test_nothing_leaks_and_nothing_is_freed_twice(allocations):
    pair, chosen = data()
    out = np.zeros(4)

    def owners(n):
        for _ in range(n):
            reads_only(pair, out)
            makes_some(pair, chosen, out)
        return [sys.getrefcount(each) for each in (out, chosen, *pair)]

    before, owned = allocations(), owners(1)
    assert owners(50) == owned
    after = allocations()
    assert after.alloc - before.alloc >= 50 * 5
    assert after.alloc - before.alloc == after.free - before.free
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free
