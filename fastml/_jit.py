"""The only door to Numba: two decorators, one on-disk cache, one launch gate.

``@kernel``
    A serial function. All the work is in these.
``@parallel_kernel``
    A small driver, ``for c in prange(n_chunks): _chunk(c, ...)``, called from Python as
    ``driver(*args, n_threads=n)``. It is compiled once, lazily, for one thread and for many (see
    `fastml._sharing`; where that cannot be, twice: a parallel and a serial twin).

`kernel` takes ``fast_math=True`` for reductions that must be reassociated to vectorise (the flags
are `FAST_MATH`, which keeps NaN and infinity meaningful), or ``fused=True`` for fused multiply-adds
in code whose order of operations matters. No other option exists.

The cache
    Numba stamps a compiled function with its *own* source file only, so an edited helper would be
    missed, and its shared index file loses entries (or mixes them up) when processes race. Here a
    compiled function is one file, named by a hash of its argument types and of the sources of its
    module and of every kernel module that this one reaches by imports (read off the syntax tree; a
    module that cannot be found is an error), in a folder named by what else decides the machine
    code. Writing is atomic and unreadable files count as absent, so any
    number of processes may share it. A folder that others can write to is not used.

The gate
    Numba's ``workqueue`` layer aborts the process when two Python threads launch at once, and its
    ``omp`` layer kills a forked child at its first launch, or lets it wait for ever if another
    library had started OpenMP's threads. `ParallelKernel` runs the driver on the calling thread in
    those cases; the code is the same, and so is the result to the bit.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import os
import pickle
import platform
import re
import stat
import sys
import threading
import time
import types
import uuid
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding
import numba
from numba import njit, prange

from fastml import _borrowing, _frontend, _linking, _native, _sharing, _sources
from fastml._prebuilt import levels

try:
    import fcntl
except ImportError:  # Windows: processes may compile the same function at the same time
    fcntl = None  # type: ignore[assignment]

__all__ = ["FAST_MATH", "ParallelKernel", "jit_enabled", "kernel", "parallel_kernel", "prange"]

FAST_MATH = frozenset({"nsz", "arcp", "contract", "afn", "reassoc"})
"""Reassociation and contraction, but not ``nnan`` or ``ninf``: NaN and infinity stay valid."""

REGISTRY: dict[str, object] = {}
"""``module.function`` → kernel, for every decorated function; `fastml.warmup` walks it."""

FORKED_WITHOUT_EXEC = 0x40
"""PF_FORKNOEXEC of Linux, among the flags in /proc/self/stat."""

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


def _compile(func, *, flags: frozenset[str] = frozenset(), parallel: bool = False, driver=None):
    """Numba's dispatcher of ``func``, with our cache; ``driver`` is what ``func`` was made of."""
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
    if _linking.adopt is not None and not parallel:
        _linking.adopt(dispatcher)
    dispatcher._cache = _FileCache(driver or func, shared=driver is not None)
    return dispatcher


def _renamed(func, name: str):
    """A copy of ``func`` under another name: a serial twin must not share a cache entry."""
    code = func.__code__.replace(co_name=name, co_qualname=name)
    copy = types.FunctionType(code, func.__globals__, name, func.__defaults__, func.__closure__)
    copy.__module__, copy.__qualname__, copy.__doc__ = func.__module__, name, func.__doc__
    return copy


# ---------------------------------------------------------------------------- the launch gate


