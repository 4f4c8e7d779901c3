"""Kernels count no references to what is lent to them.

Numba counts the owners of every array: it adds one whenever a variable takes an array from an
argument, a struct, a tuple or a view, and takes one off when the variable ends. Each is a call that
LLVM must not move other reads and writes across, a small kernel that reads five arrays of a struct
makes dozens of them, and in the search of a tree they take longer than the work. But an argument
belongs to the caller, who holds it until the call is over, and so does everything that is read out
of it. `make_lower` makes a lowering in which variables that can hold nothing else are not counted.
Variables that can hold an array that the function itself made, or got from another, are counted
as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PARTS = frozenset({"getattr", "static_getitem", "getitem", "exhaust_iter"})
"""Operations that read a part of a tuple, or a view of an array."""


def make_lower() -> Any:
    """Numba's ``Lower`` that does not count what is borrowed."""
    from numba.core import ir
    from numba.core import types as numbas_types
    from numba.core.lowering import Lower

    types: Any = numbas_types

    def lenders(value: Any, typeof: Callable[[str], Any]) -> list[str] | None:
        """Variables that ``value`` is a part or a view of; None if it may be a new array."""
        if isinstance(value, (ir.Arg, ir.Const, ir.Global, ir.FreeVar)):
            return []
        if isinstance(value, ir.Var):
            return [value.name]
        if not isinstance(value, ir.Expr):
            return None
        if value.op == "call":
            made = isinstance(typeof(value.func.name), types.NamedTupleClass)
            return [each.name for each in value.args] if made and not value.kws else None
        if value.op == "cast":
            return [value.value.name]
        if value.op == "build_tuple":
            return [each.name for each in value.items]
        if value.op not in PARTS:
            return None
        whole = typeof(value.value.name)
        if isinstance(whole, types.Array):
            if value.op == "exhaust_iter" or (value.op == "getattr" and value.attr != "T"):
                return None
            if value.op == "getitem" and not is_plain(typeof(value.index.name)):
                return None
            return [value.value.name]
        return [value.value.name] if isinstance(whole, types.BaseTuple) else None

    def is_plain(index: Any) -> bool:
        """Whether what an array holds at ``index`` is a view of it: other indices copy."""
        if isinstance(index, types.BaseTuple):
            return all(map(is_plain, index))
        return isinstance(index, (types.Integer, types.SliceType, types.EllipsisType))

    def borrowed(function_ir: Any, typeof: Callable[[str], Any]) -> set[str]:
        """Variables that never hold anything but what was lent."""
        taken: dict[str, list[list[str] | None]] = {}
        returned = set()
        for block in function_ir.blocks.values():
            for statement in block.body:
                if isinstance(statement, ir.Assign):
                    of = lenders(statement.value, typeof)
                    taken.setdefault(statement.target.name, []).append(of)
                elif isinstance(statement, (ir.Return, ir.Yield)):
                    returned.add(statement.value.name)
        found = taken.keys() - returned
        while True:
            kept = {
                name
                for name in found
                if all(of is not None and found.issuperset(of) for of in taken[name])
            }
            if kept == found:
                return found
            found = kept

    class BorrowingLower(Lower):
        def lower(self):
            self._owning = self.context
            self._lent = self.context.subtarget(enable_nrt=False)
            self._borrowed = borrowed(self.func_ir, self.typeof)
            return super().lower()

        def _counting(self, name, function, *args):
            """Call ``function`` in the context that suits a variable."""
            self.context = self._lent if name in self._borrowed else self._owning
            try:
                return function(*args)
            finally:
                self.context = self._owning

        def lower_assign(self, ty, inst):
            return self._counting(inst.target.name, super().lower_assign, ty, inst)

        def storevar(self, value, name, *more, **named):
            def store():
                super(BorrowingLower, self).storevar(value, name, *more, **named)

            return self._counting(name, store)

        def delvar(self, name):
            return self._counting(name, super().delvar, name)

    return BorrowingLower
