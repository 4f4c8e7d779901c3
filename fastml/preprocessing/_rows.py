"""Rows of unit length; values above a threshold; a column of ones."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from fastml._docs import documented
from fastml._sklearn import (
    Interval,
    Options,
    StrOptions,
    align_api_if_sparse,
    fit_context,
    validate_params,
)
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import check_array, kernel_view, validate_data
from fastml.kernels.preprocessing.affine import NORM_L1, NORM_L2, NORM_MAX, normalise_rows
from fastml.preprocessing._base import FLOATS_AND_HALF, work_type

NORMS = {"l1": NORM_L1, "l2": NORM_L2, "max": NORM_MAX}

OWN = {
    "X": """
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
    """,
    "norm": """
        norm : {'l1', 'l2', 'max'}, default='l2'
            Sum of absolute values, root of the sum of squares, or largest absolute value.
    """,
    "threshold": """
        threshold : float, default=0.0
            What is not above becomes 0. Not negative for sparse matrices.
    """,
    "copy": """
        copy : bool, default=True
            False: work in place where X is a writeable array.
    """,
}


def _normalised(X, norm, in_place):
    """(rows of dense X over their norms, norms)."""
    n, d = X.shape
    given = kernel_view(work_type(X))
    norms, out = np.empty(n), np.empty_like(given, order="C")
    normalise_rows(
        given, NORMS[norm], 10.0 * float(np.finfo(X.dtype).eps), chunk_rows(n, 3.0 * d), norms, out,
        n_threads=effective_n_threads(None, work=3.0 * X.size),
    )  # fmt: skip
    if in_place:
        X[...] = out
        return X, norms.astype(X.dtype)
    return out.astype(X.dtype, copy=False), norms.astype(X.dtype)


def _normalise_sparse(X, norm):
    """Divide the rows of a CSR matrix by their norms, in place; return the norms."""
    n = X.shape[0]
    rows = np.repeat(np.arange(n), np.diff(X.indptr))
    values = np.abs(X.data).astype(np.float64, copy=False)
    if norm == "max":
        norms = np.zeros(n)
        np.maximum.at(norms, rows, values)
    else:
        sums = np.bincount(rows, weights=values if norm == "l1" else values * values, minlength=n)
        norms = sums if norm == "l1" else np.sqrt(sums)
    divisors = np.where(norms == 0.0, 1.0, norms)
    X.data[...] = X.data / divisors[rows]
    return norms


@documented(OWN)
@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "norm": [StrOptions({"l1", "l2", "max"})],
        "axis": [Options(Integral, {0, 1})],
        "copy": ["boolean"],
        "return_norm": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def normalize(X, norm="l2", *, axis=1, copy=True, return_norm=False):
    """Divide rows or columns by their norm.

    Parameters
    ----------
    {X}
    {norm}
    axis : {0, 1}, default=1
        1: rows, 0: columns.
    {copy}
    return_norm : bool, default=False
        Return the norms too.

    Returns
    -------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
    norms : ndarray of shape (n_samples,) or (n_features,)
        With ``return_norm``.

    Examples
    --------
    >>> from fastml.preprocessing import normalize
    >>> normalize([[3.0, 4.0]])
    array([[0.6, 0.8]])
    """
    in_place = {} if copy else {"force_writeable": True}
    X = check_array(
        X, accept_sparse="csc" if axis == 0 else "csr", copy=False, dtype=FLOATS_AND_HALF,
        estimator="the normalize function", input_name="X", **in_place,
    )  # fmt: skip
    if sp.issparse(X):
        if return_norm and norm in ("l1", "l2"):
            raise NotImplementedError(
                "return_norm=True is not implemented for sparse matrices with norm 'l1' or norm "
                "'l2'"
            )
        X = X.copy() if copy else X
        norms = _normalise_sparse(X.T if axis == 0 else X, norm)
    elif axis == 0:
        result, norms = _normalised(X.T, norm, not copy)
        X = result.T
    else:
        X, norms = _normalised(X, norm, not copy)
    return (X, norms) if return_norm else X


@documented(OWN)
@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "threshold": [Interval(Real, None, None, closed="neither")],
        "copy": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def binarize(X, *, threshold=0.0, copy=True):
    """1 where a value is above the threshold, 0 elsewhere.

    Parameters
    ----------
    {X}
    {threshold}
    {copy}

    Returns
    -------
    X_tr : {ndarray, sparse matrix} of shape (n_samples, n_features)

    Examples
    --------
    >>> from fastml.preprocessing import binarize
    >>> binarize([[0.4, 0.6]], threshold=0.5)
    array([[0., 1.]])
    """
    in_place = {} if copy else {"force_writeable": True}
    X = check_array(X, accept_sparse=["csr", "csc"], copy=False, input_name="X", **in_place)
    return _binarized(X, threshold, copy)


def _binarized(X, threshold, copy):
    if sp.issparse(X):
        if threshold < 0:
            raise ValueError("Cannot binarize a sparse matrix with threshold < 0")
        X = X.copy() if copy else X
        X.data[...] = X.data > threshold
        X.eliminate_zeros()
        return X
    above = X.astype(np.float64) > threshold if X.dtype.kind in "iub" else threshold < X
    if copy:
        return above.astype(X.dtype)
    X[...] = above
    return X


class RowwiseTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A transformer that learns nothing."""

    def _rows(self, X, copy, formats):
        in_place = {} if copy else {"force_writeable": True, "copy": False}
        X = validate_data(self, X, accept_sparse=formats, reset=False, **in_place)
        return X if X.dtype.isnative else X.astype(X.dtype.newbyteorder("="))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.requires_fit = False
        return tags


