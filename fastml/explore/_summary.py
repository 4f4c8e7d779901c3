"""What is said of a single column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from fastml._validation import kernel_view
from fastml.explore._columns import TableColumn, plain_value
from fastml.information import entropy
from fastml.kernels.explore.levels import median_deviation

NORMAL_MAD = 1.482602218505602
"""Standard deviation over median absolute deviation, of a normal distribution."""

MOST_BARS, FEWEST_BARS = 60, 5
DENSITY_POINTS = 512
DENSITY_SHOWN = 4
"""One in so many points of a density is kept."""

PLOTTING = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
"""Continuous definitions of quantiles: (α, β) of Hyndman & Fan (1996)."""

METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
    *PLOTTING, "lower", "higher", "midpoint", "nearest",
)  # fmt: skip
"""NumPy's names of them."""


def _places(shares, n: int, method: str) -> tuple[NDArray, NDArray, NDArray]:
    """Two places of order statistics from 0 on, and the weight of the second."""
    if method in PLOTTING:
        alpha, beta = PLOTTING[method]
        place = n * shares + (alpha + shares * (1.0 - alpha - beta)) - 1.0
        place = np.clip(place, 0.0, n - 1.0)
        low = np.floor(place)
        return low, low + 1.0, place - low
    if method in ("lower", "higher", "midpoint", "nearest"):
        place = shares * (n - 1)
        low, high = np.floor(place), np.ceil(place)
        weights = {"lower": 0.0, "higher": 1.0, "midpoint": 0.5}
        if method == "nearest":
            return np.rint(place), np.rint(place), np.zeros(len(shares))
        return low, high, np.full(len(shares), weights[method])
    place = n * shares - 1.0
    if method == "closest_observation":
        place -= 0.5
        low = np.floor(place)
        even = (place == low) & (low % 2 == 1)
        return np.where(even, low, low + 1.0), low, np.zeros(len(shares))
    low = np.floor(place)
    whole = place == low
    if method == "inverted_cdf":
        found = np.where(whole, low, low + 1.0)
        return found, found, np.zeros(len(shares))
    return low, low + 1.0, np.where(whole, 0.5, 1.0)


def level_quantiles(numbers, starts, shares, method: str = "linear") -> NDArray:
    """Quantiles of rows that are given by their levels, as `numpy.quantile` defines them."""
    shares = np.asarray(shares, dtype=np.float64)
    n = int(starts[-1])
    if n == 0:
        return np.full(len(shares), np.nan)
    first, second, weight = _places(shares, n, method)

    def at(place):
        place = np.clip(place, 0, n - 1).astype(np.int64)
        return numbers[np.searchsorted(starts, place, side="right") - 1]

    low, high = at(first), at(second)
    gap = high - low
    return np.where(weight >= 0.5, high - gap * (1.0 - weight), low + gap * weight)


def summary(column: TableColumn, shares, method: str, top: int) -> dict[str, Any]:
    """All that is said of the column, as plain data."""
    n = column.n_rows
    found: dict[str, Any] = {
        "name": column.name,
        "type": column.type,
        "dtype": column.dtype,
        "count": column.n_present,
        "missing": column.n_missing,
        "missing_share": column.n_missing / n,
        "infinite": column.n_infinite,
        "distinct": len(column.levels),
        "top": [
            {"value": column.label(k), "count": int(column.counts[k]),
             "share": float(column.counts[k]) / n}
            for k in column.most_frequent(top)
        ],
        "entropy": float(entropy(column.counts, normalise=True)) if column.n_present else None,
        "notes": column.notes,
    }  # fmt: skip
    if column.is_quantity or (column.has_order and column.levels.dtype.kind in "biuf"):
        with np.errstate(over="ignore", invalid="ignore"):
            found |= _numeric(column, shares, method)
    elif column.type == "ordinal" and column.n_present:
        places = level_quantiles(
            np.arange(len(column.levels)), column.starts, shares, "inverted_cdf"
        )
        found["quantiles"] = {
            f"{share:g}": column.label(int(k)) for share, k in zip(shares, places)
        }
    return found


def _numeric(column, shares, method) -> dict[str, Any]:
    numbers, starts = column.numbers, column.starts
    n = column.n_present
    times = column.type == "datetime"

    def shown(x):
        if times and np.isfinite(x):
            return plain_value(np.datetime64(round(float(x) * 1e6), "us"))
        return plain_value(np.float64(x))

    quartiles = level_quantiles(numbers, starts, [0.25, 0.5, 0.75])
    found: dict[str, Any] = {
        "min": shown(numbers[0] if n else np.nan),
        "max": shown(numbers[-1] if n else np.nan),
        "quantiles": {
            f"{share:g}": shown(x)
            for share, x in zip(shares, level_quantiles(numbers, starts, shares, method))
        },
        "quartiles": [shown(x) for x in quartiles],
        "whiskers": [shown(x) for x in _whiskers(numbers, quartiles)] if n else None,
    }
    shape = dict(column.shape)
    found["mean"] = shown(shape.pop("mean"))
    if not times:
        found |= {name: plain_value(np.float64(x)) for name, x in shape.items()}
        found["outliers"] = _outliers(numbers, starts, quartiles, shape["population_std"], n,
                                      shape["centre"])  # fmt: skip
        found["normality"] = _jarque_bera(shape, n)
    else:
        found["std_days"] = plain_value(np.float64(shape["std"] / 86400.0))
    for name in ("centre", "population_std", "population_skewness", "population_kurtosis"):
        found.pop(name, None)
    if n:
        found["histogram"], found["density"] = _drawn(numbers, starts, quartiles, shape["std"])
    return found


