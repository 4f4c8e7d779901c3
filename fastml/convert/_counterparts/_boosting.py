"""Boosted trees: scikit-learn's predictors and bins, and ours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.boosted.assemble import relinked
from fastml._engines.boosted.bins import BinMapper
from fastml._engines.boosted.trees import NODE, BoostedTree, check_trees
from fastml.convert._counterparts._rules import Rule
from fastml.convert._errors import NotConvertible

COPIED = ("count", "gain", "missing_go_to_left", "bin_threshold", "is_categorical", "depth")

# ---------------------------------------------------------------------------- gradient boosting


def stages_forth(converter, model, made) -> None:
    made._loss = made._get_loss(sample_weight=None)


def stages_back(converter, model, made) -> None:
    made._loss = made._make_loss()
    made._forests = None, []
    made._remember()


STAGES = Rule(("_forests", "_loss"), ("_loss",), ("line_search",), stages_forth, stages_back)

# ---------------------------------------------------------------------------- histograms

HIST_OURS = (
    "_bin_mapper", "_feature_seed", "_loss", "_packed", "_predictors", "_preprocessor",
    "_random_seed",
)  # fmt: skip
HIST_THEIRS = (
    "_bin_mapper", "_feature_subsample_rng", "_is_categorical_remapped", "_label_encoder", "_loss",
    "_n_features", "_predictors", "_preprocessor", "_random_seed", "_scorer",
)  # fmt: skip
HIST_LEARNING = ("gamma", "grow_policy", "keep_best", "l1_regularization", "subsample", "init")


def hist_forth(converter, model, made) -> None:
    from fastml._sklearn import BinMapper as TheirMapper

    made._loss = _their_loss(model, made)
    mapper, columns = model._bin_mapper, _columns(model)
    if mapper.sources is not None:
        raise NotConvertible("trees of another library with more thresholds than a byte numbers")
    theirs = TheirMapper(n_bins=mapper.max_bins + 1)
    theirs.bin_thresholds_ = [mapper.bin_thresholds_[f].copy() for f in columns]
    theirs.n_bins_non_missing_ = mapper.n_bins_non_missing_[columns]
    theirs.is_categorical_ = mapper.is_categorical_[columns]
    theirs.is_categorical = None if model.is_categorical_ is None else theirs.is_categorical_
    theirs.missing_values_bin_idx_ = mapper.missing_values_bin_idx_
    made._bin_mapper = theirs
    places = np.argsort(columns)
    made._predictors = [
        [_their_tree(tree, places, theirs.bin_thresholds_) for tree in trees]
        for trees in model._predictors
    ]
    made._preprocessor = _their_preprocessor(converter, model)
    made._is_categorical_remapped = None
    if model.is_categorical_ is not None:
        made._is_categorical_remapped = np.asarray(model.is_categorical_)[columns]
    made._n_features = model.n_features_in_
    made._random_seed = np.uint64(model._random_seed)
    made._feature_subsample_rng = np.random.default_rng(model._feature_seed)
    made._scorer = None
    if hasattr(model, "classes_"):
        made._label_encoder = _label_encoder(model.classes_)


def _their_loss(model, made):
    try:
        return made._get_loss(sample_weight=None)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise NotConvertible(f"scikit-learn has no loss {model.loss!r}") from None


def _columns(model) -> NDArray:
    """Columns in scikit-learn's order: those with categories first."""
    if model.is_categorical_ is None:
        return np.arange(model.n_features_in_)
    known = np.asarray(model.is_categorical_, bool)
    return np.r_[np.flatnonzero(known), np.flatnonzero(~known)]


