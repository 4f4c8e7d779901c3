"""What is known of the kernels' source files is what their syntax trees say, parsed or kept."""

import ast
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from source_tree import KERNELS

from fastml import _jit, _sources

FILES = sorted(KERNELS.rglob("*.py"))


def drivers_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            yield node


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(KERNELS)))
def test_drivers_of_every_kernel_file(path):
    """Cut out of the file and parsed alone, line numbers and all."""
    for node in drivers_of(ast.parse(path.read_text())):
        code = SimpleNamespace(co_filename=str(path), co_firstlineno=node.decorator_list[0].lineno)
        func = SimpleNamespace(__closure__=None, __code__=code, __name__=node.name)
        found = _sources.driver(func)
        assert ast.dump(found, include_attributes=True) == ast.dump(node, include_attributes=True)


@pytest.mark.parametrize(
    "body",
    [
        '    """Text\nat the left edge."""\n    return x + 1\n',
        "    y = (x +\n1)\n    return y\n",
        "    y = x + \\\n1\n    return y\n",
        "    y = x\n# a remark at the left edge\n    return y\n",
        "    return x",
    ],
)
def test_lines_at_the_left_edge(tmp_path, body):
    path = tmp_path / "odd.py"
    path.write_text(
        f"import os\n@decorated\ndef f(\n    x,\n):\n{body}\n\n@decorated\ndef g():\n    pass\n"
    )
    code = SimpleNamespace(co_filename=str(path), co_firstlineno=2)
    func = SimpleNamespace(__closure__=None, __code__=code, __name__="f")
    expected = next(drivers_of(ast.parse(path.read_text())))
    assert ast.dump(_sources.driver(func), include_attributes=True) == ast.dump(
        expected, include_attributes=True
    )


def test_closures_and_other_functions_have_no_driver():
    path = KERNELS / "cluster" / "lloyd.py"
    code = SimpleNamespace(co_filename=str(path), co_firstlineno=1)
    assert _sources.driver(SimpleNamespace(__closure__=(), __code__=code, __name__="f")) is None
    assert _sources.driver(SimpleNamespace(__closure__=None, __code__=code, __name__="f")) is None


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1}', '{"a": null}', "null"])
def test_kept_imports_that_are_not_valid_are_none(tmp_path, content):
    (tmp_path / "imports.json").write_text(content)
    assert _sources.read_imports(tmp_path / "imports.json") == {}


def test_what_was_parsed_is_kept_beside_what_others_kept(tmp_path, monkeypatch):
    kept = tmp_path / "imports.json"
    monkeypatch.setattr(_sources, "found", {"new": ["tree.grow"]})
    kept.write_text('{"old": []}')
    text = _sources.to_keep(kept)
    assert json.loads(text) == {"old": [], "new": ["tree.grow"]}
    kept.write_text(text)
    assert _sources.to_keep(kept) is None


def test_kept_imports_are_used_for_a_file_of_that_content_only(tmp_path, monkeypatch):
    path = tmp_path / "file.py"
    path.write_text("from fastml.kernels.tree.grow import f\n")
    before = _sources.Source(path)
    monkeypatch.setattr(_sources, "_known_imports", lambda: {before.digest: ["tree.walk"]})
    assert before.imported == [KERNELS / "tree" / "walk.py"]
    path.write_text("from fastml.kernels.tree.nodes import f\n")
    assert _sources.Source(path).imported == [KERNELS / "tree" / "nodes.py"]


@pytest.mark.skipif(not _jit.jit_enabled(), reason="nothing is compiled")
def test_symbols_that_llvm_knows_need_no_refresh_and_others_are_an_error():
    class Context:
        refreshed = 0

        def refresh(self):
            self.refreshed += 1

    context = Context()
    _jit._supply(["memcpy", "NRT_MemInfo_alloc_aligned"], context)
    assert context.refreshed == 0
    with pytest.raises(LookupError, match="no_such_symbol"):
        _jit._supply(["memcpy", "no_such_symbol"], context)
    assert context.refreshed == 1


def test_paths_outside_the_package_are_named_by_file(tmp_path):
    (tmp_path / "probe.py").write_text("")
    assert _sources.Source(tmp_path / "probe.py").mark.startswith(b"probe.py ")
    assert isinstance(_sources.KERNELS, Path)
