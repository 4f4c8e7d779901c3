"""Entries of docstrings that several decision trees share."""

from __future__ import annotations

TREE_ENTRIES = {
    "splitter": """
    splitter : {'best', 'random'}, default='best'
        The best threshold of every column, or one at random between its smallest and largest value.
    """,
    "max_depth": """
    max_depth : int, default=None
        Most splits from the root to a leaf; None means no limit.
    """,
    "max_features": """
    max_features : int, float, {'sqrt', 'log2'} or None, default=None
        Columns drawn at every node; a float is a share of them, None and more than there are mean
        all. Further columns are drawn until one is not constant.
    """,
    "random_state": """
    random_state : int, RandomState instance or None, default=None
        Randomness of the columns drawn, of random thresholds and of ties between columns.
    """,
    "max_leaf_nodes": """
    max_leaf_nodes : int, default=None
        Grow best first until there are this many leaves.
    """,
    "min_impurity_decrease": """
    min_impurity_decrease : float, default=0.0
        A node is split if that lowers the impurity, weighted by its share of the rows, at least so
        much.
    """,
    "class_weight": """
    class_weight : dict, list of dict or 'balanced', default=None
        Weights of the classes; 'balanced' gives every class the same total weight.
    """,
    "ccp_alpha": """
    ccp_alpha : non-negative float, default=0.0
        Cost-complexity pruning: the smallest tree that minimises impurity + ccp_alpha · leaves.
    """,
    "monotonic_cst": """
    monotonic_cst : array-like of int of shape (n_features,), default=None
        1, 0, -1: the probability of the second class rises with the column, is free, falls. One
        output and two classes only.
    """,
    "categorical_features": """
    categorical_features : array-like of bool, int or str, default=None
        Columns (mask, indices or names) that hold category codes 0, 1, ... below 1024. They are
        split by subsets of categories. A category that a node has not seen goes to the side with
        more rows. Not in scikit-learn.
    """,
    "n_jobs": """
    n_jobs : int, default=None
        Threads; None means all cores. The tree does not depend on it.
    """,
    "classes_": """
    classes_ : ndarray of shape (n_classes,), or a list of such arrays
        The labels, per output.
    """,
    "n_classes_": """
    n_classes_ : int or array of int
        Their number, per output.
    """,
    "feature_importances_": """
    feature_importances_ : ndarray of shape (n_features,)
        Each column's share of the decrease of impurity.
    """,
    "max_features_": """
    max_features_ : int
        Columns drawn at a node.
    """,
    "n_outputs_": """
    n_outputs_ : int
        Number of outputs.
    """,
    "tree_": """
    tree_ : Tree
        The tree under scikit-learn's array names.
    """,
}
