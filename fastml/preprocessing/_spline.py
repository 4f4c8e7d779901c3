"""B-splines of the columns."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.columns import extremes, quantiles
from fastml._sklearn import (
    Interval,
    StrOptions,
    align_api_if_sparse,
    check_feature_names_in,
    fit_context,
    weighted_percentile,
)
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import FLOATS, check_array, check_sample_weight, kernel_view, validate_data
from fastml.kernels.preprocessing.splines import spline_basis, spread_basis


@documented()
class SplineTransformer(TransformerMixin, BaseEstimator):
    """The B-spline basis functions of each column.

    n_knots + degree − 1 functions B_k for each column (n_knots − 1 if periodic), that are piecewise
    polynomials between the knots and sum to 1 (Eilers & Marx, 1996).

    Parameters
    ----------
    n_knots : int, default=5
        Knots, unless they are given.
    degree : int, default=3
        Of the polynomials.
    knots : {'uniform', 'quantile'} or array-like of shape (n_knots, n_features), default='uniform'
        From the least to the greatest value, at quantiles, or given, ascending.
    extrapolation : {'error', 'constant', 'linear', 'continue', 'periodic'}, default='constant'
        Beyond the first and last knot: an error, the value at the end, a line, the polynomial, or
        from the start again.
    include_bias : bool, default=True
        False: without the last function of each column.
    order : {'C', 'F'}, default='C'
        Of the dense result in memory.
    handle_missing : {'error', 'zeros'}, default='error'
        What NaN is: an error, or zeros only.
    sparse_output : bool, default=False
        Return a CSR matrix.

    Attributes
    ----------
    bsplines_ : list of BSpline of shape (n_features,)
        SciPy's objects.
    {n_features_in_}
    {feature_names_in_}
    n_features_out_ : int
        Number of columns.

    Examples
    --------
    >>> from fastml.preprocessing import SplineTransformer
    >>> SplineTransformer(n_knots=3, degree=1).fit_transform([[0.0], [1.0], [4.0]])
    array([[1. , 0. , 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """

    _parameter_constraints: dict = {
        "n_knots": [Interval(Integral, 2, None, closed="left")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "knots": [StrOptions({"uniform", "quantile"}), "array-like"],
        "extrapolation": [StrOptions({"error", "constant", "linear", "continue", "periodic"})],
        "include_bias": ["boolean"],
        "order": [StrOptions({"C", "F"})],
        "handle_missing": [StrOptions({"error", "zeros"})],
        "sparse_output": ["boolean"],
    }

    def __init__(
        self,
        n_knots=5,
        degree=3,
        *,
        knots="uniform",
        extrapolation="constant",
        include_bias=True,
        order="C",
        handle_missing="error",
        sparse_output=False,
    ):
        self.n_knots = n_knots
        self.degree = degree
        self.knots = knots
        self.extrapolation = extrapolation
        self.include_bias = include_bias
        self.order = order
        self.handle_missing = handle_missing
        self.sparse_output = sparse_output

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Place the knots.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            For knots at quantiles; a row of weight 0 does not count in either case.

        Returns
        -------
        self : object
        """
        from scipy.interpolate import BSpline

        X = self._checked(X, reset=True, ensure_min_samples=2)
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, X, dtype=np.float64)
        base = self._base_knots(X, weights)
        periodic, degree = self.extrapolation == "periodic", self.degree
        if periodic and len(base) <= degree:
            raise ValueError(
                f"Periodic splines require degree < n_knots. Got n_knots={len(base)} and "
                f"degree={degree}."
            )
        if periodic:
            period = base[-1] - base[0]
            before, after = base[-(degree + 1) : -1] - period, base[1 : degree + 1] + period
        else:
            steps = np.arange(degree, 0, -1)[:, None]
            before = base[0] - steps * (base[1] - base[0])
            after = base[-1] + steps[::-1] * (base[-1] - base[-2])
        knots = np.concatenate([before, base, after])
        n_splines = len(base) - 1 if periodic else len(base) + degree - 1
        coefficients = np.eye(n_splines)
        if periodic:
            coefficients = np.concatenate([coefficients, coefficients[:degree]])
        go_on = self.extrapolation in ("periodic", "continue")
        self.bsplines_ = [
            BSpline.construct_fast(knots[:, j].copy(), coefficients, degree, extrapolate=go_on)
            for j in range(X.shape[1])
        ]
        self.n_features_out_ = X.shape[1] * (n_splines - 1 + int(self.include_bias))
        return self

    def _checked(self, X, **options):
        try:
            X = validate_data(
                self, X, dtype="numeric", ensure_all_finite=self.handle_missing != "zeros",
                **options,
            )  # fmt: skip
        except ValueError as error:
            if "Input X contains NaN." in str(error) and self.handle_missing == "error":
                raise ValueError(
                    "Input X contains NaN values and `SplineTransformer` is configured to error in "
                    "this case (handle_missing='error'). To avoid this error, set "
                    "handle_missing='zeros' to encode missing values as splines with value 0 or "
                    "ensure no missing values in X."
                ) from error
            raise
        return X if X.dtype in FLOATS else X.astype(np.float64)

    def _base_knots(self, X, weights):
        if not isinstance(self.knots, str):
            base = check_array(self.knots, dtype=np.float64)
            if len(base) < 2:
                raise ValueError("Number of knots, knots.shape[0], must be >= 2.")
            if base.shape[1] != X.shape[1]:
                raise ValueError("knots.shape[1] == n_features is violated.")
            if not (np.diff(base, axis=0) > 0).all():
                raise ValueError("knots must be sorted without duplicates.")
            return base
        return self._get_base_knot_positions(X, self.n_knots, self.knots, weights)

    @staticmethod
    def _get_base_knot_positions(X, n_knots=10, knots="uniform", sample_weight=None):
        """Knots from the least to the greatest value of each column."""
        ranks = np.linspace(0.0, 1.0, n_knots)
        if knots == "quantile":
            if sample_weight is not None:
                return weighted_percentile(X, sample_weight, 100.0 * ranks).T
            return quantiles(X, ranks)[0]
        X = np.asarray(X, dtype=np.float64 if X.dtype.kind != "f" else None)
        used = X if sample_weight is None else X[np.asarray(sample_weight) > 0]
        low, high = (np.nan_to_num(end.astype(np.float64)) for end in extremes(used))
        return np.linspace(low, high, n_knots)

    def transform(self, X):
        """Basis functions of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        XBS : {ndarray, sparse matrix} of shape (n_samples, n_features_out_)
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        degree, n_splines = self.bsplines_[0].k, self.bsplines_[0].c.shape[1]
        knots = np.array([spline.t for spline in self.bsplines_])
        given = X
        if self.extrapolation == "periodic":
            low, high = knots[:, degree], knots[:, -degree - 1]
            with np.errstate(invalid="ignore", divide="ignore"):
                given = low + (X - low) % (high - low)
            given = np.where(high > low, given, np.where(np.isnan(X), np.nan, 0.0))
        n, d = X.shape
        firsts = np.empty((n, d), dtype=np.int64)
        values = np.empty((n, d, degree + 1))
        work = 4.0 * d * (degree + 1) ** 2
        rows = chunk_rows(n, work)
        outside = np.zeros(-(-n // rows), dtype=np.intp)
        threads = effective_n_threads(None, work=work * n)
        spline_basis(
            kernel_view(given, dtype=np.float64), kernel_view(knots), degree, self._ends(),
            rows, firsts, values, outside, n_threads=threads,
        )  # fmt: skip
        if self.extrapolation == "error" and outside.any():
            raise ValueError("Out of bounds: `X` contains values beyond the limits of the knots.")
        kept = n_splines - 1 + int(self.include_bias)
        if self.sparse_output:
            return align_api_if_sparse(self._sparse(firsts, values, n_splines, kept, X.dtype))
        out = np.empty((n, d * kept), dtype=X.dtype)
        spread_basis(
            kernel_view(firsts), kernel_view(values), n_splines, kept, rows, out,
            n_threads=threads,
        )  # fmt: skip
        return np.asfortranarray(out) if self.order == "F" else out

    def _ends(self):
        """Values and slopes of the functions at both ends, where these are gone on with."""
        degree = self.bsplines_[0].k
        d = len(self.bsplines_)
        if self.extrapolation not in ("constant", "linear"):
            return kernel_view(np.empty((0, d, degree + 1)))
        ends = np.zeros((4, d, degree + 1))
        for j, spline in enumerate(self.bsplines_):
            low, high = spline.t[degree], spline.t[-degree - 1]
            if degree or self.extrapolation == "linear":
                ends[0, j], ends[2, j] = spline(low)[: degree + 1], spline(high)[-degree - 1 :]
            if self.extrapolation == "linear" and degree:
                ends[1, j] = spline(low, nu=1)[: degree + 1]
                ends[3, j] = spline(high, nu=1)[-degree - 1 :]
        return kernel_view(ends)

    def _sparse(self, firsts, values, n_splines, kept, dtype):
        n, d, width = values.shape
        spline = (firsts[:, :, None] + np.arange(width)) % n_splines
        columns = spline + np.arange(d)[:, None] * kept
        there = (spline < kept) & (values != 0.0)
        starts = np.concatenate([[0], np.cumsum(there.sum(axis=(1, 2)))])
        out = sp.csr_array(
            (values[there].astype(dtype), columns[there], starts), shape=(n, d * kept)
        )
        out.sum_duplicates()
        return out

    def get_feature_names_out(self, input_features=None):
        """Names of the columns: feature_sp_k.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features, instead of those seen by fit.

        Returns
        -------
        feature_names_out : ndarray of str objects
        """
        check_is_fitted(self, "n_features_in_")
        kept = self.bsplines_[0].c.shape[1] - 1 + int(self.include_bias)
        names = check_feature_names_in(self, input_features)
        return np.asarray([f"{name}_sp_{k}" for name in names for k in range(kept)], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.handle_missing == "zeros"
        return tags
