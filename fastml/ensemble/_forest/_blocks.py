"""Random forests of rows in blocks."""

from __future__ import annotations

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from fastml._engines.forests import blocks as work
from fastml._engines.forests.block_trees import (
    BlockForest,
    TreeRules,
    codes_of_blocks,
    forest_bytes,
    new_name,
    tree_of,
)
from fastml._engines.kept import is_much
from fastml._engines.trees.rules import seed_of
from fastml.ensemble._draws import check_distinct, columns_of_tree, n_rows_drawn
from fastml.ensemble._forest._absolute import pruned_parts
from fastml.ensemble._forest._quantiles import LeafTargets
from fastml.ensemble._forest._trees import Trees

MAX_SEED = np.iinfo(np.int32).max


def fit_forest_of_blocks(forest, passes) -> None:
    """Grow the trees of a random forest by passes over blocks of rows."""
    passes.need_target()
    _refuse(forest)
    n, d = passes.n_rows, passes.n_features
    classes = class_weights = None
    total, weighted, balanced = float(n), passes.has_weights, False
    if is_classifier(forest):
        classes = passes.classes()
        check_classification_targets(classes)
        balanced = forest.class_weight == "balanced_subsample" and forest.bootstrap
        if forest.class_weight is not None or weighted:
            rows, weights = passes.reduced(work.block_class_totals, np.add, classes, name="classes")
            if not weighted:
                weights = rows
            if forest.class_weight is not None and not balanced:
                class_weights = _class_weights(forest.class_weight, classes, weights)
                weights = weights * class_weights
                weighted = True
            total = float(weights.sum())
    elif weighted:
        total = passes.total_weight()
    if not total > 0.0:
        raise ValueError("class_weight and sample_weight leave no row a positive weight")
    rate = None
    if forest.bootstrap:
        drawn = n_rows_drawn(forest.max_samples, n, np.array([total]) if weighted else None)
        if not forest.replace:
            check_distinct(drawn, n)
        rate = drawn / total
    elif forest.max_samples is not None:
        raise ValueError("`max_sample` cannot be set if `bootstrap=False`.")
    seeds = check_random_state(forest.random_state).randint(MAX_SEED, size=forest.n_estimators)
    own = [seed_of(int(seed)) for seed in seeds]
    width = forest._columns_per_tree(d)
    columns = None if width == d else [columns_of_tree(seed, d, width) for seed in seeds]
    n_classes = np.ones(1, np.intp) if classes is None else np.array([len(classes)])
    growth = forest._growth_rules(n, d)
    rules = TreeRules(growth, float(forest.min_weight_fraction_leaf), n_classes, balanced)
    setup = work.ForestSetup(
        new_name(), codes_of_blocks(passes), classes, class_weights, growth.criterion,
        seeds.astype(np.uint64), rate, forest.replace,
        is_much(forest_bytes(n, d, forest.n_estimators)),
    )  # fmt: skip
    grown = BlockForest(passes, setup, rules, own, columns, forest.n_jobs).grown()
    if forest.ccp_alpha > 0.0:
        grown = [pruned_parts(tree_of(parts, d, rules), forest.ccp_alpha) for parts in grown]
    if classes is not None:
        forest.classes_, forest.n_classes_ = classes, len(classes)
    forest.n_outputs_, forest._n_samples = 1, n
    forest._trees = Trees.empty(d, n_classes, growth.criterion).extended(grown)
    forest._seeds = seeds.astype(np.int64)
    forest._leaf_targets = LeafTargets.empty()
    forest._estimators = forest._oob = forest._sample_weight = None
    forest._weight_unit, forest._n_samples_bootstrap = 1.0, None
    forest._drawn_from, forest._of_blocks = {n}, True


def _refuse(forest) -> None:
    """What passes over blocks cannot do."""
    if forest.criterion == "absolute_error":
        raise ValueError("on blocks there is no criterion='absolute_error': medians do not merge")
    for name, allowed in (
        ("oob_score", False), ("n_iter_no_change", None), ("warm_start", False),
        ("monotonic_cst", None),
    ):  # fmt: skip
        value = getattr(forest, name, allowed)
        if value is not allowed and value != allowed:
            raise ValueError(f"on blocks {name} must be {allowed}, got {value!r}")


def _class_weights(kind, classes, weights):
    """The weight of every class."""
    if isinstance(kind, str):
        return weights.sum() / (len(classes) * weights)
    if isinstance(kind, list):
        raise ValueError("on blocks trees have one output: class_weight must not be a list")
    return compute_class_weight(kind, classes=classes, y=classes)
