"""The rules on kernels, their tests and names; each comes with an example that breaks it."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest
from import_graph import module_name
from kernel_writes import kernels_of, written_arguments
from source_tree import (
    ENGINES,
    KERNEL_FILES,
    KERNELS,
    PACKAGE,
    ROOT,
    SOURCES,
    constants,
    kernel_functions,
    tree_of,
)

MOST_LINES = 450
MOST_ARGUMENTS = 12
TESTS = ROOT / "tests" / "kernels"
FILES_OF_KERNELS = [path for path in KERNEL_FILES if path.name != "__init__.py"]
FOLDERS = [
    path
    for path in SOURCES
    if path.name == "__init__.py"
    and (path.is_relative_to(KERNELS) or path.is_relative_to(ENGINES) or path.parent.name[0] == "_")
    and path.parent.name != "_cli"
]
"""The first lines of rooms, engines and private folders of public packages."""

# ---------------------------------------------------------------------------- rules on one file
# Each takes a tree and yields (line, what is wrong).


def few_arguments(tree):
    for function in kernel_functions(tree):
        arguments = function.args
        n = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
        if n > MOST_ARGUMENTS:
            yield function.lineno, f"{function.name} takes {n} arguments, at most {MOST_ARGUMENTS}"


def every_kernel_has_a_docstring(tree):
    for function in kernel_functions(tree):
        if not ast.get_docstring(function):
            yield function.lineno, f"{function.name} does not say what it reads and writes"


def no_slice_into_a_slice(tree):
    """Numba compiles the text of an error beside it: 1 s of a first `LogisticRegression.fit`."""
    for function in kernel_functions(tree):
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and all(map(_is_slice, (node.value, *node.targets))):
                yield node.lineno, f"{ast.unparse(node)}: write a loop"


def _is_slice(node):
    if not isinstance(node, ast.Subscript):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(part, ast.Slice) for part in parts)


def docstring_and_no_code(tree):
    if not ast.get_docstring(tree):
        yield 1, "does not say what the folder holds"
    for node in tree.body[1:] if ast.get_docstring(tree) else tree.body:
        yield node.lineno, "holds code: the kernel cache does not read the files of folders"


RULES = {
    few_arguments: KERNEL_FILES,
    every_kernel_has_a_docstring: KERNEL_FILES,
    no_slice_into_a_slice: KERNEL_FILES,
    docstring_and_no_code: FOLDERS,
}
TOO_MANY = "a, b, c, d, e, f, g, h, i, j, k, l, m"

BREAKS = {
    few_arguments: [
        f"@kernel\ndef f({TOO_MANY}):\n    pass",
        f"@parallel_kernel\ndef f({TOO_MANY}):\n    pass",
        f"@kernel(fast_math=True)\ndef _f({TOO_MANY.replace(' m', ' *, m')}):\n    pass",
    ],
    every_kernel_has_a_docstring: [
        "@kernel\ndef f(x):\n    return x",
        "@parallel_kernel\ndef _f(x):\n    # Twice x.\n    return 2 * x",
    ],
    no_slice_into_a_slice: [
        "@kernel\ndef f(a, b, n):\n    a[:n] = b[:n]",
        "@kernel\ndef f(a, b, n):\n    a[n:, 0] = b[0, :n]",
    ],
    docstring_and_no_code: ["", "x = 1", "'''Trees.'''\nfrom fastml.kernels.tree import grow"],
}
KEEPS = {
    few_arguments: [
        f"@kernel\ndef f({TOO_MANY[3:]}):\n    pass",
        f"def not_a_kernel({TOO_MANY}):\n    pass",
    ],
    every_kernel_has_a_docstring: ["@kernel\ndef f(x):\n    '''Twice x.'''\n    return 2 * x"],
    no_slice_into_a_slice: ["@kernel\ndef f(a, b, n):\n    a[:n] = 0.0\n    a[0] = b[n]"],
    docstring_and_no_code: ["'''Trees.'''"],
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule(rule):
    assert RULES[rule], "the rule covers no file"
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in RULES[rule]
        for line, what in rule(tree_of(path))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_can_fail(rule):
    for source in BREAKS[rule]:
        assert list(rule(ast.parse(source))), source
    for source in KEEPS[rule]:
        assert not list(rule(ast.parse(source))), source


# ---------------------------------------------------------------------------- written arguments


def unsaid(trees):
    """Kernel → the arguments that it writes to, scratch included, and does not mention.

    A docstring may refer to another kernel's, as in "`fill_rows` for one chunk".
    """
    kernels = kernels_of(trees)
    docstrings = {
        name: ast.get_docstring(kernel.function) or "" for name, kernel in kernels.items()
    }
    by_short_name = defaultdict(list)
    for name in kernels:
        by_short_name[name.rpartition(".")[2]].append(name)

    def read(name, seen=()):
        referred = re.findall(r"`(?:[\w.]*\.)?(\w+)`", docstrings[name])
        others = {other for short in referred for other in by_short_name[short]} - {name, *seen}
        return " ".join([docstrings[name], *(read(other, (*seen, name)) for other in others)])

    found = {
        name: sorted(written - set(re.findall(r"\w+", read(name))))
        for name, written in written_arguments(trees).items()
        if written
    }
    return {name: arguments for name, arguments in found.items() if arguments}


def test_docstrings_name_the_arguments_that_are_written():
    found = unsaid({module_name(path): tree_of(path) for path in KERNEL_FILES})
    assert not found, listed(found)


HELPER = """
@kernel
def fill(values, out):
    '''Write twice the ``values`` to ``out``.'''
    for i in range(3):
        out[i] = 2 * values[i]
