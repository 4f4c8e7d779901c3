"""Rows left out because of their neighbours."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from fastml._docs import documented
from fastml._sklearn import StrOptions
from fastml.imbalance._base import NEIGHBOURS, CleaningSampler, neighbours
from fastml.imbalance._docs import ENTRIES


@documented(ENTRIES)
class TomekLinks(CleaningSampler):
    """Leave out rows in Tomek links: pairs of two classes, each the nearest to the other.

    Parameters
    ----------
    {clean_strategy}
    {n_jobs}

    Attributes
    ----------
    {sampling_strategy_}
    {n_features_in_}
    {feature_names_in_}

    Notes
    -----
    `fit_resample` also sets ``sample_indices_``, the rows that stay.

    References
    ----------
    I. Tomek, "Two modifications of CNN", IEEE Transactions on Systems, Man, and Cybernetics 6
    (1976).

    Examples
    --------
    >>> from fastml.imbalance import TomekLinks
    >>> X, y = TomekLinks().fit_resample([[0.0], [1.0], [5.0], [5.1]], [0, 0, 0, 1])
    >>> y
    [0, 0, 1]
    """

    _parameter_constraints: dict = {
        **CleaningSampler._parameter_constraints,
        "n_jobs": [Integral, None],
    }

    def __init__(self, *, sampling_strategy="auto", n_jobs=None):
        self.sampling_strategy = sampling_strategy
        self.n_jobs = n_jobs

    @staticmethod
    def is_tomek(y, nn_index, class_type):
        """Which rows of these classes are in a link, by each row's nearest other."""
        mutual = nn_index[nn_index] == np.arange(len(y))
        return mutual & (y[nn_index] != y) & np.isin(y, list(class_type))

    def _fit_resample(self, X, y):
        search = neighbours(1, 1).set_params(n_jobs=self.n_jobs).fit(X)
        nearest = search.kneighbors(X, return_distance=False)[:, 1]
        links = self.is_tomek(y, nearest, self.sampling_strategy_)
        return self._keep(X, y, np.flatnonzero(~links))


@documented(ENTRIES)
class EditedNearestNeighbours(CleaningSampler):
    """Leave out rows whose neighbours are of other classes.

    Parameters
    ----------
    {clean_strategy}
    n_neighbors : int or object, default=3
        Neighbours.
    kind_sel : {"all", "mode"}, default="all"
        A row stays if all its neighbours are of its class, or the most frequent class of them is.
    {n_jobs}

    Attributes
    ----------
    {sampling_strategy_}
    {n_features_in_}
    {feature_names_in_}

    Notes
    -----
    `fit_resample` also sets ``sample_indices_``, the rows that stay.

    References
    ----------
    D. Wilson, "Asymptotic properties of nearest neighbor rules using edited data", IEEE
    Transactions on Systems, Man, and Cybernetics 2 (1972).

    Examples
    --------
    >>> from fastml.imbalance import EditedNearestNeighbours
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> X, y = EditedNearestNeighbours(n_neighbors=2).fit_resample(X, [0, 0, 0, 0, 1, 1])
    >>> y
    [0, 0, 0, 1, 1]
    """

    _parameter_constraints: dict = {
        **CleaningSampler._parameter_constraints,
        "n_neighbors": NEIGHBOURS,
        "kind_sel": [StrOptions({"all", "mode"})],
        "n_jobs": [Integral, None],
    }

    def __init__(self, *, sampling_strategy="auto", n_neighbors=3, kind_sel="all", n_jobs=None):
        self.sampling_strategy = sampling_strategy
        self.n_neighbors = n_neighbors
        self.kind_sel = kind_sel
        self.n_jobs = n_jobs

    def _fit_resample(self, X, y):
        self.nn_ = neighbours(self.n_neighbors, 1).set_params(n_jobs=self.n_jobs).fit(X)
        classes, codes = np.unique(y, return_inverse=True)
        kept = []
        for c, label in enumerate(classes):
            own = np.flatnonzero(codes == c)
            if label in self.sampling_strategy_:
                around = codes[self.nn_.kneighbors(X[own], return_distance=False)[:, 1:]]
                own = own[self._stays(around, c, len(classes))]
            kept.append(own)
        return self._keep(X, y, np.concatenate(kept))

    def _stays(self, around, c, n_classes):
        if self.kind_sel == "all":
            return (around == c).all(axis=1)
        votes = np.stack([(around == k).sum(axis=1) for k in range(n_classes)], axis=1)
        return votes.argmax(axis=1) == c
