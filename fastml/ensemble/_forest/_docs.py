"""Entries of docstrings that the four forests share; ``$words`` differ from forest to forest."""

from __future__ import annotations

FOREST_ENTRIES = {
    "growth": """
n_estimators : int, default=100
    Number of trees.
criterion : $criteria
    What a split lowers$criterion_note.
max_depth : int, default=None
    Greatest depth of a tree; None: until leaves are pure.
min_samples_split : int or float, default=2
    Rows (or their share) that a node needs to be split. Rows drawn twice count once.
min_samples_leaf : int or float, default=1
    Least number (or share) of rows of a leaf.
min_weight_fraction_leaf : float, default=0.0
    Least share of the tree's weight in a leaf.
max_features : {'sqrt', 'log2', None}, int or float, default=$max_features
    Features drawn for each node; a float is a share; more than there are means all. Constant ones
    are drawn too, but a node goes on until one of its features varies.
max_leaf_nodes : int, default=None
    Most leaves; the node that improves most is split first.
min_impurity_decrease : float, default=0.0
    Least decrease of impurity, weighted by the node's share of the tree.
bootstrap : bool, default=$bootstrap
    Whether trees get rows drawn at random, with replacement unless ``replace`` says otherwise.
oob_score : bool or callable, default=False
    Whether to score the forest on rows that trees did not see; a function of ``(y, predicted)``.
n_jobs : int, default=None
    Threads; None means all cores. The forest does not depend on it.
random_state : int, RandomState instance or None, default=None
    Seeds of the trees. Bootstrap rows are scikit-learn's for the same seed; the random choices
    inside a tree are not.
verbose : int, default=0
    Print the number of trees and the time after every block of trees.
warm_start : bool, default=False
    Whether `fit` adds trees to the forest there is.
""",
    "class_weight": """
class_weight : {'balanced', 'balanced_subsample'}, dict or list of dicts, default=None
    Weights of the classes; balanced over all rows, or over the rows drawn for a tree.
""",
    "further_growth": """
ccp_alpha : float, default=0.0
    Minimal cost-complexity pruning: subtrees whose impurity per leaf is less are cut off.
max_samples : int or float, default=None
    Rows drawn for each tree (a float: share); None: as many as there are. Only with ``bootstrap``.
monotonic_cst : array-like of int of shape (n_features,), default=None
    1, 0 or -1: whether predictions must rise, are free or must fall with a feature. For one output
    $monotonic_note.
splitter : {'auto', 'exact', 'hist'}, default='auto'
    Cuts between all distinct values, or between at most 255 bins of about equal numbers of rows.
    'auto': exact up to 10 000 rows$splitter_note. Not in scikit-learn.
n_iter_no_change : int, default=None
    Stop when the out-of-bag score has not risen for so many trees; without ``bootstrap`` there is
    none, and all trees grow. Not in scikit-learn.
tol : float, default=0.0
    The least rise that counts. Not in scikit-learn.
""",
    "draws": """
replace : bool, default=True
    Whether ``bootstrap`` draws rows with replacement; False, with ``max_samples``, is pasting. Not
    in scikit-learn.
features_per_tree : int or float, default=None
    Columns drawn once for each tree (a float: share), of which every node draws ``max_features``;
    None: all. Not in scikit-learn.
""",
    "leaf_targets": """
leaf_targets : int, default=2
    Targets that a leaf keeps for `predict_quantiles`, unless they are all the same: a draw by their
    weights, which may hold one twice. With bootstrap counts or no weights, a leaf of no larger
    total keeps them all. Eight bytes each. Not in scikit-learn.
""",
    "trees": """
estimators_ : list of $tree
    The trees; made on first use.
estimator_ : $tree
    An unfitted tree with the trees' parameters.
estimators_samples_ : list of ndarray
    Rows drawn for each tree.
estimators_features_ : list of ndarray
    Columns that each tree may split by. Not in scikit-learn.
feature_importances_ : ndarray of shape (n_features,)
    Mean share of the impurity that a feature's splits take away.
""",
    "classes": """
classes_ : ndarray of shape (n_classes,) or list of ndarray
    The labels.
n_classes_ : int or list of int
    Number of classes.
""",
    "out_of_bag": """
n_outputs_ : int
    Number of outputs.
oob_score_ : float
    Score on rows out of bag: $score. With ``oob_score``.
oob_curve_ : ndarray of shape (n_estimators,)
    The same (accuracy or R²) after each tree, over the rows out of bag so far; 0 while there is
    none. Not in scikit-learn. With ``oob_score``.
$oob : ndarray
    Out-of-bag prediction of every row. With ``oob_score``.
""",
}

CLASSIFIER = {
    "criteria": "{'gini', 'entropy', 'log_loss', 'error'}, default='gini'",
    "criterion_note": "; 'error' (not in scikit-learn) is the share of the other classes",
    "max_features": "'sqrt'",
    "monotonic_note": "and two classes: the probability of the second",
    "score": "accuracy, or what the function says",
    "oob": "oob_decision_function_",
}
REGRESSOR = {
    "criteria": "{'squared_error', 'absolute_error', 'friedman_mse', 'poisson'}, "
    "default='squared_error'",
    "criterion_note": "; 'friedman_mse' chooses the splits of squared error",
    "max_features": "1.0",
    "monotonic_note": "only",
    "score": "R², or what the function says",
    "oob": "oob_prediction_",
}
BOOTSTRAP = {"bootstrap": "True", "splitter_note": ""}
RANDOM = {
    "bootstrap": "False",
    "splitter_note": "; random thresholds are drawn from the values themselves",
}
"""Words of the classifiers, the regressors, the random forests and the extra trees."""
