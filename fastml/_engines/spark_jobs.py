"""Work that Spark's workers do: how it is sent there, and rows of Arrow as arrays.

Nothing here imports Spark. Functions that go to workers are made inside functions: pickled as they
are, not by name, they can say what is missing where fastml is not installed.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = (
    "a worker of Spark cannot import fastml ({error}): install it on every node in the Python that "
    "PYSPARK_PYTHON names (`pip install fastml`), or send an environment that has it by "
    "`spark.archives`"
)

PASSED_ON = (OSError, MemoryError)
"""Errors that another attempt, or another node, may not have."""


def need_pyspark() -> Any:
    """The module, or an error that says what to install."""
    try:
        import pyspark
    except ImportError as error:
        raise ImportError(
            f"this needs Spark ({error}): `pip install 'fastml[spark]'`, and Java 17 or later"
        ) from error
    return pyspark


def need_session(spark: Any) -> Any:
    """The session's context; an error if it is none, or one of Spark Connect."""
    need_pyspark()
    try:
        return spark.sparkContext
    except Exception as error:
        raise TypeError(
            f"a session of Spark with a context of its own is needed, got {type(spark).__name__}: "
            "with Spark Connect run the program where the driver is"
        ) from error


def quoted(name: str) -> str:
    """A column's name as Spark reads it."""
    return "`" + name.replace("`", "``") + "`"


def column_for_arrow(frame: Any, name: str) -> Any:
    """A column of the frame as workers take it: vectors of pyspark.ml as arrays.

    Spark writes arrays to Arrow eight times faster than vectors (500,000 of 20 numbers: 0.3 s).
    """
    from pyspark.sql import functions as F

    column = F.col(quoted(name))
    if type(frame.schema[name].dataType).__name__ == "VectorUDT":
        from pyspark.ml.functions import vector_to_array

        column = vector_to_array(column)
    return column


def sent(function: Callable, *state: Any, shared: Any = None) -> Callable[[Any], Iterator]:
    """``function(items, *state)`` as it is sent to workers; it runs on a task's own threads.

    ``function`` stands in a module of fastml and takes an iterator, which is drained whatever
    happens: Spark throws away workers that leave something unread. With ``shared``, a broadcast of
    Spark, it is ``function(items, shared.value, *state)``.
    """
    payload, missing = pickle.dumps((function, state), protocol=5), MISSING

    def work(items):
        try:
            try:
                from fastml._engines.spark_jobs import unpacked
            except ImportError as error:
                raise RuntimeError(missing.format(error=error)) from None
            yield from unpacked(payload, items, () if shared is None else (shared.value,))
        finally:
            for _ in items:
                pass

    return work


def unpacked(payload: bytes, items: Iterator, shared: tuple) -> Iterator:
    """Does what `sent` has sent."""
    from fastml._threads import thread_limit

    function, state = pickle.loads(payload)
    with thread_limit(_task_cores()):
        yield from function(items, *shared, *state)


def _task_cores() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 1 if context is None else max(1, context.cpus())


def failure(error: Exception) -> Exception:
    """What a worker said last, without its trace and that of Java."""
    lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
    told = [i for i, line in enumerate(lines) if line.lstrip().startswith("Traceback")]
    after = lines[told[-1] + 1 :] if told else lines
    said = next((line for line in after if not line[0].isspace()), repr(error))
    return RuntimeError(f"Spark could not finish the pass: {said}")


# ---------------------------------------------------------------------------- rows of Arrow


def matrix_of(batch: Any, names: list[str], dtype: Any) -> NDArray:
    """Rows of a batch: columns of numbers or of arrays beside each other.

    A null number is NaN; a null array, or one of another length, is an error.
    """
    parts = [_columns_of(batch.column(name), name) for name in names]
    if len(parts) == 1:
        return np.ascontiguousarray(parts[0], dtype=dtype)
    X = np.empty((batch.num_rows, sum(part.shape[1] for part in parts)), dtype=dtype)
    begin = 0
    for part in parts:
        X[:, begin : begin + part.shape[1]] = part
        begin += part.shape[1]
    return X


def _columns_of(column: Any, name: str) -> NDArray:
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _lists(column, name)
    return column_of_numbers(column, name)[:, None]


def column_of_numbers(column: Any, name: str) -> NDArray:
    """One column; nulls are NaN."""
    import pyarrow as pa

    kind = column.type
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not (number or pa.types.is_boolean(kind)):
        raise ValueError(f"column {name!r} has type {kind}, and numbers, arrays or vectors are due")
    if column.null_count or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        if pa.types.is_boolean(kind):
            column = column.cast(pa.uint8())
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _lists(column: Any, name: str) -> NDArray:
    """Arrays of one length."""
    if column.null_count:
        raise ValueError(f"column {name!r} has {column.null_count} rows without an array")
    n, values = len(column), column_of_numbers(column.flatten(), name)
    if hasattr(column, "offsets"):
        _refuse_lengths(np.diff(np.asarray(column.offsets)), name)
    return values.reshape(n, -1) if n else values.reshape(0, 1)


def _refuse_lengths(lengths: NDArray, name: str) -> None:
    if len(lengths) and (lengths != lengths[0]).any():
        other = int(np.flatnonzero(lengths != lengths[0])[0])
        raise ValueError(
            f"column {name!r} has arrays of {lengths[0]} and of {lengths[other]} numbers"
        )
