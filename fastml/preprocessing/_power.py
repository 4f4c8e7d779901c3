"""Columns made more like normal ones by a power."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.columns import extremes, merge_moments, moments
from fastml._sklearn import StrOptions, fit_context, validate_params
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import check_fitted, kernel_view
from fastml.kernels.preprocessing.power import (
    BOX_COX,
    INVERSE_BOX_COX,
    INVERSE_YEO_JOHNSON,
    YEO_JOHNSON,
    exp_moments,
    power_columns,
)
from fastml.preprocessing._base import (
    ENTRIES,
    ColumnwiseTransformer,
    refuse_infinity,
    work_type,
)
from fastml.preprocessing._scale import EPSILON, StandardScaler

LARGE_EXPONENT = 30.0
"""From here on powers are taken relative to the largest."""

SMALL_POWER = 1e-9

OWN = {
    "method": """
        method : {'yeo-johnson', 'box-cox'}, default='yeo-johnson'
            'box-cox' is for positive values only.
    """,
    "standardize": """
        standardize : bool, default=True
            Subtract the mean of the result and divide by its standard deviation.
    """,
}


class PowerLikelihood:
    """−log likelihood of a power, for values whose transform is to be normal.

    n/2 log Var(y) − (power − 1) Σ sign(x) L, with L = log x, or log(1 + \\|x\\|). The variance does
    not change where a constant is added, and scales: powers are taken relative to the largest, so
    that nothing overflows, and one is subtracted only where both signs occur.
    """

    def __init__(self, values: NDArray, method: str):
        values = values.astype(np.float64)
        if method == "box-cox":
            self.parts = [(np.log(values), 1.0)]
        else:
            positive = values >= 0.0
            self.parts = [
                (np.log1p(values[positive]), 1.0),
                (np.log1p(-values[~positive]), -1.0),
            ]
        self.parts = [(kernel_view(logs), sign) for logs, sign in self.parts if len(logs)]
        self.ends = [(float(logs.min()), float(logs.max())) for logs, _ in self.parts]
        self.n = len(values)
        self.slope = sum(sign * logs.sum() for logs, sign in self.parts)

    def __call__(self, power: float) -> float:
        log_variance = self._log_variance(power)
        if not np.isfinite(log_variance):
            return np.inf
        return 0.5 * self.n * log_variance - (power - 1.0) * self.slope

    def _log_variance(self, power) -> float:
        factors = [power if sign > 0.0 else 2.0 - power for _, sign in self.parts]
        tops = [max(f * low, f * high) for f, (low, high) in zip(factors, self.ends)]
        alone = len(self.parts) == 1
        top = max(tops)
        if not alone and top < LARGE_EXPONENT:
            top = 0.0
        found = []
        for (logs, sign), factor in zip(self.parts, factors):
            if abs(factor) < SMALL_POWER:  # the transform is the logarithm
                count, mean, square = moments(logs[:, None])
                part = (count, mean, square)
                scale = sign * np.exp(-top) if not alone else 1.0
                shift = 0.0
            else:
                part = self._moments_of_powers(logs, factor, top)
                scale = sign / factor
                shift = 0.0 if alone else 1.0 - np.exp(-top)
            count, mean, square = part
            found.append((count, scale * (mean + shift), scale * scale * square))
        total = merge_moments(*(np.stack(each) for each in zip(*found)))
        variance = float(total.variances[0])
        if variance <= 0.0:
            return -np.inf
        added = 0.0 if alone and abs(factors[0]) < SMALL_POWER else 2.0 * top
        return float(np.log(variance)) + added

    def _moments_of_powers(self, logs, factor, top):
        rows = chunk_rows(len(logs), 20.0)
        counts, means, squares = np.empty((3, -(-len(logs) // rows), 1))
        threads = effective_n_threads(None, work=20.0 * len(logs))
        exp_moments(logs, factor, top, rows, counts, means, squares, n_threads=threads)
        return merge_moments(counts, means, squares)


def safe_powers(values: NDArray, dtype) -> tuple[float, float]:
    """Powers between which values of twenty times the size, and their squares, are in range."""
    limits = np.finfo(dtype)
    largest = np.log1p(20.0 * float(np.max(np.abs(values))))
    low = (np.log(limits.tiny) - np.log(limits.eps)) / 2.0 / largest
    high = (np.log(limits.max) + np.log(limits.eps)) / 2.0 / largest
    if (values < 0).all():
        return 2.0 - high, 2.0 - low
    if (values < 0).any():
        return max(2.0 - high, low), min(2.0 - low, high)
    return low, high


def best_power(values: NDArray, method: str, dtype) -> float:
    """The power of greatest likelihood, by Brent's search."""
    from scipy.optimize import brent, fminbound

    loss = PowerLikelihood(values, method)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if method == "box-cox":
            return float(brent(loss, brack=(-2.0, 2.0)))
        low, high = safe_powers(values, dtype)
        return float(fminbound(loss, low, high, xtol=1.48e-8))


