"""Rows drawn again, or left out, at random."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real

import numpy as np
from sklearn.utils import check_random_state

from fastml._docs import documented
from fastml._sklearn import Interval, safe_indexing
from fastml._validation import check_array
from fastml.imbalance._base import OverSampler, UnderSampler
from fastml.imbalance._docs import ENTRIES
from fastml.imbalance._strategy import check_strategy, counts_of, imbalance_ratio

MULTIPLIER = [Interval(Real, 1, None, closed="left"), None]


def _by_multiplier(sampler, y, over: bool) -> dict:
    """The strategy that makes the ratio of the classes ``multiplier`` times as large."""
    if sampler.multiplier is None:
        return check_strategy(sampler.sampling_strategy, y, sampler._sampling_type)
    if sampler.sampling_strategy != "auto":
        raise ValueError("multiplier and sampling_strategy are two ways to say the same")
    check_strategy("auto", y, sampler._sampling_type)
    counts = counts_of(y)
    smallest, largest = min(counts, key=counts.get), max(counts, key=counts.get)  # type: ignore[arg-type]
    if over:
        return {smallest: round((sampler.multiplier - 1.0) * counts[smallest])}
    return {largest: round(counts[largest] / sampler.multiplier)}


@documented(ENTRIES)
class RandomOverSampler(OverSampler):
    """Draw rows of small classes again.

    Parameters
    ----------
    {over_strategy}
    {random_state}
    shrinkage : float or dict, default=None
        Noise on the rows that are drawn, as in a smoothed bootstrap: 0 is none, 1 the bandwidth of
        a normal density; by class.
    multiplier : float, default=None
        By how much the imbalance ratio, minority over majority, is to grow: m − 1 times as many
        rows as the smallest class has are drawn. Instead of ``sampling_strategy``.

    Attributes
    ----------
    {sampling_strategy_}
    {n_features_in_}
    {feature_names_in_}

    Notes
    -----
    `fit_resample` also sets ``sample_indices_``, ``shrinkage_`` and ``imbalance_ratio_``: the ratio
    before and after.

    Examples
    --------
    >>> from fastml.imbalance import RandomOverSampler
    >>> X, y = RandomOverSampler(random_state=0).fit_resample([[1.0], [2.0], [3.0]], [0, 0, 1])
    >>> y
    [0, 0, 1, 1]
    """

    _any_values = True
    _parameter_constraints: dict = {
        **OverSampler._parameter_constraints,
        "shrinkage": [Interval(Real, 0, None, closed="left"), dict, None],
        "multiplier": MULTIPLIER,
    }

    def __init__(
        self, *, sampling_strategy="auto", random_state=None, shrinkage=None, multiplier=None
    ):
        self.sampling_strategy = sampling_strategy
        self.random_state = random_state
        self.shrinkage = shrinkage
        self.multiplier = multiplier

    def _strategy(self, y):
        return _by_multiplier(self, y, over=True)

    def _fit_resample(self, X, y):
        from scipy.sparse import csr_array, issparse, vstack

        random = check_random_state(self.random_state)
        self.shrinkage_ = self.shrinkage
        if isinstance(self.shrinkage, Real):
            self.shrinkage_ = dict.fromkeys(self.sampling_strategy_, self.shrinkage)
        if self.shrinkage_ is not None:
            X = self._numbers(X)
        picked, blocks = [np.arange(X.shape[0])], []
        for label, n in self.sampling_strategy_.items():
            own = np.flatnonzero(y == label)
            drawn = random.choice(own, size=n, replace=True)
            picked.append(drawn)
            if self.shrinkage_ is not None:
                noise = random.randn(n, X.shape[1]) * (self.shrinkage_[label] * _width(X, own))
                noise += X[drawn].toarray() if issparse(X) else X[drawn]
                blocks.append(csr_array(noise, dtype=X.dtype) if issparse(X) else noise)
        self.sample_indices_ = np.concatenate(picked)
        labels = y[self.sample_indices_]
        self.imbalance_ratio_ = imbalance_ratio(y), imbalance_ratio(labels)
        if self.shrinkage_ is None:
            return safe_indexing(X, self.sample_indices_), labels
        if issparse(X):
            return vstack([X, *blocks], format=X.format), labels
        return np.vstack([X, *blocks]), labels

    def _numbers(self, X):
        if isinstance(self.shrinkage_, Mapping):
            missing = self.sampling_strategy_.keys() - self.shrinkage_.keys()
            if missing:
                raise ValueError(
                    "`shrinkage` should contain a shrinkage factor for each class that will be "
                    f"resampled. The missing classes are: {missing!r}"
                )
        for label, factor in self.shrinkage_.items():
            if factor < 0:
                raise ValueError(
                    f"The shrinkage factor needs to be >= 0. Got {factor} for class {label}."
                )
        try:
            return check_array(X, accept_sparse=["csr", "csc"], dtype="numeric")
        except ValueError as error:
            raise ValueError(
                "When shrinkage is not None, X needs to contain only numerical data to later "
                "generate a smoothed bootstrap sample."
            ) from error


def _width(X, own):
    """Of the kernel, by column: Silverman's rule for the rows of a class."""
    from scipy.sparse import issparse

    n, d = X.shape
    mine = X[own]
    if issparse(mine):
        mean = np.asarray(mine.mean(axis=0)).ravel()
        squares = np.asarray(mine.multiply(mine).mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(squares - mean**2, 0.0))
    else:
        spread = np.std(mine, axis=0)
    return (4 / ((d + 2) * n)) ** (1 / (d + 4)) * spread


@documented(ENTRIES)
class RandomUnderSampler(UnderSampler):
    """Leave out rows of large classes.

    Parameters
    ----------
    {under_strategy}
    {random_state}
    replacement : bool, default=False
        Whether a row may be drawn more than once.
    multiplier : float, default=None
        By how much the imbalance ratio, minority over majority, is to grow: of the largest class
        1/m of the rows are kept. Instead of ``sampling_strategy``.

    Attributes
    ----------
    {sampling_strategy_}
    {n_features_in_}
    {feature_names_in_}

    Notes
    -----
    `fit_resample` also sets ``sample_indices_`` and ``imbalance_ratio_``: the ratio before and
    after.

    Examples
    --------
    >>> from fastml.imbalance import RandomUnderSampler
    >>> X, y = RandomUnderSampler(random_state=0).fit_resample([[1.0], [2.0], [3.0]], [0, 0, 1])
    >>> y
    [0, 1]
    """

    _any_values = True
    _parameter_constraints: dict = {
        **UnderSampler._parameter_constraints,
        "replacement": ["boolean"],
        "random_state": ["random_state"],
        "multiplier": MULTIPLIER,
    }

    def __init__(
        self, *, sampling_strategy="auto", random_state=None, replacement=False, multiplier=None
    ):
        self.sampling_strategy = sampling_strategy
        self.random_state = random_state
        self.replacement = replacement
        self.multiplier = multiplier

    def _strategy(self, y):
        return _by_multiplier(self, y, over=False)

    def _fit_resample(self, X, y):
        random = check_random_state(self.random_state)
        kept = []
        for label in np.unique(y):
            own = np.flatnonzero(y == label)
            if label in self.sampling_strategy_:
                n = self.sampling_strategy_[label]
                own = own[random.choice(len(own), size=n, replace=self.replacement)]
            kept.append(own)
        self.sample_indices_ = np.concatenate(kept)
        labels = y[self.sample_indices_]
        self.imbalance_ratio_ = imbalance_ratio(y), imbalance_ratio(labels)
        return safe_indexing(X, self.sample_indices_), labels
