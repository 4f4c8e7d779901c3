"""Entries of docstrings that the two classes share."""

from __future__ import annotations

from fastml._docs import COMMON
from fastml.linear_model._summarised import KEEP_ENTRY

LOGISTIC_ENTRIES = {
    **COMMON,
    "keep_summary": KEEP_ENTRY,
    "penalty": """
        penalty : {'l1', 'l2', 'elasticnet', None}, default='l2'
            scikit-learn's older spelling, deprecated there: use ``l1_ratio``, and C = ∞ for None.
    """,
    "rest": """
        dual : bool, default=False
            For scikit-learn's sake; only with ``solver='liblinear'`` and l2.
        tol : float, default=1e-4
            The end: no entry of the gradient of the objective over Σ u is larger (with an l1
            penalty: no subgradient is larger than this times the largest slope at W = 0).
        fit_intercept : bool, default=True
            Whether there are intercepts. They are never penalised.
        intercept_scaling : float, default=1
            For scikit-learn's sake: its liblinear penalises the intercept, unless this is large.
        class_weight : dict or 'balanced', default=None
            Weights of classes, which multiply those of rows: the objective is that of a data set
            with other shares of the classes, and so are the probabilities. 'balanced':
            n / (classes · rows of the class).
        random_state : int, RandomState instance or None, default=None
            For scikit-learn's sake: nothing is drawn.
        solver : {'lbfgs', 'liblinear', 'newton-cg', 'newton-cholesky', 'sag', 'saga'}, \
default='lbfgs'
            Taken, with what each of them refuses in scikit-learn; they all solve the same problem,
            and what runs is chosen by the shape of the data. ``solver_`` says which.
        max_iter : int, default=100
            Most steps on all rows.
        verbose : int, default=0
            If positive, each step is printed.
    """,
    "weights": """
        coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
            The weights W; one line for two classes.
        intercept_ : ndarray of shape (1,) or (n_classes,)
            The intercepts; 0 if there are none.
    """,
    "fitted": """
        classes_ : ndarray of shape (n_classes,)
            Labels of the classes.
        n_features_in_ : int
            Number of features seen during fit.
        feature_names_in_ : ndarray of shape (n_features_in_,)
            Names of features seen during fit, where ``X`` has names that are all strings.
    """,
}
