"""Types of trees that scikit-learn's plots and exports accept."""

from __future__ import annotations


def register_with_scikit_learn(*classes) -> None:
    """Make our classes virtual subclasses of scikit-learn's: `plot_tree` and others check types."""
    import sklearn.tree

    for own in classes:
        theirs = getattr(sklearn.tree, own.__name__, None)
        if theirs is not None and theirs.__module__.startswith("sklearn."):
            theirs.register(own)
