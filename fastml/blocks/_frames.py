"""Blocks of Spark's DataFrames."""

from __future__ import annotations

import shutil
import uuid
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fastml._engines.spark_jobs import (
    PASSED_ON,
    column_for_arrow,
    column_of_numbers,
    failure,
    matrix_of,
    sent,
)
from fastml.blocks import _cache
from fastml.blocks._files import Arrays, write_block
from fastml.blocks._sources import PiecesSource, Rechunked


def pieces_of_dataframe(
    frame, features, target, weight, dtype, path, block_rows: int
) -> tuple[PiecesSource, list[str] | None, Any]:
    """(source, names of the features, what removes the files): rows laid down by the workers."""
    columns, names = chosen_columns(frame, features, target, weight)
    temporary = path is None
    folder = _cache.root_folder() / uuid.uuid4().hex if path is None else Path(path).absolute()
    if not temporary and folder.exists():
        raise FileExistsError(f"{folder} exists already: blocks need a new folder")
    _cache.begin_use(folder, {"made of": "a DataFrame of Spark"})
    try:
        state = (str(folder), columns, target, weight, np.dtype(dtype).str, block_rows)
        wanted = list(dict.fromkeys([*columns, *([target] if target else []),
                                     *([weight] if weight else [])]))  # fmt: skip
        # Numbers for names: Spark's mapInArrow takes a dot in a name for a field.
        numbered = [column_for_arrow(frame, n).alias(f"c{i}") for i, n in enumerate(wanted)]
        written = frame.select(*numbered).mapInArrow(
            sent(write_pieces, wanted, *state),
            "part int, piece int, file string, n_rows long, told string",
        )
        try:
            rows = sorted(tuple(row) for row in written.collect())
        except Exception as error:
            raise failure(error) from error
        for row in rows:
            if row[4]:
                raise ValueError(row[4])
        pieces = [(file, n) for _, _, file, n, _ in rows if n]
        if not pieces:
            raise ValueError("there are no rows")
        source = PiecesSource(str(folder), pieces)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if not temporary:
        for user in folder.glob("*.user"):
            user.unlink()
        return source, names, None
    return (
        source,
        names,
        lambda blocks: weakref.finalize(blocks, shutil.rmtree, folder, ignore_errors=True),
    )


def chosen_columns(frame, features, target, weight) -> tuple[list[str], list[str] | None]:
    """(columns of the features, their names if each is one number)."""
    known = list(frame.columns)
    if features is None:
        features = [name for name in known if name not in (target, weight)]
    features = [features] if isinstance(features, str) else list(features)
    missing = [n for n in (*features, target, weight) if n is not None and n not in known]
    if missing:
        raise ValueError(f"there is no column {missing[0]!r}; columns are {known}")
    if not features:
        raise ValueError("there is no column for the features")
    kinds = {field.name: type(field.dataType).__name__ for field in frame.schema.fields}
    wide = any(kinds[name] in ("ArrayType", "VectorUDT") for name in features)
    return features, None if wide else features


def write_pieces(
    batches: Iterator, names: list[str], folder: str, features: list[str], target, weight,
    dtype: str, block_rows: int,
) -> Iterator:  # fmt: skip
    """Lay the rows of a partition down, a file for each full block; say what was written.

    ``names`` are those of the columns of the batches.

    Errors of the data are told in the last column: trying again would find the same.
    """
    import pyarrow as pa
    from pyspark import TaskContext

    context: Any = TaskContext.get()
    part, attempt = context.partitionId(), context.taskAttemptId()
    cutter = Rechunked(block_rows)
    made: list[tuple] = []

    def write(arrays: Arrays) -> None:
        name = f"{part:06d}-{attempt}-{len(made):06d}.block"
        write_block(Path(folder) / name, arrays)
        made.append((part, len(made), name, len(arrays[0]), ""))

    try:
        for batch in batches:
            if batch.num_rows:
                batch = pa.RecordBatch.from_arrays(batch.columns, names=names)
                for arrays in cutter.add(_batch_arrays(batch, features, target, weight, dtype)):
                    write(arrays)
        for arrays in cutter.rest():
            write(arrays)
    except PASSED_ON:
        raise
    except Exception as error:
        made = [(part, 0, "", 0, f"{error} (partition {part})")]
    kinds = (pa.int32(), pa.int32(), pa.string(), pa.int64(), pa.string())
    told = ["part", "piece", "file", "n_rows", "told"]
    columns = list(zip(*made)) if made else [()] * len(told)
    yield pa.RecordBatch.from_arrays(
        [pa.array(values, kind) for values, kind in zip(columns, kinds)], names=told
    )


def _batch_arrays(batch, features, target, weight, dtype: str) -> Arrays:
    X = matrix_of(batch, features, np.dtype(dtype))
    y = None if target is None else _target(batch.column(target), target)
    weights = None
    if weight is not None:
        _refuse_null(batch.column(weight), weight)
        weights = column_of_numbers(batch.column(weight), weight).astype(np.float64)
    return X, y, weights


def _target(column: Any, name: str):
    import pyarrow as pa

    _refuse_null(column, name)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.array(column.to_pylist(), dtype=np.str_)
    return np.array(column_of_numbers(column, name))


def _refuse_null(column: Any, name: str) -> None:
    if column.null_count:
        raise ValueError(f"column {name!r} has {column.null_count} missing values")
