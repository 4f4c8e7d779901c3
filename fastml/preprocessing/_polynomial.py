"""All monomials of the columns up to a degree."""

from __future__ import annotations

import collections.abc
from itertools import chain, combinations, combinations_with_replacement
from math import comb
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import (
    Interval,
    StrOptions,
    align_api_if_sparse,
    check_feature_names_in,
    fit_context,
)
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import FLOATS, kernel_view, validate_data
from fastml.kernels.numeric.csr import COLUMN, POSITION, Csr
from fastml.kernels.preprocessing.products import monomials, sparse_monomials


def _products_of(d, degree, distinct) -> int:
    """Products of exactly this many of d columns, no column twice if ``distinct``."""
    return comb(d, degree) if distinct else comb(d + degree - 1, degree)


@documented()
class PolynomialFeatures(TransformerMixin, BaseEstimator):
    """All products of columns up to a degree.

    x₁^p₁ ⋯ x_d^p_d for all p with p₁ + … + p_d ≤ degree: C(d + degree, degree) columns.

    Parameters
    ----------
    degree : int or tuple (min_degree, max_degree), default=2
        Products of fewer factors are left out, the constant and single columns with
        ``min_degree`` 0 and 1 are not.
    interaction_only : bool, default=False
        No column twice in a product.
    include_bias : bool, default=True
        A column of ones first.
    order : {'C', 'F'}, default='C'
        Of the dense result in memory.

    Attributes
    ----------
    powers_ : ndarray of shape (n_output_features_, n_features_in_)
        The power of each column in each product.
    {n_features_in_}
    {feature_names_in_}
    n_output_features_ : int
        Number of columns.

    Examples
    --------
    >>> from fastml.preprocessing import PolynomialFeatures
    >>> PolynomialFeatures(2).fit_transform([[2.0, 3.0]])
    array([[1., 2., 3., 4., 6., 9.]])
    """

    _parameter_constraints: dict = {
        "degree": [Interval(Integral, 0, None, closed="left"), "array-like"],
        "interaction_only": ["boolean"],
        "include_bias": ["boolean"],
        "order": [StrOptions({"C", "F"})],
    }

    def __init__(self, degree=2, *, interaction_only=False, include_bias=True, order="C"):
        self.degree = degree
        self.interaction_only = interaction_only
        self.include_bias = include_bias
        self.order = order

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Count the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        d = validate_data(self, X, accept_sparse=True).shape[1]
        self._min_degree, self._max_degree = self._degrees()
        n_out = self._count(d, self._min_degree)
        if n_out > np.iinfo(np.intp).max:
            raise ValueError(
                "The output that would result from the current configuration would have "
                f"{n_out} features which is too large to be indexed by {np.intp().dtype.name}. "
                "Please change some or all of the following:\n- The number of features in the "
                f"input, currently n_features={d!r}\n- The range of degrees to calculate, "
                f"currently [{self._min_degree}, {self._max_degree}]\n- Whether to include only "
                f"interaction terms, currently {self.interaction_only}\n- Whether to include a "
                f"bias term, currently {self.include_bias}."
            )
        self.n_output_features_ = n_out
        return self

    def _degrees(self):
        if isinstance(self.degree, Integral):
            if self.degree == 0 and not self.include_bias:
                raise ValueError(
                    "Setting degree to zero and include_bias to False would result in an empty "
                    "output array."
                )
            return 0, self.degree
        if not (isinstance(self.degree, collections.abc.Iterable) and len(self.degree) == 2):
            raise ValueError(
                "degree must be a non-negative int or tuple (min_degree, max_degree), got "
                f"{self.degree}."
            )
        low, high = self.degree
        whole = isinstance(low, Integral) and isinstance(high, Integral)
        if not (whole and 0 <= low <= high):
            raise ValueError(
                "degree=(min_degree, max_degree) must be non-negative integers that fulfil "
                f"min_degree <= max_degree, got {self.degree}."
            )
        if high == 0 and not self.include_bias:
            raise ValueError(
                "Setting both min_degree and max_degree to zero and include_bias to False would "
                "result in an empty output array."
            )
        return low, high

    def _of_degree(self, d, degree) -> int:
        """Products of exactly this many factors."""
        return _products_of(d, degree, self.interaction_only)

    def _count(self, d, min_degree) -> int:
        return self._num_combinations(
            d, min_degree, self._max_degree, self.interaction_only, self.include_bias
        )

    @staticmethod
    def _num_combinations(n_features, min_degree, max_degree, interaction_only, include_bias):
        """Number of products."""
        degrees = range(max(1, min_degree), max_degree + 1)
        if interaction_only:
            degrees = range(degrees.start, min(max_degree, n_features) + 1)
        products = (_products_of(n_features, k, interaction_only) for k in degrees)
        return sum(products) + int(include_bias)

    @property
    def powers_(self):
        """The power of each column in each product."""
        check_is_fitted(self)
        d = self.n_features_in_
        products = self._combinations(
            d, self._min_degree, self._max_degree, self.interaction_only, self.include_bias
        )
        return np.vstack([np.bincount(np.array(p, dtype=int), minlength=d) for p in products])

    @staticmethod
    def _combinations(n_features, min_degree, max_degree, interaction_only, include_bias):
        """The columns of each product."""
        chosen = combinations if interaction_only else combinations_with_replacement
        degrees = range(max(1, min_degree), max_degree + 1)
        products = chain.from_iterable(chosen(range(n_features), k) for k in degrees)
        return chain([()], products) if include_bias else products

    def get_feature_names_out(self, input_features=None):
        """Names of the products.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features, instead of those seen by fit.

        Returns
        -------
        feature_names_out : ndarray of str objects
        """
        powers = self.powers_
        names = check_feature_names_in(self, input_features)
        found = []
        for row in powers:
            factors = [
                names[j] if row[j] == 1 else f"{names[j]}^{row[j]}" for j in np.flatnonzero(row)
            ]
            found.append(" ".join(factors) or "1")
        return np.asarray(found, dtype=object)

    def transform(self, X):
        """Products of the columns of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        XP : {ndarray, sparse matrix} of shape (n_samples, n_output_features_)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False, accept_sparse=("csr", "csc"))
        if sp.issparse(X):
            made = self._sparse(X.tocsr())
            return align_api_if_sparse(made.tocsc() if X.format == "csc" else made)
        n, d = X.shape
        out = np.empty((n, self.n_output_features_), dtype=X.dtype)
        n_full = self._count(d, 0)
        segments, work = self._segments(d), 2.0 * n_full
        monomials(
            kernel_view(X), segments, bool(self.include_bias), n_full - self.n_output_features_,
            n_full, chunk_rows(n, work), out, n_threads=effective_n_threads(None, work=work * n),
        )  # fmt: skip
        return np.asfortranarray(out) if self.order == "F" else out

    def _segments(self, d):
        """(first, size, feature, target): products of one degree more, by their least feature."""
        lead = int(self.include_bias)
        starts = [lead + j for j in range(d + 1)]  # of the products whose least feature is j
        segments, target = [], lead + d
        for _ in range(2, self._max_degree + 1):
            following, end = [], starts[-1]
            for j in range(d):
                following.append(target)
                first = starts[j + 1] if self.interaction_only else starts[j]
                segments.append((first, end - first, j, target))
                target += end - first
            starts = [*following, target]
        return kernel_view(np.array(segments, dtype=np.intp).reshape(-1, 4))

    def _sparse(self, X):
        n, d = X.shape
        X = X if X.has_canonical_format else X.copy()
        X.sum_duplicates()
        blocks = []
        if self.include_bias:
            blocks.append(sp.csr_array(np.ones((n, 1), dtype=X.dtype)))
        for degree in range(max(1, self._min_degree), self._max_degree + 1):
            if self._of_degree(d, degree):
                blocks.append(sp.csr_array(X) if degree == 1 else self._sparse_degree(X, degree))
        if not blocks:
            return sp.csr_array((n, 0), dtype=X.dtype)
        return sp.hstack(blocks, dtype=X.dtype, format="csr")

    def _sparse_degree(self, X, degree):
        """The products of exactly this many factors; ranks by counting what comes before."""
        n, d = X.shape
        columns, places = np.unique(X.indices, return_inverse=True)
        columns = [int(column) for column in columns]
        own, after = np.zeros((2, degree + 1, max(1, len(columns))), dtype=np.int64)
        step = int(self.interaction_only)
        for k in range(1, degree + 1):
            for u, column in enumerate(columns):
                own[k, u] = self._of_degree(d - column, k)
                after[k, u] = self._of_degree(d - column - step, k)
        sizes = np.diff(X.indptr)
        of_size = {int(size): self._of_degree(int(size), degree) for size in np.unique(sizes)}
        starts = np.zeros(n + 1, dtype=np.int64)
        np.cumsum([of_size[int(size)] for size in sizes], out=starts[1:])
        data, indices = np.empty(starts[-1], dtype=X.dtype), np.empty(starts[-1], dtype=np.int64)
        rows = Csr(
            kernel_view(X.data), kernel_view(places.ravel(), dtype=COLUMN),
            kernel_view(X.indptr, dtype=POSITION),
        )  # fmt: skip
        total = self._of_degree(d, degree)
        sparse_monomials(
            rows, kernel_view(own), kernel_view(after), total, degree,
            bool(self.interaction_only), kernel_view(starts), data, indices,
        )  # fmt: skip
        most = np.iinfo(np.int32).max
        dtype = np.int32 if max(total - 1, int(starts[-1])) <= most else np.int64
        return sp.csr_array((data, indices.astype(dtype), starts.astype(dtype)), shape=(n, total))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
