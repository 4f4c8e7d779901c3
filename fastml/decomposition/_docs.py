"""Entries of docstrings that decompositions share."""

from __future__ import annotations

ENTRIES = {
    "X": """
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
    """,
    "y": """
        y : Ignored
            For scikit-learn's sake.
    """,
    "self": """
        self : object
    """,
    "projected": """
        X_new : ndarray of shape (n_samples, n_components)
            Rows in terms of the components.
    """,
    "components_": """
        components_ : ndarray of shape (n_components, n_features)
            Directions in rows, by descending variance; of each, the entry that is largest in
            absolute value is positive.
    """,
    "explained_variance_": """
        explained_variance_ : ndarray of shape (n_components,)
            Variance of the rows in each direction.
    """,
    "explained_variance_ratio_": """
        explained_variance_ratio_ : ndarray of shape (n_components,)
            Its share of the variance of all columns together.
    """,
    "singular_values_": """
        singular_values_ : ndarray of shape (n_components,)
            Singular values that belong to the components.
    """,
    "mean_": """
        mean_ : ndarray of shape (n_features,)
            Mean of every column.
    """,
    "noise_variance_": """
        noise_variance_ : float
            Mean variance of the directions that were left out: of the noise in probabilistic PCA.
    """,
    "random_state": """
        random_state : int, RandomState instance or None, default=None
            Of the vectors that iterative solvers begin with.
    """,
}
