"""Trees with a branch per category, after ID3 and C4.5."""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from fastml._engines.trees.rules import categorical_mask, category_counts
from fastml._sklearn import Interval, StrOptions, check_feature_names, fit_context
from fastml._validation import FLOATS, check_weights, validate_data
from fastml.tree._text_columns import has_text, known_codes, learned_codes

SMALLEST_GAIN = 1e-12
"""Less is rounding."""


class MultiwayNodes(NamedTuple):
    """Nodes by the order of their making; the root is 0."""

    feature: NDArray  # -1 at leaves
    threshold: NDArray  # of a numeric split: values up to here take the first branch, else NaN
    branches: NDArray  # (sum of branches,) children, those of node i from `first[i]`
    first: NDArray  # (nodes + 1,)
    value: NDArray  # (nodes, classes) shares
    n_samples: NDArray
    weight: NDArray
    impurity: NDArray
    depth: NDArray


class _Split(NamedTuple):
    gain: float
    merit: float
    feature: int
    threshold: float
    branch: NDArray  # of every row of the node
    n_branches: int


class MultiwayTreeClassifier(ClassifierMixin, BaseEstimator):
    """A decision tree that gives every category a branch of its own, as ID3 and C4.5 do.

    A node of rows V takes the column whose split into V_1, ..., V_b has the greatest gain,

    :math:`G = H(V) - \\sum_j \\frac{|V_j|}{|V|} H(V_j)`,

    or gain ratio :math:`G / (-\\sum_j \\frac{|V_j|}{|V|} \\log_2 \\frac{|V_j|}{|V|})`, which does
    not favour columns of many categories. A categorical column has one branch per category, a
    numeric one two, at the best threshold. Missing values (NaN) are a category of their own in
    categorical columns, and go with the larger branch in numeric ones. A category that a node has
    not seen goes on in its branch of most weight.

    Parameters
    ----------
    criterion : {'gain_ratio', 'entropy', 'gini'}, default='gain_ratio'
        C4.5's ratio, among columns of at least mean gain; the gain of entropy (ID3); the gain of
        Gini's impurity.
    categorical_features : array-like or None, default=None
        Columns of categories, as indices, mask or names. They hold whole numbers from 0 on or NaN;
        or anything that can be put in order, such as text, if some column of ``X`` holds text:
        codes are then the places in ``categories_``. None means no column.
    max_depth : int, default=None
        Most splits from the root to a leaf; None means no limit.
    min_samples_split : int, default=2
        A node with fewer rows is a leaf.
    min_samples_leaf : int, default=1
        At least two branches of a split must have so many rows (C4.5's rule).
    min_impurity_decrease : float, default=0.0
        Least gain of a split, weighted by the node's share of the weight.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    categories_ : list of ndarray or None
        Of every column its categories, in the order of their branches; None if it holds numbers.
    nodes_ : tuple of ndarray
        The tree: ``feature``, ``threshold``, ``branches``, ``first``, ``value``, ``n_samples``,
        ``weight``, ``impurity``, ``depth``. The branches of node i are
        ``branches[first[i]:first[i + 1]]``: of category 0, 1, ... and last of missing values; or
        up to the threshold, and above.
    feature_importances_ : ndarray of shape (n_features,)
        Each column's share of the gains; sums to one.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.

    References
    ----------
    J. R. Quinlan, "Induction of decision trees", Machine Learning 1 (1986); "C4.5: Programs for
    machine learning" (1993).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.tree import MultiwayTreeClassifier
    >>> X = np.array([[0, 3.0], [1, 1.0], [2, 2.0], [0, 1.0], [1, 4.0], [2, 5.0]])
    >>> tree = MultiwayTreeClassifier(categorical_features=[0])
    >>> tree.fit(X, ["a", "b", "c", "a", "b", "c"]).predict([[1, 0.0]]).tolist()
    ['b']
    >>> tree.get_depth(), tree.get_n_leaves()
    (1, 3)
    >>> tree.fit([["red", 1], ["green", 2], ["red", 3]], [0, 1, 0]).predict([["green", 3]])
    array([1])
    """

    _parameter_constraints: dict = {
        "criterion": [StrOptions({"gain_ratio", "entropy", "gini"})],
        "categorical_features": ["array-like", None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [Interval(Integral, 2, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        criterion="gain_ratio",
        categorical_features=None,
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_impurity_decrease=0.0,
    ):
        self.criterion = criterion
        self.categorical_features = categorical_features
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease

    # ------------------------------------------------------------------ fitting

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; those of weight zero do not count.

        Returns
        -------
        self : object
        """
        given, categories = X, None
        if self.categorical_features is not None and has_text(X):
            check_feature_names(self, X, reset=True)
            names = getattr(self, "feature_names_in_", None)
            d = len(X.columns) if hasattr(X, "columns") else np.shape(X)[1]
            X, categories = learned_codes(X, categorical_mask(self.categorical_features, d, names))
        X, y = validate_data(self, X, y, dtype=FLOATS, ensure_all_finite="allow-nan")
        if categories is not None:
            check_feature_names(self, given, reset=True)
        self.categories_ = [None] * X.shape[1] if categories is None else categories
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = check_weights(sample_weight, X, dtype=np.float64)
        names = getattr(self, "feature_names_in_", None)
        counts = category_counts(self.categorical_features, X, names)
        self._n_categories = np.zeros(X.shape[1], np.intp) if counts is None else counts
        self._grow(X, codes, weights)
        return self

    def _grow(self, X, codes, weights):
        """Depth first; sets ``nodes_``."""
        feature, threshold, value, samples, weight, impurity, depth = ([] for _ in range(7))
        children: list[list[int]] = []
        whole = weights.sum()
        gains = np.zeros(X.shape[1])
        pending = [(np.flatnonzero(weights > 0.0), 0, None)]
        while pending:
            rows, level, place = pending.pop()
            node = len(feature)
            if place is not None:
                parent, slots = place
                for slot in slots:
                    children[parent][slot] = node
            sums = np.bincount(codes[rows], weights[rows], minlength=len(self.classes_))
            total = float(sums.sum())
            own = float(self._impurity(sums[None])[0])
            for column, entry in (
                (feature, -1), (threshold, np.nan), (value, sums / total), (samples, len(rows)),
                (weight, total), (impurity, own), (depth, level), (children, []),
            ):  # fmt: skip
                column.append(entry)
            if (
                len(rows) < self.min_samples_split
                or level == self.max_depth
                or own <= SMALLEST_GAIN
            ):
                continue
            split = self._best_split(X[rows], codes[rows], weights[rows], sums, own)
            if split is None or split.gain * total / whole < self.min_impurity_decrease:
                continue
            feature[node], threshold[node] = split.feature, split.threshold
            gains[split.feature] += split.gain * total
            in_branch = np.bincount(split.branch, weights[rows], minlength=split.n_branches)
            seen = np.flatnonzero(np.bincount(split.branch, minlength=split.n_branches))
            most = int(in_branch.argmax())
            children[node] = [-1] * split.n_branches
            unseen = [b for b in range(split.n_branches) if b not in set(seen.tolist())]
            for b in seen[::-1]:  # the first branch is grown first
                slots = [int(b), *(unseen if b == most else ())]
                pending.append((rows[split.branch == b], level + 1, (node, slots)))
        self.nodes_ = MultiwayNodes(
            np.array(feature, np.intp),
            np.array(threshold),
            np.array([c for own in children for c in own], np.intp),
            np.concatenate([[0], np.cumsum([len(own) for own in children])]).astype(np.intp),
            np.array(value),
            np.array(samples, np.intp),
            np.array(weight),
            np.array(impurity),
            np.array(depth, np.intp),
        )
        self.feature_importances_ = gains / gains.sum() if gains.any() else gains

    def _impurity(self, sums):
        """Of class weights, one row per part."""
        total = sums.sum(axis=1, keepdims=True)
        shares = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
        if self.criterion == "gini":
            return 1.0 - (shares * shares).sum(axis=1)
        return -_times_log2(shares).sum(axis=1)

    def _best_split(self, X, codes, weights, sums, own) -> _Split | None:
        """The column to split by; the first of equals."""
        found = [
            self._by_category(X[:, f], codes, weights, own, f)
            if self._n_categories[f]
            else self._by_threshold(X[:, f], codes, weights, sums, own, f)
            for f in range(X.shape[1])
        ]
        splits = [split for split in found if split is not None and split.gain > SMALLEST_GAIN]
        if not splits:
            return None
        if self.criterion == "gain_ratio":
            mean = np.mean([split.gain for split in splits])
            splits = [split for split in splits if split.gain >= mean * (1.0 - 1e-9)]
        best = max(split.merit for split in splits)
        return next(s for s in splits if s.merit >= best * (1.0 - 1e-12))

    def _merit(self, gain, sizes):
        if self.criterion != "gain_ratio":
            return gain
        return gain / -_times_log2(sizes / sizes.sum()).sum()

    def _by_category(self, x, codes, weights, own, f) -> _Split | None:
        n_branches, k = int(self._n_categories[f]) + 1, len(self.classes_)
        branch = np.where(np.isnan(x), n_branches - 1, x).astype(np.intp)
        rows = np.bincount(branch, minlength=n_branches)
        if np.count_nonzero(rows >= self.min_samples_leaf) < 2 or np.count_nonzero(rows) < 2:
            return None
        parts = np.bincount(branch * k + codes, weights, minlength=n_branches * k)
        parts = parts.reshape(n_branches, k)
        sizes = parts.sum(axis=1)
        gain = own - float(sizes @ self._impurity(parts) / sizes.sum())
        return _Split(gain, self._merit(gain, sizes), f, np.nan, branch, n_branches)

    def _by_threshold(self, x, codes, weights, sums, own, f) -> _Split | None:
        known = np.flatnonzero(~np.isnan(x))
        order = known[np.argsort(x[known], kind="stable")]
        ordered = x[order]
        cuts = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
        least = self.min_samples_leaf
        cuts = cuts[(cuts >= least) & (len(order) - cuts >= least)]
        if not len(cuts):
            return None
        each = np.zeros((len(order), len(self.classes_)))
        each[np.arange(len(order)), codes[order]] = weights[order]
        left = np.cumsum(each, axis=0)
        total = left[-1]
        left = left[cuts - 1]
        right = total - left
        w_left, w_right = left.sum(axis=1), right.sum(axis=1)
        after = (w_left * self._impurity(left) + w_right * self._impurity(right)) / total.sum()
        at = int(after.argmin())
        # What is missing tells nothing: the gain counts for the rows that are known (C4.5).
        share = total.sum() / sums.sum()
        gain = share * (float(self._impurity(total[None])[0]) - float(after[at]))
        low, high = float(ordered[cuts[at] - 1]), float(ordered[cuts[at]])
        threshold = low + (high - low) / 2.0
        threshold = low if not low <= threshold < high else threshold
        branch = (x > threshold).astype(np.intp)
        branch[np.isnan(x)] = int(w_right[at] > w_left[at])
        sizes = np.array([w_left[at], w_right[at]])
        return _Split(gain, self._merit(gain, sizes), f, threshold, branch, 2)

    # ------------------------------------------------------------------ prediction

    def apply(self, X):
        """The leaf of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        leaves : ndarray of shape (n_samples,)
            Places in the arrays of ``nodes_``.
        """
        check_is_fitted(self)
        if all(known is None for known in self.categories_):
            X = validate_data(self, X, dtype=FLOATS, ensure_all_finite="allow-nan", reset=False)
        else:
            check_feature_names(self, X, reset=False)
            X = known_codes(X, self.categories_)
        nodes = self.nodes_
        self._check_nodes()
        at = np.zeros(len(X), np.intp)
        going = np.arange(len(X)) if nodes.feature[0] >= 0 else np.empty(0, np.intp)
        while len(going):
            here = at[going]
            f = nodes.feature[here]
            x = X[going, f]
            n_branches = nodes.first[here + 1] - nodes.first[here]
            missing = np.isnan(x)
            with np.errstate(invalid="ignore"):
                codes = np.where(missing, 0.0, x)
                numeric = ~np.isnan(nodes.threshold[here])
                whole = (codes >= 0) & (codes < n_branches - 1) & (codes == np.floor(codes))
                branch = np.where(whole, codes, -1.0).astype(np.intp)
                branch[missing] = (n_branches - 1)[missing]
                branch = np.where(numeric, (x > nodes.threshold[here]).astype(np.intp), branch)
            to = nodes.branches[nodes.first[here] + np.maximum(branch, 0)]
            lost = (branch < 0) | (numeric & missing)
            if lost.any():
                to[lost] = [self._heaviest(i) for i in here[lost]]
            at[going] = to
            going = going[nodes.feature[to] >= 0]
        return at

    def _heaviest(self, node) -> int:
        """The branch of most weight, the first of equals."""
        own = self.nodes_.branches[self.nodes_.first[node] : self.nodes_.first[node + 1]]
        return int(own[self.nodes_.weight[own].argmax()])

    def _check_nodes(self):
        """Every branch leads to a later node: walks end, whatever was loaded."""
        nodes, n = self.nodes_, len(self.nodes_.feature)
        parents = np.repeat(np.arange(n), np.diff(nodes.first))
        if (
            nodes.first.shape != (n + 1,)
            or nodes.first[-1] != len(nodes.branches)
            or len(parents) != len(nodes.branches)
            or (nodes.branches <= parents).any()
            or (nodes.branches >= n).any()
            or (nodes.feature >= self.n_features_in_).any()
            or ((nodes.feature >= 0) & (np.diff(nodes.first) < 2)).any()
            or nodes.value.shape != (n, len(self.classes_))
            or nodes.threshold.shape != (n,)
            or nodes.weight.shape != (n,)
        ):
            raise ValueError("nodes_ of MultiwayTreeClassifier was altered")

    def predict_proba(self, X):
        """Shares of the classes in the leaf of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        leaves = self.apply(X)
        return self.nodes_.value[leaves]

    def predict(self, X):
        """The class of most weight in the leaf of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        leaves = self.apply(X)
        return self.classes_[self.nodes_.value.argmax(axis=1)][leaves]

    def get_depth(self):
        """Most splits from the root to a leaf.

        Returns
        -------
        depth : int
        """
        check_is_fitted(self)
        return int(self.nodes_.depth.max())

    def get_n_leaves(self):
        """Number of leaves.

        Returns
        -------
        n_leaves : int
        """
        check_is_fitted(self)
        return int(np.count_nonzero(self.nodes_.feature < 0))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _times_log2(p):
    """p log2 p, and 0 at 0."""
    return p * np.log2(p, out=np.zeros_like(p), where=p > 0)
