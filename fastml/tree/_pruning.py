"""Cost-complexity pruning: the path, the pruned tree, the choice of alpha by validation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._validation import kernel_view
from fastml.kernels.tree_nodes import CATEGORIES, LEAF, SQUARED_ERROR
from fastml.kernels.tree_prune import kept_nodes, weakest_links
from fastml.tree._tree import Tree, smallest


def pruning_path(tree: Tree, most: float = np.inf) -> tuple[NDArray, NDArray, NDArray]:
    """Alphas and impurities of the nested trees, and the alpha at which each node collapses."""
    weights = tree.weighted_n_node_samples
    risks = tree.impurity * weights / weights[0]
    n = tree.node_count
    alphas, impurities = np.empty(n + 1), np.empty(n + 1)
    collapsed_at = np.empty(n, np.intp)
    steps = weakest_links(
        kernel_view(tree.nodes), kernel_view(risks), most, alphas, impurities, collapsed_at
    )
    alphas, impurities = alphas[:steps].copy(), impurities[:steps].copy()
    collapse = np.where(collapsed_at >= 0, alphas[np.maximum(collapsed_at, 0)], np.inf)
    return alphas, impurities, collapse


def pruned(tree: Tree, alpha: float) -> Tree:
    """The smallest tree that minimises impurity + alpha * leaves."""
    return with_leaves(tree, pruning_path(tree, alpha)[2] <= alpha)


def with_leaves(tree: Tree, leaf_now: NDArray) -> Tree:
    """The tree in which the nodes of a mask are leaves."""
    if not leaf_now.any():
        return tree
    old = np.empty(tree.node_count, np.intp)
    old = old[: kept_nodes(kernel_view(tree.nodes), kernel_view(leaf_now), old)]
    new_index = np.full(tree.node_count, -1, np.intp)
    new_index[old] = np.arange(len(old))
    nodes = tree.nodes[old]
    is_leaf = leaf_now[old] | (nodes["feature"] == LEAF)
    nodes["feature"][is_leaf] = LEAF
    nodes["right"][~is_leaf] = new_index[nodes["right"][~is_leaf]]
    leaves = old[is_leaf]
    values = tree._flat_values[leaves]
    nodes["threshold"][is_leaf] = 0.0
    table = np.zeros((0, tree.n_columns))
    if tree.scalar:
        nodes["right"][is_leaf] = 0
        nodes["threshold"][is_leaf] = values[:, 0]
    else:
        pure = np.zeros(len(leaves), bool)
        if tree.n_outputs == 1:
            pure = values.max(axis=1) == 1.0
        right = np.empty(len(leaves), np.int32)
        right[pure] = ~values[pure].argmax(axis=1)
        right[~pure] = np.arange(np.count_nonzero(~pure))
        nodes["right"][is_leaf] = right
        table = np.ascontiguousarray(values[~pure])
    stored, classify = tree.inner_values is not None, tree.criterion < SQUARED_ERROR
    inner = old[~is_leaf]
    bitsets = tree.bitsets
    if len(bitsets) > 1:
        bitsets = _used_sets(nodes, bitsets)
    return Tree(
        nodes,
        smallest(tree.n_node_samples[leaves]),
        None if tree.leaf_weights is None else tree.weighted_n_node_samples[leaves],
        table,
        n_features=tree.n_features,
        n_classes=tree.n_classes,
        criterion=tree.criterion,
        leaf_impurity=None if classify or stored else tree.impurity[leaves],
        bitsets=bitsets,
        inner_values=tree._flat_values[inner, : tree.inner_values.shape[1]] if stored else None,
        stored_impurity=tree.stored_impurity[old] if stored else None,
    )


def _used_sets(nodes, bitsets):
    """Only the sets of categories that are still in use."""
    where = np.flatnonzero((nodes["feature"] != LEAF) & ((nodes["feature"] & CATEGORIES) != 0))
    parts, offset = [np.zeros(1, np.uint32)], 1
    for i in where:
        at = int(nodes["threshold"][i])
        parts.append(bitsets[at : at + 1 + int(bitsets[at] & 0x7FFFFFFF)])
        nodes["threshold"][i] = offset
        offset += len(parts[-1])
    return np.concatenate(parts)


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
    from sklearn.base import clone, is_classifier
    from sklearn.metrics import check_scoring
    from sklearn.model_selection import check_cv
    from sklearn.utils import _safe_indexing, indexable
    from sklearn.utils.validation import _check_sample_weight

    X, y = indexable(X, y)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    whole = clone(estimator).set_params(ccp_alpha=0.0).fit(X, y, sample_weight=sample_weight)
    path = np.maximum(np.maximum.accumulate(pruning_path(whole.tree_)[0]), 0.0)
    alphas = np.unique(np.append(np.sqrt(path[:-1] * path[1:]), path[-1]))
    scorer = check_scoring(whole, scoring)
    scores = []
    for train, test in check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y):
        weights = None if sample_weight is None else sample_weight[train]
        part = clone(whole).fit(
            _safe_indexing(X, train), _safe_indexing(y, train), sample_weight=weights
        )
        tree, collapse = part.tree_, pruning_path(part.tree_)[2]
        X_test, y_test = _safe_indexing(X, test), _safe_indexing(y, test)
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