class ParallelKernel:
    """A ``prange`` driver. Call it with ``n_threads=``.

    It runs on the calling thread if that is 1, and wherever a parallel launch could crash the
    process.
    """

    def __init__(self, func):
        functools.update_wrapper(self, func)
        self.py_func = func
        self._kept = True
        if jit_enabled():
            _sources.digest(_path(func))  # reads the file now, as `_FileCache` does

    @functools.cached_property
    def shared(self):
        """The one compiled function, or None where Numba's own ``prange`` must serve."""
        tree = None
        if _sharing.share is not None and _FileCache is not None and _linking.adopt is not None:
            tree = _sources.driver(self.py_func)
        if tree is None or not _linking.sound:
            return None

        def jit(function):
            is_driver = function.__name__ == self.py_func.__name__
            return self._settled(_compile(function, driver=self.py_func if is_driver else None))

        try:
            return _sharing.compiled(self.py_func, tree, jit)
        except _sharing.NotOutlined:
            return None

    @functools.cached_property
    def parallel(self):
        """Numba's parallel function, if there is no shared one."""
        return self._settled(_compile(self.py_func, parallel=True))

    @functools.cached_property
    def serial(self):
        """The serial twin of that."""
        return self._settled(_compile(_renamed(self.py_func, self.py_func.__name__ + "__serial")))

    def _settled(self, dispatcher):
        if not self._kept and hasattr(dispatcher, "_cache"):
            dispatcher._cache.disable()
        return dispatcher

    def never_keep(self):
        """Do not keep what is compiled on disk."""
        self._kept = False

    @property
    def functions(self) -> dict[str, object]:
        """What Python calls, by kind."""
        if self.shared is not None:
            return {"": self.shared}
        return {" (parallel)": self.parallel, " (serial)": self.serial}

    def __call__(self, *args, n_threads: int):
        if not jit_enabled():
            return self.py_func(*args)
        if _compile_only.active and self.shared is None:
            signature = tuple(numba.typeof(arg) for arg in args)
            self.parallel.compile(signature)
            self.serial.compile(signature)
        if n_threads == 1 or _gate.in_forked_child:
            return self._run(False, 1, args)
        if threading_layer() in THREAD_SAFE_LAYERS:
            return self._launch(args, n_threads)
        if not _gate.lock.acquire(blocking=False):
            return self._run(False, 1, args)
        try:
            return self._launch(args, n_threads)
        finally:
            _gate.lock.release()

    def _launch(self, args, n_threads: int):
        mask = numba.get_num_threads()
        if n_threads >= mask:
            return self._run(True, mask, args)
        try:
            return self._run(True, n_threads, args)
        finally:
            numba.set_num_threads(mask)  # a layer keeps in mind how many it was asked for

    def _run(self, on_threads: bool, n_threads: int, args):
        if self.shared is not None:
            try:
                return self.shared(_launcher() if on_threads else 0, n_threads, *args)
            except _linking.NotSound:
                self.shared = None
        if not on_threads:
            return self.serial(*args)
        numba.set_num_threads(n_threads)
        return self.parallel(*args)


@functools.cache
def _launcher() -> int:
    return _sharing.launcher()


def _path(func) -> Path:
    return Path(func.__code__.co_filename)


def _launched(function, *args) -> bool:
    """Run a parallel function unless that could crash the process; return whether it was run."""
    if _gate.in_forked_child or not _gate.lock.acquire(blocking=False):
        return False
    try:
        function(*args)
    finally:
        _gate.lock.release()
    return True


class _Gate:
    """State of the launch gate in this process."""

    def __init__(self):
        self.lock = threading.RLock()  # a launch that must be compiled first may launch a probe
        self.in_forked_child = _was_forked() and _openmp_is_loaded()

    def note_fork(self):
        self.lock = threading.RLock()  # the parent's may be held by a thread that is not here
        if threading_layer() is not None or _openmp_is_loaded():
            self.in_forked_child = True


def _openmp_is_loaded() -> bool:
    """Whether this process holds the OpenMP library that Numba would use.

    If it does before Numba's own first launch, another library (LightGBM, say) has brought it and
    may have started its threads: after a fork they are gone, and a launch would wait for them.
    Renamed copies, as scikit-learn's wheel has one, are libraries with threads of their own.
    """
    try:
        mapped = Path("/proc/self/maps").read_text()
    except OSError:  # not Linux: unknown, so assume it
        return True
    return re.search(r"/(libgomp|libomp|libiomp5)\.so", mapped) is not None


def _was_forked() -> bool:
    """Whether this process is a copy of another, which may have begun before fastml was imported.

    Linux keeps a mark of processes that have not started a program of their own since.
    """
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        return bool(int(fields[6]) & FORKED_WITHOUT_EXEC)
    except (OSError, IndexError, ValueError):
        return False


