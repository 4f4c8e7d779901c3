"""Show versions, threads, cache and SIMD: what decides how fast fastml is here."""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastml._cli import machine
from fastml._prebuilt.levels import Level

SIMD = {
    "sse4.2": 128,
    "neon": 128,
    "avx": 256,
    "avx2": 256,
    "fma": 256,
    "avx512f": 512,
    "avx512dq": 512,
    "avx512bw": 512,
    "avx512vl": 512,
    "avx512fp16": 512,
    "sve": 128,
}
"""Instruction sets worth naming → the width of their vectors in bits."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    del parser  # no options


def run(options: argparse.Namespace) -> int:
    del options
    for title, lines in (
        ("versions", machine.versions().items()),
        ("machine", machine.hardware().items()),
        ("threads", _threads()),
        ("cache", _cache()),
        ("SIMD", _simd()),
        ("families", _families()),
    ):
        print(title)
        for name, value in lines:
            print(f"  {name:<22} {value}")
    return 0


def _families() -> Iterator[tuple[str, object]]:
    """The names that the other commands take, and how much each has to measure."""
    from fastml._cases._case import FAMILIES, cases

    for name in FAMILIES:
        yield name, f"{len(cases(name))} cases"


def _threads() -> Iterator[tuple[str, object]]:
    import joblib
    import numba

    from fastml import _threads as threads

    config: Any = numba.config
    limits = threads.limits()
    used = threads.effective_n_threads(None)
    deciding = [name for name, limit in limits.items() if limit == used]
    yield "cores seen", os.cpu_count()
    yield "used by default", f"{used} (by {', '.join(deciding)})"
    for name, limit in limits.items():
        yield f"  {name}", limit
    available, missing = _layers()
    yield "threading layer", _chosen_layer(available, config.THREADING_LAYER)
    yield "  available", ", ".join(available)
    for name, reason in missing.items():
        yield f"  not {name}", reason
    yield "joblib sees", f"{joblib.cpu_count()} cores (joblib {joblib.__version__})"


def _layers() -> tuple[list[str], dict[str, str]]:
    """Numba's threading layers that load here in order of preference, and why others do not."""
    import numba
    from numba.np.ufunc import parallel

    config: Any = numba.config
    modules = {"tbb": "tbbpool", "omp": "omppool", "workqueue": "workqueue"}
    available, missing = [], {}
    for name in config.THREADING_LAYER_PRIORITY:
        try:
            if name == "tbb":
                parallel._check_tbb_version_compatible()
            importlib.import_module(f"numba.np.ufunc.{modules[name]}")
            available.append(name)
        except Exception as reason:  # Numba raises several kinds here
            missing[name] = str(reason).splitlines()[0]
    return available, missing


def _chosen_layer(available: list[str], wanted: str) -> str:
    from fastml._jit import THREAD_SAFE_LAYERS, threading_layer

    if (running := threading_layer()) is not None:
        return running
    if wanted in available:
        return f"{wanted} (NUMBA_THREADING_LAYER)"
    if wanted in ("safe", "threadsafe", "forksafe"):
        return f"{wanted} (NUMBA_THREADING_LAYER)"
    layer = available[0]
    return layer if layer in THREAD_SAFE_LAYERS else f"{layer} (one launch at a time)"


def _cache() -> Iterator[tuple[str, object]]:
    from fastml import _jit

    yield "kernels come from", _sources()
    yield from _prebuilt_code()
    folder = _jit.cache_folder()
    if folder is None:
        yield "folder", "none: FASTML_NO_CACHE is set, or there is no home folder, or see above"
        return
    yield "folder", folder
    yield "compiled functions", _contents(folder)
    others = {path.parent for path in folder.parent.glob("*/*.fml")} - {folder}
    if others:
        n_bytes = sum(_size(path)[1] for path in others)
        yield "other builds", f"{len(others)} folders, {n_bytes / 1e6:.1f} MB"


def _prebuilt_code() -> Iterator[tuple[str, object]]:
    """What comes with the wheel; a kernel is taken from the folder first, then from here."""
    from fastml._jit import prebuilt_shelves

    shelves = prebuilt_shelves()
    if not shelves:
        yield "prebuilt code", "none: kernels are compiled at their first use"
    for shelf in shelves:
        yield "prebuilt code", f"{shelf.level.name}, {_contents(shelf.folder)}"
    if shelves:
        yield "native code adds", _more_than(shelves[0].level)


def _sources() -> str:
    """In which order a kernel is looked for here."""
    from fastml import _jit

    if not _jit.jit_enabled():
        return "Python: NUMBA_DISABLE_JIT is set"
    sources = ["the folder"] if _jit.cache_folder() is not None else []
    sources += [f"prebuilt {shelf.level.name}" for shelf in _jit.prebuilt_shelves()]
    return ", then ".join([*sources, "the compiler"])


def _more_than(level: Level) -> str:
    """The instructions that native code could use and code of the level does not."""
    from fastml._jit import target

    _, cpu, features = target()
    own = {name[1:] for name in features.split(",") if name.startswith("+")} - set(level.needs)
    found = [name for name in SIMD if name in own]
    what = f"{len(own)} instruction sets" + (f", {', '.join(found)} among them" if found else "")
    bits = max((SIMD[name] for name in level.needs if name in SIMD), default=128)
    wider = max((SIMD[name] for name in found), default=bits)
    if wider > bits:
        what += f"; vectors of up to {wider} bits, not {bits}"
    return f"{what}; tuned for {cpu} (`warmup` brings it)"


def _contents(folder: Path) -> str:
    n_files, n_bytes = _size(folder)
    return f"{n_files} files, {n_bytes / 1e6:.1f} MB"


def _size(folder: Path) -> tuple[int, int]:
    sizes = [path.stat().st_size for path in folder.glob("*.fml")]
    return len(sizes), sum(sizes)


def _simd() -> Iterator[tuple[str, object]]:
    import llvmlite.binding
    import numba

    features = llvmlite.binding.get_host_cpu_features()
    found = [name for name in SIMD if features.get(name)]
    yield "CPU as LLVM knows it", llvmlite.binding.get_host_cpu_name()
    yield "instruction sets", ", ".join(found) or "none known"
    yield "widest vectors", f"{max((SIMD[name] for name in found), default=64)} bits"
    config: Any = numba.config
    if config.CPU_NAME or config.CPU_FEATURES:
        yield "overruled by", f"NUMBA_CPU_NAME={config.CPU_NAME} {config.CPU_FEATURES or ''}"
