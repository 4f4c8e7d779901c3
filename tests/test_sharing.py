"""Drivers with `prange` become one function for one thread and for many."""

import ast
import os
from typing import NamedTuple

import numpy as np
import pytest
from numba.core import types
from numba.extending import intrinsic
from source_tree import KERNEL_FILES, kernel_functions, tree_of
from subprocesses import run_python

from fastml import _jit, _sharing
from fastml._jit import jit_enabled, kernel, parallel_kernel, prange
from fastml._sharing import NotOutlined, outlined

needs_jit = pytest.mark.skipif(not jit_enabled(), reason="about compiled drivers")
THREADS = pytest.mark.parametrize("n_threads", [1, 2])


@pytest.fixture(autouse=True, scope="module")
def registry_without_this_file():
    """The kernels of this file are not the library's."""
    yield
    for name in [name for name in _jit.REGISTRY if name.startswith(__name__)]:
        del _jit.REGISTRY[name]


def function(source):
    (tree,) = ast.parse(source).body
    return tree


# ------------------------------------------------------------------- the syntax tree


def test_a_loop_becomes_a_function_of_what_it_reads():
    new = outlined(
        function(
            "def drive(a, b, out):\n"
            "    n = out.shape[0]\n"
            "    for c in prange(n - 1):\n"
            "        x = a[c]\n"
            "        fill(x, out)\n"
            "    return n\n"
        )
    )
    assert ast.unparse(new.driver).splitlines() == [
        "def drive(fastml_launcher, fastml_threads, a, b, out):",
        "    n = out.shape[0]",
        "    fastml_share(fastml_launcher, fastml_threads, n - 1, drive__part0, (a, out))",
        "    return n",
    ]
    assert [ast.unparse(part).splitlines() for part in new.parts] == [
        [
            "def drive__part0(fastml_first, fastml_last, a, out):",
            "    for c in range(fastml_first, fastml_last):",
            "        x = a[c]",
            "        fill(x, out)",
        ]
    ]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def f(a):\n    for c in prange(3):\n        s += a[c]", r"\['s'\] set in a loop"),
        ("def f(a):\n    s = 0\n    for c in prange(3):\n        s = a[c]", r"\['s'\] set"),
        ("def f(a):\n    for c in prange(3):\n        s = a[c]\n    return s", r"\['s'\] set"),
        ("def f(a):\n    for c in prange(3):\n        a = c", r"\['a'\] set"),
        ("def f(a):\n    for c in prange(1, 3):\n        a[c] = 1", "other than"),
        ("def f(a):\n    for c, d in prange(3):\n        a[c] = 1", "other than"),
        (
            "def f(a):\n    for c in prange(3):\n        a[c] = 1\n    else:\n        a[0] = 2",
            "than",
        ),
        ("def f(a):\n    for c in range(3):\n        a[c] = 1", "no loop"),
        ("def f(a, b=1):\n    for c in prange(3):\n        a[c] = b", "not plain"),
        ("def f(*a):\n    for c in prange(3):\n        a[0][c] = 1", "not plain"),
    ],
)
def test_what_cannot_be_taken_out_is_an_error(source, message):
    with pytest.raises(NotOutlined, match=message):
        outlined(function(source))


def test_the_librarys_drivers_can_all_be_outlined():
    n = 0
    for path in KERNEL_FILES:
        for each in kernel_functions(tree_of(path)):
            if any(getattr(d, "id", "") == "parallel_kernel" for d in each.decorator_list):
                assert outlined(each).parts
                n += 1
    assert n > 80


# ------------------------------------------------------------------- what runs


class Pair(NamedTuple):
    values: np.ndarray
    factor: float


@parallel_kernel
def every_kind(pair, nothing, flag, metric, out):
    """Write the values times the factor to ``out``."""
    for c in prange(out.shape[0]):
        if flag and nothing is None:
            out[c] = pair.values[c] * pair.factor


