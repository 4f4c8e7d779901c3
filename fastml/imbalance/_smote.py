"""New rows between a row of a small class and its neighbours."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fastml._docs import documented
from fastml._sklearn import StrOptions
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.imbalance._base import NEIGHBOURS, OverSampler, neighbours
from fastml.imbalance._docs import ENTRIES
from fastml.kernels.neighbors.between import fill_between


class Plan(NamedTuple):
    """New rows of a class: X[rows] + steps · (others[partners] − X[rows])."""

    label: Any
    X: Any
    others: Any
    rows: NDArray
    partners: NDArray
    steps: NDArray  # (rows, 1)


def between(plan: Plan) -> Any:
    """The new rows, in the type of X."""
    from scipy.sparse import csr_array, issparse

    X, start = plan.X, plan.X[plan.rows]
    ahead = plan.others[plan.partners] - start
    if issparse(X):
        return type(X)(start + ahead.multiply(csr_array(plan.steps))).astype(X.dtype)
    return (start + plan.steps * ahead).astype(X.dtype)


def carried_out(X, y, plans: list[Plan]) -> tuple[Any, NDArray]:
    """The rows and labels with the new ones below."""
    from scipy.sparse import issparse, vstack

    made = [np.full(len(plan.rows), plan.label, dtype=y.dtype) for plan in plans]
    labels = np.concatenate([y, *made])
    if issparse(X):
        return vstack([X, *map(between, plans)], format=X.format), labels
    out = np.empty((len(labels), X.shape[1]), dtype=X.dtype)
    out[: len(X)] = X
    first, d = len(X), X.shape[1]
    for plan in plans:
        here = out[first : first + len(plan.rows)]
        first += len(plan.rows)
        if X.dtype != np.float64:
            here[:] = between(plan)
            continue
        fill_between(
            kernel_view(plan.X), kernel_view(plan.others), kernel_view(plan.rows, np.intp),
            kernel_view(plan.partners, np.intp), kernel_view(plan.steps[:, 0]),
            chunk_rows(len(here), 4.0 * d), here,
            n_threads=effective_n_threads(None, 4.0 * d * len(here)),
        )  # fmt: skip
    return out, labels


def _draw(random, n_rows, n_neighbours, n):
    """(rows, neighbours, steps) of n new rows."""
    chosen = random.randint(low=0, high=n_rows * n_neighbours, size=n)
    steps = random.uniform(size=n)[:, None]
    return chosen // n_neighbours, chosen % n_neighbours, steps


@documented(ENTRIES)
class SMOTE(OverSampler):
    """Rows made between a row of a small class and one of its neighbours in the class.

    .. math:: x = x_i + u \\, (x_j - x_i), \\quad u \\sim U(0, 1)

    Parameters
    ----------
    {over_strategy}
    {random_state}
    {k_neighbors}

    Attributes
    ----------
    {sampling_strategy_}
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    N. V. Chawla et al., "SMOTE: synthetic minority over-sampling technique", JAIR 16 (2002).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.imbalance import SMOTE
    >>> X = np.arange(12.0)[:, None]
    >>> X, y = SMOTE(k_neighbors=2, random_state=0).fit_resample(X, [0] * 8 + [1] * 4)
    >>> np.bincount(y).tolist()
    [8, 8]
    """

    _parameter_constraints: dict = {
        **OverSampler._parameter_constraints,
        "k_neighbors": NEIGHBOURS,
    }

    def __init__(self, *, sampling_strategy="auto", random_state=None, k_neighbors=5):
        self.sampling_strategy = sampling_strategy
        self.random_state = random_state
        self.k_neighbors = k_neighbors

    def _fit_resample(self, X, y):
        self.nn_k_ = neighbours(self.k_neighbors, 1)
        plans: list[Plan] = []
        for label, n in self.sampling_strategy_.items():
            if n == 0:
                continue
            own = X[np.flatnonzero(y == label)]
            near = self.nn_k_.fit(own).kneighbors(own, return_distance=False)[:, 1:]
            random = check_random_state(self.random_state)
            rows, which, steps = _draw(random, *near.shape, n)
            plans.append(Plan(label, own, own, rows, near[rows, which], steps))
        return carried_out(X, y, plans)


@documented(ENTRIES)
class BorderlineSMOTE(SMOTE):
    """SMOTE from those rows only that have many neighbours of other classes, but not only such.

    Parameters
    ----------
    {over_strategy}
    {random_state}
    {k_neighbors}
    m_neighbors : int or object, default=10
        Neighbours by which a row is in danger: at least half of them are of other classes.
    kind : {"borderline-1", "borderline-2"}, default="borderline-1"
        Whether partners are of the class only, or of all; those of others at half the way, at most.

    Attributes
    ----------
    {sampling_strategy_}
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    H. Han, W.-Y. Wang, B.-H. Mao, "Borderline-SMOTE", ICIC (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.imbalance import BorderlineSMOTE
    >>> X, y = np.arange(30.0)[:, None], [0] * 20 + [1] * 10
    >>> X, y = BorderlineSMOTE(m_neighbors=4, random_state=0).fit_resample(X, y)
    >>> np.bincount(y).tolist()
    [20, 20]
    """

    _parameter_constraints: dict = {
        **SMOTE._parameter_constraints,
        "m_neighbors": NEIGHBOURS,
        "kind": [StrOptions({"borderline-1", "borderline-2"})],
    }

    def __init__(
        self,
        *,
        sampling_strategy="auto",
        random_state=None,
        k_neighbors=5,
        m_neighbors=10,
        kind="borderline-1",
    ):
        super().__init__(
            sampling_strategy=sampling_strategy, random_state=random_state, k_neighbors=k_neighbors
        )
        self.m_neighbors = m_neighbors
        self.kind = kind

    def _fit_resample(self, X, y):
        self.nn_k_ = neighbours(self.k_neighbors, 1)
        self.nn_m_ = neighbours(self.m_neighbors, 1)
        self.in_danger_indices = {}
        plans: list[Plan] = []
        for label, n in self.sampling_strategy_.items():
            if n == 0:
                continue
            own = np.flatnonzero(y == label)
            around = self.nn_m_.fit(X).kneighbors(X[own], return_distance=False)[:, 1:]
            foreign, m = (y[around] != label).sum(axis=1), self.nn_m_.n_neighbors - 1
            danger = own[(foreign >= m / 2) & (foreign < m)]
            if not len(danger):
                continue
            self.in_danger_indices[label] = danger
            partners = X[own] if self.kind == "borderline-1" else X
            near = self.nn_k_.fit(partners).kneighbors(X[danger], return_distance=False)[:, 1:]
            random = check_random_state(self.random_state)
            rows, which, steps = _draw(random, *near.shape, n)
            chosen = near[rows, which]
            if self.kind == "borderline-2":
                other = y[chosen] != label
                shorter = check_random_state(self.random_state)
                steps[other] *= shorter.uniform(low=0.0, high=0.5, size=(other.sum(), 1))
            plans.append(Plan(label, X[danger], partners, rows, chosen, steps))
        return carried_out(X, y, plans)


@documented(ENTRIES)
class ADASYN(OverSampler):
    """As SMOTE, with the more new rows about a row the more of its neighbours are of other classes.

    Parameters
    ----------
    {over_strategy}
    {random_state}
    n_neighbors : int or object, default=5
        Neighbours that decide how many rows are made, and between which.

    Attributes
    ----------
    {sampling_strategy_}
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    H. He, Y. Bai, E. A. Garcia, S. Li, "ADASYN: adaptive synthetic sampling approach for imbalanced
    learning", IJCNN (2008).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.imbalance import ADASYN
    >>> X, y = np.arange(30.0)[:, None], np.array([0] * 20 + [1] * 10)
    >>> X, y = ADASYN(random_state=0).fit_resample(X, y)
    >>> int(np.sum(y == 1)) > 15
    True
    """

    _parameter_constraints: dict = {
        **OverSampler._parameter_constraints,
        "n_neighbors": NEIGHBOURS,
    }

    def __init__(self, *, sampling_strategy="auto", random_state=None, n_neighbors=5):
        self.sampling_strategy = sampling_strategy
        self.random_state = random_state
        self.n_neighbors = n_neighbors

    def _fit_resample(self, X, y):
        self.nn_ = neighbours(self.n_neighbors, 1)
        random = check_random_state(self.random_state)
        plans: list[Plan] = []
        for label, n in self.sampling_strategy_.items():
            if n == 0:
                continue
            own = X[np.flatnonzero(y == label)]
            around = self.nn_.fit(X).kneighbors(own, return_distance=False)[:, 1:]
            k = self.nn_.n_neighbors - 1
            foreign = np.sum(y[around] != label, axis=1) / k
            if not foreign.sum():
                raise RuntimeError(
                    "Not any neigbours belong to the majority class. This case will induce a NaN "
                    "case with a division by zero. ADASYN is not suited for this specific dataset. "
                    "Use SMOTE instead."
                )
            each = np.rint(foreign / foreign.sum() * n).astype(int)
            if not each.sum():
                raise ValueError("No samples will be generated with the provided ratio settings.")
            near = self.nn_.fit(own).kneighbors(own, return_distance=False)[:, 1:]
            rows = np.repeat(np.arange(len(each)), each)
            which = random.choice(k, size=len(rows))
            steps = random.uniform(size=(len(rows), 1))
            plans.append(Plan(label, own, own, rows, near[rows, which], steps))
        return carried_out(X, y, plans)
