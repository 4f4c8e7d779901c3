"""The price of a leaf, chosen by cross-validation."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import indexable

from fastml._engines.trees.pruning import pruning_path, with_leaves
from fastml._sklearn import safe_indexing
from fastml._validation import check_sample_weight


def prune_by_cv(
    estimator, X, y, cv=None, *, sample_weight=None, scoring=None, standard_errors: float = 0.0
):
    """Fit a tree whose ``ccp_alpha`` is chosen by cross-validation.

    The alphas tried are the geometric means of neighbours on the pruning path of all rows, one for
    every nested tree (Breiman et al., 1984, section 8.5). Each fold grows one tree and prunes it
    step by step.

    Parameters
    ----------
    estimator : DecisionTreeClassifier, DecisionTreeRegressor or an extra tree
        The tree to fit; it is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The targets.
    cv : int, cross-validation generator or iterable, default=None
        The folds, as in scikit-learn; None means five.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights for the fits; scores are not weighted.
    scoring : str or callable, default=None
        What to maximise; None means accuracy or R².
    standard_errors : float, default=0.0
        Take the smallest tree whose score is within this many standard errors of the best (1.0 is
        the rule of Breiman et al.).

    Returns
    -------
    estimator : object
        A fitted clone with ``ccp_alpha`` set, and with ``pruning_scores_``: a dict of the arrays
        ``ccp_alphas``, ``mean_scores`` and ``standard_errors``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fastml.tree import DecisionTreeClassifier, prune_by_cv
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = prune_by_cv(DecisionTreeClassifier(random_state=0), X, y, cv=5)
    >>> tree.get_n_leaves() < DecisionTreeClassifier(random_state=0).fit(X, y).get_n_leaves()
    True
    """
    from sklearn.metrics import check_scoring
    from sklearn.model_selection import check_cv

    X, y = indexable(X, y)
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, X, dtype=np.float64)
    whole = clone(estimator).set_params(ccp_alpha=0.0).fit(X, y, sample_weight=sample_weight)
    path = np.maximum(np.maximum.accumulate(pruning_path(whole.tree_)[0]), 0.0)
    alphas = np.unique(np.append(np.sqrt(path[:-1] * path[1:]), path[-1]))
    scorer = check_scoring(whole, scoring)
    scores = []
    for train, test in check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y):
        weights = None if sample_weight is None else sample_weight[train]
        part = clone(whole).fit(
            safe_indexing(X, train), safe_indexing(y, train), sample_weight=weights
        )
        tree, collapse = part.tree_, pruning_path(part.tree_)[2]
        X_test, y_test = safe_indexing(X, test), safe_indexing(y, test)
        row, last, last_mask = [], np.nan, None
        for alpha in alphas:
            mask = collapse <= alpha
            if last_mask is None or not np.array_equal(mask, last_mask):
                part.tree_ = with_leaves(tree, mask)
                last, last_mask = scorer(part, X_test, y_test), mask
            row.append(last)
        scores.append(row)
    table = np.array(scores)
    means = table.mean(axis=0)
    errors = table.std(axis=0, ddof=1) / np.sqrt(len(table)) if len(table) > 1 else means * 0.0
    best = int(np.argmax(means))
    enough = means >= means[best] - standard_errors * errors[best]
    chosen = int(np.flatnonzero(enough)[-1])  # of equal scores the smallest tree
    result = clone(estimator).set_params(ccp_alpha=float(alphas[chosen]))
    result.fit(X, y, sample_weight=sample_weight)
    result.pruning_scores_ = {
        "ccp_alphas": alphas,
        "mean_scores": means,
        "standard_errors": errors,
    }
    return result