@documented(ENTRIES, OWN)
class PowerTransformer(ColumnwiseTransformer):
    """Make each column more like a normal one by a power, found by maximum likelihood.

    Yeo–Johnson: ((x + 1)^λ − 1) / λ for x ≥ 0, −((1 − x)^(2 − λ) − 1) / (2 − λ) for x < 0;
    Box–Cox: (x^λ − 1) / λ; logarithms where a power is 0.

    The likelihood is computed from logarithms: it does not overflow, whatever the values.

    Parameters
    ----------
    {method}
    {standardize}
    {copy}

    Attributes
    ----------
    lambdas_ : ndarray of shape (n_features,)
        The powers; 1 for a column that does not vary.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.preprocessing import PowerTransformer
    >>> X = np.exp([[1.0], [2.0], [3.0]])
    >>> PowerTransformer("box-cox", standardize=False).fit_transform(X).ravel().round(6)
    array([1., 2., 3.])
    """

    _parameter_constraints: dict = {
        "method": [StrOptions({"yeo-johnson", "box-cox"})],
        "standardize": ["boolean"],
        "copy": ["boolean"],
    }

    def __init__(self, method="yeo-johnson", *, standardize=True, copy=True):
        self.method = method
        self.standardize = standardize
        self.copy = copy

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the powers.

        Parameters
        ----------
        {X_to_fit}
        {y}

        Returns
        -------
        {self}
        """
        X = self._to_fit(X)
        refuse_infinity(self, X)
        self._learn(X)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None):
        """Find the powers and transform the same rows.

        Parameters
        ----------
        {X_to_fit}
        {y}

        Returns
        -------
        {X_tr}
        """
        X = self._to_transform_first(X)
        refuse_infinity(self, X)
        return self._given_back(self._learn(X), X)

    def _to_transform_first(self, X):
        from fastml._validation import validate_data
        from fastml.preprocessing._base import FLOATS_AND_HALF

        in_place = {} if self.copy else {"force_writeable": True, "copy": False}
        return validate_data(
            self, X, dtype=FLOATS_AND_HALF, ensure_all_finite=False, reset=True, **in_place
        )

    def _learn(self, X):
        """Set the powers; return what they make of X."""
        self._check_positive(X)
        found = moments(work_type(X))
        powers = np.ones(X.shape[1])
        with np.errstate(over="ignore"):
            bound = (found.counts * found.means * EPSILON) ** 2
            bound += found.counts * EPSILON * found.variances
        constant = ~(found.variances > bound)
        for j in range(X.shape[1]):
            if constant[j] and self.method == "yeo-johnson":
                continue
            column = X[:, j]
            column = column[column == column]
            if not len(column):
                raise ValueError("Column must not be all nan.")
            if constant[j]:
                raise ValueError("Data must not be constant.")
            powers[j] = best_power(column, self.method, work_type(X[:1]).dtype)
        self.lambdas_ = powers.astype(X.dtype)
        result = self._powers(X, YEO_JOHNSON if self.method == "yeo-johnson" else BOX_COX)
        if self.standardize:
            with np.errstate(over="ignore", invalid="ignore"):
                self._scaler = StandardScaler().set_output(transform="default")
                result = self._scaler.fit_transform(result)
        return result

    def _check_positive(self, X):
        if self.method == "box-cox":
            low = extremes(work_type(X))[0]
            if (low <= 0).any():
                raise ValueError(
                    "The Box-Cox transformation can only be applied to strictly positive data"
                )

    def _powers(self, X, mode):
        given = work_type(X)
        n, d = X.shape
        powers = np.asarray(self.lambdas_, dtype=np.float64)
        check_fitted(self, "lambdas_", powers, (d,))
        out = np.empty((n, d), dtype=given.dtype)
        power_columns(
            kernel_view(given), kernel_view(powers), mode,
            chunk_rows(n, 40.0 * max(d, 1)), out,
            n_threads=effective_n_threads(None, work=40.0 * X.size),
        )  # fmt: skip
        return out

    def _given_back(self, result, X):
        result = result.astype(X.dtype, copy=False)
        if self.copy:
            return result
        X[...] = result
        return X

    def transform(self, X):
        """Apply the powers.

        Parameters
        ----------
        {X}

        Returns
        -------
        {X_tr}
        """
        check_is_fitted(self)
        X = self._to_transform(X, copy=self.copy)
        refuse_infinity(self, X)
        self._check_positive(X)
        result = self._powers(X, YEO_JOHNSON if self.method == "yeo-johnson" else BOX_COX)
        if self.standardize:
            result = self._scaler.transform(result)
        return self._given_back(result, X)

    def inverse_transform(self, X):
        """Undo `transform`; NaN, with a warning, where a value is none of its results.

        Parameters
        ----------
        {X}

        Returns
        -------
        {X_tr}
        """
        check_is_fitted(self)
        X = self._to_transform(X, copy=self.copy, check_columns=False)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but PowerTransformer is expecting "
                f"{self.n_features_in_} features as input."
            )
        refuse_infinity(self, X)
        given = self._scaler.inverse_transform(X) if self.standardize else X
        inverse = INVERSE_YEO_JOHNSON if self.method == "yeo-johnson" else INVERSE_BOX_COX
        result = self._powers(given, inverse)
        for j in np.flatnonzero((np.isnan(result) & ~np.isnan(given)).any(axis=0)):
            warnings.warn(
                f"Some values in column {j} of the inverse-transformed data are NaN. This may be "
                "caused by numerical issues in the transformation process, e.g. extremely skewed "
                "data. Consider inspecting the input data or preprocessing it before applying the "
                "transformation.",
                UserWarning,
                stacklevel=2,
            )
        return self._given_back(result, X)


@documented(ENTRIES, OWN)
@validate_params({"X": ["array-like"]}, prefer_skip_nested_validation=False)
def power_transform(X, method="yeo-johnson", *, standardize=True, copy=True):
    """Make columns more like normal ones by a power, as `PowerTransformer`.

    Parameters
    ----------
    {X}
    {method}
    {standardize}
    {copy}

    Returns
    -------
    {X_tr}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.preprocessing import power_transform
    >>> X = np.exp([[1.0], [2.0], [3.0]])
    >>> power_transform(X, "box-cox", standardize=False).ravel().round(6)
    array([1., 2., 3.])
    """
    return PowerTransformer(method=method, standardize=standardize, copy=copy).fit_transform(X)