@documented(OWN)
class Normalizer(RowwiseTransformer):
    """Divide every row by its norm.

    z = x / \\|x\\|, so that the product of two rows is the cosine of their angle.

    Parameters
    ----------
    {norm}
    {copy}

    Attributes
    ----------
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.preprocessing import Normalizer
    >>> Normalizer().fit_transform([[3.0, 4.0]])
    array([[0.6, 0.8]])
    """

    _parameter_constraints: dict = {
        "norm": [StrOptions({"l1", "l2", "max"})],
        "copy": ["boolean"],
    }

    def __init__(self, norm="l2", *, copy=True):
        self.norm = norm
        self.copy = copy

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Check X; nothing is learned.

        Parameters
        ----------
        {X}
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        validate_data(self, X, accept_sparse="csr")
        return self

    def transform(self, X, copy=None):
        """Divide rows by their norms.

        Parameters
        ----------
        {X}
        copy : bool, default=None
            Instead of the parameter of the same name.

        Returns
        -------
        X_tr : {ndarray, sparse matrix} of shape (n_samples, n_features)
        """
        copy = self.copy if copy is None else copy
        X = self._rows(X, copy, "csr")
        if sp.issparse(X):
            X = X.copy() if copy else X
            if X.dtype.kind != "f":
                X = X.astype(np.float64)
            _normalise_sparse(X, self.norm)
            return X
        if X.dtype.kind != "f":
            X = X.astype(np.float64)
        return _normalised(X, self.norm, not copy)[0]


@documented(OWN)
class Binarizer(RowwiseTransformer):
    """1 where a value is above the threshold, 0 elsewhere.

    z = [x > threshold]

    Parameters
    ----------
    {threshold}
    {copy}

    Attributes
    ----------
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.preprocessing import Binarizer
    >>> Binarizer(threshold=0.5).fit_transform([[0.4, 0.6]])
    array([[0., 1.]])
    """

    _parameter_constraints: dict = {"threshold": [Real], "copy": ["boolean"]}

    def __init__(self, *, threshold=0.0, copy=True):
        self.threshold = threshold
        self.copy = copy

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Check X; nothing is learned.

        Parameters
        ----------
        {X}
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        validate_data(self, X, accept_sparse="csr")
        return self

    def transform(self, X, copy=None):
        """Compare with the threshold.

        Parameters
        ----------
        {X}
        copy : bool, default=None
            Instead of the parameter of the same name.

        Returns
        -------
        X_tr : {ndarray, sparse matrix} of shape (n_samples, n_features)
        """
        copy = self.copy if copy is None else copy
        return _binarized(self._rows(X, copy, ["csr", "csc"]), self.threshold, copy)


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "value": [Interval(Real, None, None, closed="neither")],
    },
    prefer_skip_nested_validation=True,
)
@documented(OWN)
def add_dummy_feature(X, value=1.0):
    """Put a constant column before the others.

    Parameters
    ----------
    {X}
    value : float, default=1.0

    Returns
    -------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features + 1)

    Examples
    --------
    >>> from fastml.preprocessing import add_dummy_feature
    >>> add_dummy_feature([[0.0, 1.0]])
    array([[1., 0., 1.]])
    """
    X = check_array(X, accept_sparse=["csc", "csr", "coo"], dtype=FLOATS_AND_HALF)
    constant = np.full((X.shape[0], 1), value)
    if sp.issparse(X):
        wider = sp.hstack([sp.csr_array(constant), X], format=X.format)
        return align_api_if_sparse(wider)
    return np.hstack([constant, X])
