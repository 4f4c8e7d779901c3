"""Entries that the docstrings of selectors share."""

ENTRIES = {
    "score_func": """
        score_func : callable, default=f_classif
            Takes X and y; returns scores, or scores and p-values.
    """,
    "scores_": """
        scores_ : ndarray of shape (n_features_in_,)
            Scores of the columns.
    """,
    "pvalues_": """
        pvalues_ : ndarray of shape (n_features_in_,)
            Their p-values; None where ``score_func`` gives none.
    """,
    "estimator": """
        estimator : estimator
            The method; clones of it are fitted.
    """,
    "importance_getter": """
        importance_getter : str or callable, default="auto"
            "auto" takes ``coef_`` or else ``feature_importances_``; a dotted name of an attribute,
            or a function of the fitted estimator.
    """,
    "estimator_": """
        estimator_ : estimator
            Fitted on the selected columns.
    """,
    "n_features_": """
        n_features_ : int
            Number of selected columns.
    """,
    "support_": """
        support_ : ndarray of shape (n_features_in_,)
            True where a column is selected.
    """,
    "ranking_": """
        ranking_ : ndarray of shape (n_features_in_,)
            1 for selected columns, 2 for those that went last, and so on.
    """,
    "classes_": """
        classes_ : ndarray of shape (n_classes,)
            Labels, of a classifier.
    """,
}
