"""SMOTE for tables with columns of categories."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from fastml._docs import documented
from fastml._sklearn import HasMethods, StrOptions, get_column_indices, safe_indexing
from fastml._validation import check_array
from fastml.imbalance._base import neighbours
from fastml.imbalance._docs import ENTRIES
from fastml.imbalance._smote import SMOTE, Plan, _draw, between


@documented(ENTRIES)
class SMOTENC(SMOTE):
    """SMOTE where some columns are categories: these are the neighbours' most frequent ones.

    Two categories that differ are as far apart as the median of the standard deviations of the
    class's numeric columns. Where that is 0, categories do not count for the search, but are still
    those of the neighbours.

    Parameters
    ----------
    categorical_features : "auto" or array-like of int, str or bool
        Columns of categories; "auto": those of dtype category of a dataframe.
    categorical_encoder : estimator, default=None
        Fitted on the columns of categories; its ``categories_`` are used. None: their values.
    {over_strategy}
    {random_state}
    {k_neighbors}

    Attributes
    ----------
    {sampling_strategy_}
    {n_features_in_}
    {feature_names_in_}

    Notes
    -----
    `fit_resample` also sets ``categorical_features_``, ``continuous_features_``, ``categories_``
    and ``median_std_`` (by class).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.imbalance import SMOTENC
    >>> X = np.c_[np.arange(12.0), np.arange(12) % 2]
    >>> sampler = SMOTENC([1], k_neighbors=2, random_state=0)
    >>> X, y = sampler.fit_resample(X, [0] * 8 + [1] * 4)
    >>> np.unique(X[:, 1])
    array([0., 1.])
    """

    _any_values = True
    _parameter_constraints: dict = {
        **SMOTE._parameter_constraints,
        "categorical_features": ["array-like", StrOptions({"auto"})],
        "categorical_encoder": [HasMethods(["fit_transform", "inverse_transform"]), None],
    }

    def __init__(
        self,
        categorical_features,
        *,
        categorical_encoder=None,
        sampling_strategy="auto",
        random_state=None,
        k_neighbors=5,
    ):
        super().__init__(
            sampling_strategy=sampling_strategy, random_state=random_state, k_neighbors=k_neighbors
        )
        self.categorical_features = categorical_features
        self.categorical_encoder = categorical_encoder

    def _take_columns(self, X) -> None:
        self.n_features_ = X.shape[1]
        if isinstance(self.categorical_features, str):
            if not hasattr(X, "iloc"):
                raise ValueError(
                    "When `categorical_features='auto'`, the input data should be a "
                    f"pandas.DataFrame. Got {type(X)} instead."
                )
            mask = [str(kind) == "category" for kind in X.dtypes]
            self.categorical_features_ = np.flatnonzero(mask)
        else:
            found = get_column_indices(X, self.categorical_features)
            self.categorical_features_ = np.array(found, dtype=np.intp)
        everything = np.arange(self.n_features_)
        self.continuous_features_ = np.setdiff1d(everything, self.categorical_features_)
        for left, right, columns in (
            ("categorical", "numerical", self.continuous_features_),
            ("numerical", "categorical", self.categorical_features_),
        ):
            if not len(columns):
                raise ValueError(
                    f"SMOTE-NC is not designed to work only with {left} features. It requires some "
                    f"{right} features."
                )

    def _codes(self, table) -> list[NDArray]:
        """Of every column of categories; sets ``categories_``."""
        columns = [
            np.asarray(safe_indexing(table, j, axis=1)).ravel() for j in range(table.shape[1])
        ]
        if self.categorical_encoder is not None:
            self.categorical_encoder_ = clone(self.categorical_encoder)
            encoded = self.categorical_encoder_.fit_transform(table)
            self.categories_ = list(self.categorical_encoder_.categories_)
            n_categories = sum(len(known) for known in self.categories_)
            if encoded.shape[1] != n_categories:
                raise ValueError(
                    "SMOTENC requires a one-hot encoding with one column per category for the "
                    "categorical features. The provided `categorical_encoder` produced "
                    f"{encoded.shape[1]} columns for {n_categories} categories."
                )
            return [
                np.searchsorted(known, column) for known, column in zip(self.categories_, columns)
            ]
        pairs = [np.unique(column, return_inverse=True) for column in columns]
        self.categories_ = [known for known, _ in pairs]
        return [codes for _, codes in pairs]

    def _fit_resample(self, X, y):
        from scipy.sparse import csr_array, hstack, issparse

        sparse = issparse(X)
        table = X.toarray() if sparse else X
        self._take_columns(table)
        numbers = check_array(safe_indexing(table, self.continuous_features_, axis=1))
        numbers = numbers.astype(np.float64) if numbers.dtype.kind not in "fiu" else numbers
        codes = np.column_stack(
            self._codes(safe_indexing(table, self.categorical_features_, axis=1))
        )
        starts = np.cumsum([0, *(len(known) for known in self.categories_)])
        search = self.nn_k_ = neighbours(self.k_neighbors, 1)
        self.median_std_ = {}
        new_numbers, new_codes, labels = [numbers], [codes], [y]
        for label, n in self.sampling_strategy_.items():
            if n == 0:
                continue
            own = np.flatnonzero(y == label)
            mine, kinds = numbers[own], codes[own]
            self.median_std_[label] = apart = np.median(np.std(mine, axis=0, dtype=np.float64))
            places = (kinds + starts[:-1]).ravel()
            ones = csr_array(
                (np.full(len(places), apart / np.sqrt(2.0)), places,
                 np.arange(0, len(places) + 1, kinds.shape[1])),
                shape=(len(own), starts[-1]),
            )  # fmt: skip
            rows = hstack([csr_array(mine.astype(np.float64)), ones], format="csr")
            near = search.fit(rows).kneighbors(rows, return_distance=False)[:, 1:]
            random = check_random_state(self.random_state)
            chosen, which, steps = _draw(random, *near.shape, n)
            plan = Plan(label, mine, mine, chosen, near[chosen, which], steps)
            new_numbers.append(between(plan))
            again = check_random_state(self.random_state)
            around = kinds[near[chosen]]
            frequent = [
                _most_frequent(around[:, :, c], len(known), again)
                for c, known in enumerate(self.categories_)
            ]
            new_codes.append(np.column_stack(frequent))
            labels.append(np.full(n, label, dtype=y.dtype))
        rows = self._decoded(np.vstack(new_numbers), np.vstack(new_codes))
        if sparse:
            rows = type(X)(rows.astype(X.dtype))
        return rows, np.concatenate(labels)

    def _decoded(self, numbers, codes) -> NDArray:
        kinds = [known[codes[:, c]] for c, known in enumerate(self.categories_)]
        joined = np.hstack([numbers, np.column_stack(kinds)])
        order = np.concatenate([self.continuous_features_, self.categorical_features_])
        return joined[:, np.argsort(order)]


def _most_frequent(around, n_known: Integral, random) -> NDArray:
    """The category that most of a row's neighbours have; one of them by chance."""
    counts = np.stack([(around == k).sum(axis=1) for k in range(int(n_known))], axis=1)
    best = np.argwhere(counts == counts.max(axis=1, keepdims=True))
    best = random.permutation(best)
    _, first = np.unique(best[:, 0], return_index=True)
    return best[first, 1]
