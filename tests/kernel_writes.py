"""Which arguments a kernel writes to, itself or through the kernels that it calls."""

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from source_tree import imports, kernel_functions


class KernelSource(NamedTuple):
    function: ast.FunctionDef
    module: str


def kernels_of(trees: Mapping[str, ast.Module]) -> dict[str, KernelSource]:
    """``module.function`` → its source, for modules by name."""
    return {
        f"{module}.{function.name}": KernelSource(function, module)
        for module, tree in trees.items()
        for function in kernel_functions(tree)
    }


def parameters(function: ast.FunctionDef) -> list[str]:
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args)]


def written_arguments(trees: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """``module.function`` → the parameters that it writes to, for all kernels of ``trees``."""
    kernels = kernels_of(trees)
    written = {name: set(_stores(kernel.function)) for name, kernel in kernels.items()}
    known = {module: _known(module, tree, kernels) for module, tree in trees.items()}
    passed = {
        name: list(_passed(kernel.function, known[kernel.module], kernels))
        for name, kernel in kernels.items()
    }
    changed = True
    while changed:
        changed = False
        for name, calls in passed.items():
            found = {
                own for own, called, parameter in calls if parameter in written[called]
            } - written[name]
            written[name] |= found
            changed = changed or bool(found)
    return written


def _owner(node: ast.expr, aliases: Mapping[str, str | None]) -> str | None:
    """The parameter that ``a[i]``, ``a.b[i]`` or an alias of those belongs to."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return aliases.get(node.id) if isinstance(node, ast.Name) else None


def _aliases(function: ast.FunctionDef) -> dict[str, str]:
    """Local name → parameter, for ``b = a``, ``b = a[i]`` and ``b, c = a`` of a parameter a.

    A name that is given other values as well is no alias.
    """
    aliases: dict[str, str | None] = {name: name for name in parameters(function)}
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            for name, source in _assignments(target, node.value):
                if isinstance(name, ast.Name):
                    owner = _owner(source, aliases)
                    same = aliases.setdefault(name.id, owner) == owner
                    aliases[name.id] = owner if same else None
    return {name: owner for name, owner in aliases.items() if owner is not None}


def _assignments(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if not isinstance(target, ast.Tuple):
        yield target, value
    elif isinstance(value, ast.Tuple):
        yield from zip(target.elts, value.elts, strict=True)
    else:
        yield from ((each, value) for each in target.elts)


def _stores(function: ast.FunctionDef) -> Iterator[str]:
    aliases = _aliases(function)
    for node in ast.walk(function):
        is_written = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        if is_written and (owner := _owner(node, aliases)) is not None:
            yield owner


def _known(module: str, tree: ast.Module, kernels: Mapping[str, KernelSource]) -> dict[str, str]:
    """The name of a kernel in a module → its full name."""
    imported = [name for _, name in imports(tree) if name in kernels]
    own = [name for name, kernel in kernels.items() if kernel.module == module]
    return {name.rpartition(".")[2]: name for name in imported + own}


def _passed(function, known, kernels) -> Iterator[tuple[str, str, str]]:
    """(own parameter, kernel that is called, its parameter) of every call."""
    aliases = _aliases(function)
    for call in ast.walk(function):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in known:
            called = known[call.func.id]
            for value, parameter in zip(call.args, parameters(kernels[called].function)):
                if (owner := _owner(value, aliases)) is not None:
                    yield owner, called, parameter