def _jarque_bera(shape, n) -> dict[str, Any] | None:
    """Whether skewness and kurtosis are those of a normal distribution (Jarque & Bera, 1980)."""
    g1, g2 = shape["population_skewness"], shape["population_kurtosis"]
    if n < 3 or not np.isfinite(g1 + g2):
        return None
    statistic = n / 6.0 * (g1 * g1 + 0.25 * g2 * g2)
    return {
        "test": "Jarque-Bera", "statistic": float(statistic), "p": float(chdtrc(2.0, statistic))
    }  # fmt: skip


def _whiskers(numbers, quartiles) -> tuple[float, float]:
    """The outermost values within 1.5 interquartile ranges of the quartiles."""
    reach = 1.5 * (quartiles[2] - quartiles[0])
    first = np.searchsorted(numbers, quartiles[0] - reach, side="left")
    last = np.searchsorted(numbers, quartiles[2] + reach, side="right") - 1
    return min(numbers[first], quartiles[0]), max(numbers[last], quartiles[2])


def _outliers(numbers, starts, quartiles, std, n, mean) -> dict[str, dict[str, Any]]:
    """How many are beyond the bounds of each rule of `fastml.outliers`."""
    if n == 0:
        return {}
    low, median, high = quartiles
    reach = 1.5 * (high - low)
    spread = NORMAL_MAD * median_deviation(kernel_view(numbers), kernel_view(starts), median)
    cut = level_quantiles(numbers, starts, [0.03, 0.97])
    bounds = {
        "box_plot": (low - reach, high + reach),
        "percentile": (cut[0], cut[1]),
        "z_score": (mean - 3.0 * std, mean + 3.0 * std),
        "median": (median - 3.5 * spread, median + 3.5 * spread),
    }
    found = {}
    for rule, (least, most) in bounds.items():
        below = int(starts[np.searchsorted(numbers, least, side="left")])
        above = n - int(starts[np.searchsorted(numbers, most, side="right")])
        found[rule] = {
            "lower": plain_value(np.float64(least)), "upper": plain_value(np.float64(most)),
            "count": below + above, "share": (below + above) / n,
        }  # fmt: skip
    return found


def _drawn(numbers, starts, quartiles, std) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The histogram, bars as Freedman & Diaconis (1981) say, and the density over it.

    The density is a Gaussian kernel estimate of counts in fine cells, Silverman's bandwidth.
    """
    n = int(starts[-1])
    low, high = float(numbers[0]), float(numbers[-1])
    if not high > low or not np.isfinite(high - low):
        half = max(0.5, 1e-6 * abs(low))
        low, high = (low - half, low + half) if not high > low else (low / 2.0, high / 2.0)
    width = 2.0 * (quartiles[2] - quartiles[0]) / n ** (1 / 3)
    bars = MOST_BARS if width <= 0 else (high - low) / width
    bars = int(np.clip(bars, FEWEST_BARS, MOST_BARS))
    if (numbers == np.floor(numbers)).all() and high - low < MOST_BARS:
        edges = np.arange(numbers[0] - 0.5, numbers[-1] + 1.0)
    else:
        edges = np.linspace(low, high, bars + 1)
    histogram = {"edges": edges.tolist(), "counts": _counts_between(numbers, starts, edges)}
    spread = min(std, (quartiles[2] - quartiles[0]) / 1.349) if std == std else 0.0
    spread = spread if spread > 0 else (std if std == std else 0.0)
    bandwidth = 0.9 * spread * n ** (-1 / 5)
    if not bandwidth > 0 or len(numbers) < 3:
        return histogram, None
    margin = 3.0 * bandwidth
    cells = np.linspace(low - margin, high + margin, DENSITY_POINTS + 1)
    step = cells[1] - cells[0]
    counts = np.array(_counts_between(numbers, starts, cells))
    reach = int(min(np.ceil(4.0 * bandwidth / step), DENSITY_POINTS))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / bandwidth) ** 2)
    density = np.convolve(counts, kernel / (kernel.sum() * n * step), mode="full")
    density = density[reach : reach + DENSITY_POINTS]
    middles = 0.5 * (cells[1:] + cells[:-1])
    kept = slice(None, None, DENSITY_SHOWN)
    return histogram, {"x": middles[kept].tolist(), "y": density[kept].tolist()}


def _counts_between(numbers, starts, edges) -> list[int]:
    """Rows from each edge up to the next; the last edge included."""
    places = np.searchsorted(numbers, edges, side="left")
    places[-1] = np.searchsorted(numbers, edges[-1], side="right")
    return np.diff(starts[places]).tolist()
