"""What a module may import: lower layers only, without cycles, and nothing private of others."""

import ast

import pytest
from import_graph import cycles, fastml_graph, graph_of_houses, import_graph, listing, module_name
from source_tree import ROOT, SOURCES, imports, tree_of

LAYERS = (
    {"_borrowing", "_frontend", "_native", "_sharing", "_sources"},
    {"_linking", "_prebuilt"},
    {"_docs", "_jit", "_sklearn"},
    {"_progress", "_threads", "_validation", "kernels"},
    {"_engines"},
    {"public"},
    {"_cases"},  # from here on, what serves the library as a whole
    {"_warmup"},
    {"_cli"},
    {"fastml", "__main__"},
)
"""From the bottom. A file imports from the layers below and from its own package; public packages
import each other."""

PUBLIC = LAYERS.index({"public"})

SHARED = {
    "_docs", "_engines", "_jit", "_progress", "_sklearn", "_threads", "_validation", "kernels",
}  # fmt: skip
"""Private packages and files that every package may import."""

EXEMPT = {"_jit", "_linking", "_warmup", "_cli", "_cases", "__main__"}
"""`_jit` has what is below it; the others compile and measure the library."""


def package_of(module: str) -> str:
    """The part after ``fastml``; ``fastml`` for the package itself."""
    return module.split(".")[1] if "." in module else module


def layer_of(module: str) -> int:
    package = package_of(module)
    known = [rank for rank, packages in enumerate(LAYERS) if package in packages]
    return known[0] if known else PUBLIC


# ---------------------------------------------------------------------------- rules on one file
# Each takes a module's name and tree and yields (line, what is wrong).


def imports_only_downwards(module, tree):
    own = layer_of(module)
    for line, name in imports(tree):
        if not name.startswith("fastml.") or package_of(name) == package_of(module):
            continue
        other = layer_of(name)
        if other > own or (other == own != PUBLIC):
            yield line, f"imports {name}, which does not stand below it"


def nothing_private_of_another_package(module, tree):
    modules = {}  # the name that a module has here → its full name
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and package_of(node.module or "") != package_of(module):
            modules |= {
                each.asname or each.name: f"{node.module}.{each.name}" for each in node.names
            }
    for line, name in imports(tree):
        package = package_of(name)
        if not name.startswith("fastml.") or package == package_of(module):
            continue
        own = package.startswith("_") and package not in SHARED
        if own or any(part.startswith("_") for part in name.split(".")[2:]):
            yield line, f"imports {name}"
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            continue
        name = modules.get(node.value.id, "")
        elsewhere = name in ALL_MODULES and package_of(name) != package_of(module)
        if elsewhere and node.attr.startswith("_") and not node.attr.startswith("__"):
            yield node.lineno, f"uses {name}.{node.attr}"


def scikit_learns_private_names_through_the_door(module, tree):
    def is_private(name):
        parts = name.split(".")
        return parts[0] == "sklearn" and any(
            part.startswith("_") and not part.startswith("__") for part in parts
        )

    full_names = {}  # the name of a module or function of scikit-learn here → its full name
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            start = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                known_as = alias.asname or (alias.name if start else alias.name.split(".")[0])
                full_names[known_as] = start + (alias.name if alias.asname or start else known_as)
    for line, name in imports(tree):
        if is_private(name):
            yield line, f"imports {name}: add it to _sklearn.py"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, _, rest = ast.unparse(node).partition(".")
            name = f"{full_names.get(first, first)}.{rest}"
            if is_private(name):
                yield node.lineno, f"uses {name}: add it to _sklearn.py"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value
            if name.replace(".", "").isidentifier() and is_private(name):
                yield node.lineno, f"names {name}: add it to _sklearn.py"


def engines_hold_no_estimators(module, tree):
    for line, name in imports(tree):
        if name.startswith("sklearn.base."):
            yield line, f"imports {name}: estimators are for public packages"


ALL_MODULES = {module_name(path): path for path in SOURCES}
RULES = {
    imports_only_downwards: set(ALL_MODULES),
    nothing_private_of_another_package: {m for m in ALL_MODULES if package_of(m) not in EXEMPT},
    scikit_learns_private_names_through_the_door: set(ALL_MODULES) - {"fastml._sklearn"},
    engines_hold_no_estimators: {m for m in ALL_MODULES if package_of(m) == "_engines"},
}

BREAKS = {
    imports_only_downwards: [
        ("fastml._engines.search.radius", "from fastml.neighbors import KDTree"),
        ("fastml._engines.rows", "def f():\n    from fastml.metrics import pairwise_distances"),
        ("fastml.kernels.tree.grow", "from fastml._engines.trees import tree"),
        ("fastml.kernels.tree.grow", "from fastml._threads import chunk_rows"),
        ("fastml._threads", "from fastml.kernels.numeric.rng import seed"),
        ("fastml._jit", "import fastml._threads"),
        ("fastml.cluster._dbscan", "from fastml import _warmup"),
        ("fastml._validation", "from fastml.cluster import KMeans"),
    ],
    nothing_private_of_another_package: [
        ("fastml.cluster._dbscan", "from fastml.neighbors._space_trees import KDTree"),
        ("fastml.cluster._dbscan", "def f():\n    import fastml.neighbors._base"),
        ("fastml.cluster._dbscan", "from fastml.metrics.pairwise import _nearest"),
        ("fastml.cluster._dbscan", "from fastml._linking import adopt"),
        ("fastml.svm._base", "from fastml._engines import smo\nsmo._solve()"),
        ("fastml.svm._base", "from fastml._engines import smo as engine\nengine._solve()"),
    ],
    scikit_learns_private_names_through_the_door: [
        ("fastml.svm._base", "from sklearn.utils._param_validation import Interval"),
        ("fastml.svm._base", "from sklearn.base import _fit_context"),
        ("fastml.svm._base", "import sklearn.utils\nsklearn.utils._safe_indexing(X, 1)"),
        ("fastml.svm._base", "import sklearn.utils as u\nu._safe_indexing(X, 1)"),
        ("fastml.svm._base", "from sklearn import utils\nutils._safe_indexing(X, 1)"),
        ("fastml.svm._base", "from sklearn.utils import validation as v\nv._num_samples(X)"),
        ("fastml.svm._base", "import_module('sklearn.utils._param_validation')"),
    ],
    engines_hold_no_estimators: [("fastml._engines.em", "from sklearn.base import BaseEstimator")],
}

