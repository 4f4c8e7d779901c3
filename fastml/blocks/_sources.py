"""Where rows come from: any range of them, whatever files they lie in.

A source is small and can be sent to another process, which reads the same rows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastml.blocks._files import Arrays, file_of, read_block


class ChangedFile(RuntimeError):
    """A file is not what it was when the blocks were made."""


def stamp(path: str) -> tuple[str, int, int]:
    """(path, size, time of its last change)."""
    status = os.stat(path)
    return path, status.st_size, status.st_mtime_ns


def check_stamp(known: tuple[str, int, int]) -> None:
    try:
        now = stamp(known[0])
    except OSError as error:
        raise ChangedFile(f"{known[0]} is gone: make the blocks again") from error
    if now != tuple(known):
        raise ChangedFile(f"{known[0]} has changed since the blocks were made: make them again")


class ArraySource:
    """Arrays in memory, or memory-mapped ``.npy`` files one after the other."""

    def __init__(self, X: list, y: list | None, weights: list | None):
        self.parts = {"X": X, "y": y, "weights": weights}
        self.stamps = [
            stamp(part) for parts in self.parts.values() for part in parts or () if _is_path(part)
        ]
        self._open()

    def _open(self) -> None:
        for known in self.stamps:
            check_stamp(known)
        self.arrays: dict[str, list[NDArray] | None] = {
            name: None if parts is None else [_mapped(part, name) for part in parts]
            for name, parts in self.parts.items()
        }
        X = self.arrays["X"]
        assert X is not None
        self.ends = np.cumsum([len(part) for part in X])
        shapes = {part.shape[1:] for part in X}
        if len(shapes) != 1:
            raise ValueError(f"files of X differ in their columns: {sorted(shapes)}")

    def __getstate__(self):
        if any(not _is_path(part) for parts in self.parts.values() for part in parts or ()):
            raise ValueError(
                "arrays in memory are not sent to other processes: save them by numpy.save and "
                "hand the paths to Blocks.from_npy"
            )
        return {"parts": self.parts, "stamps": self.stamps}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._open()

    @property
    def n_rows(self) -> int:
        return int(self.ends[-1])

    def read(self, first: int, last: int) -> Arrays:
        X, y, weights = (self._range(name, first, last) for name in ("X", "y", "weights"))
        assert X is not None
        return X, y, weights

    def _range(self, name: str, first: int, last: int) -> NDArray | None:
        """Rows of one array: a view if they lie in one file."""
        arrays = self.arrays[name]
        if arrays is None:
            return None
        if len(arrays) == 1:
            return arrays[0][first:last]
        begins = np.cumsum([0, *(len(part) for part in arrays)])
        found = [
            part[max(first - begin, 0) : last - begin]
            for part, begin, end in zip(arrays, begins, begins[1:])
            if begin < last and end > first
        ]
        return found[0] if len(found) == 1 else np.concatenate(found)


def _is_path(part) -> bool:
    return isinstance(part, str | os.PathLike)


def _mapped(part, name: str) -> NDArray:
    if not _is_path(part):
        return np.asarray(part)
    found = np.load(part, mmap_mode="r", allow_pickle=False)
    if not isinstance(found, np.ndarray):
        raise ValueError(f"{part} is not a .npy file ({name})")
    return np.asarray(found)


class FolderSource:
    """Blocks that were laid down as files, by this process or another."""

    def __init__(self, folder: str, n_rows: int, block_rows: int):
        self.folder, self.n_rows, self.block_rows = folder, n_rows, block_rows

    def read(self, first: int, last: int) -> Arrays:
        number = first // self.block_rows
        path = file_of(Path(self.folder), number)
        try:
            return read_block(path)
        except (OSError, ValueError) as error:
            raise ChangedFile(
                f"block {number} is lost or damaged ({error}), and what it was made of is not "
                "known: make the blocks again"
            ) from error


class PiecesSource:
    """Rows laid down as files of any numbers of rows, one after the other: (name, rows) of each."""

    def __init__(self, folder: str, pieces: list[tuple[str, int]]):
        self.folder, self.pieces = folder, pieces
        self.begins = np.cumsum([0, *(n for _, n in pieces)])

    @property
    def n_rows(self) -> int:
        return int(self.begins[-1])

    def read(self, first: int, last: int) -> Arrays:
        """Views of a file if the rows lie in one."""
        found: list[Arrays] = []
        start = int(np.searchsorted(self.begins, first, side="right")) - 1
        for p in range(start, len(self.pieces)):
            begin = int(self.begins[p])
            if begin >= last:
                break
            whole = self._piece(p)
            rows = slice(max(first - begin, 0), last - begin)
            found.append(tuple(None if a is None else a[rows] for a in whole))  # type: ignore[arg-type]
        widths = {part[0].shape[1] for part in found}
        if len(widths) > 1:
            raise ValueError(f"rows {first} to {last} have {sorted(widths)} features")
        return _joined(found)

    def _piece(self, p: int) -> Arrays:
        name, n_rows = self.pieces[p]
        try:
            arrays = read_block(Path(self.folder) / name)
        except (OSError, ValueError) as error:
            raise ChangedFile(
                f"rows {self.begins[p]} to {self.begins[p + 1]} are lost or damaged ({error}): "
                "make the blocks again"
            ) from error
        if len(arrays[0]) != n_rows:
            raise ChangedFile(f"{name} has {len(arrays[0])} rows, not {n_rows}: make them again")
        return arrays


class TableColumns:
    """Which columns of a table are features, target and weight."""

    def __init__(self, features: Sequence[str], target, weight: str | None, dtype):
        self.features = list(features)
        self.target = target  # a name, several, or None
        self.weight, self.dtype = weight, np.dtype(dtype)

    @classmethod
    def chosen(cls, names: Sequence[str], features, target, weight, dtype) -> TableColumns:
        """``features`` None: all columns that are nothing else."""
        targets = [] if target is None else [target] if isinstance(target, str) else list(target)
        others = {*targets, *([] if weight is None else [weight])}
        if features is None:
            features = [name for name in names if name not in others]
        features = [features] if isinstance(features, str) else list(features)
        missing = [name for name in (*features, *others) if name not in names]
        if missing:
            raise ValueError(f"there is no column {missing[0]!r}; columns are {list(names)}")
        if not features:
            raise ValueError("there is no column for the features")
        return cls(features, target, weight, dtype)

    @property
    def names(self) -> list[str]:
        """All that are read."""
        targets = [] if self.target is None else self.target
        targets = [targets] if isinstance(targets, str) else list(targets)
        weight = [] if self.weight is None else [self.weight]
        return list(dict.fromkeys([*self.features, *targets, *weight]))

    def arrays(self, table: Any) -> Arrays:
        """Of an Arrow table or record batch; a null is NaN, and an error in target and weight."""
        X = np.empty((table.num_rows, len(self.features)), dtype=self.dtype)
        for j, name in enumerate(self.features):
            X[:, j] = _numbers(table.column(name), name)
        y: NDArray | None = None
        if isinstance(self.target, str):
            y = _labels(table.column(self.target), self.target)
        elif self.target is not None:
            y = np.column_stack([_labels(table.column(name), name) for name in self.target])
        weights = None
        if self.weight is not None:
            _refuse_null(table.column(self.weight), self.weight)
            weights = _numbers(table.column(self.weight), self.weight).astype(np.float64)
        return X, y, weights


def _numbers(column: Any, name: str) -> NDArray:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    ):
        raise ValueError(f"column {name!r} has type {kind}, features and weights need numbers")
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    if column.null_count and pa.types.is_integer(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False) if _is_array(column) else column)


def _is_array(column: Any) -> bool:
    import pyarrow as pa

    return isinstance(column, pa.Array)


def _labels(column: Any, name: str) -> NDArray:
    import pyarrow as pa

    _refuse_null(column, name)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.array(column.to_pylist(), dtype=np.str_)
    if pa.types.is_boolean(kind):
        return np.array(column.to_pylist(), dtype=np.bool_)
    return _numbers(column, name)


def _refuse_null(column: Any, name: str) -> None:
    if column.null_count:
        raise ValueError(f"column {name!r} has {column.null_count} missing values")


class ParquetSource:
    """Parquet files one after the other; only the row groups that are asked for are read."""

    def __init__(self, paths: list[str], columns: TableColumns):
        import pyarrow.parquet as pq

        self.columns = columns
        self.stamps = [stamp(path) for path in paths]
        begins, groups = [0], []
        first_schema = None
        for f, path in enumerate(paths):
            with pq.ParquetFile(path) as file:
                schema = [(n, str(file.schema_arrow.field(n).type)) for n in _known(file, columns)]
                if first_schema is None:
                    first_schema = schema
                elif schema != first_schema:
                    raise ValueError(
                        f"{path} has other columns than {paths[0]}: {schema} and {first_schema}"
                    )
                for g in range(file.metadata.num_row_groups):
                    groups.append((f, g))
                    begins.append(begins[-1] + file.metadata.row_group(g).num_rows)
        self.begins, self.groups = np.array(begins), groups

    @property
    def n_rows(self) -> int:
        return int(self.begins[-1])

    def around(self, first: int, last: int) -> tuple[int, int]:
        """The rows of all row groups that have some of these: they are read anyway."""
        begin = self.begins[np.searchsorted(self.begins, first, side="right") - 1]
        return int(begin), int(self.begins[np.searchsorted(self.begins, last)])

    def read(self, first: int, last: int) -> Arrays:
        import pyarrow as pa
        import pyarrow.parquet as pq

        wanted = [
            g
            for g in range(len(self.groups))
            if self.begins[g] < last and self.begins[g + 1] > first
        ]
        tables = []
        for f in dict.fromkeys(self.groups[g][0] for g in wanted):
            check_stamp(self.stamps[f])
            own = [self.groups[g][1] for g in wanted if self.groups[g][0] == f]
            with pq.ParquetFile(self.stamps[f][0]) as file:
                tables.append(
                    file.read_row_groups(own, columns=self.columns.names, use_threads=False)
                )
        table = pa.concat_tables(tables)
        return self.columns.arrays(table.slice(first - self.begins[wanted[0]], last - first))


def _known(file: Any, columns: TableColumns) -> list[str]:
    names = file.schema_arrow.names
    missing = [name for name in columns.names if name not in names]
    if missing:
        raise ValueError(f"a file has no column {missing[0]!r}; its columns are {names}")
    return columns.names


class Rechunked:
    """Batches of any lengths → blocks of the wanted number of rows."""

    def __init__(self, block_rows: int):
        self.block_rows = block_rows
        self.waiting: list[Arrays] = []
        self.n_waiting = 0

    def add(self, arrays: Arrays):
        """Yield the blocks that are full now."""
        self.waiting.append(arrays)
        self.n_waiting += len(arrays[0])
        while self.n_waiting >= self.block_rows:
            yield self._taken(self.block_rows)

    def rest(self):
        """Yield what is left, if anything is."""
        if self.n_waiting:
            yield self._taken(self.n_waiting)

    def _taken(self, n: int) -> Arrays:
        whole = _joined(self.waiting)
        self.waiting = [tuple(None if a is None else a[n:] for a in whole)]  # type: ignore[list-item]
        self.n_waiting -= n
        return tuple(None if a is None else a[:n] for a in whole)  # type: ignore[return-value]


def _joined(parts: list[Arrays]) -> Arrays:
    if len(parts) == 1:
        return parts[0]
    return tuple(  # type: ignore[return-value]
        None if part[0] is None else np.concatenate(part) for part in zip(*parts)
    )
