"""The rules of the house, read off the syntax tree; each comes with an example that breaks it."""

import ast
import functools
import re
import subprocess
from pathlib import Path

import pytest
from subprocesses import run_python

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "fastml"
KERNELS = PACKAGE / "kernels"
SOURCES = sorted(PACKAGE.rglob("*.py"))
KERNEL_FILES = [path for path in SOURCES if path.is_relative_to(KERNELS)]
COMMAND_LINE = {PACKAGE / "__main__.py", *(PACKAGE / "_cli").rglob("*.py")}
JIT, LINKING = PACKAGE / "_jit.py", PACKAGE / "_linking.py"
SIMD = {KERNELS / "simd.py", KERNELS / "simd_lloyd.py"}  # the files that write LLVM code
FOUNDATION = {"_jit", "_linking", "_threads", "_validation", "_registry"}
"""Files below the public modules; they import no public module."""

HEAVY = {
    "cluster", "covariance", "datasets", "decomposition", "discriminant_analysis", "ensemble",
    "feature_extraction", "feature_selection", "gaussian_process", "inspection", "linear_model",
    "manifold", "metrics", "mixture", "model_selection", "naive_bayes", "neighbors",
    "neural_network", "pipeline", "preprocessing", "semi_supervised", "svm", "tree",
}  # fmt: skip
"""scikit-learn's modules that a wrapper must not load when it is imported."""

MOST_LINES = 450


# ---------------------------------------------------------------------------- reading


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


# ---------------------------------------------------------------------------- the rules
# Each takes a tree and yields (line, what is wrong).


def numba_only_behind_the_door(tree):
    for line, name in imports(tree):
        if name.split(".")[0] in ("numba", "llvmlite"):
            yield line, f"imports {name}: only _jit.py, _linking.py and simd*.py do"


def kernels_import_kernels_only(tree):
    allowed = ("numpy", "math", "fastml._jit", "fastml.kernels", "typing.NamedTuple", "__future__")
    for line, name in imports(tree):
        if not any(name == start or name.startswith(start + ".") for start in allowed):
            yield line, f"imports {name}"


