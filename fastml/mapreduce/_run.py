"""The one function: map, combine, partition, shuffle, reduce."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastml.mapreduce._places import in_processes, locally, on_spark
from fastml.mapreduce._tasks import Job

MOST_SPLITS = 16  # unless told otherwise: a function of the data alone, never of the machine


class MapReduceResult(NamedTuple):
    """What `run` gives: the output, and what it took.

    Attributes
    ----------
    output : list
        What ``reduce`` gave: partition after partition, within each in the order of the keys (of
        their first appearance, if they cannot be compared).
    n_splits : int
        Map tasks.
    pairs_mapped, pairs_combined : int
        Pairs before and after combining.
    pairs_shuffled, bytes_shuffled : list of int
        Sent to every partition; bytes are those of pickles.
    """

    output: list
    n_splits: int
    pairs_mapped: int
    pairs_combined: int
    pairs_shuffled: list[int]
    bytes_shuffled: list[int]


def run(
    data: Iterable, map: Callable, reduce: Callable, combine: Callable | None = None,
    partition: Callable | None = None, on: Any = "local", *, n_splits: int | None = None,
    n_partitions: int = 4, n_jobs: int | None = None,
) -> MapReduceResult:  # fmt: skip
    """Map records to pairs, bring those of a key together, reduce them.

    ``map(record)`` gives zero or more pairs (key, value). The values of a key that one map task
    made are joined by ``combine(a, b)``. All pairs of a key then go to one partition (the
    shuffle), where ``reduce(key, values)`` gives zero or more results. The result is the same to
    the bit wherever it runs.

    The combiner must be commutative and associative, and must not change what ``reduce`` gives: a
    sum may be combined, a mean only as (sum, count), a median not at all. This is tried on a few
    keys of every split, floats up to rounding.

    Parameters
    ----------
    data : iterable
        Records: lines, rows, blocks of rows. They are held in memory.
    map : callable
        ``map(record)`` → iterable of (key, value). A key is hashable.
    reduce : callable
        ``reduce(key, values)`` → iterable of results; ``values`` are in the order of the data.
    combine : callable, default=None
        ``combine(a, b)`` → one value for both.
    partition : callable, default=None
        ``partition(key, n_partitions)`` → int. By default a hash of the key modulo
        ``n_partitions``, the same in every process, for keys of text, bytes, numbers, None and
        tuples or frozensets of them.
    on : {"local", "processes"} or SparkSession, default="local"
        In this process; in new ones, for which functions must be at the top of a module; or as two
        stages on Spark, whose workers need fastml.
    n_splits : int, default=None
        Map tasks; one per record, but at most 16, by default.
    n_partitions : int, default=4
        Reduce tasks.
    n_jobs : int, default=None
        Processes, with ``on="processes"``; all cores by default.

    Returns
    -------
    MapReduceResult
        The output, pairs before and after combining, pairs and bytes shuffled.

    Examples
    --------
    Temperatures: the highest of every year.

    >>> from fastml.mapreduce import run
    >>> rows = [(2020, 31), (2021, 35), (2020, 36), (2021, 33), (2021, 30)]
    >>> highest = run(
    ...     rows,
    ...     map=lambda row: [row],
    ...     combine=max,
    ...     reduce=lambda year, values: [(year, max(values))],
    ...     n_splits=2,
    ...     n_partitions=2,
    ... )
    >>> highest.output
    [(2020, 36), (2021, 35)]
    >>> highest.pairs_mapped, highest.pairs_combined, highest.pairs_shuffled
    (5, 4, [2, 2])

    A mean of means is not the mean:

    >>> run(
    ...     rows,
    ...     map=lambda row: [row],
    ...     combine=lambda a, b: (a + b) / 2,
    ...     reduce=lambda year, values: [(year, sum(values) / len(values))],
    ...     n_splits=1,
    ... )
    Traceback (most recent call last):
        ...
    ValueError: combine is not associative: ...
    """
    functions = {"map": map, "reduce": reduce, "combine": combine, "partition": partition}
    for name, function in functions.items():
        if not callable(function) and (function is not None or name in ("map", "reduce")):
            raise TypeError(f"{name} must be callable, got {function!r}")
    n_partitions = _count("n_partitions", n_partitions)
    splits = cut(_records(data), n_splits)
    job = Job(map, reduce, combine, partition, n_partitions)
    if isinstance(on, str) and on == "local":
        found = locally(job, splits)
    elif isinstance(on, str) and on == "processes":
        from fastml._threads import effective_n_threads

        found = in_processes(job, splits, effective_n_threads(n_jobs))
    elif hasattr(on, "sparkContext"):
        found = on_spark(job, splits, on)
    else:
        raise ValueError(f'on must be "local", "processes" or a SparkSession, got {on!r}')
    mapped = found.splits
    parts = range(n_partitions)
    return MapReduceResult(
        output=[result for output in found.outputs for result in output],
        n_splits=len(splits),
        pairs_mapped=sum(m.n_mapped for m in mapped),
        pairs_combined=sum(m.n_combined for m in mapped),
        pairs_shuffled=[sum(m.n_pairs[p] for m in mapped) for p in parts],
        bytes_shuffled=[sum(m.n_bytes[p] for m in mapped) for p in parts],
    )


def _records(data: Iterable) -> Any:
    if isinstance(data, str | bytes):
        raise TypeError("data is one text; give its lines: data.splitlines()")
    return data if isinstance(data, list | tuple | np.ndarray) else list(data)


def cut(records: Sequence, n_splits: int | None) -> list[Sequence]:
    """Splits of nearly the same number of records, none empty."""
    n = len(records)
    wanted = MOST_SPLITS if n_splits is None else _count("n_splits", n_splits)
    number = min(wanted, n)
    return [records[i * n // number : (i + 1) * n // number] for i in range(number)]


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an int, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return int(value)
