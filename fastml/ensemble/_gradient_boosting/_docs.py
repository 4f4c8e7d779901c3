"""Entries of docstrings that the two gradient boosting estimators share."""

from __future__ import annotations

STAGE_ENTRIES = {
    "n_estimators": """
    n_estimators : int, default=100
        Number of stages.
    """,
    "subsample": """
    subsample : float, default=1.0
        Share of the rows that a stage is fitted to; below 1 the rows left out give the out-of-bag
        attributes (Friedman, 2002).
    """,
    "criterion": """
    criterion : {'squared_error', 'friedman_mse'}, default='deprecated'
        Has no effect (both rank splits alike); deprecated, as in scikit-learn 1.9.
    """,
    "max_depth": """
    max_depth : int or None, default=3
        Most splits from the root to a leaf.
    """,
    "min_impurity_decrease": """
    min_impurity_decrease : float, default=0.0
        A node is split if that lowers its squared error, weighted by its share of the rows, at
        least so much.
    """,
    "random_state": """
    random_state : int, RandomState instance or None, default=None
        Randomness of ``subsample``, of ``max_features``, of ties between columns and of the part
        kept aside.
    """,
    "max_features": """
    max_features : int, float, {'sqrt', 'log2'} or None, default=None
        Columns drawn at every node; a float is a share of them, None means all.
    """,
    "verbose": """
    verbose : int, default=0
        1 prints progress now and then, more prints every stage.
    """,
    "max_leaf_nodes": """
    max_leaf_nodes : int, default=None
        Grow best first until there are this many leaves.
    """,
    "warm_start": """
    warm_start : bool, default=False
        Whether another call of `fit` adds stages up to ``n_estimators``.
    """,
    "validation_fraction": """
    validation_fraction : float, default=0.1
        Share of the rows kept aside where ``n_iter_no_change`` is set.
    """,
    "n_iter_no_change": """
    n_iter_no_change : int, default=None
        Stop if the loss of the part kept aside was not lower by ``tol`` than any of the last so
        many.
    """,
    "tol": """
    tol : float, default=1e-4
        See ``n_iter_no_change``.
    """,
    "ccp_alpha": """
    ccp_alpha : non-negative float, default=0.0
        Cost-complexity pruning of every tree, before its leaves get their values.
    """,
    "n_jobs": """
    n_jobs : int, default=None
        Threads; None means all cores. The model does not depend on it.
    """,
    "line_search": """
    line_search : {'leaf', 'tree'}, default='leaf'
        Whether every leaf gets a step length of its own, or the whole tree one:
        :math:`\\rho = \\arg\\min_\\rho \\sum_i L(y_i, F(x_i) + \\rho h(x_i))`, with the mean
        residuals of the leaves for h. Not in scikit-learn.
    """,
    "n_estimators_": """
    n_estimators_ : int
        Stages that were fitted.
    """,
    "feature_importances_": """
    feature_importances_ : ndarray of shape (n_features,)
        Each column's share of the decrease of squared error.
    """,
    "train_score_": """
    train_score_ : ndarray of shape (n_estimators_,)
        Loss after every stage on the rows it was fitted to.
    """,
    "oob_improvement_": """
    oob_improvement_, oob_scores_ : ndarray of shape (n_estimators_,)
        With ``subsample < 1``: decrease of the loss, and the loss, on the rows left out.
    """,
    "oob_score_": """
    oob_score_ : float
        The last of ``oob_scores_``.
    """,
    "init_": """
    init_ : estimator or 'zero'
        What the first stage starts from.
    """,
    "max_features_": """
    max_features_ : int
        Columns drawn at a node.
    """,
}
