"""`fastml._sklearn`, the one file that knows scikit-learn's private names."""

import importlib

import pytest
from source_tree import SOURCES, imports, tree_of
from subprocesses import run_python

from fastml import _sklearn


@pytest.mark.parametrize("name", _sklearn.HOMES)
def test_the_name_is_there(name):
    module, _, private = _sklearn.HOMES[name].rpartition(".")
    assert getattr(_sklearn, name) is getattr(importlib.import_module(module), private)


def test_every_name_is_private_and_used():
    used = {name for path in SOURCES for _, name in imports(tree_of(path))}
    assert not [name for name in _sklearn.HOMES if f"fastml._sklearn.{name}" not in used]
    assert all("._" in home for home in _sklearn.HOMES.values())


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = _sklearn.no_such_name


def test_importing_it_loads_nothing_of_scikit_learn():
    code = "import sys, fastml._sklearn; print([m for m in sys.modules if m.startswith('sklearn')])"
    assert run_python(code).strip() == "[]"
