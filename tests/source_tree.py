"""fastml's source files and what their syntax trees say of them; for the tests of design."""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "fastml"
KERNELS = PACKAGE / "kernels"
ENGINES = PACKAGE / "_engines"
SOURCES = sorted(PACKAGE.rglob("*.py"))
KERNEL_FILES = [path for path in SOURCES if path.is_relative_to(KERNELS)]
COMMAND_LINE = {PACKAGE / "__main__.py", *(PACKAGE / "_cli").rglob("*.py")}


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(tree, *, at_import_time=False):
    """(line, dotted name) of everything imported; ``from a import b`` gives ``a.b``."""
    nodes = top_level(tree) if at_import_time else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node.lineno, f"{'.' * node.level}{node.module or ''}.{alias.name}"


def top_level(tree):
    """Nodes that run at import: not the bodies of functions, nor what is for type checkers only."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)


def decorators(function):
    """Names of a function's decorators, without their arguments."""
    for node in function.decorator_list:
        name = node.func if isinstance(node, ast.Call) else node
        yield ast.unparse(name).rpartition(".")[2]


def kernel_functions(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and {"kernel", "parallel_kernel"} & {
            *decorators(node)
        }:
            yield node


def names_used(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr


def constants(tree):
    """(line, name, value as source) of the constants of a module, names in capitals."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        for target in targets:
            for name, value in _assigned(target, node.value):
                if name.isupper():
                    yield node.lineno, name, ast.unparse(value)


def _assigned(target, value):
    """(name, value) of an assignment; ``A, B = 0, 1`` and ``A, B = range(2)`` give two each."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple):
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "range":
            values = [ast.Constant(i) for i in range(len(target.elts))]
        else:
            values = value.elts
        for pair in zip(target.elts, values, strict=True):
            yield from _assigned(*pair)
