"""Docstrings that several estimators share: an entry is written once and named where it belongs.

A line that holds nothing but ``{max_depth}`` in the docstring of a class or of one of its methods
stands for the entry of that name. `documented` puts the entry there, with the line's indentation::

    @documented(TREE_ENTRIES, kind="Classifier")
    class DecisionTreeClassifier:
        \"\"\"...

        Parameters
        ----------
        {max_depth}
        \"\"\"

Entries may hold words that differ from class to class, as ``$kind``.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from string import Template
from typing import Any, TypeVar

Documented = TypeVar("Documented", bound=Callable)

NAMED = re.compile(r"^([ \t]*)\{(\w+)\}$", re.MULTILINE)

COMMON = {
    "n_jobs": """
        n_jobs : int, default=None
            Threads; None means all cores. The result does not depend on it.
    """,
    "n_features_in_": """
        n_features_in_ : int
            Number of features seen during fit.
    """,
    "feature_names_in_": """
        feature_names_in_ : ndarray of shape (n_features_in_,)
            Names of features seen during fit, where ``X`` has names that are all strings.
    """,
    "min_samples_split": """
        min_samples_split : int or float, default=2
            A node with fewer rows is a leaf; a float is a share of all rows.
    """,
    "min_samples_leaf": """
    min_samples_leaf : int or float, default=1
        Splits that leave fewer rows on a side are not considered; a float is a share of all rows.
    """,
    "min_weight_fraction_leaf": """
        min_weight_fraction_leaf : float, default=0.0
            The same for the share of the weight.
    """,
}
"""Entries of more than one family."""


def documented(*tables: Mapping[str, str], **words: str) -> Callable[[Documented], Documented]:
    """Fill in the entries of ``tables`` that docstrings name; the last table that has one wins."""
    entries = dict(COMMON)
    for table in tables:
        entries.update(table)

    def decorate(thing: Documented) -> Documented:
        parts: list[Any] = [thing]
        if inspect.isclass(thing):
            parts += [value for value in vars(thing).values() if inspect.isfunction(value)]
        for part in parts:
            if part.__doc__:  # none with ``python -OO``
                part.__doc__ = filled(part.__doc__, entries, words, part.__qualname__)
        return thing

    return decorate


def filled(doc: str, entries: Mapping[str, str], words: Mapping[str, str], owner: str) -> str:
    """``doc`` with the entries that it names; an unknown name is an error at import."""

    def entry(match: re.Match) -> str:
        indent, name = match.groups()
        if name not in entries:
            raise KeyError(f"the docstring of {owner} names {name!r}, which is no shared entry")
        text = Template(inspect.cleandoc(entries[name])).substitute(words)
        return textwrap.indent(text, indent)

    return NAMED.sub(entry, doc)