@THREADS
@pytest.mark.parametrize("n", [0, 1, 2, 3, 100])
def test_arguments_of_every_kind_and_any_number_of_chunks(n, n_threads):
    out = np.zeros(n)
    every_kind(Pair(np.arange(n + 1.0), 3.0), None, True, _square, out, n_threads=n_threads)
    np.testing.assert_array_equal(out, 3.0 * np.arange(n))


@kernel
def _square(c, out):
    """Write c² to ``out[c]``."""
    out[c] = c * c


@parallel_kernel
def two_loops_in_a_loop(rounds, out, sums):
    """Squares in ``out``, their sum in ``sums`` after each round; returns the rounds."""
    for r in range(rounds):
        for c in prange(out.shape[0]):
            _square(np.intp(c), out)
        total = 0.0
        for c in range(out.shape[0]):
            total += out[c]
        sums[r] = total
        for c in prange(out.shape[0]):
            out[c] = r
    return rounds


@THREADS
def test_several_loops_and_a_result(n_threads):
    out, sums = np.zeros(5), np.zeros(3)
    assert two_loops_in_a_loop(3, out, sums, n_threads=n_threads) == 3
    assert sums.tolist() == [30.0] * 3
    assert out.tolist() == [2.0] * 5
    if jit_enabled():
        assert two_loops_in_a_loop.shared is not None


@parallel_kernel
def too_much_memory(n, out):
    """Write to ``out``."""
    for c in prange(out.shape[0]):
        out[c] = np.zeros(n)[c]


@needs_jit
@THREADS
def test_memory_that_is_not_there_is_an_error(n_threads):
    with pytest.raises(MemoryError, match="Allocation failed"):
        too_much_memory(1 << 50, np.zeros(4), n_threads=n_threads)
    too_much_memory(4, np.ones(4), n_threads=n_threads)


@intrinsic
def owner(typingctx, array):
    """The address of what counts the references to an array, or 0."""

    def lower(context, builder, signature, args):
        value = context.make_array(array)(context, builder, args[0])
        return builder.ptrtoint(value.meminfo, context.get_value_type(types.intp))

    return types.intp(array), lower


@parallel_kernel
def owners(plain, nested, out, outside):
    """Write owners of arrays to ``out``, in the loop, and to ``outside``."""
    outside[0] = owner(plain)
    for c in prange(out.shape[0]):
        out[c, 0] = owner(plain)
        out[c, 1] = owner(nested[0].values)


@needs_jit
@THREADS
def test_arrays_in_a_loop_have_no_owner(n_threads):
    """Threads that count references in one place wait for each other: kd-trees took 2 x."""
    out, outside = np.ones((3, 2), dtype=np.intp), np.zeros(1, dtype=np.intp)
    owners(np.zeros(2), (Pair(np.zeros(3), 1.0), 2), out, outside, n_threads=n_threads)
    assert outside[0] != 0
    assert not out.any()


@needs_jit
def test_a_sum_over_the_loop_is_left_to_numba():
    @parallel_kernel
    def total(values):
        result = 0.0
        for c in prange(values.shape[0]):
            result += values[c]
        return result

    assert total.shared is None
    assert total(np.arange(5.0), n_threads=1) == 10.0
    assert total(np.arange(5.0), n_threads=2) == 10.0


@needs_jit
def test_the_address_is_that_of_the_layer_in_use():
    assert _sharing.launcher() == _sharing._layer(_jit.threading_layer()).parallel_for


@needs_jit
def test_an_index_out_of_bounds_is_told_where_bounds_are_checked(tmp_path):
    (tmp_path / "beyond.py").write_text(
        "from fastml._jit import parallel_kernel, prange\n"
        "@parallel_kernel\n"
        "def beyond(out):\n"
        "    for c in prange(4):\n"
        "        out[c + 3] = 1.0\n"
    )
    code = """
    import numpy as np
    from beyond import beyond
    for n_threads in (1, 2):
        try:
            beyond(np.zeros(5), n_threads=n_threads)
        except IndexError:
            print("told")
    """
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    out = run_python(code, PYTHONPATH=paths, FASTML_CACHE_DIR=tmp_path, NUMBA_BOUNDSCHECK=1)
    assert out.split() == ["told", "told"]
