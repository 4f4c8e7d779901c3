"""Entries that the docstrings of samplers share."""

ENTRIES = {
    "over_strategy": """
        sampling_strategy : float, str, dict or callable, default="auto"
            Rows of each class afterwards. A float: minority over majority (two classes);
            "minority", "not minority", "not majority" (= "auto"), "all": these classes become as
            large as the majority; a dict, or a function of y that returns one: class → rows.
    """,
    "under_strategy": """
        sampling_strategy : float, str, dict or callable, default="auto"
            Rows of each class afterwards. A float: minority over majority (two classes);
            "majority", "not minority" (= "auto"), "not majority", "all": these classes become as
            small as the minority; a dict, or a function of y that returns one: class → rows.
    """,
    "clean_strategy": """
        sampling_strategy : str, list or callable, default="auto"
            Classes that rows are taken from: "majority", "not minority" (= "auto"), "not majority",
            "all", a list, or a function of y that returns a dict.
    """,
    "random_state": """
        random_state : int, RandomState instance or None, default=None
            The draws are imbalanced-learn's.
    """,
    "k_neighbors": """
        k_neighbors : int or object, default=5
            Neighbours between which rows are made; an object has ``kneighbors``.
    """,
    "sampling_strategy_": """
        sampling_strategy_ : dict
            Class → rows to make, or to keep.
    """,
    "sample_indices_": """
        sample_indices_ : ndarray of shape (n_new_samples,)
            Which rows were taken; after `fit_resample`.
    """,
}
