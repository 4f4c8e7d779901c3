"""Entries of docstrings that several support vector machines share."""

from __future__ import annotations

SVM_ENTRIES = {
    "degree": """
    degree : int, default=3
        Degree of 'poly'.
    """,
    "coef0": """
    coef0 : float, default=0.0
        Constant in 'poly' and 'sigmoid'.
    """,
    "tol": """
    tol : float, default=1e-3
        The fit stops when the gap in the optimality conditions is below this.
    """,
    "cache_size": """
    cache_size : float, default=200
        Memory for kernel rows, in MB.
    """,
    "verbose": """
    verbose : bool, default=False
        Print steps and gap now and then.
    """,
    "max_iter": """
    max_iter : int, default=-1
        Most steps; -1 means no limit.
    """,
    "decision_function_shape": """
    decision_function_shape : {'ovo', 'ovr'}, default='ovr'
        Decision values per pair of classes or per class.
    """,
    "random_state": """
    random_state : int, RandomState instance or None, default=None
        Randomness of the folds for ``probability``.
    """,
    "normalize": """
    normalize : bool, default=False
        Whether K(x, y) is divided by √(K(x, x) K(y, y)); it is 0 where K(x, x) or K(y, y) is 0.
        Not in scikit-learn.
    """,
    "classes_": """
    classes_ : ndarray of shape (n_classes,)
        The labels.
    """,
    "fit_status_": """
    fit_status_ : int
        0 if the fit converged, else 1.
    """,
    "intercept_": """
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Constants of the decision functions.
    """,
    "n_iter_": """
    n_iter_ : int
        Steps taken.
    """,
    "support_": """
    support_ : ndarray of shape (n_SV,)
        Rows that are support vectors.
    """,
    "support_vectors_": """
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors.
    """,
    "n_support_": """
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    """,
    "shape_fit_": """
    shape_fit_ : tuple of int
        Shape of the training data.
    """,
    "gamma": """
    gamma : {'scale', 'auto'} or float, default='scale'
        As in `SVC`.
    """,
    "shrinking": """
    shrinking : bool, default=True
        For compatibility.
    """,
    "kernel": """
    kernel : str or callable, default='rbf'
        As in `SVC`.
    """,
    "dual_coef_": """
    dual_coef_ : ndarray of shape (1, n_SV)
        Coefficients of the support vectors.
    """,
}
