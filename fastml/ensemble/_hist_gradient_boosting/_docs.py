"""Entries of docstrings that the two estimators on bins share."""

from __future__ import annotations

HIST_ENTRIES = {
    "learning_rate": """
    learning_rate : float, default=0.1
        Factor of every leaf value.
    """,
    "max_iter": """
    max_iter : int, default=100
        Most iterations; each adds a tree (one per class if there are more than two).
    """,
    "max_leaf_nodes": """
    max_leaf_nodes : int or None, default=31
        Most leaves of a tree; None means no limit.
    """,
    "max_depth": """
    max_depth : int or None, default=None
        Most edges from the root to a leaf.
    """,
    "min_samples_leaf": """
    min_samples_leaf : int, default=20
        Fewest rows of a leaf.
    """,
    "l2_regularization": """
    l2_regularization : float, default=0
        Lambda, added to the hessian sums.
    """,
    "max_features": """
    max_features : float, default=1.0
        Share of the features that are drawn for every split.
    """,
    "max_bins": """
    max_bins : int, default=255
        Most bins of a feature; missing values have one more.
    """,
    "monotonic_cst": """
    monotonic_cst : array-like of int, dict or None, default=None
        1 (predictions rise with the feature), -1 (fall) or 0, per feature or by name.
    """,
    "interaction_cst": """
    interaction_cst : {"pairwise", "no_interactions"} or sequence of sets of int, default=None
        Sets of features that may meet on one path from root to leaf.
    """,
    "warm_start": """
    warm_start : bool, default=False
        Whether fit adds trees to those there are.
    """,
    "early_stopping": """
    early_stopping : 'auto' or bool, default='auto'
        Whether to stop when the score no longer rises; 'auto' does with more than 10,000 rows, or
        where ``X_val`` is given.
    """,
    "scoring": """
    scoring : str, callable or None, default='loss'
        The score: 'loss', a name or scorer of scikit-learn, or None for the method ``score``.
    """,
    "validation_fraction": """
    validation_fraction : int, float or None, default=0.1
        Rows set aside to score; None scores the training rows.
    """,
    "n_iter_no_change": """
    n_iter_no_change : int, default=10
        Iterations without a better score before fit stops.
    """,
    "tol": """
    tol : float, default=1e-7
        How much better counts.
    """,
    "verbose": """
    verbose : int, default=0
        1 prints a summary, 2 a line per iteration.
    """,
    "random_state": """
    random_state : int, RandomState instance or None, default=None
        Randomness of the rows set aside, of the rows that bins are taken from, and of draws.
    """,
    "l1_regularization": """
    l1_regularization : float, default=0
        Alpha: gradient sums are pulled towards zero by it.
    """,
    "gamma": """
    gamma : float, default=0
        A split must lower the loss by more than this; a negative one allows splits that do not.
    """,
    "grow_policy": """
    grow_policy : {'leaf-wise', 'depth-wise'}, default='leaf-wise'
        Split the leaf of highest gain next, or level by level.
    """,
    "keep_best": """
    keep_best : bool, default=False
        With early stopping, drop the trees after the best iteration.
    """,
    "init": """
    init : float or None, default=None
        Raw prediction to start from; None means the best constant.
    """,
    "n_jobs": """
    n_jobs : int, default=None
        Threads; None means all cores. The model does not depend on it.
    """,
    "do_early_stopping_": """
    do_early_stopping_ : bool
        Whether early stopping was on.
    """,
    "n_iter_": """
    n_iter_ : int
        Iterations done.
    """,
    "n_trees_per_iteration_": """
    n_trees_per_iteration_ : int
        Trees of an iteration.
    """,
    "train_score_": """
    train_score_ : ndarray of shape (n_iter_ + 1,)
        Scores of training rows before the first and after every iteration; empty without early
        stopping.
    """,
    "validation_score_": """
    validation_score_ : ndarray of shape (n_iter_ + 1,)
        The same of the validation rows.
    """,
    "is_categorical_": """
    is_categorical_ : ndarray of shape (n_features,) or None
        Which features are categorical; None if none is.
    """,
    "feature_importances_": """
    feature_importances_ : ndarray of shape (n_features,)
        Shares of the total gain; see `importances` for other kinds.
    """,
}
