"""How AdaBoost trains its members: any estimator, trees on columns sorted once, stumps on blocks.

A trainer is made once per fit. Its ``fit`` trains one member and returns it with its result on the
training rows: which are wrong (classifiers) or what is predicted (regressors).
"""

from __future__ import annotations

from copy import copy

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from fastml._engines.trees.grow import grow, presort
from fastml._engines.trees.pruning import pruned
from fastml._engines.trees.rules import CRITERIA
from fastml._engines.trees.sklearn_types import register_with_scikit_learn
from fastml._engines.trees.tree import Tree
from fastml._sklearn import safe_indexing
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import check_array, kernel_view
from fastml.kernels.boosting.median import repeat_entries
from fastml.kernels.tree.node_split import EPSILON, choose
from fastml.kernels.tree.nodes import LEAF, MISSING_LEFT, NODE, class_impurity
from fastml.kernels.tree.presort import value_of
from fastml.kernels.tree.stump_split import (
    N_CODES,
    code_columns,
    score_ends,
    score_rows,
    side_sums,
    sum_blocks,
)
from fastml.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

LARGEST_SEED = np.iinfo(np.int32).max
GROUP = 16
"""Most columns side by side: the class weights of all their blocks fit in the L2 cache."""

LAUNCH = 0.4
"""Work per value of a round, as `effective_n_threads` counts it. A round is short and ends with its
slowest thread, so on a busy machine a thread must have about a millisecond to do to be worth it."""

TASKS = 16
"""About how many pieces of work the sums of blocks are cut into, whatever the number of threads."""


def classifier_trainer(boost, X, y, weights):
    """The trainer for the boost's `estimator_`."""
    estimator = boost.estimator_
    if type(estimator) not in (DecisionTreeClassifier, ExtraTreeClassifier):
        return AnyClassifier(boost, X, y)
    defaults = DecisionTreeClassifier(max_depth=1).get_params()
    free = ("criterion", "random_state", "min_samples_leaf", "n_jobs")
    same = all(
        value is defaults[name] or value == defaults[name]
        for name, value in estimator.get_params(deep=False).items()
        if name not in (*free, "monotonic_cst", "categorical_features")
    )
    numeric = estimator.monotonic_cst is None and estimator.categorical_features is None
    whole = isinstance(estimator.min_samples_leaf, int)
    cls = StumpClassifier if same and numeric and whole else TreeClassifier
    return cls(boost, X, y, weights)


def regressor_trainer(boost, X, y):
    """The trainer for the boost's `estimator_`."""
    estimator = boost.estimator_
    ours = type(estimator) in (DecisionTreeRegressor, ExtraTreeRegressor)
    ours = ours and isinstance(estimator.criterion, str)
    return TreeRegressor(boost, X, y) if ours else AnyRegressor(boost, X, y)


class AnyClassifier:
    """Members of any kind."""

    def __init__(self, boost, X, y):
        self.boost, self.X, self.y = boost, X, y

    def fit(self, weights, generator):
        """A member, and the rows on which it is wrong."""
        member = self.boost._make_estimator(append=False, random_state=generator)
        member.fit(self.X, self.y, sample_weight=weights)
        return member, member.predict(self.X) != self.y


class AnyRegressor:
    """Members of any kind, on draws of the rows."""

    def __init__(self, boost, X, y):
        self.boost, self.X, self.y = boost, X, y

    def fit(self, weights, generator):
        """A member, and its predictions."""
        member = self.boost._make_estimator(append=False, random_state=generator)
        n = len(self.y)
        rows = generator.choice(np.arange(n), size=n, replace=True, p=weights)
        member.fit(safe_indexing(self.X, rows), safe_indexing(self.y, rows))
        return member, member.predict(self.X)


def float_rows(X):
    """Rows as trees compare them: dense, float32, finite."""
    with np.errstate(over="ignore"):  # check_array raises on values too large for float32
        X = check_array(X, accept_sparse="csr", dtype=np.float32, input_name="X")
    return np.ascontiguousarray(X.toarray() if issparse(X) else X)


class _Trees:
    """What boosting of fastml's own trees shares: rows, sorted columns, and a member to copy."""

    def __init__(self, boost, X):
        self.X = float_rows(X)
        self.model = clone(boost.estimator_)
        self.model._validate_params()
        self.model.n_features_in_ = self.X.shape[1]
        self.model.n_outputs_ = 1
        register_with_scikit_learn(type(self.model))
        self.n_threads = effective_n_threads(boost.n_jobs, self.X.size * 16.0)

    def seed(self, generator) -> int:
        """The member's ``random_state``, drawn as scikit-learn draws it."""
        return int(generator.randint(LARGEST_SEED))

    def member(self, seed: int, tree: Tree):
        """A fitted estimator around a tree."""
        made = copy(self.model)
        made.random_state = seed
        made.tree_ = pruned(tree, made.ccp_alpha) if made.ccp_alpha > 0.0 else tree
        return made


