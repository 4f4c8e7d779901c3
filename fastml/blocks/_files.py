"""One file per block: X, y and weights one after the other, memory-mapped; complete or not there.

Each array is written as NumPy's own format has it, and begins at a multiple of 64 bytes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

ALIGNED = 64
SUFFIX = ".block"

Arrays = tuple[NDArray, NDArray | None, NDArray | None]


def file_of(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}{SUFFIX}"


def write_block(path: Path, arrays: Arrays) -> None:
    """Under another name first: whoever finds the file finds all of it; if it fails, none."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with open(unfinished, "wb") as file:
            for array in arrays:
                kept = np.empty(0) if array is None else np.ascontiguousarray(array)
                file.write(b"\0" * (-file.tell() % ALIGNED))
                npy.write_array(file, kept, allow_pickle=False)
        os.replace(unfinished, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        if isinstance(error, OSError):  # NumPy's names neither the file nor the cause
            told = f"{path} cannot be written, the disk may be full ({error})"
            raise OSError(error.errno or errno.ENOSPC, told) from error
        raise


def read_block(path: Path) -> Arrays:
    """Memory-mapped arrays; FileNotFoundError if there is no file, ValueError if it is damaged."""
    found: list[NDArray | None] = []
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        for _ in range(3):
            file.seek(-file.tell() % ALIGNED, os.SEEK_CUR)
            npy.read_magic(file)
            shape, _, dtype = npy.read_array_header_1_0(file)
            begin = file.tell()
            n_bytes = int(np.prod(shape)) * dtype.itemsize
            if begin + n_bytes > size:
                raise ValueError(f"{path} ends too early")
            if n_bytes:
                mapped = np.memmap(path, dtype=dtype, mode="r", offset=begin, shape=shape)
                found.append(np.asarray(mapped))
            else:
                found.append(None)
            file.seek(begin + n_bytes)
    X, y, weights = found
    if X is None:
        raise ValueError(f"{path} has no rows")
    return X, y, weights