def no_numpy_random(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("np.random", "numpy.random"):
            yield node.lineno, "uses np.random: seeds come from outside, see kernels/rng.py"
    for line, name in imports(tree):
        if name.startswith(("numpy.random", "random")):
            yield line, f"imports {name}"


def no_uncached_compilation(tree):
    for line, name in names_used(tree):
        if name in ("jitclass", "guvectorize", "vectorize", "generated_jit", "cfunc"):
            yield line, f"{name} loses the on-disk cache"


def no_blanket_fastmath(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and ast.unparse(node) == "fastmath=True":
            yield node.value.lineno, "fastmath=True makes NaN and infinity meaningless"


def kernels_never_raise(tree):
    for function in kernel_functions(tree):
        for node in ast.walk(function):
            if isinstance(node, ast.Raise | ast.Assert | ast.Try):
                yield node.lineno, f"{function.name} raises or catches: return a status code"


def kernels_close_over_nothing(tree):
    for function in kernel_functions(tree):
        for node in ast.walk(function):
            if node is not function and isinstance(node, ast.FunctionDef | ast.Lambda):
                yield node.lineno, f"{function.name} holds a function: no closures"


def no_print(tree):
    """Allowed where the user asked for it: below ``if verbose``."""
    asked = {
        id(below)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "verbose" in ast.unparse(node.test)
        for below in ast.walk(node)
    }
    for node in ast.walk(tree):
        called = isinstance(node, ast.Call) and ast.unparse(node.func)
        if called == "print" and id(node) not in asked:
            yield node.lineno, "prints"


def light_imports(tree):
    for line, name in imports(tree, at_import_time=True):
        parts = name.split(".")
        if parts[0] == "sklearn" and len(parts) > 1 and parts[1] in HEAVY:
            yield line, f"imports {name} when it is imported: cold start is measured"


def foundation_imports_downwards(tree):
    for line, name in imports(tree):
        parts = name.split(".")
        below = parts[1] if len(parts) > 1 else ""
        if parts[0] == "fastml" and below not in FOUNDATION and below != "kernels":
            yield line, f"imports {name}, which stands above it"


def no_relative_imports(tree):
    for line, name in imports(tree):
        if name.startswith("."):
            yield line, f"relative import {name}"


PUBLIC = [
    p for p in SOURCES if p.parent != PACKAGE and p not in KERNEL_FILES and p not in COMMAND_LINE
]
RULES = {
    numba_only_behind_the_door: [
        p for p in SOURCES if p not in {JIT, LINKING} | SIMD | COMMAND_LINE
    ],
    kernels_import_kernels_only: [p for p in KERNEL_FILES if p not in SIMD],
    no_numpy_random: KERNEL_FILES,
    no_uncached_compilation: SOURCES,
    no_blanket_fastmath: SOURCES,
    kernels_never_raise: KERNEL_FILES,
    kernels_close_over_nothing: KERNEL_FILES,
    no_print: [p for p in SOURCES if p not in COMMAND_LINE],
    light_imports: PUBLIC,
    foundation_imports_downwards: [PACKAGE / f"{name}.py" for name in sorted(FOUNDATION)],
    no_relative_imports: SOURCES,
}

BREAKS = {
    numba_only_behind_the_door: ["import numba", "def f():\n    from numba.core import types"],
    kernels_import_kernels_only: [
        "import scipy",
        "from fastml._threads import chunk_rows",
        "from fastml.cluster import KMeans",
        "import numpyro",
    ],
    no_numpy_random: ["np.random.rand(3)", "from numpy.random import default_rng", "import random"],
    no_uncached_compilation: ["@numba.guvectorize\ndef f(): pass", "@jitclass\nclass A: pass"],
    no_blanket_fastmath: ["@njit(fastmath=True)\ndef f(): pass"],
    kernels_never_raise: [
        "@kernel\ndef f():\n    raise ValueError",
        "@kernel(fast_math=True)\ndef f(x):\n    assert x",
        "@parallel_kernel\ndef f(x):\n    try:\n        x()\n    finally:\n        pass",
    ],
    kernels_close_over_nothing: ["@kernel\ndef f():\n    return lambda x: x"],
    no_print: ["def fit(self):\n    print(1)", "if self.verbose:\n    pass\nprint(1)"],
    light_imports: [
        "from sklearn.metrics.pairwise import euclidean_distances",
        "import sklearn.cluster",
        "from sklearn import neighbors",
        "class A:\n    from sklearn.tree import _tree",
        "if True:\n    import sklearn.svm",
    ],
    foundation_imports_downwards: ["from fastml.cluster import KMeans", "import fastml._warmup"],
    no_relative_imports: ["from . import x", "from ..kernels import lloyd"],
}

KEEPS = {
    numba_only_behind_the_door: ["from fastml._jit import kernel"],
    kernels_import_kernels_only: ["import numpy as np", "from fastml.kernels import heap"],
    no_numpy_random: ["np.arange(3)"],
    kernels_never_raise: ["def check():\n    raise ValueError"],
    no_print: ["def fit(self):\n    if self.verbose:\n        print(1)"],
    light_imports: [
        "from sklearn.base import BaseEstimator",
        "def f():\n    from sklearn.metrics import r2_score",
        "if TYPE_CHECKING:\n    from sklearn.tree import Tree",
        "from sklearn.utils.validation import validate_data",
    ],
    foundation_imports_downwards: ["from fastml._jit import kernel"],
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
    for source in KEEPS.get(rule, ["x = 1"]):
        assert not list(rule(ast.parse(source))), source


# ---------------------------------------------------------------------------- files


@pytest.mark.parametrize("path", KERNEL_FILES, ids=lambda path: path.stem)
def test_kernel_file_is_short_and_tested(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES
    public = [f.name for f in kernel_functions(tree_of(path)) if not f.name.startswith("_")]
    if path.name == "__init__.py":
        assert not public
        return
    below = path.relative_to(KERNELS)
    test_file = ROOT / "tests" / "kernels" / below.with_name(f"test_{below.name}")
    assert test_file.exists(), f"no {test_file.relative_to(ROOT)}"
    tests = "\n".join(each.read_text() for each in test_file.parent.glob("test_*.py"))
    assert not untested(public, tests, definitions())


def words(source):
    return set(re.findall(r"\w+", source))


@functools.cache
def definitions():
    """Name of a function or class anywhere in fastml → the words of its body."""
    found = {}
    for path in SOURCES:
        for node in tree_of(path).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.setdefault(node.name, set()).update(words(ast.unparse(node)))
    return found


def untested(public, test_source, defined):
    """Public kernels that nothing named in the tests calls, at any depth."""
    reached, waiting = set(), words(test_source)
    while waiting:
        reached |= waiting
        waiting = set().union(*(defined.get(word, set()) for word in waiting)) - reached
    return [name for name in public if name not in reached]


def test_untested_kernel_is_found():
    defined = {"driver": {"driver", "sum_rows"}, "other": {"sum"}}
    assert untested(["sum_rows", "sum"], "from x import driver", defined) == ["sum"]


def tracked_files():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name]


MACHINE = re.compile(
    r"(?<![\w.:/$}>])/(?:home|root|Users|work|mnt|private|opt/venv)/[\w.]"  # someone's folders
    r"|https?://[^\s/\"']*(?:artifactory|nexus|devpi|pypi\.[a-z-]+\.(?:internal|local|corp))"
    r"|(?:index-url|index_url|extra-index-url)\s*[= ]\s*https?://"
    r"|https?://(?:10|127|192\.168)\.\d+\.\d+",
    re.IGNORECASE,
)


def test_no_machine_paths_or_registries_in_tracked_files():
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    found = []
    for path in tracked_files():
        if not path.exists() or path == Path(__file__) or path.suffix in (".png", ".ico"):
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if MACHINE.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("line", "machine"),
    [
        ("cd /home/ann/fastml", True),
        ("'/root/.cache'", True),
        ("pip install --index-url https://example.org/simple", True),
        ("https://nexus.example.com/repository", True),
        ("http://10.0.0.3:8080", True),
        ("https://scikit-learn.org/stable", False),
        ("ENV FASTML_CACHE_DIR=/opt/fastml-cache", False),
        ("/sys/fs/cgroup", False),
        ("$HOME/work/x", False),
    ],
)
def test_what_counts_as_a_machine_path(line, machine):
    assert bool(MACHINE.search(line)) is machine


# ---------------------------------------------------------------------------- at run time


def test_public_modules_load_no_heavy_part_of_scikit_learn():
    """What the rule on imports means, seen from outside: other modules could bring them along."""
    code = f"""
    import sys
    import sklearn.base, sklearn.utils.validation, sklearn.utils._param_validation
    before = set(sys.modules)
    import fastml
    for name in fastml._SUBMODULES:
        getattr(fastml, name)
    loaded = {{n.split(".")[1] for n in set(sys.modules) - before if n.startswith("sklearn.")}}
    print(sorted(loaded & {HEAVY!r}))
    """
    assert run_python(code).strip() == "[]"