def _tree_seed(seed: int) -> int:
    """What the tree estimator itself would make of its ``random_state``."""
    return int(check_random_state(seed).randint(0, LARGEST_SEED))


class TreeClassifier(_Trees):
    """Trees of any depth; their columns are sorted once for all of them."""

    def __init__(self, boost, X, y, weights):
        super().__init__(boost, X)
        self.codes, self.n_classes, self.class_weights = self.model._encode(y.reshape(-1, 1))
        self.rules = self.model._growth_rules(self.X, weights)
        self.column_rules = self.model._column_rules(self.X, self.n_classes)
        self.model.classes_ = self.model.classes_[0]
        self.model.n_classes_ = int(self.n_classes[0])
        self.prepare(weights)

    def prepare(self, weights):
        self.orders = presort(self.X, self.n_threads)

    def fit(self, weights, generator):
        """A member, and the rows on which it is wrong."""
        seed = self.seed(generator)
        if self.class_weights is not None:
            weights = weights * self.class_weights
        least = self.model.min_weight_fraction_leaf * weights.sum()
        tree, leaves = grow(
            self.orders,
            self.rules._replace(min_weight=float(least)),
            classes=self.codes,
            n_classes=self.n_classes,
            weights=weights,
            **self.column_rules,
            seed=_tree_seed(seed),
            n_threads=self.n_threads,
        )
        member = self.member(seed, tree)
        if member.tree_ is not tree:
            leaves = member.tree_.apply(self.X, self.n_threads)
        said = member.tree_.value[:, 0].argmax(axis=1)
        return member, said[leaves] != self.codes[0]


