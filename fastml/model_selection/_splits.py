"""Ways to cut rows apart that scikit-learn does not have."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fastml._sklearn import num_samples, safe_indexing


class _Splitter:
    """scikit-learn's protocol of fold iterators."""

    n_splits: int

    def get_n_splits(self, X=None, y=None, groups=None) -> int:
        """Number of splits.

        Parameters
        ----------
        X, y, groups : object, default=None
            Not used.

        Returns
        -------
        n_splits : int
        """
        return self.n_splits

    def __repr__(self):
        told = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({told})"


class BootstrapSplit(_Splitter):
    """Train on rows drawn with replacement, test on those that were not drawn.

    About 1 − 1/e = 63.2 % of the rows are drawn. A split in which all rows were drawn is drawn
    anew.

    Parameters
    ----------
    n_splits : int, default=100
        Number of resamples.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Examples
    --------
    >>> from fastml.model_selection import BootstrapSplit
    >>> train, test = next(BootstrapSplit(1, random_state=0).split([[0], [1], [2], [3], [4]]))
    >>> train, test
    (array([4, 0, 3, 3, 3]), array([1, 2]))
    """

    def __init__(self, n_splits: int = 100, *, random_state=None):
        _check_count("n_splits", n_splits, 1)
        self.n_splits, self.random_state = n_splits, random_state

    def split(self, X, y=None, groups=None) -> Iterator[tuple[NDArray, NDArray]]:
        """Rows to learn from, which repeat, and rows to test on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : object, default=None
            Not used.
        groups : array-like of shape (n_samples,), default=None
            Rows that are drawn, or left out, together.

        Yields
        ------
        train, test : ndarray
        """
        n = num_samples(X)
        if n < 2:
            raise ValueError(f"a bootstrap split needs at least 2 rows, got {n}")
        generator = check_random_state(self.random_state)
        codes, n_units = np.arange(n), n
        if groups is not None:
            _, codes = np.unique(np.asarray(groups), return_inverse=True)
            n_units = int(codes.max()) + 1
            if len(codes) != n or n_units < 2:
                raise ValueError("groups must name at least two groups, one for each row")
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(n_units + 1))
        for _ in range(self.n_splits):
            drawn = generator.randint(0, n_units, n_units)
            while len(np.unique(drawn)) == n_units:
                drawn = generator.randint(0, n_units, n_units)
            left = np.ones(n_units, bool)
            left[drawn] = False
            if groups is None:
                yield drawn, np.flatnonzero(left)
            else:
                rows = [order[starts[u] : starts[u + 1]] for u in drawn]
                yield np.concatenate(rows), np.flatnonzero(left[codes])


class RandomLeavePOut(_Splitter):
    """Leave p random rows out, again and again.

    scikit-learn's `LeavePOut` goes through all n! / (p! (n − p)!) choices; this one draws some.

    Parameters
    ----------
    p : int
        Rows to test on.
    n_splits : int, default=100
        Number of draws.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Examples
    --------
    >>> from fastml.model_selection import RandomLeavePOut
    >>> for train, test in RandomLeavePOut(2, 2, random_state=0).split([[0], [1], [2], [3]]):
    ...     print(train, test)
    [0 1] [2 3]
    [1 3] [0 2]
    """

    def __init__(self, p: int, n_splits: int = 100, *, random_state=None):
        _check_count("p", p, 1)
        _check_count("n_splits", n_splits, 1)
        self.p, self.n_splits, self.random_state = p, n_splits, random_state

    def split(self, X, y=None, groups=None) -> Iterator[tuple[NDArray, NDArray]]:
        """Rows to learn from and rows to test on, ascending.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y, groups : object, default=None
            Not used.

        Yields
        ------
        train, test : ndarray
        """
        n = num_samples(X)
        if n <= self.p:
            raise ValueError(f"p={self.p} must be less than the number of rows, {n}")
        generator = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            shuffled = generator.permutation(n)
            yield np.sort(shuffled[self.p :]), np.sort(shuffled[: self.p])


