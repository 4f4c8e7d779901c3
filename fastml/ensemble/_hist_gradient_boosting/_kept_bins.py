"""Bins of blocks in a folder, which later fits read in place of the rows.

The folder has ``bins.json`` (of what rows the bins are), ``thresholds.npz`` and a file for every
block; each is complete or not there.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fastml._engines.boosted.bins import BinMapper
from fastml._engines.passes import RowBlock

DESCRIPTION, THRESHOLDS = "bins.json", "thresholds.npz"


def mapper_of_folder(
    folder: str, rows: str, max_bins: int, made: Callable[[], BinMapper]
) -> BinMapper:
    """The bins of the folder; ``made()`` of a new one. ``rows`` names what they must be bins of."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    told = {"rows": rows, "max_bins": max_bins}
    if (place / DESCRIPTION).exists():
        known = json.loads((place / DESCRIPTION).read_text())
        if known != told:
            what = "max_bins" if known.get("rows") == rows else "the rows"
            raise ValueError(f"the bins in {folder} are not of {what} of this fit: choose another")
        mapper = BinMapper(max_bins)
        with np.load(place / THRESHOLDS, allow_pickle=False) as found:
            mapper.bin_thresholds_ = np.split(found["values"], found["ends"])[:-1]
        n_features = len(mapper.bin_thresholds_)
        mapper.n_categories_ = np.zeros(n_features, np.intp)
        mapper.is_categorical_ = np.zeros(n_features, np.uint8)
        mapper.missing_values_bin_idx_ = max_bins
        mapper.n_bins_non_missing_ = np.array(
            [len(t) + 1 for t in mapper.bin_thresholds_], np.uint32
        )
        mapper.check_tables()
        return mapper
    if any(place.iterdir()):
        raise FileExistsError(f"{folder} is neither empty nor a folder of bins")
    mapper = made()
    ends = np.cumsum([len(t) for t in mapper.bin_thresholds_])
    values = np.concatenate(mapper.bin_thresholds_)
    _whole(place / THRESHOLDS, lambda file: np.savez(file, values=values, ends=ends))
    _whole(place / DESCRIPTION, lambda file: file.write(json.dumps(told).encode()))
    return mapper


def bins_of_block(folder: str, block: RowBlock, mapper: BinMapper) -> NDArray:
    """The block's bins, mapped from their file; a lost or damaged file is made again."""
    path = Path(folder) / f"{block.number:08d}.npy"
    with contextlib.suppress(OSError, ValueError, EOFError):
        found = np.load(path, mmap_mode="c", allow_pickle=False)
        if found.dtype == np.uint8 and found.shape == (len(block.X), len(mapper.bin_thresholds_)):
            return np.asarray(found)
    made = mapper.transform(block.X)
    _whole(path, lambda file: np.save(file, made, allow_pickle=False))
    return made


def _whole(path: Path, write: Callable) -> None:
    """Under another name first."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with open(unfinished, "wb") as file:
            write(file)
        os.replace(unfinished, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        if isinstance(error, OSError):
            told = f"{path} cannot be written, the disk may be full ({error})"
            raise OSError(error.errno or errno.ENOSPC, told) from error
        raise