_gate = _Gate()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_gate.note_fork)


def threading_layer() -> str | None:
    """Numba's threading layer, or None before the first launch."""
    try:
        return numba.threading_layer()
    except ValueError:  # no thread has been started yet
        return None


def numba_thread_mask() -> int:
    """Threads that Numba may use here, found without starting them."""
    if threading_layer() is not None:
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
    """How many functions this process compiled and loaded; `prebuilt` ones count as loaded."""

    def __init__(self):
        self.compiled = 0
        self.loaded = 0
        self.prebuilt = 0


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


_OWN_SOURCES = [
    Path(str(module.__file__)).read_text()
    for module in (sys.modules[__name__], _borrowing, _frontend, _linking, _sharing, _sources)
]


@functools.cache
def build() -> str:
    """A digest of what decides machine code beside the kernels' sources and the CPU."""
    settings = (
        *_OWN_SOURCES,
        platform.python_implementation(),
        sys.version_info[:2],
        MAGIC_NUMBER,  # of Python's bytecode, which Numba reads
        numba.__version__,
        llvmlite.__version__,
        # Numba's own key has none of these.
        int(numba.config.OPT),
        getattr(numba.config.OPT, "is_opt_max", None),
        numba.config.LOOP_VECTORIZE,
        numba.config.SLP_VECTORIZE,
        numba.config.USING_SVML,
        numba.config.BOUNDSCHECK,
        numba.config.DEBUGINFO_DEFAULT,
    )
    return hashlib.sha256(repr(settings).encode()).hexdigest()[:16]


def target() -> tuple[str, ...]:
    """The platform, the CPU and its instructions, as LLVM spells them, that code is made for."""
    from numba.core.registry import cpu_target

    return cpu_target.target_context.codegen().magic_tuple()


@functools.cache
def prebuilt_shelves() -> tuple[levels.Shelf, ...]:
    """Code of this build that came with the wheel and that this CPU can run, the best first."""
    if _flag("FASTML_NO_PREBUILT"):
        return ()
    return levels.shelves(build(), llvmlite.binding.get_host_cpu_features())


@functools.cache
def cache_folder() -> Path | None:
    """The folder in use, named by the build."""
    root = _cache_root()
    if root is None:
        return None
    folder = root / build()
    if (why := _not_to_be_trusted(folder)) is None:
        return folder
    _say(f"fastml: the cache folder {why}; what it holds is not run, and compiled code is not kept")
    return None


def _not_to_be_trusted(folder: Path) -> str | None:
    """Why what lies in ``folder`` may be someone else's code, or None.

    Code loaded from there will be run, so that only this user (or root, who can do anything anyway)
    may have written it. In a folder above it, others may write only if they cannot remove what is
    not theirs (as in ``/tmp``).
    """
    if not hasattr(os, "getuid"):
        return None
    for place, shared in ((folder, False), (folder.parent, True)):
        try:
            status = place.stat()
        except OSError:  # not there yet: it will be ours
            continue
        if status.st_uid not in (os.getuid(), 0):
            return f"{place} belongs to another user"
        if status.st_mode & 0o022 and not (shared and status.st_mode & stat.S_ISVTX):
            return f"{place} can be written by others"
    return None


def _make_folder(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=_modes()[0], exist_ok=True)


def _modes() -> tuple[int, int]:
    """Modes of the cache's folders and files: private, but readable in a folder that was chosen.

    A Docker image is built by root and run by others.
    """
    return (0o755, 0o644) if os.environ.get("FASTML_CACHE_DIR") else (0o700, 0o600)


IMPORTS = "imports.json"
"""The file in the cache folder that says what the kernel files import, by their digests."""


def _known_imports() -> dict[str, list[str]]:
    known: dict[str, list[str]] = {}
    for shelf in prebuilt_shelves():
        known |= shelf.imports
    if (folder := cache_folder()) is not None:
        known |= _sources.read_imports(folder / IMPORTS)
    return known


_sources.known = _known_imports


_notice_given = False


