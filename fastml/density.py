"""Densities without an estimator: histograms, and bandwidths for kernel density estimates.

A bandwidth h of `fastml.neighbors.KernelDensity` from data: the rules of thumb `bandwidth_scott`
and `bandwidth_silverman`, the plug-in `bandwidth_isj`, and the two kinds of cross-validation
`bandwidth_loo` and `bandwidth_lscv`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.smoothing.bandwidth import (
    effective_size,
    reference_bandwidth,
    refuse_constant_features,
    search_bandwidth,
    silverman_factor,
    spread,
)
from fastml._engines.smoothing.names import SMOOTHING_KERNELS
from fastml._progress import current_steps
from fastml._validation import lookup, relative_weights

__all__ = [
    "HistogramDensity",
    "bandwidth_isj",
    "bandwidth_loo",
    "bandwidth_lscv",
    "bandwidth_scott",
    "bandwidth_silverman",
    "histogram_density",
]


def _check(X, sample_weight, *, least: int = 2):
    """Rows (a vector counts as one feature) and weights; rows of weight zero are left out."""
    from sklearn.utils import check_array

    X = check_array(X, dtype=np.float64, ensure_2d=False, ensure_min_samples=least)
    if X.ndim == 1:
        X = X[:, None]
    if X.ndim != 2:
        raise ValueError(f"X must have one or two dimensions, got {X.ndim}")
    weights, _ = relative_weights(sample_weight, X, dtype=np.float64)
    kept = weights > 0.0
    return X[kept], weights[kept]


# ---------------------------------------------------------------------------- rules of thumb


def bandwidth_scott(X, *, sample_weight=None) -> float | NDArray:
    """Scott's rule, sigma_j n^(-1/(d + 4)) for each feature j.

    Parameters
    ----------
    X : array-like of shape (n_samples,) or (n_samples, n_features)
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; n becomes (sum w)^2 / sum w^2.

    Returns
    -------
    h : float, or ndarray of shape (n_features,) if there is more than one feature

    Examples
    --------
    >>> from fastml.density import bandwidth_scott
    >>> round(bandwidth_scott([1.0, 2.0, 3.0, 4.0, 5.0]), 4)
    1.146
    """
    X, weights = _check(X, sample_weight)
    factor = effective_size(weights) ** (-1 / (X.shape[1] + 4))
    return _rule_of_thumb(X, weights, factor)


def bandwidth_silverman(X, *, sample_weight=None) -> float | NDArray:
    """Silverman's rule, sigma_j (n (d + 2) / 4)^(-1/(d + 4)) for each feature j.

    Parameters
    ----------
    X : array-like of shape (n_samples,) or (n_samples, n_features)
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; n becomes (sum w)^2 / sum w^2.

    Returns
    -------
    h : float, or ndarray of shape (n_features,) if there is more than one feature

    Examples
    --------
    >>> from fastml.density import bandwidth_silverman
    >>> round(bandwidth_silverman([1.0, 2.0, 3.0, 4.0, 5.0]), 4)
    1.2138
    """
    X, weights = _check(X, sample_weight)
    factor = silverman_factor(effective_size(weights), X.shape[1])
    return _rule_of_thumb(X, weights, factor)


def _rule_of_thumb(X, weights, factor):
    refuse_constant_features(X)
    h = factor * spread(X, weights)
    return float(h[0]) if h.shape[0] == 1 else h


# ---------------------------------------------------------------------------- plug-in


def bandwidth_isj(x, *, sample_weight=None, n_bins: int = 2**14) -> float:
    """Improved Sheather-Jones: a fixed point of plug-in estimates, for one feature.

    It does not assume a shape close to a Gaussian, and keeps separate modes apart where rules of
    thumb smear them.

    Parameters
    ----------
    x : array-like of shape (n_samples,) or (n_samples, 1)
    sample_weight : array-like of shape (n_samples,), default=None
    n_bins : int, default=16384
        Resolution of the histogram that the method works on, a power of two.

    Returns
    -------
    h : float
        Standard deviation of the Gaussian kernel.

    References
    ----------
    Z. I. Botev, J. F. Grotowski and D. P. Kroese, "Kernel density estimation via diffusion",
    Annals of Statistics 38 (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.density import bandwidth_isj, bandwidth_silverman
    >>> x = np.random.default_rng(0).normal(size=1000)
    >>> two_modes = np.concatenate([x, x + 20.0])
    >>> bool(bandwidth_isj(two_modes) < 0.2 * bandwidth_silverman(two_modes))
    True
    """
    from scipy.fft import dct
    from scipy.optimize import brentq

    X, weights = _check(x, sample_weight)
    if X.shape[1] != 1:
        raise ValueError(f"bandwidth_isj takes one feature, got {X.shape[1]}")
    values = X[:, 0]
    width = np.ptp(values)
    if width == 0.0:
        raise ValueError("x is constant: bandwidth_isj needs a positive variance")
    low, length = values.min() - 0.1 * width, 1.2 * width
    counts, _ = np.histogram(values, bins=n_bins, range=(low, low + length), weights=weights)
    # Cosine coefficients of the density on [0, 1]; a_k^2 carries the roughness of its derivatives.
    squares = (0.5 * dct(counts / counts.sum())[1:]) ** 2
    frequencies = np.arange(1, n_bins, dtype=np.float64) ** 2
    n = min(effective_size(weights), float(np.unique(values).shape[0]))

    def roughness(s, t):
        """Squared norm of the s-th derivative after diffusion for time t."""
        terms = frequencies**s * squares * np.exp(-frequencies * np.pi**2 * t)
        return 2.0 * np.pi ** (2 * s) * np.sum(terms)

    def excess(t):
        norm = roughness(7, t)
        for s in range(6, 1, -1):
            odd = np.prod(np.arange(1.0, 2 * s, 2.0)) / np.sqrt(2.0 * np.pi)
            constant = (1.0 + 0.5 ** (s + 0.5)) / 3.0
            time = (2.0 * constant * odd / (n * norm)) ** (2.0 / (3.0 + 2.0 * s))
            norm = roughness(s, time)
        return t - (2.0 * n * np.sqrt(np.pi) * norm) ** -0.4

    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        times = np.geomspace(1e-12, 0.1, 60)
        signs = np.array([excess(t) for t in times])
        rising = np.flatnonzero((signs[:-1] <= 0.0) & (signs[1:] > 0.0))
        if rising.shape[0] == 0:
            return float(silverman_factor(n, 1) * spread(X, weights)[0])
        root = brentq(excess, times[rising[0]], times[rising[0] + 1], xtol=1e-14)
    return float(np.sqrt(root) * length)


# ---------------------------------------------------------------------------- cross-validation


def bandwidth_loo(
    X,
    candidates=None,
    *,
    kernel: str = "gaussian",
    sample_weight=None,
    n_jobs: int | None = None,
) -> float:
    """The bandwidth of the largest leave-one-out log-likelihood, sum_i w_i log f_{-i}(x_i).

    Parameters
    ----------
    X : array-like of shape (n_samples,) or (n_samples, n_features)
    candidates : array-like, default=None
        Bandwidths to choose from; None searches: 30 on a geometric grid around Silverman's, then
        golden-section steps.
    kernel : str, default="gaussian"
    sample_weight : array-like of shape (n_samples,), default=None
    n_jobs : int, default=None
        Threads; None means all cores.

    Returns
    -------
    h : float
        The density may grow without bound at repeated points, and h with it towards zero: with
        many equal rows prefer `bandwidth_isj` or `bandwidth_lscv`.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.density import bandwidth_loo
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> bandwidth_loo(x, [0.01, 0.3, 5.0])
    0.3
    """
    from fastml._engines.smoothing.smoother import Smoother, leave_one_out

    X, weights = _check(X, sample_weight)
    lookup(SMOOTHING_KERNELS, kernel, "kernel")

    def loss(h):
        smoother = Smoother(X, weights[:, None], kernel, h, n_jobs=n_jobs)
        return -float(np.dot(weights, leave_one_out(smoother)))

    return _choose(loss, X, weights, candidates)


def bandwidth_lscv(
    X,
    candidates=None,
    *,
    kernel: str = "gaussian",
    sample_weight=None,
    n_jobs: int | None = None,
) -> float:
    """The bandwidth of least squared error, estimated by leaving one out.

    It minimises the integral of f^2 minus twice the mean of f_{-i}(x_i): the integrated squared
    error but for a constant. The integral is a sum over pairs of points of the kernel convolved
    with itself, which for the Gaussian is the kernel with bandwidth sqrt(2) h.

    Parameters
    ----------
    X : array-like of shape (n_samples,) or (n_samples, n_features)
    candidates : array-like, default=None
        Bandwidths to choose from; None searches as `bandwidth_loo` does.
    kernel : str, default="gaussian"
    sample_weight : array-like of shape (n_samples,), default=None
    n_jobs : int, default=None
        Threads; None means all cores.

    Returns
    -------
    h : float

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.density import bandwidth_lscv
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> bandwidth_lscv(x, [0.01, 0.3, 5.0])
    0.3
    """
    from fastml._engines.smoothing.smoother import Smoother, leave_one_out

    X, weights = _check(X, sample_weight)
    lookup(SMOOTHING_KERNELS, kernel, "kernel")
    shares = weights / weights.sum()

    def gaussian_square(h):
        wide = Smoother(X, weights[:, None], kernel, np.sqrt(2.0) * h, n_jobs=n_jobs)
        return np.dot(shares, np.exp(wide.log_sums(X) + wide.log_norm())) / wide.total

    if kernel == "gaussian":
        square = gaussian_square
    else:
        from fastml._engines.smoothing.self_convolution import SquaredDensity

        square = SquaredDensity(X, weights, kernel, n_jobs)

    def loss(h):
        others = leave_one_out(Smoother(X, weights[:, None], kernel, h, n_jobs=n_jobs))
        return float(square(h) - 2.0 * np.dot(shares, np.exp(others)))

    return _choose(loss, X, weights, candidates)


class _EndedByCallback(Exception):
    """A callback of the fit around the search has seen enough."""


def _choose(loss, X, weights, candidates):
    """The bandwidth of the least loss; of those tried so far if a callback ends the search."""
    tried: dict[float, float] = {}
    steps = current_steps()

    def told(h):
        step = steps.begin(f"bandwidth {h:.4g}")
        tried[h] = loss(h)
        if step.end():
            raise _EndedByCallback
        return tried[h]

    try:
        return _least(told, X, weights, candidates)
    except _EndedByCallback:
        return min(tried, key=tried.__getitem__)


def _least(loss, X, weights, candidates):
    if X.shape[0] < 2:
        raise ValueError("leaving one out needs at least 2 rows of positive weight, got 1")
    if candidates is None:
        return search_bandwidth(loss, reference_bandwidth(X, weights))
    candidates = np.asarray(candidates, dtype=np.float64)
    if candidates.ndim != 1 or candidates.shape[0] == 0:
        raise ValueError(f"candidates must be a list of numbers, got shape {candidates.shape}")
    if not np.all((candidates > 0.0) & np.isfinite(candidates)):
        raise ValueError("every candidate bandwidth must be positive and finite")
    return float(candidates[np.argmin([loss(float(h)) for h in candidates])])


# ---------------------------------------------------------------------------- histogram


class HistogramDensity(NamedTuple):
    """A piecewise constant density: ``density[b]`` between ``edges[b]`` and ``edges[b + 1]``."""

    density: NDArray
    edges: NDArray

    def __call__(self, x) -> NDArray:
        """Density at x; zero outside the edges."""
        x = np.asarray(x, dtype=np.float64)
        place = np.searchsorted(self.edges, x, side="right") - 1
        place = np.where(x == self.edges[-1], self.density.shape[0] - 1, place)
        inside = (place >= 0) & (place < self.density.shape[0])
        return np.where(inside, self.density[np.where(inside, place, 0)], 0.0)


def histogram_density(
    x,
    bins="fd",
    *,
    range: tuple[float, float] | None = None,
    sample_weight=None,
) -> HistogramDensity:
    """Histogram scaled to integrate to one.

    Parameters
    ----------
    x : array-like of shape (n_samples,)
    bins : int, {"fd", "scott"} or array-like of edges, default="fd"
        The number of bins; Freedman-Diaconis, width 2 IQR n^(-1/3); Scott, width
        (24 sqrt(pi) / n)^(1/3) sigma; or rising edges.
    range : (float, float), default=None
        Ends of the histogram, by default those of the data.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    histogram : HistogramDensity
        ``(density, edges)``; calling it evaluates the density.

    Examples
    --------
    >>> from fastml.density import histogram_density
    >>> histogram = histogram_density([0.0, 1.0, 1.0, 4.0], bins=2)
    >>> histogram.density
    array([0.375, 0.125])
    >>> histogram(3.0)
    array(0.125)
    """
    X, weights = _check(x, sample_weight, least=1)
    if X.shape[1] != 1:
        raise ValueError(f"histogram_density takes one feature, got {X.shape[1]}")
    values = X[:, 0]
    low, high = (values.min(), values.max()) if range is None else map(float, range)
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ValueError(f"range must be two finite numbers, the smaller first, got {range}")
    inside = (values >= low) & (values <= high)
    values, weights = values[inside], weights[inside]
    if values.shape[0] == 0:
        raise ValueError(f"no value of x lies in range ({low}, {high})")
    if high == low:
        low, high = low - 0.5, high + 0.5
    if isinstance(bins, str):
        edges = np.linspace(low, high, _n_bins(bins, values, weights, high - low) + 1)
    elif np.ndim(bins) == 0:
        if isinstance(bins, bool) or int(bins) != bins or bins < 1:
            raise ValueError(f"bins must be at least 1, got {bins}")
        edges = np.linspace(low, high, int(bins) + 1)
    else:
        edges = np.asarray(bins, dtype=np.float64)
        if edges.ndim != 1 or edges.shape[0] < 2 or not np.all(np.diff(edges) > 0.0):
            raise ValueError("bins given as edges must be at least two rising numbers")
    counts, edges = np.histogram(values, bins=edges, weights=weights)
    if counts.sum() == 0.0:
        raise ValueError("no value of x lies between the edges given as bins")
    return HistogramDensity(counts / (counts.sum() * np.diff(edges)), edges)


def _n_bins(rule, values, weights, length, at_most=2**20):
    width_of = lookup({"fd": _width_fd, "scott": _width_scott}, rule, "rule of bins")
    width = width_of(values, weights, effective_size(weights))
    if width <= 0.0:  # no spread to measure
        return 1
    return int(min(max(np.ceil(length / width), 1), at_most))


def _width_fd(values, weights, n):
    order = np.argsort(values)
    share = (np.cumsum(weights[order]) - 0.5 * weights[order]) / weights.sum()
    quarter, three_quarters = np.interp([0.25, 0.75], share, values[order])
    return 2.0 * (three_quarters - quarter) * n ** (-1 / 3)


def _width_scott(values, weights, n):
    return (24.0 * np.sqrt(np.pi) / n) ** (1 / 3) * spread(values[:, None], weights)[0]
