"""Columns brought to a uniform or normal distribution by their quantiles."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, check_random_state

from fastml._docs import documented
from fastml._engines.columns import extremes, quantiles, quantiles_of
from fastml._sklearn import Interval, Options, StrOptions, fit_context, validate_params
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import check_fitted, kernel_view
from fastml.kernels.preprocessing.order import quantile_ranks
from fastml.preprocessing._base import (
    ENTRIES,
    ColumnwiseTransformer,
    refuse_infinity,
    work_type,
)

MARGIN = 1e-7
"""What is nearer to an end of the values, or to 0 and 1, is the end: so quantiles are finite."""

OWN = {
    "n_quantiles": """
        n_quantiles : int, default=1000
            Quantiles that are learned, at most as many as rows.
    """,
    "output_distribution": """
        output_distribution : {'uniform', 'normal'}, default='uniform'
    """,
    "ignore_implicit_zeros": """
        ignore_implicit_zeros : bool, default=False
            Learn from the stored values of a sparse matrix only.
    """,
    "random_state": """
        random_state : int, RandomState instance or None, default=None
            Draws the rows.
    """,
}


CELLS = 4096
"""Of a column, to begin the search for a value's place in."""


def guides(points, n_cells):
    """The last point not above the ends of equal cells of each column, and cells to a unit."""
    low, high = points[:, :1], points[:, -1:]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scales = (n_cells / (high - low)).ravel()
        ends = low + (high - low) * np.linspace(0.0, 1.0, n_cells + 1)
    scales[~np.isfinite(scales)] = 0.0
    found = [np.searchsorted(own, end, side="right") - 1 for own, end in zip(points, ends)]
    found = np.clip(np.array(found).reshape(len(points), n_cells + 1), 0, points.shape[1] - 1)
    found[scales == 0.0] = 0
    return found.astype(np.int32), scales


