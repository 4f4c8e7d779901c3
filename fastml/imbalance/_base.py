"""What every sampler does: checks, strategy, and the containers that rows came in."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, clone
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from fastml._sklearn import HasMethods, Interval, StrOptions, fit_context, num_samples
from fastml._validation import check_array, validate_data
from fastml.imbalance._strategy import CLEAN, OVER, UNDER, check_strategy

NAMES = ("auto", "not minority", "not majority", "all")
NEIGHBOURS = [
    Interval(Integral, 1, None, closed="left"),
    HasMethods(["kneighbors", "kneighbors_graph"]),
]


class Sampler(OneToOneFeatureMixin, BaseEstimator):
    """Draws, makes or leaves out rows by `fit_resample`."""

    _estimator_type = "sampler"
    _sampling_type = ""
    _any_values = False  # rows are only moved: text and missing values may be among them
    _parameter_constraints: dict = {}

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Check the rows, and find what would be resampled."""
        _, y, _ = self._checked(X, y)
        self.sampling_strategy_ = check_strategy(self.sampling_strategy, y, self._sampling_type)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_resample(self, X, y, **params):
        """The resampled rows and labels, in the containers that they came in."""
        check_classification_targets(y)
        given = X, y
        X, y, indicators = self._checked(X, y)
        self.sampling_strategy_ = self._strategy(y)
        rows, labels = self._fit_resample(X, y, **params)
        if indicators:
            labels = (labels[:, None] == np.unique(y)).astype(int)
        return _as_given(rows, labels, *given)

    def _strategy(self, y) -> dict:
        return check_strategy(self.sampling_strategy, y, self._sampling_type)

    def _checked(self, X, y) -> tuple[Any, Any, bool]:
        """(rows, labels, whether these came as indicators)."""
        indicators = type_of_target(y) == "multilabel-indicator"
        if indicators:
            y = np.asarray(y)
            if (y.sum(axis=1) > 1).any():
                raise ValueError(
                    "Imbalanced-learn currently supports binary, multiclass and binarized encoded "
                    "multiclasss targets. Multilabel and multioutput targets are not supported."
                )
            y = y.argmax(axis=1)
        else:
            y = column_or_1d(y)
        if not self._any_values:
            X, y = validate_data(self, X, y, accept_sparse=["csr", "csc"])
            return X, y, indicators
        if num_samples(X) < 1:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        if not hasattr(X, "iloc"):
            layouts = ["csr", "csc"]
            X = check_array(X, dtype=None, accept_sparse=layouts, ensure_all_finite=False)
        validate_data(self, X, y, skip_check_array=True)
        return X, np.asarray(y), indicators

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._any_values
        tags.input_tags.string = self._any_values
        return tags


class OverSampler(Sampler):
    _sampling_type = OVER
    _parameter_constraints: dict = {
        "sampling_strategy": [
            Interval(Real, 0, 1, closed="right"),
            StrOptions({*NAMES, "minority"}),
            Mapping,
            callable,
        ],
        "random_state": ["random_state"],
    }


class UnderSampler(Sampler):
    _sampling_type = UNDER
    _parameter_constraints: dict = {
        "sampling_strategy": [
            Interval(Real, 0, 1, closed="right"),
            StrOptions({*NAMES, "majority"}),
            Mapping,
            callable,
        ],
    }


class CleaningSampler(Sampler):
    _sampling_type = CLEAN
    _parameter_constraints: dict = {
        "sampling_strategy": [
            Interval(Real, 0, 1, closed="right"),
            StrOptions({*NAMES, "majority"}),
            list,
            callable,
        ],
    }

    def _keep(self, X, y, kept):
        from fastml._sklearn import safe_indexing

        self.sample_indices_ = kept
        return safe_indexing(X, kept), y[kept]


def neighbours(found, more: int):
    """A search for ``found + more`` neighbours, or a clone of the object."""
    from fastml.neighbors import NearestNeighbors

    if isinstance(found, Integral):
        return NearestNeighbors(n_neighbors=int(found) + more)
    return clone(found)


def _as_given(X, y, given_X, given_y):
    """In a dataframe, series or list, where they came in one."""
    found = []
    for array, given in ((X, given_X), (y, given_y)):
        if isinstance(given, list):
            array = array.tolist()
        elif hasattr(given, "iloc"):
            array = _in_pandas(array, given)
        found.append(array)
    if hasattr(given_X, "iloc") and hasattr(given_y, "iloc"):
        found[1].index = found[0].index
    return tuple(found)


def _in_pandas(array, given):
    import pandas as pd
    from scipy.sparse import issparse

    if given.ndim == 1:
        return pd.Series(np.asarray(array), dtype=given.dtype, name=given.name)
    if issparse(array):
        table = pd.DataFrame.sparse.from_spmatrix(array, columns=given.columns)
    elif hasattr(array, "iloc"):
        table = array.reset_index(drop=True)
    else:
        table = pd.DataFrame(array, columns=given.columns)
    return table.astype(given.dtypes)
