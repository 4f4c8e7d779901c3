"""The only door to Numba: two decorators, one on-disk cache, one launch gate.

``@kernel``
    A serial function. All the work is in these.
``@parallel_kernel``
    A small driver, ``for c in prange(n_chunks): _chunk(c, ...)``, called from Python as
    ``driver(*args, n_threads=n)``. It is compiled twice, lazily: a parallel and a serial twin.

`kernel` takes ``fast_math=True`` for reductions that must be reassociated to vectorise (the flags
are `FAST_MATH`, which keeps NaN and infinity meaningful), or ``fused=True`` for fused multiply-adds
in code whose order of operations matters. No other option exists.

The cache
    Numba stamps a compiled function with its *own* source file only, so an edited helper would be
    missed, and its shared index file loses entries (or mixes them up) when processes race. Here a
    compiled function is one file, named by a hash of its argument types and of the sources of its
    module and of every kernel module that this one reaches by imports, in a folder named by what
    else decides the machine code. Writing is atomic and unreadable files count as absent, so any
    number of processes may share it.

The gate
    Numba's ``workqueue`` layer aborts the process when two Python threads launch at once, and its
    ``omp`` layer kills a forked child at its first launch. `ParallelKernel` runs the serial twin in
    those cases; twins share the chunk functions, so the result is the same to the bit.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import platform
import re
import sys
import threading
import types
import uuid
from pathlib import Path

import llvmlite
import numba
import numba.np.ufunc.parallel as _numba_threads
from numba import njit, prange

from fastml import _linking

__all__ = ["FAST_MATH", "ParallelKernel", "jit_enabled", "kernel", "parallel_kernel", "prange"]

FAST_MATH = frozenset({"nsz", "arcp", "contract", "afn", "reassoc"})
"""Reassociation and contraction, never ``nnan`` or ``ninf``: NaN and infinity keep their sense."""

REGISTRY: dict[str, object] = {}
"""``module.function`` → kernel, for every decorated function; `fastml.warmup` walks it."""

THREAD_SAFE_LAYERS = frozenset({"tbb", "omp"})


def jit_enabled() -> bool:
    """Whether kernels are compiled (``NUMBA_DISABLE_JIT`` turns that off)."""
    return not numba.config.DISABLE_JIT


# ---------------------------------------------------------------------------- decorators


def kernel(func=None, *, fast_math: bool = False, fused: bool = False):
    """Compile a serial function lazily, without the GIL, with IEEE division."""
    if func is None:
        return functools.partial(kernel, fast_math=fast_math, fused=fused)
    flags = FAST_MATH if fast_math else frozenset({"contract"}) if fused else frozenset()
    compiled = _compile(func, flags=flags, parallel=False)
    REGISTRY[_key(func)] = compiled
    return compiled


def parallel_kernel(func):
    """Compile a ``prange`` driver; calls go through the launch gate (see `ParallelKernel`)."""
    driver = ParallelKernel(func)
    REGISTRY[_key(func)] = driver
    return driver


def _key(func) -> str:
    return f"{func.__module__}.{func.__qualname__}"


def _compile(func, *, flags: frozenset[str] = frozenset(), parallel: bool):
    options = {
        "nogil": True,
        "error_model": "numpy",
        "parallel": parallel,
        "fastmath": set(flags) or False,
    }
    if not jit_enabled():
        return func
    if _FileCache is None:
        return njit(**options, cache=_cache_root() is not None)(func)
    dispatcher = njit(**options, no_cfunc_wrapper=True)(func)
    if _linking.adopt is not None:
        _linking.adopt(dispatcher, parallel=parallel)
    dispatcher._cache = _FileCache(func)
    return dispatcher


def _renamed(func, name: str):
    """A copy of ``func`` under another name: a serial twin must not share a cache entry."""
    code = func.__code__.replace(co_name=name, co_qualname=name)
    copy = types.FunctionType(code, func.__globals__, name, func.__defaults__, func.__closure__)
    copy.__module__, copy.__qualname__, copy.__doc__ = func.__module__, name, func.__doc__
    return copy


# ---------------------------------------------------------------------------- the launch gate


class ParallelKernel:
    """A ``prange`` driver in a parallel and a serial compilation.

    Call it with ``n_threads=``. One thread means the serial twin, and so does every situation in
    which a parallel launch could bring the process down.
    """

    def __init__(self, func):
        functools.update_wrapper(self, func)
        self.py_func = func
        self.parallel = _compile(func, parallel=True)
        self.serial = _compile(_renamed(func, func.__name__ + "__serial"), parallel=False)

    def __call__(self, *args, n_threads: int):
        if _compile_only.active and jit_enabled():
            signature = tuple(numba.typeof(arg) for arg in args)
            self.parallel.compile(signature)
            self.serial.compile(signature)
        if n_threads == 1 or _gate.in_forked_child or not jit_enabled():
            return self.serial(*args)
        if threading_layer() in THREAD_SAFE_LAYERS:
            return self._launch(args, n_threads)
        if not _gate.lock.acquire(blocking=False):
            return self.serial(*args)
        try:
            return self._launch(args, n_threads)
        finally:
            _gate.lock.release()

    def _launch(self, args, n_threads: int):
        mask = numba.get_num_threads()
        if n_threads >= mask:
            return self.parallel(*args)
        numba.set_num_threads(n_threads)
        try:
            return self.parallel(*args)
        finally:
            numba.set_num_threads(mask)


class _Gate:
    """What the gate knows of this process."""

    def __init__(self):
        self.lock = threading.Lock()
        self.in_forked_child = False

    def note_fork(self):
        self.lock = threading.Lock()  # the parent's may be held by a thread that is not here
        self.in_forked_child = self.in_forked_child or _numba_threads._is_initialized


_gate = _Gate()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_gate.note_fork)


def threading_layer() -> str | None:
    """Numba's threading layer, or None before the first launch."""
    return _numba_threads._threading_layer