def _give_notice():
    """Say once what the wait is for, and how to avoid it."""
    global _notice_given
    if _notice_given:
        return
    _notice_given = True
    kept = "kept for next time" if cache_folder() else "not kept"
    _say(
        f"fastml: compiling for this machine ({kept}). "
        "Run `python -m fastml warmup` to do it ahead of time; FASTML_QUIET=1 hides this line."
    )


def _say(line: str):
    if not _flag("FASTML_QUIET"):
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


class _Lock:
    """A file that one process at a time may hold; the system frees it where a process dies."""

    def __init__(self, path: Path):
        self.path = path

    def acquire(self) -> bool:
        """Wait for it, but not for ever: a process may have been halted."""
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT, _modes()[1])
        for _ in range(int(LONGEST_WAIT / WAIT)):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            time.sleep(WAIT)
        os.close(self.file)
        return False

    def release(self) -> None:
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        os.close(self.file)


WAIT, LONGEST_WAIT = 0.02, 60.0
"""Seconds between two looks at another process's lock, and in all."""


def _write(path: Path, content: bytes) -> None:
    """Write a file of the cache so that others see all of it or nothing."""
    part = path.with_suffix(f".{uuid.uuid4().hex[:12]}.part")
    try:
        part.touch(_modes()[1])
        part.write_bytes(content)
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def _wanted_symbols(library) -> list[str]:
    """What compiled code takes from the process by name: functions of Numba, Python and C."""
    module = library._final_module
    declared = (*module.functions, *module.global_variables)
    return [
        each.name for each in declared if each.is_declaration and not each.name.startswith("llvm.")
    ]


def _supply(symbols: list[str], target_context) -> None:
    """Make LLVM know ``symbols``: it ends the process where loaded code wants one that it does not.

    Code that wants what is not there (a library is gone, say) is an error here, so not loaded.
    Numba refreshes its context before it loads code. That reads in all that it could compile,
    a fifth of a second, and code that is compiled already wants a few addresses of it.
    """
    address = llvmlite.binding.address_of_symbol
    if all(map(address, symbols)):
        return
    with contextlib.suppress(ImportError, AttributeError):
        from numba.core.runtime import _nrt_python

        for name, place in _nrt_python.c_helpers.items():
            llvmlite.binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", place)
    if not all(map(address, symbols)):
        target_context.refresh()
    if missing := [name for name in symbols if not address(name)]:
        raise LookupError(f"not in this process: {missing}")