"""


@pytest.mark.parametrize(
    ("arguments", "body", "docstring", "missing"),
    [
        ("a, out", "out[0] = a[0]", "Copy.", ["out"]),
        ("a, out", "out[0] = a[0]", "Write a[0] to ``out``.", []),
        ("a, out", "out[0] += a[0]", "Add.", ["out"]),
        ("a, tree", "tree.nodes[0] = a[0]", "Copy.", ["tree"]),
        ("a, out", "row = out[1]\n    row[0] = a[0]", "Copy.", ["out"]),
        ("a, out", "low, high = out\n    high[0] = a[0]", "Copy.", ["out"]),
        ("a, out", "b = a\n    b = np.empty(3)\n    b[0] = 1", "Nothing.", []),
        ("x, y", "fill(x, y)", "Double.", ["y"]),
        ("x, y", "fill(x, y[1:])", "Double.", ["y"]),
        ("x, y", "fill(y, np.empty(3))", "Nothing.", []),
        ("x, out", "fill(x, out)", "`fill` of three values.", []),
        ("x, y", "fill(x, y)", "`fill` of three values.", ["y"]),
    ],
)
def test_which_arguments_are_written_and_named(arguments, body, docstring, missing):
    own = f"@kernel\ndef f({arguments}):\n    '''{docstring}'''\n    {body}\n"
    for trees in (
        {"m": ast.parse(HELPER + own)},
        {"k": ast.parse(HELPER), "m": ast.parse("from k import fill\n" + own)},
    ):
        assert unsaid(trees) == ({"m.f": missing} if missing else {})


# ---------------------------------------------------------------------------- kernels and tests


def its_test(path: Path) -> Path:
    below = path.relative_to(KERNELS)
    return TESTS / below.with_name(f"test_{below.name}")


@pytest.mark.parametrize("path", FILES_OF_KERNELS, ids=lambda path: module_name(path)[15:])
def test_kernel_file_is_short_and_its_kernels_are_called_in_its_test(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES
    test_file = its_test(path)
    assert test_file.exists(), f"no {test_file.relative_to(ROOT)}"
    public = [f.name for f in kernel_functions(tree_of(path)) if not f.name.startswith("_")]
    assert not uncalled(public, module_name(path), tree_of(test_file))


def uncalled(kernels, module, tree):
    """Kernels of ``module`` that a test neither calls nor hands to a call; imports do not count."""
    names, modules = {}, {module}  # what the kernels, and the module, are called in the test
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if node.module == module:
                    names[alias.asname or alias.name] = alias.name
                elif f"{node.module}.{alias.name}" == module:
                    modules.add(alias.asname or alias.name)
        elif isinstance(node, ast.Import):
            modules |= {each.asname for each in node.names if each.name == module and each.asname}
    used = set()
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        handed = [*call.args, *(keyword.value for keyword in call.keywords)]
        for node in [call.func, *(below for each in handed for below in ast.walk(each))]:
            if isinstance(node, ast.Name):
                used.add(names.get(node.id))
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in modules:
                used.add(node.attr)
    return [kernel for kernel in kernels if kernel not in used]


@pytest.mark.parametrize(
    ("called", "source"),
    [
        (True, "from k.m import f\nf(1)"),
        (True, "from k.m import f as g\ndef test():\n    assert g(1) == 2"),
        (True, "from k import m\nm.f(1)"),
        (True, "import k.m as kernels\nkernels.f(1)"),
        (True, "import k.m\nk.m.f(1)"),
        (True, "from k.m import f\ncheck(f)"),
        (True, "from k.m import f\n@pytest.mark.parametrize('kernel', [f])\ndef test(): pass"),
        (True, "from k.m import f\ncheck(kernel=f)"),
        (False, "from k.m import f"),
        (False, "from k.m import f\nx = f"),
        (False, "from k import m\nm.g(1)"),
        (False, "from naive import f\nf(1)"),
        (False, "import naive\nnaive.f(1)"),
        (False, "from k.other import f\nf(1)"),
        (False, "from k.m import f\ncheck('f')"),
    ],
)
def test_what_counts_as_a_call(called, source):
    assert uncalled(["f"], "k.m", ast.parse(source)) == ([] if called else ["f"])


def without_kernels(test_files, kernel_files):
    """Tests of kernel files that are not there."""
    return sorted(set(test_files) - set(map(its_test, kernel_files)))


def test_every_test_of_kernels_has_its_kernels():
    assert not without_kernels(TESTS.rglob("test_*.py"), FILES_OF_KERNELS)
    gone = TESTS / "tree" / "test_gone.py"
    assert without_kernels([gone, TESTS / "tree" / "test_grow.py"], FILES_OF_KERNELS) == [gone]


# ---------------------------------------------------------------------------- names


def defined_twice(trees):
    """Names of classes with more than one definition, and where."""
    places = defaultdict(list)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path}:{node.lineno}")
    return {name: where for name, where in places.items() if len(where) > 1}


def constants_of_two_values(trees):
    """Names of constants with more than one value, and where."""
    values = defaultdict(dict)
    for path, tree in trees.items():
        for line, name, value in constants(tree):
            values[name][f"{path}:{line}"] = value
    return {name: found for name, found in values.items() if len(set(found.values())) > 1}


def listed(found):
    return "\n".join(f"{name}: {places}" for name, places in found.items())


def trees_of(paths):
    return {path.relative_to(PACKAGE): tree_of(path) for path in paths}


def test_no_two_classes_have_one_name():
    """Those of `fastml.spark` are named as pyspark's, which are named as scikit-learn's."""
    named_by_pyspark = PACKAGE / "spark"
    twice = defined_twice(trees_of(p for p in SOURCES if named_by_pyspark not in p.parents))
    assert not twice, listed(twice)


def test_constants_of_kernels_have_one_value():
    found = constants_of_two_values(trees_of(KERNEL_FILES))
    assert not found, listed(found)


def test_second_meanings_are_found():
    def parsed(**sources):
        return {name: ast.parse(source) for name, source in sources.items()}

    twice = parsed(a="class Rows: pass", b="def f():\n    class Rows: pass")
    assert defined_twice(twice) == {"Rows": ["a:1", "b:2"]}
    assert not defined_twice(parsed(a="class Rows: pass", b="from a import Rows"))
    values = constants_of_two_values(parsed(a="BLOCK = 256", b="BLOCK: int = 1024"))
    assert values == {"BLOCK": {"a:1": "256", "b:1": "1024"}}
    assert constants_of_two_values(parsed(a="A, BLOCK = 0, 1", b="BLOCK = 2")).keys() == {"BLOCK"}
    assert constants_of_two_values(parsed(a="A, B = range(2)", b="B, A = range(2)"))
    assert not constants_of_two_values(parsed(a="BLOCK = 256", b="BLOCK = 256\nblock = 1"))
    assert not constants_of_two_values(parsed(a="A, B = range(2)", b="B = 1"))
