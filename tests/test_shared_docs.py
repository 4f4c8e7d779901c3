"""Docstrings that several estimators share."""

import pytest

from fastml._docs import documented

TABLE = {
    "depth": """
        depth : {'deep', 'flat'}
            Of the $kind.
    """
}


def test_entries_of_classes_and_their_methods():
    @documented(TABLE, kind="tree")
    class A:
        """A.

        Parameters
        ----------
        {depth}
        x : {array-like}
            Not an entry: {depth}.
        {n_jobs}
        """

        def fit(self):
            """Fit.

            {n_features_in_}
            """

    lines = [line.strip() for line in A.__doc__.splitlines()]
    assert lines[4:8] == ["depth : {'deep', 'flat'}", "Of the tree.", "x : {array-like}",
                          "Not an entry: {depth}."]  # fmt: skip
    assert lines[8] == "n_jobs : int, default=None"
    assert A.__doc__.splitlines()[5].startswith(" " * 12)  # indented below its name
    assert "n_features_in_ : int\n" in A.fit.__doc__


def test_a_later_table_goes_before_an_earlier_one():
    @documented(TABLE, {"depth": "depth : int"})
    def f():
        """
        {depth}
        """

    assert f.__doc__.split() == ["depth", ":", "int"]


def test_an_unknown_entry_is_an_error():
    def f():
        """
        {no_such_entry}
        """

    with pytest.raises(KeyError, match="no_such_entry"):
        documented(TABLE)(f)


def test_a_missing_word_is_an_error():
    def f():
        """
        {depth}
        """

    with pytest.raises(KeyError, match="kind"):
        documented(TABLE)(f)