def numba_thread_mask() -> int:
    """Threads that Numba may use here, found without starting them."""
    if _numba_threads._is_initialized:
        return numba.get_num_threads()
    return numba.config.NUMBA_NUM_THREADS


class _CompileOnly(threading.local):
    active = False


_compile_only = _CompileOnly()


@contextlib.contextmanager
def compile_both_twins():
    """Within it, a call of a parallel kernel also compiles the twin that it does not run."""
    previous, _compile_only.active = _compile_only.active, True
    try:
        yield
    finally:
        _compile_only.active = previous


# ---------------------------------------------------------------------------- the on-disk cache


class CacheStatistics:
    """How many functions this process compiled and how many it loaded."""

    def __init__(self):
        self.compiled = 0
        self.loaded = 0


statistics = CacheStatistics()


def _cache_root() -> Path | None:
    """The folder of all fastml caches, or None if caching is switched off."""
    if _flag("FASTML_NO_CACHE"):
        return None
    if chosen := os.environ.get("FASTML_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if not base or base.startswith("~"):  # no home folder
        return None
    return Path(base) / "fastml"


def _flag(name: str) -> bool:
    return os.environ.get(name, "").lower() not in ("", "0", "false", "no")


_OWN_SOURCES = [Path(name).read_text() for name in (__file__, _linking.__file__)]


@functools.cache
def cache_folder() -> Path | None:
    """The folder in use: named by Python, Numba, LLVM, this file and the compile settings."""
    root = _cache_root()
    if root is None:
        return None
    settings = (
        *_OWN_SOURCES,
        platform.python_implementation(),
        sys.version_info[:3],
        numba.__version__,
        llvmlite.__version__,
        numba.config.OPT,
        numba.config.BOUNDSCHECK,
        numba.config.DEBUGINFO_DEFAULT,
    )
    return root / hashlib.sha256(repr(settings).encode()).hexdigest()[:16]


@functools.cache
def _source(path: Path) -> tuple[bytes, list[Path]]:
    """Hash of a kernel file as it is when first asked for, and the kernel files that it imports."""
    source = path.read_bytes() if path.exists() else b""
    names = re.findall(rb"fastml\.kernels\.(\w+)", source)
    imported = [_KERNEL_FOLDER / f"{name.decode()}.py" for name in dict.fromkeys(names)]
    return path.name.encode() + hashlib.sha256(source).digest(), imported


@functools.cache
def _source_digest(path: Path) -> str:
    """Hash of a kernel file and of all kernel files that it imports, directly or not."""
    reached, to_read = {}, [path]
    while to_read:
        path = to_read.pop()
        if path not in reached:
            reached[path], imported = _source(path)
            to_read += imported
    return hashlib.sha256(b"".join(reached[path] for path in sorted(reached))).hexdigest()


_KERNEL_FOLDER = Path(__file__).parent / "kernels"


_notice_given = False


def _give_notice():
    """Say once what the wait is for, and how to avoid it."""
    global _notice_given
    if _notice_given:
        return
    _notice_given = True
    if _flag("FASTML_QUIET"):
        return
    kept = "kept for next time" if cache_folder() else "FASTML_NO_CACHE is set: not kept"
    sys.stderr.write(
        f"fastml: compiling for this machine ({kept}). "
        "Run `python -m fastml warmup` to do it ahead of time; FASTML_QUIET=1 hides this line.\n"
    )
    sys.stderr.flush()


def _make_file_cache():
    """Our cache on top of Numba's private interface, or None if that has moved."""
    try:
        from numba.core.caching import _Cache
        from numba.core.compiler import CompileResult
        from numba.core.serialize import dumps

        CompileResult._reduce, CompileResult._rebuild  # noqa: B018
    except (ImportError, AttributeError):
        return None

    class FileCache(_Cache):
        """One file per compiled function and argument types."""

        def __init__(self, py_func):
            self._name = f"{py_func.__module__.rpartition('.')[2]}.{py_func.__qualname__}"
            # Now, as the module is imported: a file edited or upgraded while this process runs must
            # not give its name to the code that was loaded before.
            self._source = _source_digest(Path(py_func.__code__.co_filename))
            self._bytecode = hashlib.sha256(py_func.__code__.co_code).hexdigest()
            self._enabled = True

        @property
        def cache_path(self):
            return str(cache_folder())

        def enable(self):
            self._enabled = True

        def disable(self):
            self._enabled = False

        def flush(self):
            if (folder := cache_folder()) is not None:
                for path in folder.glob(f"{self._name}-*.fml"):
                    path.unlink(missing_ok=True)

        def _key_and_path(self, signature, codegen):
            key = repr((self._name, signature, codegen.magic_tuple(), self._source, self._bytecode))
            digest = hashlib.sha256(key.encode()).hexdigest()[:24]
            return key, cache_folder() / f"{self._name}-{digest}.fml"

        def load_overload(self, sig, target_context):
            target_context.refresh()
            result = None
            if self._enabled and cache_folder() is not None:
                key, path = self._key_and_path(sig, target_context.codegen())
                # A missing, truncated or foreign file is the same thing: compile again.
                with contextlib.suppress(Exception):
                    stored_key, digest, payload = pickle.loads(path.read_bytes())
                    if stored_key == key and digest == hashlib.sha256(payload).digest():
                        result = CompileResult._rebuild(target_context, *pickle.loads(payload))
            if result is None:
                _give_notice()
            else:
                statistics.loaded += 1
            return result

        def save_overload(self, sig, data):
            statistics.compiled += 1
            if not self._enabled or cache_folder() is None:
                return
            if data.library.has_dynamic_globals or data.lifted:
                return
            key, path = self._key_and_path(sig, data.codegen)
            payload = dumps(data._reduce())
            entry = pickle.dumps((key, hashlib.sha256(payload).digest(), payload))
            part = path.with_suffix(f".{uuid.uuid4().hex[:12]}.part")
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                part.write_bytes(entry)
                os.replace(part, path)
            except OSError:  # not writable or full: stay in memory
                with contextlib.suppress(OSError):
                    part.unlink(missing_ok=True)

    return FileCache


_FileCache = _make_file_cache()