KEEPS = {
    imports_only_downwards: [
        ("fastml.cluster._choose_k", "from fastml.mixture import GaussianMixture"),
        ("fastml._engines.smo", "from fastml._engines.gram import sources"),
        ("fastml._threads", "from fastml._jit import numba_thread_mask"),
        ("fastml._warmup", "from fastml.cluster import KMeans"),
        ("fastml._cli.bench", "from fastml._cli.case import Case"),
    ],
    nothing_private_of_another_package: [
        ("fastml.cluster._dbscan", "from fastml.neighbors import KDTree"),
        ("fastml.cluster._dbscan", "from fastml.cluster._kmeans._base import BaseKMeans"),
        ("fastml.cluster._dbscan", "from fastml._engines.kmeans.rows import DenseRows"),
        ("fastml.svm._base", "self._solve()\nfrom fastml._engines import smo\nsmo.solve()"),
        ("fastml.svm._base", "from fastml.tree import Tree\nTree._made()"),
    ],
    scikit_learns_private_names_through_the_door: [
        ("fastml.svm._base", "from sklearn.base import BaseEstimator"),
        ("fastml.svm._base", "from fastml._sklearn import fit_context"),
        ("fastml.svm._base", "from sklearn import utils\nutils.check_array(X)\nself._utils"),
        ("fastml.svm._base", "import sklearn\nsklearn.__version__"),
    ],
    engines_hold_no_estimators: [("fastml._engines.em", "from sklearn.utils import check_array")],
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule(rule):
    assert RULES[rule], "the rule covers no file"
    found = [
        f"{ALL_MODULES[module].relative_to(ROOT)}:{line}: {what}"
        for module in sorted(RULES[rule])
        for line, what in rule(module, tree_of(ALL_MODULES[module]))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_can_fail(rule):
    for module, source in BREAKS[rule]:
        assert list(rule(module, ast.parse(source))), source
    for module, source in KEEPS[rule]:
        assert not list(rule(module, ast.parse(source))), source


# ---------------------------------------------------------------------------- cycles


def test_modules_have_no_import_cycles():
    assert not cycles(fastml_graph())


def test_packages_engines_and_rooms_have_no_import_cycles():
    assert not cycles(graph_of_houses(fastml_graph()))


def circles(**sources):
    """Cycles of a small package ``p``; ``a__b`` stands for the module ``p.a.b``."""
    named = {
        ".".join(("p", *name.split("__"))): ast.parse(source) for name, source in sources.items()
    }
    graph = import_graph({"p": ast.parse(""), **named})
    return [[name.removeprefix("p.") for name in circle] for circle in cycles(graph)]


def test_cycles_are_found():
    assert circles(a="import p.b", b="from p import a") == [["a", "b"]]
    assert circles(a="import p.b", b="def f():\n    from p.a import x") == [["a", "b"]]
    assert circles(a="import p.b", b="import p.c", c="import p.a") == [["a", "b", "c"]]
    assert circles(a="HOMES = {'x': 'p.b'}", b="import p.a") == [["a", "b"]], "a lazy table"
    package = {"a": "from p.a.x import f", "a__x": "import p.b"}
    assert circles(**package, b="from p.a import f") == [["a", "a.x", "b"]]
    assert circles(**package, b="from p.a.y import g", a__y="") == [["a", "a.x", "b"]], "p.a is run"


def test_what_is_no_cycle():
    assert not circles(a="import p.b", b="import numpy", c="import p.b\nimport p.a")
    assert not circles(a="from p.a.x import f", a__x="from p.a.y import g", a__y="")
    assert not circles(a="import p.b", b="'''See p.a.'''")


def test_cycles_of_packages_are_found_where_modules_have_none():
    modules = {"fastml.a.x": {"fastml.b.x"}, "fastml.b.y": {"fastml.a.y"}}
    assert not cycles(modules)
    assert cycles(graph_of_houses(modules)) == [["fastml.a", "fastml.b"]]
    rooms = {"fastml.kernels.a.x": {"fastml.kernels.b.x"}, "fastml.kernels.b.y": {"fastml._jit"}}
    assert not cycles(graph_of_houses(rooms))


# ---------------------------------------------------------------------------- the picture


def test_contributing_shows_the_graph():
    shown = (ROOT / "CONTRIBUTING.md").read_text()
    assert listing() in shown, "run `python tests/import_graph.py` and paste what it prints"