def train_validation_test_split(
    X,
    *arrays,
    validation_size=0.1,
    test_size=0.2,
    stratify=None,
    groups=None,
    shuffle=True,
    random_state=None,
):
    """Cut arrays into three parts: to learn from, to choose by, to report on.

    Parameters
    ----------
    X : {array-like, sparse matrix}
        Rows; a dataframe stays one.
    *arrays : array-like
        Further arrays of as many rows: targets, weights.
    validation_size : float or int, default=0.1
        Share of the rows, or their number, to choose parameters by.
    test_size : float or int, default=0.2
        Share of the rows, or their number, to report on once.
    stratify : array-like of shape (n_samples,), default=None
        Classes whose shares are kept in every part, up to rounding.
    groups : array-like of shape (n_samples,), default=None
        Rows that must not be separated; parts then have about the sizes asked for.
    shuffle : bool, default=True
        Whether rows are drawn at random; False takes them in their order: the last are the test.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    parts : list of three arrays for each array
        Train, validation and test of X, then of the next array, …

    Examples
    --------
    >>> from fastml.model_selection import train_validation_test_split
    >>> X, y = [[i] for i in range(10)], [0, 1] * 5
    >>> parts = train_validation_test_split(
    ...     X, y, validation_size=2, test_size=4, stratify=y, random_state=0
    ... )
    >>> [sorted(part) for part in parts[3:]]
    [[0, 0, 1, 1], [0, 1], [0, 0, 1, 1]]
    """
    from sklearn.utils import indexable

    made = indexable(X, *arrays)
    n = num_samples(made[0])
    sizes = _sizes(n, validation_size, test_size)
    if groups is not None:
        if stratify is not None:
            raise ValueError("stratify and groups cannot be used together")
        parts = _parts_of_groups(np.asarray(groups), n, sizes, shuffle, random_state)
    elif not shuffle:
        if stratify is not None:
            raise ValueError("stratify needs shuffle=True")
        rows, n_train = np.arange(n), n - sum(sizes)
        parts = [rows[:n_train], rows[n_train : n_train + sizes[0]], rows[n - sizes[1] :]]
    else:
        strata = np.zeros(n) if stratify is None else np.asarray(stratify)
        parts = _parts_of_strata(strata, n, sizes, random_state)
    return [safe_indexing(array, rows) for array in made for rows in parts]


def _check_count(name: str, value, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


def _sizes(n: int, validation_size, test_size) -> tuple[int, int]:
    found = []
    for name, size in (("validation_size", validation_size), ("test_size", test_size)):
        if isinstance(size, Integral) and not isinstance(size, bool):
            count = int(size)
        elif isinstance(size, Real) and 0.0 < float(size) < 1.0:
            count = int(np.ceil(float(size) * n))
        else:
            raise ValueError(f"{name} must be a share in (0, 1) or a number of rows, got {size!r}")
        if not 0 < count < n:
            raise ValueError(f"{name}={size!r} leaves a part of the {n} rows empty")
        found.append(count)
    if sum(found) >= n:
        raise ValueError(f"validation_size and test_size leave none of {n} rows to learn from")
    return found[0], found[1]


def _parts_of_strata(strata, n, sizes, random_state) -> list[NDArray]:
    """Three parts with the strata's shares: quotas by the largest remainders."""
    names, codes, counts = np.unique(strata, return_inverse=True, return_counts=True)
    if len(codes) != n:
        raise ValueError(f"stratify has {len(codes)} entries for {n} rows")
    if len(names) > 1 and counts.min() < 3:
        raise ValueError(
            f"the least class of stratify has {counts.min()} rows: it needs one for each part"
        )
    if len(names) > min(sizes):
        raise ValueError(f"a part of {min(sizes)} rows cannot hold {len(names)} classes")
    generator = check_random_state(random_state)
    quota = [_shared_out(size * counts / n, size, counts - 2) for size in sizes[:1]]
    quota.append(_shared_out(sizes[1] * counts / n, sizes[1], counts - quota[0] - 1))
    parts: list[list[NDArray]] = [[], [], []]
    for c in range(len(names)):
        rows = generator.permutation(np.flatnonzero(codes == c))
        first, second = quota[0][c], quota[0][c] + quota[1][c]
        for part, mine in zip(parts, (rows[second:], rows[:first], rows[first:second])):
            part.append(mine)
    return [generator.permutation(np.concatenate(part)) for part in parts]


def _shared_out(wanted: NDArray, total: int, most: NDArray) -> NDArray:
    """Whole numbers near ``wanted`` that add up to ``total``, each at least 1 and at most
    ``most``."""
    given = np.clip(np.floor(wanted).astype(np.intp), 1, np.maximum(most, 1))
    while given.sum() != total:
        step = 1 if given.sum() < total else -1
        free = given < most if step > 0 else given > 1
        if not free.any():
            raise ValueError("the classes of stratify are too small for parts of these sizes")
        gap = np.where(free, step * (wanted - given), -np.inf)
        given[np.argmax(gap)] += step
    return given


def _parts_of_groups(groups, n, sizes, shuffle, random_state) -> list[NDArray]:
    names, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    if len(codes) != n:
        raise ValueError(f"groups has {len(codes)} entries for {n} rows")
    if len(names) < 3:
        raise ValueError(f"groups must name at least three groups, got {len(names)}")
    order = np.arange(len(names))[::-1]
    if shuffle:
        order = check_random_state(random_state).permutation(len(names))
    part_of = np.zeros(len(names), np.intp)
    at = 0
    for part, size in ((2, sizes[1]), (1, sizes[0])):
        reached = 0
        while at < len(order) - (1 if part == 1 else 2) and (reached == 0 or reached < size):
            more = counts[order[at]]
            if reached and abs(reached + more - size) > abs(reached - size):
                break
            part_of[order[at]] = part
            reached += more
            at += 1
    return [np.flatnonzero(part_of[codes] == part) for part in range(3)]