def _make_file_cache():
    """Our cache, built on Numba's private interface; None where that has changed."""
    try:
        from numba.core.caching import _Cache
        from numba.core.compiler import CompileResult
        from numba.core.serialize import dumps

        CompileResult._reduce, CompileResult._rebuild  # noqa: B018
    except (ImportError, AttributeError):
        return None

    class FileCache(_Cache):
        """One file per compiled function and argument types."""

        def __init__(self, py_func, shared):
            self._name = _key(py_func).removeprefix("fastml.kernels.")
            self._shared = shared  # a driver: see `fastml._sharing`
            # Hashed now, as the module is imported: if a file is edited or upgraded while this
            # process runs, code that was loaded before must not be stored as the new file's.
            self._source = _sources.digest(_path(py_func))
            self._bytecode = hashlib.sha256(py_func.__code__.co_code).hexdigest()
            self._enabled = True
            self._locks: dict[object, _Lock] = {}

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

        def _key_and_name(self, signature, target):
            """``target``: what LLVM calls the platform, the CPU and its instructions."""
            key = repr((self._name, signature, target, self._source, self._bytecode))
            digest = hashlib.sha256(key.encode()).hexdigest()[:24]
            return key, f"{self._name}-{digest}.fml"

        def load_overload(self, sig, target_context):
            folder = cache_folder()
            if self._enabled:
                found = self._load_own(sig, target_context)
                if found is None:
                    found = self._load_prebuilt(sig, target_context)
                if found is not None:
                    statistics.loaded += 1
                    return found
            _give_notice()
            if folder is not None:
                with contextlib.suppress(OSError):
                    _make_folder(folder)
            _linking.prove(self._shared, folder, _launched)
            if self._shared and not _linking.sound:
                raise _linking.NotSound
            return self._from_another_process(sig, target_context)

        def _from_another_process(self, sig, target_context):
            """What another process is compiling just now, or None: then others wait for us."""
            if fcntl is None or not self._enabled or (folder := cache_folder()) is None:
                return None
            with contextlib.suppress(OSError):
                _, name = self._key_and_name(sig, target_context.codegen().magic_tuple())
                lock = _Lock((folder / name).with_suffix(".lock"))
                if not lock.acquire():
                    return None
                if (found := self._load_own(sig, target_context)) is not None:
                    lock.release()
                    statistics.loaded += 1
                    return found
                self._locks[sig] = lock

        def release(self, sig):
            """Called when the compilation of ``sig`` has ended, well or not."""
            if (lock := self._locks.pop(sig, None)) is not None:
                lock.release()

        def _load_own(self, sig, target_context):
            """From the user's cache: code for this very CPU."""
            if (folder := cache_folder()) is None:
                return None
            # Whatever goes wrong (no file, a damaged file, another Numba): compile again.
            with contextlib.suppress(Exception):
                key, name = self._key_and_name(sig, target_context.codegen().magic_tuple())
                if (folder / name).exists():
                    return self._rebuilt(key, (folder / name).read_bytes(), target_context)
                for path in folder.glob(f"{self._name}-*.fml"):
                    found = self._rebuilt(key, path.read_bytes(), target_context)
                    if found is not None:
                        return found

        def _load_prebuilt(self, sig, target_context):
            """From the wheel: code for a level that this CPU is above."""
            for shelf in prebuilt_shelves():
                with contextlib.suppress(Exception):
                    platform_name, *_ = target_context.codegen().magic_tuple()
                    target = (platform_name, shelf.level.cpu, shelf.level.features)
                    key, name = self._key_and_name(sig, target)
                    others = [n for n in shelf.digests if n.startswith(f"{self._name}-")]
                    for each in [name] if name in others else others:
                        if (content := shelf.read(each)) is not None:
                            found = self._rebuilt(key, content, target_context)
                            if found is not None:
                                statistics.prebuilt += 1
                                if _flag("FASTML_NATIVE_IN_BACKGROUND") and cache_folder():
                                    _native.ask(self._name, sig)
                                return found

        def _rebuilt(self, key, content, target_context):
            """What a file holds, if that is what ``key`` asks for, or serves as well."""
            with contextlib.suppress(Exception):
                stored, digest, payload = pickle.loads(content)
                fits = stored == key or _linking.serves(stored, key)
                if fits and digest == hashlib.sha256(payload).digest():
                    symbols, reduced = pickle.loads(payload)
                    _supply(symbols, target_context)
                    return CompileResult._rebuild(target_context, *reduced)

        def save_overload(self, sig, data):
            statistics.compiled += 1
            if not self._enabled or cache_folder() is None:
                return
            # Folder not writable, disk full, or another Numba: the function stays in memory only.
            with contextlib.suppress(Exception):
                if not (data.library.has_dynamic_globals or data.lifted):
                    self._store(sig, data)

        def _store(self, sig, data):
            key, name = self._key_and_name(sig, data.codegen.magic_tuple())
            folder = cache_folder()
            payload = dumps((_wanted_symbols(data.library), data._reduce()))
            entry = pickle.dumps((key, hashlib.sha256(payload).digest(), payload))
            _make_folder(folder)
            _write(folder / name, entry)
            if (imports := _sources.to_keep(folder / IMPORTS)) is not None:
                _write(folder / IMPORTS, imports.encode())

    return None if FileCache.__abstractmethods__ else FileCache


_FileCache = _make_file_cache()


def serve() -> None:
    """Compile what another process asks for: see `fastml._native`."""
    for name, signature in _native.asked():
        with contextlib.suppress(Exception):  # the wheel's code goes on serving
            importlib.import_module(f"fastml.kernels.{name.rpartition('.')[0]}")
            found: Any = REGISTRY[f"fastml.kernels.{name}"]
            function = found.shared if isinstance(found, ParallelKernel) else found
            function.compile(signature)
