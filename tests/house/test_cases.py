"""One declaration of work: every public estimator has a case, families are public modules."""

import ast
import sys

import readme_map
import specimens
from source_tree import PACKAGE, imports, tree_of

import fastml
from fastml._cases._case import FAMILIES, cases, family_of

FILES = sorted((PACKAGE / "_cases").glob("*.py"))
LIGHT = {*sys.stdlib_module_names, "numpy", "fastml"}


def without_case(estimators, declared):
    """Public estimators that no case works with."""
    paths = {case.path for case in declared}
    return sorted(path for path in estimators if path not in paths)


def test_every_public_estimator_has_a_case():
    estimators = specimens.estimators()
    assert without_case(estimators, cases()) == []
    assert without_case([*estimators, "cluster.NoCase"], cases()) == ["cluster.NoCase"]


def test_a_family_is_a_public_module_and_its_cases_are_from_there():
    assert set(fastml._SUBMODULES) - set(FAMILIES) <= {"accelerate", "plot"}
    for family in FAMILIES:
        assert cases(family), family
        assert {family_of(case) for case in cases(family)} == {family}


def heavy_imports(tree):
    """Names imported with a file of cases beyond the standard library, NumPy and other cases."""
    return [
        name
        for _, name in imports(tree, at_import_time=True)
        if name.split(".")[0] not in LIGHT
        or (name.startswith("fastml") and not name.startswith("fastml._cases"))
    ]


def test_cases_load_nothing_but_numpy():
    found = {path.name: heavy_imports(tree_of(path)) for path in FILES}
    assert not any(found.values()), found
    for source in ("import scipy", "from fastml.cluster import KMeans", "import sklearn.svm"):
        assert heavy_imports(ast.parse(source)), source
    assert not heavy_imports(ast.parse("import numpy as np\ndef f():\n    import scipy"))


def test_the_readme_shows_the_map():
    shown = readme_map.section(readme_map.README.read_text())
    assert shown == readme_map.table(), "run `python tests/readme_map.py`"
    for module in set(fastml._SUBMODULES) - {"accelerate"}:  # which has a page of its own
        assert f"| `fastml/{module}" in shown, f"{module} has no row"


def test_the_map_knows_what_a_module_reaches():
    graph = {
        "fastml.a.x": {"fastml.a._y", "fastml.b", "fastml.kernels.numeric.exp"},
        "fastml.a._y": {"fastml._engines.rows"},
        "fastml._engines.rows": {"fastml.kernels.linear.rows"},
        "fastml.b": {"fastml.kernels.tree.grow"},
    }
    assert readme_map.rooms_of("fastml.a.x", graph) == {"linear"}
