"""Documentation that runs and is true: README code blocks, docstrings against signatures."""

import contextlib
import inspect
import io
import re
from pathlib import Path

import pytest
import specimens

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
PUBLIC = {**specimens.estimators(), **specimens.other_classes(), **specimens.functions()}


# ---------------------------------------------------------------------------- code blocks


def code_blocks(text: str) -> list[tuple[int, str]]:
    """(line, source) of every fenced ``python`` block."""
    found = re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(text[: match.start()].count("\n") + 2, match.group(1)) for match in found]


def run_blocks(text: str, name: str) -> None:
    """Run a page's blocks one after the other, in one namespace, as a reader would."""
    namespace: dict = {"__name__": "__page__"}
    for line, source in code_blocks(text):
        exec(compile("\n" * (line - 1) + source, name, "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()):
        run_blocks(page.read_text(), str(page))


def test_readme_has_an_example_of_ten_lines():
    blocks = code_blocks((ROOT / "README.md").read_text())
    assert blocks
    assert any("fastml" in source for _, source in blocks)


def test_a_broken_block_fails():
    page = (
        "text\n\n```python\nx = 1\n```\n\n```\nnot python\n```\n\n```python\nassert x == 2\n```\n"
    )
    assert code_blocks(page) == [(4, "x = 1\n"), (12, "assert x == 2\n")]
    with pytest.raises(AssertionError) as failure:
        run_blocks(page, "page.md")
    assert failure.traceback[-1].lineno == 11  # counted from zero: line 12 of the page


# ---------------------------------------------------------------------------- docstrings


def section(docstring: str | None, title: str) -> list[str] | None:
    """Names documented in a numpydoc section, or None without it."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    for i, line in enumerate(lines[:-1]):
        if line == title and re.fullmatch(r"-{3,}", lines[i + 1]):
            names: list[str] = []
            for entry, following in zip(lines[i + 2 :], [*lines[i + 3 :], ""]):
                if re.fullmatch(r"-{3,}", following):
                    break
                if entry and not entry[0].isspace() and re.match(r"[\w*\\]", entry):
                    names += [n.strip() for n in entry.partition(" :")[0].split(",")]
            return [name.replace("\\", "").lstrip("*") for name in names]
    return None


def documented_parameters(function, docstring) -> str | None:
    """What is wrong with the section on parameters, or None."""
    given = [name for name in inspect.signature(function).parameters if name != "self"]
    told = section(docstring, "Parameters")
    if told is None:
        return f"no section for {given}" if given else None
    return None if sorted(told) == sorted(given) else f"documented {told}, accepted {given}"


@pytest.mark.parametrize(("path", "value"), PUBLIC.items(), ids=list(PUBLIC))
def test_parameters_are_documented(path, value):
    assert (value.__doc__ or "").strip(), "no docstring"
    first = inspect.cleandoc(value.__doc__).splitlines()[0]
    assert first.endswith("."), f"the first line is not a sentence: {first!r}"
    accepts = value.__init__ if inspect.isclass(value) else value
    assert documented_parameters(accepts, value.__doc__) is None


@pytest.mark.parametrize(("path", "value"), PUBLIC.items(), ids=list(PUBLIC))
def test_there_is_an_example(path, value):
    assert ">>> " in value.__doc__


@pytest.mark.parametrize(
    ("path", "cls"), specimens.estimators().items(), ids=list(specimens.estimators())
)
def test_public_methods_are_documented(path, cls):
    wrong = {}
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if name.startswith("_") or not method.__module__.startswith("fastml"):
            continue
        if not (method.__doc__ or "").strip():
            wrong[name] = "no docstring"
        elif section(method.__doc__, "Parameters") is not None:
            wrong[name] = documented_parameters(method, method.__doc__)
    assert not any(wrong.values()), {k: v for k, v in wrong.items() if v}


@pytest.mark.parametrize(
    ("path", "cls"), specimens.estimators().items(), ids=list(specimens.estimators())
)
def test_attributes_are_documented(path, cls):
    import pandas as pd

    X = pd.DataFrame(specimens.rows(), columns=list("abcd"))
    told = set(section(cls.__doc__, "Attributes") or [])
    seen, always = set(), None
    for parameters in specimens.variants(cls):
        estimator = specimens.fitted(specimens.make(cls, **parameters), X)
        found = set(specimens.attributes(estimator))
        seen |= found
        always = found if always is None else always & found
    assert seen == told, f"not documented: {seen - told}; not there: {told - seen}"


@pytest.mark.parametrize(
    ("docstring", "wrong"),
    [
        (
            "Do.\n\nParameters\n----------\na : int\n    One.\nb : {1, 2}, default=2\n    Two.\n",
            False,
        ),
        (
            "Do.\n\nParameters\n----------\na, b : int\n    Both.\n\nReturns\n-------\nc : int\n",
            False,
        ),
        ("Do.\n\nParameters\n----------\nb : int\n    Two.\na : int\n    One.\n", False),
        ("Do.\n\nParameters\n----------\na : int\n    One.\na : int\n    One.\n", True),
        ("Do.\n\nParameters\n----------\na : int\n    One.\nc : int\n    Two.\n", True),
        ("Do.\n\nParameters\n----------\na : int\n    One.\n", True),
        ("Do.", True),
    ],
)
def test_documentation_check(docstring, wrong):
    def function(a, b=2):
        pass

    assert (documented_parameters(function, docstring) is not None) is wrong
