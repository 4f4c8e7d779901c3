"""The rules of the house for single files; each comes with an example that breaks it.

The rules on imports are in `house/test_imports`, those on names, kernels and their tests in
`house/test_kernels`.
"""

import ast
import re
import subprocess
from pathlib import Path

import pytest
from source_tree import (
    COMMAND_LINE,
    KERNEL_FILES,
    KERNELS,
    PACKAGE,
    ROOT,
    SOURCES,
    imports,
    kernel_functions,
    names_used,
    tree_of,
)
from subprocesses import run_python

JIT = PACKAGE / "_jit.py"
BEHIND_IT = {PACKAGE / f"{name}.py" for name in ("_borrowing", "_frontend", "_linking", "_sharing")}
SIMD = {  # the files that write LLVM code
    KERNELS / f"{name}.py"
    for name in (
        "numeric/vector_code",
        "numeric/prefetch",
        "neighbors/panel",
        "cluster/lloyd_registers",
        "decomposition/symmetric_block",
        "linalg/panel_products",
        "neighbors/packet_code",
    )
}

HEAVY = {
    "cluster", "covariance", "datasets", "decomposition", "discriminant_analysis", "ensemble",
    "feature_extraction", "feature_selection", "gaussian_process", "inspection", "linear_model",
    "manifold", "metrics", "mixture", "model_selection", "naive_bayes", "neighbors",
    "neural_network", "pipeline", "preprocessing", "semi_supervised", "svm", "tree",
}  # fmt: skip
"""scikit-learn's modules that a wrapper must not load when it is imported."""


# ---------------------------------------------------------------------------- the rules
# Each takes a tree and yields (line, what is wrong).


def numba_only_behind_the_door(tree):
    for line, name in imports(tree):
        if name.split(".")[0] in ("numba", "llvmlite"):
            yield (
                line,
                f"imports {name}: only _jit.py, what stands behind it and files of LLVM code do",
            )


def kernels_import_kernels_only(tree):
    allowed = ("numpy", "math", "fastml._jit", "fastml.kernels", "typing.NamedTuple", "__future__")
    for line, name in imports(tree):
        if not any(name == start or name.startswith(start + ".") for start in allowed):
            yield line, f"imports {name}"


def no_numpy_random(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("np.random", "numpy.random"):
            yield node.lineno, "uses np.random: seeds come from outside, see kernels/numeric/rng.py"
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


def docstrings_are_shared_in_one_way(tree):
    for node in ast.walk(tree):
        is_docstring = isinstance(node, ast.Attribute) and node.attr == "__doc__"
        if is_docstring and isinstance(node.ctx, ast.Store):
            yield node.lineno, "makes a docstring: `documented` of fastml/_docs.py does that"


def no_relative_imports(tree):
    for line, name in imports(tree):
        if name.startswith("."):
            yield line, f"relative import {name}"


WRAPPERS = [
    p for p in SOURCES if p.parent != PACKAGE and p not in KERNEL_FILES and p not in COMMAND_LINE
]
RULES = {
    numba_only_behind_the_door: [
        p for p in SOURCES if p not in {JIT, *BEHIND_IT} | SIMD | COMMAND_LINE
    ],
    kernels_import_kernels_only: [p for p in KERNEL_FILES if p not in SIMD],
    no_numpy_random: KERNEL_FILES,
    no_uncached_compilation: SOURCES,
    no_blanket_fastmath: SOURCES,
    kernels_never_raise: KERNEL_FILES,
    kernels_close_over_nothing: KERNEL_FILES,
    no_print: [p for p in SOURCES if p not in COMMAND_LINE],
    light_imports: WRAPPERS,
    docstrings_are_shared_in_one_way: [p for p in SOURCES if p not in {JIT, PACKAGE / "_docs.py"}],
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
    docstrings_are_shared_in_one_way: ["f.__doc__ = 'Text.'", "A.fit.__doc__ += more"],
    no_relative_imports: ["from . import x", "from ..kernels import lloyd"],
}

KEEPS = {
    numba_only_behind_the_door: ["from fastml._jit import kernel"],
    kernels_import_kernels_only: ["import numpy as np", "from fastml.kernels import heap"],
    no_numpy_random: ["np.arange(3)"],
    kernels_never_raise: ["def check():\n    raise ValueError"],
    no_print: ["def fit(self):\n    if self.verbose:\n        print(1)"],
    docstrings_are_shared_in_one_way: ["text = f.__doc__"],
    light_imports: [
        "from sklearn.base import BaseEstimator",
        "def f():\n    from sklearn.metrics import r2_score",
        "if TYPE_CHECKING:\n    from sklearn.tree import Tree",
        "from sklearn.utils.validation import validate_data",
    ],
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


def test_fastml_itself_loads_no_other_library():
    code = """
    import sys
    import fastml
    assert "cluster" in dir(fastml)
    print(sorted({"numba", "sklearn", "scipy", "numpy"} & set(sys.modules)))
    """
    assert run_python(code).strip() == "[]"


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