class StumpClassifier(TreeClassifier):
    """Trees of one split, found from the class weights of blocks of rows in order."""

    def prepare(self, weights):
        self.kept = None if np.all(weights != 0.0) else np.flatnonzero(weights)
        rows = self.X if self.kept is None else self.X[self.kept]
        codes = self.codes[0] if self.kept is None else self.codes[0, self.kept]
        self.classes = kernel_view(codes)
        self.columns = np.ascontiguousarray(rows.T)
        n, d = rows.shape
        self.orders = kernel_view(presort(rows, self.n_threads))
        n_groups = -(-d // GROUP)
        width = -(-d // n_groups)
        blocks = np.zeros((n_groups, n, width), np.uint8)
        self.starts = np.zeros((d, N_CODES + 1), np.intp)
        self.inner = np.zeros((d, N_CODES), np.bool_)
        self.n_blocks = np.zeros(d, np.intp)
        self.round_threads = min(self.n_threads, effective_n_threads(None, LAUNCH * rows.size))
        self.rows_per_block = max(32, -(-n // N_CODES))
        code_columns(
            self.orders, self.rows_per_block, blocks, self.starts, self.inner, self.n_blocks,
            n_threads=self.n_threads,
        )  # fmt: skip
        self.blocks = kernel_view(blocks)
        chunks = min(-(-TASKS // n_groups), -(-n // 4096))
        self.rows_per_chunk = -(-n // chunks)
        self.n_chunks = -(-n // self.rows_per_chunk)
        K = int(self.n_classes[0])
        self.sums = np.empty((self.n_chunks, n_groups, width * N_CODES * K))
        self.prefix = np.empty((d, N_CODES + 1, K))
        self.totals, self.bounds = np.empty((d, K)), np.full((d, N_CODES), -np.inf)
        self.found = np.zeros((d, 5))
        self.all_columns = np.arange(d)

    def fit(self, weights, generator):
        """A member, and the rows on which it is wrong."""
        seed = self.seed(generator)
        if self.kept is not None:
            weights = weights[self.kept]
        weights = kernel_view(weights)
        column, p = self._best_split(weights, seed)
        tree, wrong = self._stump(column, p, weights)
        if self.kept is not None:
            all_rows = np.zeros(len(self.X), bool)
            all_rows[self.kept] = wrong
            wrong = all_rows
        return self.member(seed, tree), wrong

    def _best_split(self, weights, seed) -> tuple[int, int]:
        """The column, and how many rows are left of the threshold; 0 rows if it is a leaf."""
        K, d = int(self.n_classes[0]), len(self.n_blocks)
        rules = self.rules
        n_threads = self.round_threads
        sum_blocks(
            self.blocks, self.n_chunks, self.rows_per_chunk, self.classes, weights, K, self.sums,
            n_threads=n_threads,
        )  # fmt: skip
        sums = self.sums.reshape(self.n_chunks, -1, N_CODES, K)
        score_ends(
            sums, self.starts, self.inner, self.n_blocks, rules, self.prefix,
            self.totals, self.bounds, self.found,
            n_threads=effective_n_threads(n_threads, LAUNCH * self.bounds.size),
        )  # fmt: skip
        total = self.totals[0]
        if len(weights) < 2 or class_impurity(total, 0, K, rules.criterion, total.sum()) <= EPSILON:
            return 0, 0
        known = self.found[:, 0].max()
        work = LAUNCH * np.count_nonzero(self.bounds >= known) * self.rows_per_block
        score_rows(
            self.orders, self.starts, self.n_blocks, rules, self.prefix, self.totals,
            self.bounds, known, self.classes, weights, self.found,
            n_threads=effective_n_threads(n_threads, work),
        )  # fmt: skip
        best = choose(d, self.all_columns, self.found, np.uint64(seed))
        return (best, int(self.found[best, 1])) if best >= 0 else (0, 0)

    def _stump(self, f: int, p: int, weights):
        """The tree, and the rows on which it is wrong."""
        n, x = len(weights), self.columns[f]
        cut = np.inf
        if p > 0:
            low, high = (float(value_of(entry)) for entry in self.orders[f, p - 1 : p + 1])
            cut = low / 2.0 + high / 2.0
            cut = low if cut == high or abs(cut) == np.inf else cut
        n_chunks = -(-n // chunk_rows(n, 4.0))
        sides = np.zeros((n_chunks, 2, int(self.n_classes[0])))
        side_sums(
            n_chunks, -(-n // n_chunks), x, cut, self.classes, weights, sides,
            n_threads=min(self.round_threads, n_chunks),
        )  # fmt: skip
        sides = sides.sum(axis=0)
        said = sides.argmax(axis=1)
        wrong = self.classes != said[(x > cut).view(np.uint8)]
        if p == 0:
            return self._tree(np.full(1, LEAF), [n], sides[:1]), wrong
        feature = f | MISSING_LEFT if p > n - p else f
        tree = self._tree(np.array([feature, LEAF, LEAF]), [p, n - p], sides)
        tree.nodes[0]["threshold"], tree.nodes[0]["right"] = cut, 2
        return tree, wrong

    def _tree(self, features, samples, sums) -> Tree:
        nodes = np.zeros(len(features), NODE)
        nodes["feature"] = features
        weights = sums.sum(axis=1)
        shares = sums / weights[:, None]
        pure = shares.max(axis=1) == 1.0
        rows = np.where(pure, ~shares.argmax(axis=1), np.cumsum(~pure) - 1)
        nodes["right"][features == LEAF] = rows
        return Tree(
            nodes,
            np.array(samples, np.int32),
            weights,
            shares[~pure],
            n_features=len(self.columns),
            n_classes=self.n_classes,
            criterion=CRITERIA[self.model.criterion],
        )


class TreeRegressor(_Trees):
    """Trees on draws of the rows; columns are sorted once, and a draw keeps their order."""

    def __init__(self, boost, X, y):
        super().__init__(boost, X)
        self.y = np.asarray(y, dtype=np.float64)
        self.rules = self.model._growth_rules(self.X, None)
        self.column_rules = self.model._column_rules(self.X, None)
        self.orders = kernel_view(presort(self.X, self.n_threads))
        self.drawn = np.empty(self.orders.shape, np.uint64)

    def fit(self, weights, generator):
        """A member, and its predictions."""
        seed, n = self.seed(generator), len(self.y)
        rows = generator.choice(np.arange(n), size=n, replace=True, p=weights)
        counts = np.bincount(rows, minlength=n)
        starts = np.concatenate([[0], np.cumsum(counts)])
        repeat_entries(self.orders, starts, self.drawn, n_threads=self.n_threads)
        y = np.repeat(self.y, counts)
        if self.model.criterion == "poisson":
            self.model._check_counts(y)
        tree, _ = grow(
            self.drawn,
            self.rules,
            values=y.reshape(1, -1),
            **self.column_rules,
            seed=_tree_seed(seed),
            n_threads=self.n_threads,
        )
        member = self.member(seed, tree)
        return member, member.tree_.predict_flat(self.X, self.n_threads)[:, 0]
