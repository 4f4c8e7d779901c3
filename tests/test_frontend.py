"""Numba's front end with less to do compiles the same."""

import re

import numba
import numpy as np
import pytest
from numba.core import ir
from numba.core.codegen import CPUCodeLibrary
from numba.core.postproc import PostProcessor

from fastml import _frontend, _linking
from fastml._jit import jit_enabled

pytestmark = pytest.mark.skipif(
    not jit_enabled() or _linking.adopt is None or not _linking.sound,
    reason="about kernels that are compiled in our way",
)

PLACES = [
    (ir.Inst, "_rec_list_vars"),
    (PostProcessor, "run"),
    (CPUCodeLibrary, "_optimize_functions"),
]


def mean_of_parts(rows, weights, out):
    """Loops, branches, variables of several values, a view, an array, None and a tuple."""
    total, best = 0.0, None
    room = np.zeros(rows.shape[1])
    for i in range(rows.shape[0]):
        row = rows[i]
        if weights[i] > 0.0:
            for j in range(row.shape[0]):
                room[j] += weights[i] * row[j]
            total += weights[i]
        elif weights[i] < -1.0:
            break
    pair = (room, total)
    for j in range(out.shape[0]):
        out[j] = pair[0][j] / pair[1]
    return total if best is None else best


def llvm_code(monkeypatch, ours):
    """What LLVM makes of `mean_of_parts`, but for numbers that Numba counts up."""
    with monkeypatch.context() as patch:
        if not ours:
            patch.setattr(_frontend, "replacements", list)
        adopt = _linking._define_adopt()
    function = numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)(
        _linking.copy_of(mean_of_parts)
    )
    adopt(function)
    rng = np.random.default_rng(0)
    rows, weights, out = rng.random((5, 3)), np.array([1.0, 0.0, 2.0, 3.0, -2.0]), np.empty(3)
    assert function(rows, weights, out) == 6.0
    np.testing.assert_allclose(out, np.average(rows[:4], axis=0, weights=weights[:4]))
    (code,) = function.inspect_llvm().values()
    code = re.sub(r"(?<=of_parts)B\d+v\d+", "", code)
    return re.sub(r'\[\d+ x i8\](?= c"missing)', "", code)  # the length of such a name


def test_the_code_is_the_same(monkeypatch):
    assert llvm_code(monkeypatch, ours=True) == llvm_code(monkeypatch, ours=False)


def test_variables_are_listed_as_numba_does():
    ((_, _, listed), *_) = _frontend.replacements()
    statements = [
        statement
        for block in numba.core.compiler.run_frontend(mean_of_parts).blocks.values()
        for statement in block.body
    ]
    assert len(statements) > 50
    for statement in statements:
        assert listed(statement, statement) == statement.list_vars()
        assert listed(statement, vars(statement)) == statement.list_vars()


def test_numba_is_left_as_it_was(monkeypatch):
    before = [vars(owner)[name] for owner, name in PLACES]
    ours = [place[:2] for place in _frontend.replacements()]
    assert ours == PLACES
    llvm_code(monkeypatch, ours=True)
    assert [vars(owner)[name] for owner, name in PLACES] == before


def test_a_generator_is_numbas():
    """Its lifetimes are needed at once."""

    @numba.njit
    def squares(n):
        for i in range(n):
            yield i * i

    @numba.njit(nogil=True, no_cfunc_wrapper=True)
    def total(n):
        result = 0
        for square in squares(n):
            result += square
        return result

    _linking.adopt(total)
    assert total(5) == 30


@pytest.mark.parametrize("owner, name", PLACES)
def test_nothing_is_adopted_where_a_place_is_gone(owner, name, monkeypatch):
    monkeypatch.delattr(owner, name)
    assert _linking._make_adopt() is None
