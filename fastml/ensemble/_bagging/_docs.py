"""Entries of docstrings that the two baggings share; ``$words`` differ."""

from __future__ import annotations

BAGGING_ENTRIES = {
    "bagging": """
estimator : object, default=None
    The member; None is a `$tree`. fastml's trees are grown by the forest's engine (exact splits, a
    launch for a block of trees); members of any other kind are trained on Python threads.
n_estimators : int, default=10
    Number of members.
max_samples : int or float, default=None
    Rows drawn for each member; a float is a share of the rows, or of the sum of
    ``sample_weight``; None: as many as there are.
max_features : int or float, default=1.0
    Columns drawn for each member.
bootstrap : bool, default=True
    Whether rows are drawn with replacement.
bootstrap_features : bool, default=False
    Whether columns are drawn with replacement.
oob_score : bool, default=False
    Whether to score on the rows that members did not see; needs ``bootstrap``.
warm_start : bool, default=False
    Whether `fit` adds members to those there are.
n_jobs : int, default=None
    Threads; None means all cores. The result does not depend on it.
random_state : int, RandomState instance or None, default=None
    Draws of rows and columns, which are scikit-learn's for the same seed, and the members' seeds.
verbose : int, default=0
    Print progress of members that are trained on threads.
""",
    "members": """
estimator_ : object
    The member, unfitted.
estimators_ : list
    The members.
estimators_samples_ : list of ndarray
    Rows drawn for each.
estimators_features_ : list of ndarray
    Columns drawn for each.
oob_score_ : float
    $score on rows out of bag. With ``oob_score``.
$oob : ndarray
    Out-of-bag prediction of every row, 0 where every member saw it. With ``oob_score``.
""",
    "routed": """
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The rows.
**params : dict
    For the members' method, with scikit-learn's metadata routing.
""",
}
