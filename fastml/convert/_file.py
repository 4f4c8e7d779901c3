"""Models in files of arrays and JSON: nothing of them is executed when they are read.

A file is a zip archive (stored, not compressed, unless asked) of ``model.json`` and
``arrays/0.npy``, ``arrays/1.npy``, ... The JSON object::

    format, schema      "fastml-model", 1
    versions            of fastml, scikit-learn, NumPy and Python that wrote it
    estimator           its class, for a reader's eyes
    model               the model, as `_plain` says
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import struct
import tempfile
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

import fastml
from fastml.convert._plain import Reader, Writer, place

FORMAT, SCHEMA = "fastml-model", 1
ALIGNED = 64
FIXED_HEADER, SIZE_FIELD, PADDING = 30, 20, 0xFA57
"""Bytes of a zip entry's header before its name, those of its long sizes, the name of our field."""


def save(model, file, *, compress: bool = False) -> None:
    """Write a fitted estimator to a file without pickle.

    The file holds arrays and JSON only, so that `load` can read one from a stranger: no code is in
    it, and none is run. Every estimator of fastml can be written, with the estimators of fastml or
    scikit-learn that it is made of; functions that were given as parameters cannot.

    Parameters
    ----------
    model : estimator
        Fitted or not.
    file : path or binary file
        A path is written under another name first and then renamed, so that readers never see half
        of it.
    compress : bool, default=False
        Smaller and slower.

    See Also
    --------
    load : The inverse.
    to_sklearn : The model as scikit-learn's own estimator.

    Examples
    --------
    >>> import io
    >>> from fastml.cluster import KMeans
    >>> from fastml.convert import load, save
    >>> model = KMeans(2, random_state=0).fit([[0.0], [1.0], [9.0], [10.0]])
    >>> save(model, file := io.BytesIO())
    >>> load(file).predict([[8.0]]) == model.predict([[9.0]])
    array([ True])
    """
    writer = Writer()
    name = type(model).__name__
    content = {
        "format": FORMAT,
        "schema": SCHEMA,
        "versions": _versions(),
        "estimator": place(type(model)),
        "model": writer.written(model, name),
    }
    if hasattr(file, "write"):
        _write(content, writer.arrays, file, compress)
        return
    path = Path(file)
    handle, partial = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            _write(content, writer.arrays, stream, compress)
        os.chmod(partial, 0o666 & ~_umask())
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise


def load(file, *, mapped: bool = False):
    """The estimator that `save` wrote.

    Parameters
    ----------
    file : path or binary file
    mapped : bool, default=False
        Whether arrays stay in the file, of which only what is used is read, and which processes
        that load the same model share in memory. The file must be a path and stay as it is; where
        an array is written to, the model gets a copy of that part. Compressed arrays are read.

    Returns
    -------
    model : estimator
        Of the class that was saved; its arrays are its own.

    Raises
    ------
    ValueError
        If the file is no model, is damaged, is of a newer schema, or names a class or a function
        that is not on the list of those that a model is made of.

    Examples
    --------
    >>> from fastml.convert import load
    >>> load(__file__)
    Traceback (most recent call last):
        ...
    ValueError: this is not a file of fastml.convert.save: File is not a zip file
    """
    if mapped and not isinstance(file, str | os.PathLike):
        raise TypeError("mapped=True needs the path of a file")
    try:
        with zipfile.ZipFile(file) as archive:
            content = json.loads(archive.read("model.json"))
            _check_header(content)
            names = [name for name in archive.namelist() if name.startswith("arrays/")]
            arrays = []
            for i in range(len(names)):
                name = f"arrays/{i}.npy"
                found = _mapped_array(archive, name, file) if mapped else None
                arrays.append(_read_array(archive, name) if found is None else found)
        return Reader(arrays).read(content["model"])
    except (zipfile.BadZipFile, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"this is not a file of fastml.convert.save: {error}") from error
    except FileNotFoundError:
        raise
    except (
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
        NotImplementedError,
        RecursionError,
        TypeError,
    ) as error:
        raise ValueError(f"the file is damaged: {error!r}") from error


def _versions() -> dict[str, str]:
    import sklearn

    return {
        "fastml": fastml.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _write(content: dict, arrays: list[np.ndarray], stream: IO[bytes], compress: bool) -> None:
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "w", method, compresslevel=3 if compress else None) as archive:
        archive.writestr("model.json", json.dumps(content, allow_nan=False))
        for i, array in enumerate(arrays):
            entry = zipfile.ZipInfo(f"arrays/{i}.npy")
            entry.compress_type = method
            # An empty field of its own begins the array at a multiple of 64 bytes, to be mapped.
            here = archive.start_dir + FIXED_HEADER + len(entry.filename) + SIZE_FIELD + 4
            entry.extra = struct.pack("<HH", PADDING, -here % ALIGNED) + bytes(-here % ALIGNED)
            with archive.open(entry, "w", force_zip64=True) as member:
                _write_array(member, np.asanyarray(array))


def _write_array(member: IO[bytes], array: np.ndarray) -> None:
    if not array.flags.c_contiguous or array.dtype.hasobject or not array.dtype.itemsize:
        np.lib.format.write_array(member, array, allow_pickle=False)
        return
    # The same bytes, without the copy that NumPy makes for what is no plain file.
    header = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(member, header)
    member.write(array.reshape(-1).view(np.uint8).data)


def _read_array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(name) as member:
        array = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):
            raise ValueError(f"the file is damaged: {name} is longer than its array")
    return array


def _mapped_array(archive: zipfile.ZipFile, name: str, path) -> np.ndarray | None:
    """The array in its place in the file; None if it cannot be used there."""
    entry = archive.getinfo(name)
    if entry.compress_type != zipfile.ZIP_STORED:
        return None
    with open(path, "rb") as stream:
        stream.seek(entry.header_offset)
        header = stream.read(FIXED_HEADER)
        if len(header) < FIXED_HEADER or header[:4] != b"PK\3\4":
            raise ValueError(f"the file is damaged: {name} is not where it should be")
        lengths = struct.unpack("<HH", header[26:])
        begin = entry.header_offset + FIXED_HEADER + sum(lengths)
        stream.seek(begin)
        if np.lib.format.read_magic(stream) != (1, 0):
            return None
        shape, in_columns, dtype = np.lib.format.read_array_header_1_0(stream)
        offset = stream.tell()
    n_bytes = int(np.prod(shape)) * dtype.itemsize
    if offset - begin + n_bytes != entry.file_size:
        raise ValueError(f"the file is damaged: {name} is not as long as its array")
    if dtype.hasobject or not n_bytes or offset % ALIGNED:
        return None
    found = np.memmap(
        path, dtype=dtype, mode="c", offset=offset, shape=shape[:: -1 if in_columns else 1]
    )
    return np.asarray(found.T if in_columns else found)


def _check_header(content: Any) -> None:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError("this is not a file of fastml.convert.save")
    if not isinstance(content.get("schema"), int) or content["schema"] > SCHEMA:
        raise ValueError(
            f"the file has schema {content.get('schema')}, written by fastml "
            f"{content.get('versions', {}).get('fastml')}; fastml {fastml.__version__} reads up to "
            f"{SCHEMA}: upgrade it"
        )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