def _their_tree(tree: BoostedTree, places: NDArray, thresholds: list[NDArray]):
    from fastml._sklearn import PREDICTOR_RECORD_DTYPE, TreePredictor

    nodes = np.zeros(len(tree.nodes), PREDICTOR_RECORD_DTYPE)
    inner = np.flatnonzero(tree.nodes["left"] >= 0)
    own = tree.nodes[inner]
    nodes["value"], nodes["is_leaf"] = tree.nodes["value"], 1
    for name in COPIED:
        nodes[name] = tree.nodes[name]
    nodes["is_leaf"][inner] = 0
    nodes["left"][inner], nodes["right"][inner] = own["left"], own["left"] + 1
    nodes["feature_idx"][inner] = places[own["feature_idx"]]
    by_set = own["is_categorical"].astype(bool)
    nodes["bitset_idx"][inner[by_set]] = np.arange(by_set.sum())
    for i in inner[~by_set]:
        mine = thresholds[nodes["feature_idx"][i]]
        b = nodes["bin_threshold"][i]
        nodes["num_threshold"][i] = mine[b] if b < len(mine) else np.inf
    sets = np.ascontiguousarray(tree.sets).view(np.uint32).reshape(-1, 8)
    return TreePredictor(nodes, sets.copy(), sets.copy())


def _their_preprocessor(converter, model):
    """Encoder of categories; its function that checks numbers is scikit-learn's own."""
    if model._preprocessor is None:
        return None
    from functools import partial

    from sklearn.utils import check_array

    ours = model._preprocessor.named_transformers_["numerical"]
    if hasattr(ours, "func"):
        check = partial(check_array, dtype=[np.float64], ensure_all_finite=False)
        converter.replace(ours.func, check)
    return converter.estimator(model._preprocessor, "categories")


def _label_encoder(classes):
    from sklearn.preprocessing import LabelEncoder

    made = LabelEncoder.__new__(LabelEncoder)
    made.classes_ = np.array(classes)
    return made


def hist_back(converter, model, made) -> None:
    made._loss = made._get_loss(None)
    columns, theirs = _columns(model), model._bin_mapper
    places = np.argsort(columns)
    counts = np.array(
        [
            max(1, len(t)) if c else 0
            for t, c in zip(theirs.bin_thresholds_, theirs.is_categorical_)
        ],
        np.intp,
    )[places]
    mapper = BinMapper(int(theirs.n_bins) - 1)
    mapper.n_categories_ = counts
    mapper.n_categories = counts if counts.any() else None
    mapper.is_categorical_ = (counts > 0).astype(np.uint8)
    mapper.bin_thresholds_ = [
        np.arange(counts[f], dtype=np.float64) if counts[f] else theirs.bin_thresholds_[at].copy()
        for f, at in enumerate(places)
    ]
    mapper.n_bins_non_missing_ = theirs.n_bins_non_missing_[places].astype(np.uint32)
    mapper.missing_values_bin_idx_ = int(theirs.missing_values_bin_idx_)
    mapper.check_tables()
    made._bin_mapper = mapper
    made._predictors = [[_our_tree(tree, columns) for tree in trees] for trees in model._predictors]
    if made._predictors:
        check_trees(made._predictors, mapper)
    made._packed = None
    made._take_preprocessor(model._preprocessor)
    made._random_seed = int(model._random_seed)
    made._feature_seed = made._random_seed
    made._fitted_with_sw = bool(getattr(model, "_fitted_with_sw", False))


def _our_tree(tree, columns: NDArray) -> BoostedTree:
    theirs = tree.nodes
    leaf = theirs["is_leaf"].astype(bool)
    left = np.where(leaf, -1, theirs["left"].astype(np.intp))
    right = np.where(leaf, -1, theirs["right"].astype(np.intp))
    order, depth, left_at = relinked(left, right)
    nodes = np.zeros(len(order), NODE)
    mine = theirs[order]
    for name in COPIED:
        nodes[name] = np.minimum(mine[name], 255) if name == "depth" else mine[name]
    inner = ~leaf[order]
    nodes["depth"] = np.minimum(depth, 255)
    nodes["left"] = nodes["feature_idx"] = -1
    nodes["left"][inner] = left_at
    nodes["feature_idx"][inner] = columns[mine["feature_idx"][inner]]
    nodes["value"] = np.where(inner, 0.0, mine["value"])
    by_set = inner & mine["is_categorical"].astype(bool)
    nodes["bin_threshold"][~inner | by_set] = 0
    sets = tree.raw_left_cat_bitsets[mine["bitset_idx"][by_set]]
    return BoostedTree(nodes, np.ascontiguousarray(sets, np.uint32).view(np.uint64).reshape(-1, 4))


HIST = Rule(HIST_OURS, HIST_THEIRS, HIST_LEARNING, hist_forth, hist_back)
