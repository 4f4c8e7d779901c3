"""Rules for outliers."""

from __future__ import annotations

import numpy as np

from fastml._cases._case import Case, Quality, sizes
from fastml._cases._data import with_outliers


def _share(data, answer) -> float:
    return float(np.mean(answer))


def _by_hand(low, high, reach):
    """NumPy's percentiles, and the comparison."""

    def prepare(data):
        def mark():
            first, last = np.percentile(data.X, [low, high], axis=0)
            more = reach * (last - first)
            return (first - more > data.X) | (last + more < data.X)

        return mark

    return prepare


def _by_deviations(centre, spread):
    """A centre and a reach about it by NumPy, and the comparison."""

    def prepare(data):
        def mark():
            middle = centre(data.X, axis=0)
            off = np.abs(data.X - middle)
            return off > spread(off)

        return mark

    return prepare


def _three_deviations(off):
    return 3.0 * np.sqrt(np.mean(off * off, axis=0))


def _median_deviations(off):
    return 3.5 * 1.482602218505602 * np.median(off, axis=0)


def fit_transform(make, data):
    return lambda: make().fit_transform(data.X)


SIZES = sizes(n=(300, 50_000, 500_000), d=(4, 20, 20))


def _case(id, name, **more):
    return Case(
        id, f"outliers.{name}", f"{name}, {{n:,}} × {{d}}", with_outliers, SIZES,
        Quality("share of outliers", _share, "same", 1e-9), step=fit_transform, **more,
    )  # fmt: skip


CASES = (
    _case("box-plot-rule", "BoxPlotRule", peers={"numpy": _by_hand(25, 75, 1.5)}),
    _case("percentile-rule", "PercentileRule", peers={"numpy": _by_hand(3, 97, 0.0)}),
    _case("z-score-rule", "ZScoreRule",
          peers={"numpy": _by_deviations(np.mean, _three_deviations)}),
    _case("median-rule", "MedianRule",
          peers={"numpy": _by_deviations(np.median, _median_deviations)}),
)  # fmt: skip