def by_blocks(function, values):
    """An elementwise function of SciPy on blocks of rows, on threads; in place."""
    threads = effective_n_threads(None, work=8.0 * values.size)
    rows = max(1, chunk_rows(len(values), 8.0 * max(1, values.size // max(1, len(values)))))
    blocks = [values[first : first + rows] for first in range(0, len(values), rows)]
    if threads == 1 or len(blocks) == 1:
        return function(values, out=values)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda block: function(block, out=block), blocks))
    return values


@documented(ENTRIES, OWN)
class QuantileTransformer(ColumnwiseTransformer):
    """Map each column to a uniform or normal distribution by its quantiles.

    z = F(x), or Φ⁻¹(F(x)), where F is linear between the quantiles; where several quantiles are the
    same value, it has their middle rank.

    Parameters
    ----------
    {n_quantiles}
    {output_distribution}
    {ignore_implicit_zeros}
    subsample : int or None, default=10000
        Rows from which quantiles are learned; None: all.
    {random_state}
    {copy}

    Attributes
    ----------
    n_quantiles_ : int
        Quantiles that were learned.
    quantiles_ : ndarray of shape (n_quantiles_, n_features)
        They ascend.
    references_ : ndarray of shape (n_quantiles_,)
        Ranks of the quantiles, from 0 to 1.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.preprocessing import QuantileTransformer
    >>> X = np.array([[1.0], [10.0], [100.0], [1000.0], [10000.0]])
    >>> QuantileTransformer(n_quantiles=5).fit_transform(X).ravel()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """

    _parameter_constraints: dict = {
        "n_quantiles": [Interval(Integral, 1, None, closed="left")],
        "output_distribution": [StrOptions({"uniform", "normal"})],
        "ignore_implicit_zeros": ["boolean"],
        "subsample": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "copy": ["boolean"],
    }

    def __init__(
        self,
        *,
        n_quantiles=1000,
        output_distribution="uniform",
        ignore_implicit_zeros=False,
        subsample=10_000,
        random_state=None,
        copy=True,
    ):
        self.n_quantiles = n_quantiles
        self.output_distribution = output_distribution
        self.ignore_implicit_zeros = ignore_implicit_zeros
        self.subsample = subsample
        self.random_state = random_state
        self.copy = copy

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the quantiles.

        Parameters
        ----------
        {X_sparse_to_fit}
        {y}

        Returns
        -------
        {self}
        """
        if self.subsample is not None and self.n_quantiles > self.subsample:
            raise ValueError(
                "The number of quantiles cannot be greater than the number of samples used. Got "
                f"{self.n_quantiles} quantiles and {self.subsample} samples."
            )
        X = self._to_fit(X, sparse="csc")
        self._refuse_negative(X)
        n = X.shape[0]
        if self.n_quantiles > n:
            warnings.warn(
                f"n_quantiles ({self.n_quantiles}) is greater than the total number of samples "
                f"({n}). n_quantiles is set to n_samples.",
                stacklevel=2,
            )
        n_quantiles = max(1, min(self.n_quantiles, n))
        ranks = np.linspace(0, 1, n_quantiles, endpoint=True)
        random = check_random_state(self.random_state)
        found = self._sparse(X, ranks, random) if sp.issparse(X) else self._dense(X, ranks, random)
        self.n_quantiles_, self.references_ = n_quantiles, ranks
        self.quantiles_ = np.maximum.accumulate(found, axis=0)  # rounding may not disorder them
        return self

    def _dense(self, X, ranks, random):
        if self.ignore_implicit_zeros:
            warnings.warn(
                "'ignore_implicit_zeros' takes effect only with sparse matrix. This parameter has "
                "no effect.",
                stacklevel=3,
            )
        used = X
        if self.subsample is not None and self.subsample < len(X):
            from sklearn.utils import resample

            used = resample(X, replace=False, n_samples=self.subsample, random_state=random)
            if any(np.isinf(end).any() for end in extremes(work_type(X))):
                refuse_infinity(self, X)
        found, infinite = quantiles(work_type(used), ranks)
        if infinite:
            refuse_infinity(self, X)
        return found

    def _sparse(self, X, ranks, random):
        n = X.shape[0]
        found = []
        for first, last in zip(X.indptr[:-1], X.indptr[1:]):
            stored = X.data[first:last]
            if self.subsample is not None and len(stored) > self.subsample:
                size = self.subsample
                drawn = size if self.ignore_implicit_zeros else size * len(stored) // n
                column = np.zeros(size, dtype=X.dtype)
                column[:drawn] = random.choice(stored, size=drawn, replace=False)
            else:
                column = np.zeros(len(stored) if self.ignore_implicit_zeros else n, dtype=X.dtype)
                column[: len(stored)] = stored
            if len(column):
                found.append(quantiles_of(column[column == column], ranks))
            else:
                found.append(np.zeros(len(ranks)))
        return np.array(found).reshape(X.shape[1], len(ranks)).T

    def _refuse_negative(self, X):
        if not self.ignore_implicit_zeros and sp.issparse(X) and (X.data < 0).any():
            raise ValueError("QuantileTransformer only accepts non-negative sparse matrices.")

    def transform(self, X):
        """Map rows to the distribution.

        Parameters
        ----------
        {X_sparse}

        Returns
        -------
        {X_tr}
        """
        check_is_fitted(self)
        X = self._to_transform(X, sparse="csc", copy=self.copy)
        self._refuse_negative(X)
        return self._mapped(X, inverse=False)

    def inverse_transform(self, X):
        """Map rows back.

        Parameters
        ----------
        {X_sparse}

        Returns
        -------
        {X_tr}
        """
        check_is_fitted(self)
        X = self._to_transform(X, sparse="csc", copy=self.copy, check_columns=False)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but QuantileTransformer is expecting "
                f"{self.n_features_in_} features as input."
            )
        return self._mapped(X, inverse=True)

    def _mapped(self, X, inverse):
        check_fitted(self, "quantiles_", self.quantiles_, (len(self.references_), X.shape[1]))
        points = np.ascontiguousarray(self.quantiles_.T, dtype=np.float64)
        if sp.issparse(X):
            for j, (first, last) in enumerate(zip(X.indptr[:-1], X.indptr[1:])):
                column = X.data[first:last].reshape(-1, 1)
                X.data[first:last] = self._ranks(column, points[j : j + 1], inverse).ravel()
            return X
        if not self.copy:
            X[...] = self._ranks(X, points, inverse)
            return X
        return self._ranks(X, points, inverse).astype(X.dtype, copy=False)

    def _ranks(self, X, points, inverse):
        from scipy.special import ndtr, ndtri

        given = work_type(X)
        normal = self.output_distribution == "normal"
        if inverse and normal:
            given = by_blocks(ndtr, np.array(given, order="C"))
        n, d = X.shape
        rows = chunk_rows(n, 40.0 * max(d, 1))
        out, infinite = np.empty((n, d), dtype=given.dtype), np.zeros(-(-n // rows), dtype=np.intp)
        guide, scales = guides(points, CELLS if n >= CELLS else 1)
        quantile_ranks(
            kernel_view(given), kernel_view(points), kernel_view(self.references_),
            kernel_view(guide), kernel_view(scales), inverse,
            MARGIN if normal else 0.0, rows, out, infinite,
            n_threads=effective_n_threads(None, work=40.0 * X.size),
        )  # fmt: skip
        if infinite.any():
            refuse_infinity(self, X)
        if normal and not inverse:
            by_blocks(ndtri, out)
            end = ndtri(1.0 - (MARGIN - np.spacing(1.0)))
            np.clip(out, ndtri(MARGIN - np.spacing(1.0)), end, out=out)
        return out

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@documented(ENTRIES, OWN)
@validate_params(
    {"X": ["array-like", "sparse matrix"], "axis": [Options(Integral, {0, 1})]},
    prefer_skip_nested_validation=False,
)
def quantile_transform(
    X,
    *,
    axis=0,
    n_quantiles=1000,
    output_distribution="uniform",
    ignore_implicit_zeros=False,
    subsample=int(1e5),
    random_state=None,
    copy=True,
):
    """Map columns or rows to a distribution, as `QuantileTransformer`.

    Parameters
    ----------
    {X_sparse}
    {axis}
    {n_quantiles}
    {output_distribution}
    {ignore_implicit_zeros}
    subsample : int or None, default=1e5
        Rows from which quantiles are learned; None: all.
    {random_state}
    {copy}

    Returns
    -------
    {X_tr}

    Examples
    --------
    >>> from fastml.preprocessing import quantile_transform
    >>> quantile_transform([[1.0], [5.0], [100.0]], n_quantiles=3).ravel()
    array([0. , 0.5, 1. ])
    """
    transformer = QuantileTransformer(
        n_quantiles=n_quantiles, output_distribution=output_distribution, subsample=subsample,
        ignore_implicit_zeros=ignore_implicit_zeros, random_state=random_state, copy=copy,
    )  # fmt: skip
    return transformer.fit_transform(X) if axis == 0 else transformer.fit_transform(X.T).T
