"""Blocks of rows: where they come from, how they are cut, where they are kept."""

from __future__ import annotations

import contextlib
import csv
import glob
import hashlib
import os
import shutil
import threading
import uuid
import warnings
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fastml._engines.passes import RowBlock, RowCounts
from fastml.blocks import _cache
from fastml.blocks._files import Arrays, file_of, read_block, write_block
from fastml.blocks._sources import (
    ArraySource,
    FolderSource,
    ParquetSource,
    Rechunked,
    TableColumns,
)

BLOCK_ROWS = 65_536
"""Rows of a block: sums over rows are made block by block, so this is part of their rounding."""

CSV_LINES = 65_536


class Blocks:
    """Rows cut into blocks of 65,536, each of which can be read on its own, in any process.

    The cuts depend on nothing but the number of rows: neither on files nor on who reads them.
    Made by `from_npy`, `from_parquet`, `from_csv`, `from_arrow`, `from_batches` and
    `from_dataframe`, and read by `fit`, `predict`, `transform` and `score` of `fastml.blocks`.
    Iterating gives the blocks, each with ``X``, ``y`` and ``weights``.

    Parameters
    ----------
    source : object
        Has ``n_rows`` and ``read(first, last)``, which returns (X, y, weights) of these rows.
    block_rows : int
        Rows of every block but the last.
    feature_names : list of str, default=None
    folder : path, default=None
        Where blocks are kept once they have been read; the source then has ``around`` too.

    Attributes
    ----------
    n_rows, n_features, n_blocks : int
    block_rows : int
    feature_names : list of str or None
    dtype : numpy.dtype
        Of X, float32 or float64.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.blocks import Blocks
    >>> blocks = Blocks.from_npy(np.zeros((100_000, 3)), np.arange(100_000) % 2)
    >>> blocks
    Blocks(100000 rows, 3 features, 2 blocks)
    >>> [len(block.X) for block in blocks]
    [65536, 34464]
    """

    def __init__(self, source, block_rows: int, feature_names=None, folder: Path | None = None):
        if isinstance(block_rows, bool) or not hasattr(block_rows, "__index__") or block_rows < 1:
            raise ValueError(f"block_rows must be a whole number from 1, got {block_rows!r}")
        self.source, self.block_rows = source, int(block_rows)
        self.n_rows = source.n_rows
        if not self.n_rows:
            raise ValueError("there are no rows")
        self.n_blocks = -(-self.n_rows // self.block_rows)
        self.feature_names = None if feature_names is None else list(feature_names)
        self.folder = folder
        self._locks = threading.Lock()
        self._full = False
        first = self.block(0)
        self.n_features, self.dtype = first.X.shape[1], first.X.dtype
        self.has_target, self.has_weights = first.y is not None, first.weights is not None

    def __getstate__(self):
        return {key: value for key, value in vars(self).items() if key not in ("_locks", "_keep")}

    def __setstate__(self, state):
        vars(self).update(state)
        self._locks = threading.Lock()

    def __repr__(self):
        return f"Blocks({self.n_rows} rows, {self.n_features} features, {self.n_blocks} blocks)"

    def __len__(self):
        return self.n_blocks

    def __iter__(self) -> Iterator[RowBlock]:
        return (self.block(number) for number in range(self.n_blocks))

    @property
    def counts(self) -> RowCounts:
        return RowCounts(
            self.n_rows, self.n_features, self.n_blocks, self.dtype, self.has_target,
            self.has_weights,
        )  # fmt: skip

    # ------------------------------------------------------------------------ reading

    def block(self, number: int) -> RowBlock:
        """One block, from its file if there is one."""
        if not 0 <= number < self.n_blocks:
            raise IndexError(f"there are {self.n_blocks} blocks, got number {number}")
        first = number * self.block_rows
        last = min(first + self.block_rows, self.n_rows)
        arrays = self._kept(number)
        if arrays is None:
            arrays = self._laid_down(number, first, last)
        return RowBlock(number, first, *_checked(arrays, number, last - first))

    def _kept(self, number: int) -> Arrays | None:
        if self.folder is None:
            return None
        with contextlib.suppress(OSError, ValueError):  # lost or damaged: it is made again
            return read_block(file_of(self.folder, number))
        return None

    def _laid_down(self, number: int, first: int, last: int) -> Arrays:
        """Read from the source; its neighbours that had to be read too are kept as well."""
        if self.folder is None or self._full:
            return self.source.read(first, last)
        with self._locks:
            arrays = self._kept(number)
            if arrays is not None:
                return arrays
            begin, end = self.source.around(first, last)
            found = self.source.read(begin, end)
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for other in range(-(-begin // self.block_rows), self.n_blocks):
                start = other * self.block_rows
                stop = min(start + self.block_rows, self.n_rows)
                if stop > end:
                    break
                if other == number or not file_of(self.folder, other).exists():
                    self._write(other, _part(found, start - begin, stop - begin))
            return self._kept(number) or _part(found, first - begin, last - begin)

    def _write(self, number: int, arrays: Arrays) -> None:
        assert self.folder is not None
        if self._full:
            return
        try:
            write_block(file_of(self.folder, number), arrays)
        except OSError as error:
            self._full = True  # the rows are there all the same, only slower
            warnings.warn(
                f"blocks cannot be kept in {self.folder} ({error}): every pass reads the source",
                RuntimeWarning,
                stacklevel=2,
            )

    # ------------------------------------------------------------------------ making

    @classmethod
    def from_npy(cls, X, y=None, weights=None, *, feature_names=None, block_rows=BLOCK_ROWS):
        """Blocks of ``.npy`` files, memory-mapped where they lie, or of arrays.

        Parameters
        ----------
        X : path, array of shape (n_samples, n_features), or a list of them
            float32 or float64; several stand one after the other.
        y : path, array of shape (n_samples,) or (n_samples, n_targets), or a list, default=None
        weights : path, array of shape (n_samples,), or a list, default=None
        feature_names : list of str, default=None
        block_rows : int, default=65536

        Returns
        -------
        blocks : Blocks
        """
        parts = [_listed(part) for part in (X, y, weights)]
        source = ArraySource(parts[0] or [], parts[1], parts[2])
        for name, arrays in source.arrays.items():
            n = sum(len(part) for part in arrays or ())
            if arrays is not None and n != source.n_rows:
                raise ValueError(f"X has {source.n_rows} rows and {name} has {n}")
        return cls(source, block_rows, feature_names)

    @classmethod
    def from_parquet(
        cls, path, *, features=None, target=None, weight=None, dtype=None, cache=True,
        block_rows=BLOCK_ROWS,
    ):  # fmt: skip
        """Blocks of Parquet files; each is kept as a local file when it has been read once.

        Parameters
        ----------
        path : path of a file or folder, pattern such as ``"part-*.parquet"``, or a list of files
            Files of a folder or pattern are taken in the order of their names.
        features : list of str, default=None
            TableColumns of X; None: all that are neither target nor weight.
        target : str or list of str, default=None
        weight : str, default=None
        dtype : {numpy.float32, numpy.float64}, default=None
            Of X; None: float32 if all its columns are, else float64.
        cache : bool or path, default=True
            Where blocks are kept: True means ``FASTML_BLOCKS_DIR`` or a folder among the temporary
            files, which stays below ``FASTML_BLOCKS_LIMIT`` bytes (64 GiB): the data sets used
            least recently are removed for others. False: every pass reads the Parquet files.
        block_rows : int, default=65536

        Returns
        -------
        blocks : Blocks
        """
        import pyarrow.parquet as pq

        paths = _files(path, ".parquet")
        schema = pq.read_schema(paths[0])
        columns = TableColumns.chosen(schema.names, features, target, weight, np.float64)
        columns.dtype = _float_type(dtype, [schema.field(n).type for n in columns.features])
        source = ParquetSource(paths, columns)
        folder = None
        if cache is not False:
            root = _cache.root_folder() if cache is True else Path(cache)
            folder = _kept_folder(root, source, columns, block_rows)
        return cls(source, block_rows, columns.features, folder)

    @classmethod
    def from_arrow(
        cls, batches, *, features=None, target=None, weight=None, dtype=None, path=None,
        block_rows=BLOCK_ROWS,
    ):  # fmt: skip
        """Blocks of an Arrow table, or of any record batches one after the other.

        They are laid down as files at once: ``batches`` is read once and never held as a whole.

        Parameters
        ----------
        batches : pyarrow.Table, RecordBatchReader, or iterable of tables or record batches
        features, target, weight, dtype, block_rows
            As for `from_parquet`.
        path : path, default=None
            A new folder for the files; None: one among the temporary files, which is removed when
            the blocks are no longer used.

        Returns
        -------
        blocks : Blocks
        """
        read = _arrow_arrays(batches, features, target, weight, dtype)
        return cls._from_batches(read, path, block_rows)

    @classmethod
    def from_batches(
        cls, batches, *, feature_names=None, dtype=None, path=None, block_rows=BLOCK_ROWS
    ):
        """Blocks of arrays that come one after the other: a generator, a reader, a data loader.

        They are laid down as files at once: ``batches`` is read once, batch by batch, and any
        number of passes can follow.

        Parameters
        ----------
        batches : iterable of X, (X, y) or (X, y, weights)
            Any number of rows each, as arrays or what NumPy makes arrays of.
        feature_names : list of str, default=None
        dtype : float32 or float64, default=None
            Of the features; None: float32 if the first batch is, else float64.
        path, block_rows
            As for `from_arrow`.

        Returns
        -------
        blocks : Blocks

        Examples
        --------
        >>> from fastml.blocks import Blocks
        >>> Blocks.from_batches((([[i, 1.0]], [i]) for i in range(5)), block_rows=2)
        Blocks(5 rows, 2 features, 3 blocks)
        """
        names = None if feature_names is None else [str(name) for name in feature_names]
        return cls._from_batches(_batch_arrays(batches, names, dtype), path, block_rows)

    @classmethod
    def from_csv(
        cls, path, *, features=None, target=None, weight=None, dtype=np.float64, delimiter=",",
        folder=None, block_rows=BLOCK_ROWS,
    ):  # fmt: skip
        """Blocks of text files with a line of names; laid down as binary files at once.

        An empty field of the features is NaN. With pyarrow installed its reader is used.

        Parameters
        ----------
        path : path of a file or folder, pattern such as ``"*.csv"``, or a list of files
        features, target, weight, dtype, block_rows
            As for `from_parquet`.
        delimiter : str, default=","
        folder : path, default=None
            A new folder for the blocks, as ``path`` of `from_arrow`.

        Returns
        -------
        blocks : Blocks
        """
        paths = _files(path, ".csv")
        names = _csv_names(paths[0], delimiter)
        columns = TableColumns.chosen(names, features, target, weight, dtype)
        columns.dtype = _float_type(dtype, [])
        for other in paths[1:]:
            if _csv_names(other, delimiter) != names:
                raise ValueError(f"{other} has other columns than {paths[0]}")
        read = _csv_arrays(paths, names, columns, delimiter)
        return cls._from_batches(read, folder, block_rows)

    @classmethod
    def from_dataframe(
        cls, frame, *, features=None, target=None, weight=None, dtype=np.float64, path=None,
        block_rows=BLOCK_ROWS,
    ):  # fmt: skip
        """Blocks of a DataFrame of Spark, laid down by its workers in one job.

        Rows stand in the order of the DataFrame's partitions. On a cluster ``path`` must be a
        folder that all nodes and the driver share.

        Parameters
        ----------
        frame : pyspark.sql.DataFrame
        features : str or list of str, default=None
            Columns of numbers, arrays or vectors; None: all that are neither target nor weight.
        target, weight : str, default=None
        dtype : {numpy.float32, numpy.float64}, default=numpy.float64
            Of X.
        path : path, default=None
            As for `from_arrow`.
        block_rows : int, default=65536

        Returns
        -------
        blocks : Blocks
        """
        from fastml.blocks._frames import pieces_of_dataframe

        dtype = _float_type(dtype, [])
        source, names, keep = pieces_of_dataframe(
            frame, features, target, weight, dtype, path, block_rows
        )
        blocks = cls(source, block_rows, names)
        if keep is not None:
            blocks._keep = keep(blocks)
        return blocks

    @classmethod
    def _from_batches(cls, read: Iterator, path, block_rows: int) -> Blocks:
        """``read`` yields the names of the features, then arrays of some rows at a time."""
        names = next(read)
        temporary = path is None
        folder = _cache.root_folder() / uuid.uuid4().hex if path is None else Path(path)
        if not temporary and folder.exists():
            raise FileExistsError(f"{folder} exists already: blocks need a new folder")
        _cache.begin_use(folder, {"made of": "batches"})
        try:
            n_rows = number = 0
            cutter = Rechunked(block_rows)
            text = None
            for arrays in read:
                if arrays[1] is not None:
                    here = arrays[1].dtype.kind == "U"
                    if text is not None and here != text:
                        raise ValueError("the target is text in some rows and numbers in others")
                    text = here
                for block in cutter.add(arrays):
                    write_block(file_of(folder, number), block)
                    n_rows, number = n_rows + len(block[0]), number + 1
            for block in cutter.rest():
                write_block(file_of(folder, number), block)
                n_rows += len(block[0])
            blocks = cls(FolderSource(str(folder), n_rows, block_rows), block_rows, names)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        if temporary:
            blocks._keep = weakref.finalize(blocks, shutil.rmtree, folder, ignore_errors=True)  # type: ignore[attr-defined]
        else:
            for user in folder.glob("*.user"):
                user.unlink()
        return blocks


# ---------------------------------------------------------------------------- helpers


def _checked(arrays: Arrays, number: int, n_rows: int) -> Arrays:
    X, y, weights = arrays
    if X.ndim != 2 or not X.shape[1]:
        raise ValueError(f"X must have rows and columns, got an array of shape {X.shape}")
    if X.dtype not in (np.float32, np.float64):
        raise ValueError(f"X must be float32 or float64, got {X.dtype}")
    for name, array in (("y", y), ("weights", weights)):
        if array is not None and len(array) != n_rows:
            raise ValueError(f"block {number} has {n_rows} rows, and {len(array)} of {name}")
    if weights is not None:
        if weights.ndim != 1:
            raise ValueError(f"weights must have one axis, got an array of shape {weights.shape}")
        weights = np.asarray(weights, dtype=np.float64)
        if not (np.isfinite(weights).all() and (weights >= 0.0).all()):
            raise ValueError(f"weights of block {number} are not all at least 0 and finite")
    return np.ascontiguousarray(X), y, weights


def _batch_arrays(batches, names: list[str] | None, dtype) -> Iterator[Any]:
    """The names, then checked (X, y, weights) of every batch."""
    yield names
    kind = None
    for number, batch in enumerate(batches):
        parts = batch if isinstance(batch, tuple) else (batch,)
        if len(parts) > 3:
            raise ValueError(f"a batch is X, (X, y) or (X, y, weights), got {len(parts)} parts")
        X, y, weights = (None if p is None else np.asarray(p) for p in (*parts, None, None)[:3])
        if X is None or X.ndim != 2:
            raise ValueError(f"X of batch {number} must have rows and columns")
        here = (X.shape[1], y is None, weights is None)
        if kind is None:
            kind = here
            dtype = _float_type(dtype, ["float"] if X.dtype == np.float32 else [])
            if names is not None and len(names) != X.shape[1]:
                raise ValueError(f"{len(names)} feature_names of {X.shape[1]} features")
        if here != kind:
            raise ValueError(
                f"batch {number} has other columns, or other of target and weights, than the first"
            )
        if len(X):
            yield _checked((X.astype(dtype, copy=False), y, weights), number, len(X))


def _part(arrays: Arrays, start: int, stop: int) -> Arrays:
    return tuple(None if a is None else a[start:stop] for a in arrays)  # type: ignore[return-value]


def _listed(part) -> list | None:
    if part is None:
        return None
    return list(part) if isinstance(part, list | tuple) else [part]


def _files(path, suffix: str) -> list[str]:
    """Absolute paths of what a path, folder, pattern or list names."""
    if isinstance(path, list | tuple):
        found = [os.path.abspath(p) for p in path]
    elif os.path.isdir(path):
        found = sorted(os.path.abspath(p) for p in glob.glob(os.path.join(path, f"*{suffix}")))
    elif any(sign in str(path) for sign in "*?["):
        found = sorted(os.path.abspath(p) for p in glob.glob(str(path)))
    else:
        found = [os.path.abspath(path)]
    if not found:
        raise FileNotFoundError(f"no file matches {path!r}")
    return found


def _float_type(dtype, kinds: list) -> np.dtype:
    if dtype is None:
        single = bool(kinds) and all(str(kind) in ("float", "halffloat") for kind in kinds)
        return np.dtype(np.float32 if single else np.float64)
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {np.dtype(dtype)}")
    return np.dtype(dtype)


def _kept_folder(
    root: Path, source: ParquetSource, columns: TableColumns, block_rows
) -> Path | None:
    """The folder of these blocks, named by what they are made of; None if there is no room."""
    made_of = (source.stamps, columns.names, columns.features, columns.target, columns.weight,
               str(columns.dtype), block_rows)  # fmt: skip
    name = hashlib.sha256(repr(made_of).encode()).hexdigest()[:32]
    folder = root / name
    needed = source.n_rows * (columns.dtype.itemsize * len(columns.features) + 16)
    if not _cache.make_room(root, folder, needed, _cache.size_limit()):
        warnings.warn(
            f"{needed} bytes of blocks find no room in {root} (limit {_cache.size_limit()}, "
            "FASTML_BLOCKS_LIMIT): every pass reads the Parquet files",
            RuntimeWarning,
            stacklevel=3,
        )
        return None
    _cache.begin_use(folder, {"made of": [list(s) for s in source.stamps]})
    return folder


def _arrow_arrays(batches, features, target, weight, dtype) -> Iterator:
    import pyarrow as pa

    if isinstance(batches, pa.Table):
        batches = batches.to_batches() or [batches]
    elif isinstance(batches, pa.RecordBatch):
        batches = [batches]
    if not isinstance(batches, Iterable):
        raise TypeError(f"batches must be a table or an iterable of them, got {type(batches)}")
    columns: TableColumns | None = None
    kinds: Any = None
    for batch in batches:
        here = {name: batch.schema.field(name).type for name in batch.schema.names}
        if columns is None:
            columns = TableColumns.chosen(batch.schema.names, features, target, weight, np.float64)
            columns.dtype = _float_type(dtype, [here[name] for name in columns.features])
            kinds = {name: here[name] for name in columns.names}
            yield columns.features
        elif {name: here.get(name) for name in columns.names} != kinds:
            raise ValueError(f"the schema changed from one batch to the next: {kinds} and {here}")
        if batch.num_rows:
            yield columns.arrays(batch)
    if columns is None:
        raise ValueError("there are no rows")


def _csv_names(path: str, delimiter: str) -> list[str]:
    with open(path, newline="") as file:
        names = next(csv.reader(file, delimiter=delimiter), [])
    if not names:
        raise ValueError(f"{path} has no line of names")
    return names


def _csv_arrays(paths, names, columns: TableColumns, delimiter: str) -> Iterator:
    yield columns.features
    try:
        import pyarrow.csv  # noqa: F401
    except ImportError:
        yield from _csv_by_numpy(paths, names, columns, delimiter)
    else:
        yield from _csv_by_arrow(paths, columns, delimiter)


def _csv_by_arrow(paths, columns: TableColumns, delimiter: str) -> Iterator[Arrays]:
    import pyarrow as pa
    import pyarrow.csv as reader

    text = [name for name in columns.names if name not in columns.features]
    types = {**dict.fromkeys(columns.features, pa.float64()), **dict.fromkeys(text, pa.string())}
    for path in paths:
        with reader.open_csv(
            path,
            parse_options=reader.ParseOptions(delimiter=delimiter),
            convert_options=reader.ConvertOptions(
                column_types=types, include_columns=columns.names, strings_can_be_null=True
            ),
        ) as batches:
            for batch in batches:
                if batch.num_rows:
                    yield _typed(batch, columns)


def _typed(batch, columns: TableColumns) -> Arrays:
    """Targets and weights, read as text, as the numbers that they are."""
    X = np.column_stack([batch.column(name).to_numpy(False) for name in columns.features])
    text = {
        name: np.array(batch.column(name).to_pylist(), dtype=object)
        for name in columns.names
        if name not in columns.features
    }
    return _with_text(X.astype(columns.dtype), text, columns)


def _csv_by_numpy(paths, names, columns: TableColumns, delimiter: str) -> Iterator[Arrays]:
    places = {name: names.index(name) for name in columns.names}
    for path in paths:
        with open(path, newline="") as file:
            lines = csv.reader(file, delimiter=delimiter)
            next(lines)
            while batch := [line for _, line in zip(range(CSV_LINES), lines)]:
                table = np.array(batch, dtype=object)
                X = np.empty((len(batch), len(columns.features)), dtype=columns.dtype)
                for j, name in enumerate(columns.features):
                    own = table[:, places[name]]
                    X[:, j] = [float(value) if value else np.nan for value in own]
                text = {
                    name: _or_missing(table[:, places[name]])
                    for name in columns.names
                    if name not in columns.features
                }
                yield _with_text(X, text, columns)


def _or_missing(values):
    values[values == ""] = None
    return values


def _with_text(X, text: dict, columns: TableColumns) -> Arrays:
    for name, values in text.items():
        if (values == None).any():  # noqa: E711
            raise ValueError(f"column {name!r} has {int((values == None).sum())} missing values")  # noqa: E711
    y: Any = None
    if isinstance(columns.target, str):
        y = _numbers_or_text(text[columns.target])
    elif columns.target is not None:
        y = np.column_stack([_numbers_or_text(text[name]) for name in columns.target])
    weights = None if columns.weight is None else text[columns.weight].astype(np.float64)
    return X, y, weights


def _numbers_or_text(values):
    """Whole numbers, else numbers, else text.

    Other rows may decide otherwise: numbers among text are text again when blocks are joined.
    """
    for kind in (np.int64, np.float64):
        with contextlib.suppress(ValueError, OverflowError):
            return values.astype(kind)
    return values.astype(np.str_)
