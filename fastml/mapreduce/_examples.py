"""Worked examples, each a map, a combiner where there can be one, and a reduce."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastml.mapreduce._run import MapReduceResult, run


def _sum(a, b):
    return a + b


def _sums(a, b):
    """Of (sum, count)."""
    return a[0] + b[0], a[1] + b[1]


def _union(a: frozenset, b: frozenset) -> frozenset:
    return a | b


# ---------------------------------------------------------------------------- word count


def _words(line: str) -> Iterator[tuple[str, int]]:
    for word in re.findall(r"\w+", line.lower()):
        yield word, 1


def _total(key, values: list) -> list[tuple]:
    return [(key, sum(values))]


def word_count(lines: Iterable[str], on: Any = "local", **options) -> MapReduceResult:
    """Count words: map to (word, 1), combine and reduce by sums.

    Parameters
    ----------
    lines : iterable of str
    on : {"local", "processes"} or SparkSession, default="local"
    **options
        ``n_splits``, ``n_partitions``, ``n_jobs`` of `run`.

    Returns
    -------
    MapReduceResult
        Its output has (word, count), words in small letters.

    Examples
    --------
    >>> from fastml.mapreduce import word_count
    >>> found = word_count(["To be, or not to be", "be it"], n_splits=2, n_partitions=1)
    >>> found.output
    [('be', 3), ('it', 1), ('not', 1), ('or', 1), ('to', 2)]
    >>> found.pairs_mapped, found.pairs_combined
    (8, 6)
    """
    return run(lines, _words, _total, _sum, on=on, **options)


# ---------------------------------------------------------------------------- mean


def _counted(pair) -> list[tuple]:
    key, value = pair
    return [(key, (value, 1))]


def _mean(key, values: list) -> list[tuple]:
    total, count = functools.reduce(_sums, values)
    return [(key, total / count)]


def mean_by_key(pairs: Iterable[tuple], on: Any = "local", **options) -> MapReduceResult:
    """Mean of every key's values: map to (key, (value, 1)), add both, divide at the end.

    Means themselves cannot be combined, since a mean of means forgets how many there were.

    Parameters
    ----------
    pairs : iterable of (key, value)
        Values are numbers or arrays.
    on : {"local", "processes"} or SparkSession, default="local"
    **options
        ``n_splits``, ``n_partitions``, ``n_jobs`` of `run`.

    Returns
    -------
    MapReduceResult
        Its output has (key, mean).

    Examples
    --------
    >>> from fastml.mapreduce import mean_by_key
    >>> mean_by_key([("a", 1), ("b", 5), ("a", 2), ("a", 6)], n_partitions=1).output
    [('a', 3.0), ('b', 5.0)]
    """
    return run(pairs, _counted, _mean, _sums, on=on, **options)


# ---------------------------------------------------------------------------- inverted index


def _places(document) -> Iterator[tuple[str, frozenset]]:
    name, text = document
    for word in dict.fromkeys(re.findall(r"\w+", text.lower())):
        yield word, frozenset([name])


def _sorted_places(word, several: list) -> list[tuple]:
    return [(word, sorted(frozenset().union(*several)))]


def inverted_index(documents, on: Any = "local", **options) -> MapReduceResult:
    """For every word the documents that have it: map to (word, {name}), join the sets.

    Lists would not do: joined in another order they differ, so that is no combiner.

    Parameters
    ----------
    documents : dict or iterable of (name, text)
    on : {"local", "processes"} or SparkSession, default="local"
    **options
        ``n_splits``, ``n_partitions``, ``n_jobs`` of `run`.

    Returns
    -------
    MapReduceResult
        Its output has (word, sorted names).

    Examples
    --------
    >>> from fastml.mapreduce import inverted_index
    >>> inverted_index({"d1": "map and reduce", "d2": "map"}, n_partitions=1).output
    [('and', ['d1']), ('map', ['d1', 'd2']), ('reduce', ['d1'])]
    """
    pairs = documents.items() if isinstance(documents, Mapping) else documents
    return run(pairs, _places, _sorted_places, _union, on=on, **options)


# ---------------------------------------------------------------------------- natural join


def _keyed(shared: tuple[str, ...], record) -> list[tuple]:
    side, row = record
    return [(tuple(row[name] for name in shared), (side, row))]


def _matched(key, rows: list) -> Iterator[dict]:
    right = [row for side, row in rows if side == "right"]
    for side, row in rows:
        if side == "left":
            for other in right:
                yield {**row, **other}


def _columns(rows: list, name: str) -> dict:
    first = dict.fromkeys(rows[0] if rows else ())
    for row in rows:
        if row.keys() != first.keys():
            raise ValueError(f"rows of {name} differ in their columns: {[*first]} and {[*row]}")
    return first


def natural_join(left, right, on: Any = "local", **options) -> MapReduceResult:
    """Rows of two tables that agree in all columns of the same name.

    Mapped to (shared values, (side, row)); the reducer pairs both sides. Nothing can be combined.

    Parameters
    ----------
    left, right : iterable of dict
        Rows; all of a table have the same columns. Without a shared column every row meets every
        other.
    on : {"local", "processes"} or SparkSession, default="local"
    **options
        ``n_splits``, ``n_partitions``, ``n_jobs`` of `run`.

    Returns
    -------
    MapReduceResult
        Its output has the joined rows.

    Examples
    --------
    >>> from fastml.mapreduce import natural_join
    >>> people = [{"name": "Ann", "city": 1}, {"name": "Bob", "city": 2}]
    >>> cities = [{"city": 1, "town": "Bern"}, {"city": 3, "town": "Rome"}]
    >>> natural_join(people, cities).output
    [{'name': 'Ann', 'city': 1, 'town': 'Bern'}]
    """
    left, right = list(left), list(right)
    theirs = _columns(right, "right")
    shared = tuple(name for name in _columns(left, "left") if name in theirs)
    records = [("left", row) for row in left] + [("right", row) for row in right]
    return run(records, functools.partial(_keyed, shared), _matched, on=on, **options)


# ---------------------------------------------------------------------------- k-means


def _block_sums(centers: NDArray, shift: NDArray, n_jobs, block: NDArray) -> list[tuple]:
    """(cluster, (sum of rows less the shift, count)) of every cluster with rows in the block."""
    from fastml._engines.kmeans.rows import DenseRows

    rows = DenseRows(block, None, shift, n_jobs)
    rows.prepare(len(centers))
    rows.set_centers(centers[None])
    rows.lloyd_pass(centers[None], np.full((1, len(block)), -1, dtype=np.int32))
    rows.merge()
    sums, masses = rows.total_sums[0], rows.total_masses[0]
    return [(int(j), (sums[j].copy(), float(masses[j]))) for j in np.flatnonzero(masses)]


def _center(shift: NDArray, cluster: int, parts: list) -> list[tuple]:
    total, mass = functools.reduce(_sums, parts)
    return [(cluster, (total / mass + shift).astype(shift.dtype))]


def kmeans_pass(
    X, centers, on: Any = "local", *, block_rows: int = 65_536, **options
) -> MapReduceResult:
    """One pass of k-means: map blocks of rows to (cluster, (sum, count)), add, divide.

    Rows are assigned by the kernel of `fastml.cluster.KMeans`, a block at a time; statistics are
    added in the order of the blocks.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    centers : array-like of shape (n_clusters, n_features)
    on : {"local", "processes"} or SparkSession, default="local"
    block_rows : int, default=65536
    **options
        ``n_splits``, ``n_partitions``, ``n_jobs`` of `run`.

    Returns
    -------
    MapReduceResult
        Its output has (cluster, new centre); clusters without rows are not in it.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.mapreduce import kmeans_pass
    >>> X = np.array([[0.0], [2.0], [9.0], [11.0]])
    >>> found = kmeans_pass(X, [[1.5], [8.0]], block_rows=2)
    >>> [(cluster, float(center[0])) for cluster, center in found.output]
    [(0, 1.0), (1, 10.0)]
    """
    from sklearn.utils.validation import check_array

    X = check_array(X, dtype=[np.float64, np.float32], order="C")
    centers = check_array(centers, dtype=X.dtype, order="C")
    if centers.shape[1] != X.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features, but the centers have {centers.shape[1]} features"
        )
    if isinstance(block_rows, bool) or not hasattr(block_rows, "__index__") or block_rows < 1:
        raise ValueError(f"block_rows must be an int of at least 1, got {block_rows!r}")
    shift = centers.mean(axis=0)
    blocks = [X[i : i + block_rows] for i in range(0, len(X), block_rows)]
    # Elsewhere the other cores have tasks of their own.
    threads = None if isinstance(on, str) and on == "local" else 1
    return run(
        blocks,
        functools.partial(_block_sums, centers - shift, shift, threads),
        functools.partial(_center, shift),
        _sums,
        on=on,
        **options,
    )
