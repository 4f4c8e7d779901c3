"""The two kinds of task: one maps and combines a split of the data, one reduces a partition."""

from __future__ import annotations

import functools
import numbers
import pickle
import zlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastml.mapreduce._combiner import refusal

KEYS_TRIED = 8  # of each split, to see whether the combiner may be used
MOST_VALUES = 1024  # of a key, before they are combined


class Job(NamedTuple):
    map: Callable
    reduce: Callable
    combine: Callable | None
    partition: Callable | None
    n_partitions: int


class MappedSplit(NamedTuple):
    """What a map task leaves behind, a pickle of (key, values) for every partition."""

    n_mapped: int
    n_combined: int
    n_pairs: list[int]
    n_bytes: list[int]
    buckets: list[bytes]
    wrong: str | None  # with the combiner


def map_split(job: Job, split: Sequence) -> MappedSplit:
    groups: dict[Hashable, list] = {}
    tried: set[Hashable] = set()
    wrong: list[str] = []
    n_mapped = 0

    def fold(key, values):
        if len(tried) < KEYS_TRIED and key not in tried:
            tried.add(key)
            if found := refusal(key, values, job.combine, job.reduce):
                wrong.append(found)
        values[:] = [functools.reduce(job.combine, values)]

    for record in split:
        for pair in _results(job.map(record), "map", "(key, value) pairs"):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError(f"map must give (key, value) pairs, got {pair!r}")
            key, value = pair
            n_mapped += 1
            values = groups.get(_checked(key))
            if values is None:
                groups[key] = [value]
                continue
            values.append(value)
            if job.combine is not None and len(values) == MOST_VALUES:
                fold(key, values)
                if wrong:
                    return MappedSplit(n_mapped, 0, [], [], [], wrong[0])
    if job.combine is not None:
        for key, values in groups.items():
            if len(values) > 1:
                fold(key, values)
            if wrong:
                return MappedSplit(n_mapped, 0, [], [], [], wrong[0])
    buckets: list[list] = [[] for _ in range(job.n_partitions)]
    for key, values in groups.items():
        buckets[partition_of(job, key)].append((key, values))
    n_pairs = [sum(len(values) for _, values in bucket) for bucket in buckets]
    stored = [_pickled(bucket) for bucket in buckets]
    return MappedSplit(n_mapped, sum(n_pairs), n_pairs, [len(b) for b in stored], stored, None)


def reduce_partition(job: Job, buckets: Iterable[bytes]) -> list:
    """Results of all keys, in their order; ``buckets`` are in the order of the splits."""
    groups: dict[Any, list] = {}
    for bucket in buckets:
        for key, values in pickle.loads(bucket) if bucket else ():
            groups.setdefault(key, []).extend(values)
    keys = list(groups)
    try:
        keys.sort()
    except TypeError:  # cannot be compared: as they came
        keys = list(groups)
    return [
        result
        for key in keys
        for result in _results(job.reduce(key, groups[key]), "reduce", "results")
    ]


def _results(found: Any, name: str, what: str) -> Iterable:
    if isinstance(found, str | bytes) or not hasattr(found, "__iter__"):
        raise TypeError(f"{name} must return an iterable of {what}, or yield them, got {found!r}")
    return found


def _checked(key: Any) -> Hashable:
    try:
        hash(key)
    except TypeError:
        raise TypeError(f"a key must be hashable, got {key!r}") from None
    _refuse_nan(key)
    return key


def _refuse_nan(key: Any) -> None:
    if isinstance(key, tuple):
        for part in key:
            _refuse_nan(part)
    elif key != key:
        raise ValueError(f"{key!r} is not equal to itself, so it cannot be a key")


def _pickled(bucket: list) -> bytes:
    if not bucket:
        return b""
    try:
        return pickle.dumps(bucket, protocol=5)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise TypeError(f"pairs are shuffled as pickles, and these cannot be: {error}") from error


# ---------------------------------------------------------------------------- partitions


def partition_of(job: Job, key: Hashable) -> int:
    if job.partition is None:
        return stable_hash(key) % job.n_partitions
    number = job.partition(key, job.n_partitions)
    if not isinstance(number, int | np.integer) or not 0 <= number < job.n_partitions:
        raise ValueError(
            f"partition must give an int from 0 to {job.n_partitions - 1}, "
            f"got {number!r} for the key {key!r}"
        )
    return int(number)


def stable_hash(key: Any) -> int:
    """The same in every process, and for equal keys; Python's own of text is not."""
    if key is None:
        return 0
    if isinstance(key, str):
        return zlib.crc32(key.encode("utf-8", "surrogatepass"))
    if isinstance(key, bytes):
        return zlib.crc32(key)
    if isinstance(key, numbers.Number | np.bool_):
        return hash(key)
    if isinstance(key, tuple):
        return zlib.crc32(repr([stable_hash(part) for part in key]).encode())
    if isinstance(key, frozenset):
        return zlib.crc32(repr(sorted(stable_hash(part) for part in key)).encode())
    raise TypeError(
        "without partition=, keys are text, bytes, numbers, None, or tuples and frozensets of "
        f"them; got {key!r} of type {type(key).__name__}"
    )
