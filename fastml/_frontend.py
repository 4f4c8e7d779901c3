"""Numba's front end without work whose result nobody reads, while a kernel compiles.

Half of the wait on an empty cache is Python code of Numba. Some of it is done again and again:

- after each of nine passes the lifetimes of all variables are found, and only the last time does
  something read them (see `tidy`; they can be had at any time, as Numba keeps them lazily);
- the variables of a statement are gathered by tests of classes, most of them of things that hold
  no variable (see `variables_of`);
- functions that are declared only are "optimised", each by a manager of its own (see `optimise`).

What is compiled is the same to the last instruction.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

OTHER, VARIABLE, INSTRUCTION, SEQUENCE, MAPPING = range(5)


def replacements() -> list[tuple[type, str, Any]]:
    """(class of Numba, name of its method, what takes its place); an error if Numba has moved."""
    from numba.core import ir, postproc, transforms
    from numba.core.codegen import CPUCodeLibrary

    numbas_run = postproc.PostProcessor.run
    kinds: dict[type, int] = {}

    def kind_of(each: type) -> int:
        pairs = (ir.Var, VARIABLE), (ir.Inst, INSTRUCTION), ((list, tuple), SEQUENCE)
        for classes, kind in (*pairs, (dict, MAPPING)):
            if issubclass(each, classes):
                return kind
        return OTHER

    def gather(values: Iterable[Any], found: list[Any]) -> None:
        for value in values:
            kind = kinds.get(type(value))
            if kind is None:
                kind = kinds[type(value)] = kind_of(type(value))
            if kind == OTHER:
                continue
            if kind == VARIABLE:
                found.append(value)
            elif kind == INSTRUCTION:
                found.extend(value.list_vars())
            else:
                gather(value if kind == SEQUENCE else value.values(), found)

    def variables_of(self: Any, value: Any) -> list[Any]:
        found: list[Any] = []
        gather((value,), found)
        return found

    def tidy(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        if emit_dels or self.func_ir.is_generator:
            return numbas_run(self, emit_dels, extend_lifetimes)
        self.func_ir.blocks = transforms.canonicalize_cfg(self.func_ir.blocks)
        self.func_ir.variable_lifetime = postproc.VariableLifetime(self.func_ir.blocks)
        self.func_ir.generator_info = None
        return None

    def optimise(self: Any, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)

    ours = [
        (ir.Inst, "_rec_list_vars", variables_of),
        (postproc.PostProcessor, "run", tidy),
        (CPUCodeLibrary, "_optimize_functions", optimise),
    ]
    for owner, name, _ in ours:
        vars(owner)[name]
    return ours
