"""Entries of docstrings that several neighbour estimators share."""

from __future__ import annotations

NEIGHBOR_ENTRIES = {
    "n_features_in_": """
    n_features_in_ : int
        Number of columns seen by `fit`.
    """,
    "feature_names_in_": """
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of columns, if they all had string names.
    """,
    "n_neighbors": """
    n_neighbors : int, default=5
        k, the number of neighbours.
    """,
    "algorithm": """
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How to search; results do not depend on it.
    """,
    "leaf_size": """
    leaf_size : int, default=30
        Accepted without effect: leaves hold 16 points; results would not depend on it.
    """,
    "p": """
    p : float, default=2
        Power of the Minkowski metric.
    """,
    "metric": """
    metric : str or callable, default="minkowski"
        Distance; see ``fastml.neighbors.VALID_METRICS``. "precomputed" takes distance matrices.
        "jaccard" takes a list of Python sets too, "hamming" columns of text, and a function of two
        of them lists of sets or strings.
    """,
    "metric_params": """
    metric_params : dict, default=None
        Further parameters of the metric.
    """,
    "n_jobs": """
    n_jobs : int, default=None
        Threads: None and -1 mean all cores.
    """,
    "bandwidth": """
    bandwidth : "next" or float, default="next"
        h of the kernel weights: a number, or the distance to the (k + 1)-th neighbour.
    """,
    "ratio": """
    ratio : float, default=0.5
        Base of the geometric weights, between 0 and 1.
    """,
    "classes_": """
    classes_ : ndarray of shape (n_classes,), or list of them
        The labels, per output.
    """,
    "effective_metric_params_": """
    effective_metric_params_ : dict
        Its parameters.
    """,
    "n_samples_fit_": """
    n_samples_fit_ : int
        Number of training points.
    """,
    "outputs_2d_": """
    outputs_2d_ : bool
        Whether y had several columns.
    """,
    "mode": """
    mode : {"distance", "connectivity"}, default="distance"
        Whether entries are distances or ones.
    """,
    "effective_metric_": """
    effective_metric_, effective_metric_params_ : str or callable, dict
        The metric in use.
    """,
    "radius": """
    radius : float, default=1.0
        The radius.
    """,
}
