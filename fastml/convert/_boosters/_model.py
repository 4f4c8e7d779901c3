"""Estimators around boosted trees that were trained elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from fastml._engines.boosted.assemble import GrownTree, assemble
from fastml._engines.boosted.masks import ROWS_AT_ONCE
from fastml._engines.boosted.trees import (
    Packed,
    bins_by_columns,
    by_columns,
    loaded_trees,
    plain_boosted,
    stored_trees,
)
from fastml._engines.boosted.walks import probabilities, sigmoid
from fastml._engines.trees.stored import smallest
from fastml._validation import FLOATS, validate_data

TINY = float(np.float32(1e-35))
"""LightGBM takes numbers that are not larger than this for zero."""

LINKS = {
    "identity": lambda raw, _: raw,
    "exp": lambda raw, _: np.exp(raw),
    "log1p_exp": lambda raw, _: np.logaddexp(0.0, raw),
    "signed_square": lambda raw, _: np.sign(raw) * raw * raw,
    "sigmoid": sigmoid,
    "step": lambda raw, _: (raw > 0.0).astype(np.float64),
    "softmax": lambda raw, _: _softmax(raw),
}

ROUNDINGS = {"trunc": np.trunc, "floor": np.floor}


@dataclass
class TrainedElsewhere:
    """What a reader of another library's model found."""

    library: str
    objective: str
    trees: list[GrownTree]  # tree t belongs to output t mod len(baseline)
    baseline: NDArray  # what is added to the trees of each output
    n_features: int
    link: str
    slope: float = 1.0  # of the link
    scale: float = 1.0  # of the sum, before the link
    n_classes: int = 0  # 0: no classification
    n_iterations: int | None = None  # of training; None: one tree per output in each
    n_categories: NDArray | None = None
    category_values: dict[int, NDArray] = field(default_factory=dict)  # column → what codes mean
    category_rounding: str = "trunc"  # how a number that is not whole becomes a category
    row_type: type | None = None  # rows are rounded to it before they are compared
    zero_is_missing: list[int] = field(default_factory=list)  # columns
    absent: float = 0.0  # value of what a sparse matrix leaves out
    feature_names: list[str] | None = None
    pandas_categories: list | None = None


