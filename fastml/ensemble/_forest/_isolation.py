"""IsolationForest."""

from __future__ import annotations

from numbers import Integral, Real
from warnings import warn

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted

from fastml._engines.trees.packed import NO_BITSETS, Forest
from fastml._engines.trees.stored import check_trees
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Interval, RealNotInt, StrOptions, fit_context
from fastml._threads import effective_n_threads
from fastml._validation import check_sample_weight, kernel_view, validate_data
from fastml.ensemble._members import MembersMixin
from fastml.ensemble._refit import check_columns
from fastml.kernels.forest.isolation import average_path, isolate_all
from fastml.kernels.tree.nodes import LEAF, NODE, SQUARED_ERROR

MAX_SEED = np.iinfo(np.int32).max
TREES_OF_A_STEP = 16
"""As callbacks are told of them."""


def draw_distinct(n, k, generator):
    """``sample_without_replacement(n, k)``, number for number.

    Where k is under a hundredth of n, scikit-learn draws one number after the other until k differ;
    here they come by the hundred.
    """
    if k >= 0.01 * n:
        return sample_without_replacement(n, k, random_state=generator)
    drawn = np.empty(0, np.int64)
    while True:
        drawn = np.concatenate([drawn, generator.randint(n, size=k + k // 32 + 8)])
        firsts = np.sort(np.unique(drawn, return_index=True)[1])
        if len(firsts) >= k:
            return drawn[firsts[:k]]


class IsolationForest(CallbackSupport, MembersMixin, OutlierMixin, BaseEstimator):
    """Outliers are rows that random splits isolate quickly.

    Trees split small samples of the rows at random features and thresholds until every row is
    alone. With E h(x) the mean length of a row's paths and c(n) that of a search tree of n keys,
    the score is :math:`-2^{-E h(x) / c(n)}`: near -1 for outliers, about -0.5 and above for others.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_samples : 'auto', int or float, default='auto'
        Rows drawn for each tree; 'auto' means 256, a float is a share. Depth is limited to its
        logarithm to base 2.
    contamination : 'auto' or float, default='auto'
        Share of outliers, which sets ``offset_``; 'auto' sets it to -0.5.
    max_features : int or float, default=1.0
        Features drawn for each tree.
    bootstrap : bool, default=False
        Whether rows are drawn with replacement.
    n_jobs : int, default=None
        Threads; None means all cores. The forest does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Rows are drawn as scikit-learn draws them; splits are not.
    verbose : int, default=0
        Print the number of trees.
    warm_start : bool, default=False
        Whether `fit` adds trees to the forest there is.

    Attributes
    ----------
    estimator_ : ExtraTreeRegressor
        An unfitted tree with the trees' parameters.
    estimators_ : list of ExtraTreeRegressor
        The trees; made on first use.
    estimators_features_ : list of ndarray
        Features drawn for each tree.
    estimators_samples_ : list of ndarray
        Rows drawn for each tree.
    max_samples_ : int
        Number of rows drawn for each tree.
    offset_ : float
        `decision_function` is `score_samples` less this.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.

    References
    ----------
    F. T. Liu, K. M. Ting, Z.-H. Zhou, "Isolation forest", ICDM 2008.

    Examples
    --------
    >>> from fastml.ensemble import IsolationForest
    >>> X = [[-1.1], [0.3], [0.5], [100.0]]
    >>> IsolationForest(random_state=0).fit(X).predict([[0.1], [0.0], [90.0]]).tolist()
    [1, 1, -1]
    """

    _parameter_constraints: dict = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
        "max_features": [Integral, Interval(Real, 0, 1, closed="right")],
        "bootstrap": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        *,
        n_estimators=100,
        max_samples="auto",
        contamination="auto",
        max_features=1.0,
        bootstrap=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
    ):
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.contamination = contamination
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    # ------------------------------------------------------------------ fitting

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, as float32; NaN is a missing value.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Chances of the rows to be drawn.

        Returns
        -------
        self : object
        """
        goes_on = self.warm_start and hasattr(self, "_nodes")
        X = validate_data(
            self,
            X,
            accept_sparse=["csc"],
            dtype=np.float32,
            ensure_all_finite="allow-nan",
            reset=not goes_on,
        )
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X, dtype=None)
        rows = np.ascontiguousarray(X.toarray() if sp.issparse(X) else X)
        n, d = rows.shape
        self._n_samples, self._sample_weight = n, sample_weight
        self._set_sizes(n, d, sample_weight)
        # As scikit-learn draws: targets first, then seeds, anew from an integer.
        check_random_state(self.random_state).uniform(size=n)
        generator = check_random_state(self.random_state)
        if not goes_on:
            self._nodes, self._width = np.empty(0, NODE), d
            self._starts = np.zeros(1, np.intp)
            self._seeds = np.empty(0, np.int64)
            self._estimators = []
        n_old = len(self._seeds)
        n_more = self.n_estimators - n_old
        if n_more < 0:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={n_old} when warm_start==True"
            )
        if n_more == 0:
            warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                stacklevel=2,
            )
        else:
            if n_old:
                generator.randint(MAX_SEED, size=n_old)
            self._grow(rows, generator.randint(MAX_SEED, size=n_more))
        self.offset_ = -0.5
        if self.contamination != "auto":
            self.offset_ = np.percentile(self._score(rows), 100.0 * self.contamination)
        return self

    def _set_sizes(self, n, d, sample_weight):
        if self.max_samples == "auto":
            self.max_samples_ = min(256, n)
        elif isinstance(self.max_samples, Integral):
            self.max_samples_ = self.max_samples
            if self.max_samples > n:
                warn(
                    f"max_samples ({self.max_samples}) is greater than the total number of "
                    f"samples ({n}). max_samples will be set to n_samples for estimation.",
                    stacklevel=3,
                )
                self.max_samples_ = n
        else:
            self.max_samples_ = int(self.max_samples * n)
            if self.max_samples_ == 0:
                raise ValueError(f"max_samples={self.max_samples} of {n} rows is less than one row")
        if isinstance(self.max_features, Integral):
            features = self.max_features
        else:
            features = int(self.max_features * d)
        if features > d:
            raise ValueError("max_features must be <= n_features")
        self._n_columns = max(1, int(features))
        self._max_samples = self.max_samples_

    def _draws(self, seed):
        """(features, rows) of a tree, drawn as scikit-learn's bagging draws them."""
        generator = np.random.RandomState(seed)
        features = sample_without_replacement(
            self.n_features_in_, self._n_columns, random_state=generator
        )
        n, weights = self._n_samples, self._sample_weight
        if weights is not None:
            p = weights / np.sum(weights)
            rows = generator.choice(n, self.max_samples_, replace=self.bootstrap, p=p)
        elif self.bootstrap:
            rows = generator.randint(0, n, self.max_samples_)
        else:
            rows = draw_distinct(n, self.max_samples_, generator)
        return features, rows

    def _grow(self, X, seeds):
        """`_grow_blocks`, told to callbacks; how many blocks there are depends on the rows."""
        with fit_steps(self, None, X) as steps:
            self._grow_blocks(X, seeds, steps)

    def _grow_blocks(self, X, seeds, steps):
        m = self.max_samples_
        depth = int(np.ceil(np.log2(max(m, 2))))
        most = max(1, min(2 * m - 1, 2 ** (min(depth, 40) + 1) - 1))
        block = max(16, (1 << 28) // (16 * most + 8 * m + 1))
        if steps.told:
            block = min(block, TREES_OF_A_STEP)
        kept, sizes = [self._nodes], [np.diff(self._starts)]
        for first in range(0, len(seeds), block):
            told = steps.begin("trees")
            mine = seeds[first : first + block]
            nodes = np.empty((len(mine), most), NODE)
            n_nodes = np.empty(len(mine), np.intp)
            columns = np.empty((len(mine), self._n_columns), np.int64)
            rows = np.empty((len(mine), m), np.int64)
            for t, seed in enumerate(mine):
                columns[t], rows[t] = self._draws(seed)
            if self.bootstrap:
                self._grow_distinct(X, rows, columns, mine, depth, nodes, n_nodes)
            else:
                isolate_all(
                    kernel_view(X), rows, columns, kernel_view(mine, np.uint64), depth, nodes,
                    n_nodes, n_threads=effective_n_threads(self.n_jobs, rows.size * depth * 8.0),
                )  # fmt: skip
            kept += [nodes[t, : n_nodes[t]] for t in range(len(mine))]
            sizes.append(n_nodes)
            if self.verbose:
                print(f"tree {len(self._seeds) + first + len(mine)} of {self.n_estimators}")  # noqa: T201
            if told.end():
                seeds = seeds[: first + len(mine)]
                break
        self._nodes = np.concatenate(kept)
        self._starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.intp)
        self._seeds = np.concatenate([self._seeds, seeds])

    def _grow_distinct(self, X, rows, columns, seeds, depth, nodes, n_nodes):
        """Rows drawn twice are one row: a launch per tree, as their numbers differ."""
        for t in range(len(seeds)):
            distinct = np.unique(rows[t]).reshape(1, -1)
            isolate_all(
                kernel_view(X), distinct, columns[t : t + 1],
                kernel_view(seeds[t : t + 1], np.uint64), depth, nodes[t : t + 1],
                n_nodes[t : t + 1], n_threads=1,
            )  # fmt: skip

    # ------------------------------------------------------------------ scores

    def _score(self, X):
        trees = Forest(
            kernel_view(self._nodes),
            kernel_view(self._starts, np.intp),
            kernel_view(np.empty((0, 1))),
            kernel_view(np.zeros(len(self._seeds), np.intp)),
            kernel_view(NO_BITSETS),
            scalar=True,
            n_columns=1,
        )
        n_threads = effective_n_threads(self.n_jobs, len(X) * 60.0 * len(self._seeds))
        lengths = trees.sum(X, n_threads=n_threads)
        scale = len(self._seeds) * average_path(np.int64(self.max_samples_))
        if scale == 0.0:  # trees of one row
            return np.full(len(X), -0.5)
        return -np.exp2(-lengths[:, 0] / scale)

    def score_samples(self, X):
        """The opposite of the anomaly score of the paper.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The lower, the more abnormal.
        """
        check_is_fitted(self)
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=np.float32,
            reset=False,
            ensure_all_finite="allow-nan",
        )
        check_columns(self._width, X.shape[1])
        return self._score(X.toarray() if sp.issparse(X) else X)

    def decision_function(self, X):
        """`score_samples` less ``offset_``: negative for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """1 for inliers, -1 for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    # ------------------------------------------------------------------ trees

    @property
    def estimators_samples_(self):
        """Rows drawn for each tree."""
        check_is_fitted(self)
        return [self._draws(seed)[1] for seed in self._seeds]

    @property
    def estimators_features_(self):
        """Features drawn for each tree."""
        check_is_fitted(self)
        return [self._draws(seed)[0] for seed in self._seeds]

    @property
    def estimator_(self):
        """An unfitted tree with the trees' parameters."""
        check_is_fitted(self)
        from fastml.tree import ExtraTreeRegressor

        depth = int(np.ceil(np.log2(max(self.max_samples_, 2))))
        return ExtraTreeRegressor(max_features=1, max_depth=depth)

    @property
    def estimators_(self):
        """The trees; their values are path lengths."""
        if not hasattr(self, "_nodes"):
            raise AttributeError(f"this {type(self).__name__} is not fitted: it has no estimators_")
        made = len(self._estimators)  # those of an earlier fit stay the same objects
        self._estimators += [self._as_estimator(t) for t in range(made, len(self._seeds))]
        return self._estimators

    def _as_estimator(self, t):
        from fastml._engines.trees.tree import Tree

        made = self.estimator_
        nodes = self._nodes[self._starts[t] : self._starts[t + 1]]
        made.random_state = int(self._seeds[t])
        made.tree_ = Tree(
            nodes,
            nodes["right"][nodes["feature"] == LEAF],
            None,
            np.empty((0, 1)),
            n_features=self.n_features_in_,
            n_classes=[1],
            criterion=SQUARED_ERROR,
        )
        made.n_features_in_ = self.n_features_in_
        made.n_outputs_ = 1
        made.max_features_ = 1
        return made

    def __getstate__(self):
        state = super().__getstate__()
        return {**state, "_estimators": []} if "_nodes" in state else state

    def __setstate__(self, state):
        super().__setstate__(state)
        if "_nodes" in state:
            check_trees(
                self._nodes, self._starts, np.zeros(len(self._seeds) + 1), NO_BITSETS,
                self.n_features_in_, n_columns=1, scalar=True,
            )  # fmt: skip

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