class ConvertedTrees(BaseEstimator):
    """Trees of another library, predicting on fastml's kernels.

    Parameters
    ----------
    n_jobs : int, default=None
        Threads.
    """

    def __init__(self, n_jobs=None):
        self.n_jobs = n_jobs

    @classmethod
    def of(cls, source: TrainedElsewhere, classes=None):
        """The estimator of what a reader found."""
        model = cls()
        n_categories = source.n_categories
        if n_categories is None:
            n_categories = np.zeros(source.n_features, np.intp)
        model._mapper, model._trees, covers = assemble(
            source.trees, source.n_features, n_categories, len(source.baseline)
        )
        model._covers = _stored(covers)
        model._baseline = np.asarray(source.baseline, np.float64)
        model.library_, model.objective_ = source.library, source.objective
        model.link_, model._slope = source.link, source.slope
        model._scale = source.scale
        model._row_type = None if source.row_type is None else np.dtype(source.row_type).name
        model._zero_is_missing = np.array(source.zero_is_missing, np.intp)
        model._category_values = source.category_values
        model._category_rounding = source.category_rounding
        model._absent = source.absent
        model._pandas_categories = source.pandas_categories
        model.n_features_in_ = source.n_features
        model.n_iter_ = len(model._trees) if source.n_iterations is None else source.n_iterations
        if source.feature_names is not None:
            model.feature_names_in_ = np.array(source.feature_names, dtype=object)
        if classes is not None:
            model.classes_ = np.asarray(classes)
        return model

    def fit(self, X=None, y=None):
        """Does nothing: the trees are grown (as scikit-learn's ``FrozenEstimator``)."""
        return self

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_trees")

    def raw_predict(self, X) -> NDArray:
        """Sum of the trees before the link: (n_rows,) or (n_rows, n_outputs)."""
        raw = self._raw(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def _raw(self, X) -> NDArray:
        X = self._checked(X)
        if X.shape[0] == 1 and type(X) is np.ndarray:  # one row: every microsecond shows
            out = self._baseline.copy().reshape(1, -1)
            self._pack().add_few(self._as_compared(X), self._mapper, out)
            return out
        out = np.repeat(self._baseline[None], X.shape[0], axis=0)
        packed = self._pack()
        for start in range(0, X.shape[0], ROWS_AT_ONCE):
            rows = self._as_compared(X[start : start + ROWS_AT_ONCE])
            part = out[start : start + ROWS_AT_ONCE]
            packed.add_rows(rows, self._mapper, part, self.n_jobs)
        return out

    def _trees_for_inspection(self, X):
        """For `fastml.inspection`, which explains `raw_predict`: (bins of X with NaN where they are
        missing, trees, start)."""
        rows = None
        if X is not None:
            rows = self._mapper.transform(self._as_compared(self._checked(X)), self.n_jobs)
            rows = bins_by_columns(rows, self._mapper)
        covers = getattr(self, "_covers", None)
        ends = np.cumsum([len(tree.nodes) for stage in self._trees for tree in stage])
        parts = None if covers is None else np.split(covers.astype(np.float64), ends[:-1])
        trees = []
        for stage in self._trees:
            for k, tree in enumerate(stage):
                plain = plain_boosted(tree, k, len(stage))
                cover = np.zeros(len(tree.nodes)) if parts is None else parts[len(trees)]
                trees.append(plain._replace(cover=cover))
        return rows, by_columns(trees, self._mapper), self._baseline

    def _checked(self, X):
        if self._is_plain(X):
            return X
        if self._pandas_categories:
            X = _coded(X, self._pandas_categories)
        return validate_data(
            self, X, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=False, reset=False
        )

    def _is_plain(self, X) -> bool:
        """Whether there is nothing to check: validation takes longer than the trees of one row."""
        return (
            type(X) is np.ndarray
            and X.dtype in FLOATS
            and X.ndim == 2
            and X.shape[0] > 0
            and X.shape[1] == self.n_features_in_
            and not self._pandas_categories
            and "feature_names_in_" not in self.__dict__  # scikit-learn warns of their absence
        )

    def _as_compared(self, X) -> NDArray:
        """Rows as the other library compares them."""
        if type(X) is not np.ndarray and hasattr(X, "toarray"):
            X = _dense(X, self._absent)
        changed = bool(len(self._zero_is_missing) or self._category_values)
        if not changed and self._row_type is None:
            return X
        X = np.array(X, dtype=self._row_type) if changed else np.asarray(X, dtype=self._row_type)
        for f in self._zero_is_missing:
            X[np.abs(X[:, f]) <= TINY, f] = np.nan
        for f, values in self._category_values.items():
            X[:, f] = _codes(ROUNDINGS[self._category_rounding](X[:, f]), values)
        return X

    def _pack(self) -> Packed:
        packed = self.__dict__.get("_packed")
        if packed is None:
            trees = [tree for trees in self._trees for tree in trees]
            packed = self._packed = Packed(trees, self._mapper.missing_values_bin_idx_)
        return packed

    def _linked(self, X) -> NDArray:
        return LINKS[self.link_](self._scaled(X), self._slope)

    def _scaled(self, X) -> NDArray:
        raw = self._raw(X)
        if self._scale != 1.0:
            raw *= self._scale
        return raw

    def __getstate__(self):
        state = dict(super().__getstate__())
        state.pop("_packed", None)
        state["_trees"] = stored_trees(state["_trees"])
        return state

    def __setstate__(self, state):
        state = dict(state)
        state["_mapper"].check_tables()
        state["_trees"] = loaded_trees(state["_trees"], state["_mapper"])
        if state["link_"] not in LINKS or state["_category_rounding"] not in ROUNDINGS:
            raise ValueError("a stored model has an unknown link or rounding")
        covers = state.setdefault("_covers", None)
        n_nodes = sum(len(tree.nodes) for stage in state["_trees"] for tree in stage)
        if covers is not None and (covers.shape != (n_nodes,) or covers.dtype.kind not in "uif"):
            raise ValueError("a stored model does not have one weight per node")
        super().__setstate__(state)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


class ConvertedRegressor(RegressorMixin, ConvertedTrees):
    """Predicts numbers, ranks or raw scores, as the objective says."""

    def predict(self, X) -> NDArray:
        """What the other library's ``predict`` returns."""
        out = self._linked(X)
        return out[:, 0] if out.shape[1] == 1 else out


class ConvertedClassifier(ClassifierMixin, ConvertedTrees):
    """Predicts classes and their probabilities."""

    def predict_proba(self, X) -> NDArray:
        """Probability of every class."""
        if self.link_ == "sigmoid" and len(self._baseline) == 1:
            return probabilities(self._scaled(X), self._slope)
        out = self._linked(X)
        return np.hstack([1.0 - out, out]) if out.shape[1] == 1 else out

    def decision_function(self, X) -> NDArray:
        """`raw_predict`, under scikit-learn's name."""
        return self.raw_predict(X)

    def predict(self, X) -> NDArray:
        """The most probable class."""
        out = self._linked(X)
        best = out.argmax(axis=1) if out.shape[1] > 1 else (out[:, 0] > 0.5).astype(np.intp)
        return self.classes_[best]


def converted(source: TrainedElsewhere, model, classes):
    """The estimator of what was found in ``model``, whose labels are taken if none are given."""
    if not source.n_classes:
        return ConvertedRegressor.of(source)
    if classes is None:
        classes = getattr(model, "classes_", np.arange(source.n_classes))
    if len(classes) != source.n_classes:
        raise ValueError(f"the model has {source.n_classes} classes; {len(classes)} were given")
    return ConvertedClassifier.of(source, classes)


def _stored(covers: NDArray | None) -> NDArray | None:
    """Weights of training rows; counts in a small type."""
    return smallest(covers) if covers is not None and covers.dtype.kind == "i" else covers


def _softmax(raw: NDArray) -> NDArray:
    out = np.exp(raw - raw.max(axis=1, keepdims=True))
    out /= out.sum(axis=1, keepdims=True)
    return out


def _dense(X, absent: float) -> NDArray:
    if absent == 0.0:
        return X.toarray()
    out = np.full(X.shape, absent, X.dtype)
    coo = X.tocoo()
    out[coo.row, coo.col] = coo.data
    return out


def _codes(column: NDArray, values: NDArray) -> NDArray:
    """Place of every category in ``values``; the next one for all others, NaN for NaN."""
    at = np.minimum(np.searchsorted(values, column), len(values) - 1)
    return np.where(np.isnan(column), np.nan, np.where(values[at] == column, at, len(values)))


def _coded(X, categories: list):
    """A table with pandas categories → their codes in training, NaN for others."""
    if not hasattr(X, "columns"):
        return X
    kinds = [str(dtype) for dtype in X.dtypes]
    places = [i for i, kind in enumerate(kinds) if kind == "category"]
    if len(places) != len(categories):
        raise ValueError(
            f"X has {len(places)} columns of categories; the model was trained on {len(categories)}"
        )
    X = X.copy(deep=False)
    for i, known in zip(places, categories):
        codes = X.iloc[:, i].cat.set_categories(known).cat.codes.to_numpy().astype(np.float64)
        X.isetitem(i, np.where(codes < 0, np.nan, codes))
    return X
