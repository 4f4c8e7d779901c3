"""Kernels inside kernels are linked, not compiled: only what Python calls becomes machine code.

Numba optimises a function and makes machine code of it when it is first *seen*, links it into its
caller, optimises the whole again, and so on up: a helper five calls deep goes through LLVM six
times. None of these results is ever run. Here jitted code sees, in the place of a kernel, its
*inner twin*, which stays LLVM IR without Python wrappers until the outermost function, the one that
Python calls, links and optimises everything at once; Numba's own helpers (`np.empty` and the like)
are treated alike while a kernel compiles. A third of the wait on an empty cache goes away with it.

The types of built-in operations are looked up once as well: for every ``a[i]`` or ``a + b`` Numba
tries all implementations that it knows in turn, dozens of them, and does so again for the same
types at the next place. That is another tenth. Python's garbage collector, which looks through the
compiler's many objects again and again and finds next to nothing, waits until the end: a seventh.
References to borrowed arrays are not counted (see `fastml._borrowing`), and what Numba's front end
does in vain is left out (see `fastml._frontend`).

All this, those two and `fastml._sharing` depend on Numba's internals, which may change.
So before the first kernel is compiled with a new cache folder, `prove` compiles a small function of
each kind and runs it. On any error, or a wrong result, `sound` becomes False and kernels are
Numba's ordinary functions from then on: slower to compile, equal otherwise. Where Numba lacks a
name that is used here, `adopt` is None at once.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import re
import types as python_types
from collections.abc import Callable
from pathlib import Path

from fastml import _borrowing, _frontend

sound = True
"""Whether kernels are linked: True until `prove` has found otherwise."""


NUMBAS_OWN = ("numba.np.", "numba.cpython.")
"""Modules whose functions only jitted code calls."""


class NotSound(Exception):
    """`prove` has just found that a driver cannot be compiled in our way."""


def _make_adopt():
    """`adopt`, tried on functions that are never compiled; None if Numba has no place for it."""
    from numba import njit

    try:
        adopt = _define_adopt()
        adopt(njit(lambda x: x))
        return adopt
    except Exception:
        return None


def _define_adopt():
    from numba.core import sigutils, types
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.compiler_machinery import PassManager, register_pass
    from numba.core.registry import CPUDispatcher
    from numba.core.targetconfig import ConfigStack
    from numba.core.typed_passes import NativeLowering

    numbas_type = CPUDispatcher._numba_type_
    resolve = types.Function.get_call_type

    class NoAddresses:
        """The codegen of a linked library, which has no address to write an environment to."""

        def __init__(self, codegen):
            self._codegen = codegen

        def set_env(self, name, env):
            pass

        def __getattr__(self, name):
            return getattr(self._codegen, name)

    class LinkedLibrary(JITCodeLibrary):
        """LLVM IR for others to link in; not optimised, without addresses."""

        @property
        def codegen(self):
            return NoAddresses(self._codegen)

        def finalize(self):
            self._raise_if_finalized()
            for library in dict.fromkeys(self._linking_libraries):
                if hasattr(self, "_reload_init"):  # Numba 0.61 has none
                    self._reload_init.update(library._reload_init)
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            self._final_module.verify()
            self._finalize_dynamic_globals()
            self._finalized = True

        def get_pointer_to_function(self, name):
            self._ensure_finalized()
            return 0

    @register_pass(mutates_CFG=True, analysis_only=False)
    class InnerLowering(NativeLowering):
        _name = "fastml_inner_lowering"

        def run_pass(self, state):
            state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            return super().run_pass(state)

    class InnerCompiler(CompilerBase):
        def define_pipelines(self):
            numba = DefaultPassBuilder.define_nopython_pipeline(self.state)
            ours = PassManager(numba.pipeline_name)
            if not sound:
                return [numba]
            for step, description in numba.passes:
                ours.add_pass(InnerLowering if step is NativeLowering else step, description)
            ours.finalize()
            return [ours]

    class InnerDispatcher(CPUDispatcher):
        """Called by jitted code only: Python has no entry point to it, and no cache or clock."""

        def compile(self, sig):
            args, return_type = sigutils.normalize_signature(sig)
            with global_compiler_lock, self._compiling_counter:
                if args not in self.overloads:
                    self.add_overload(self._compiler.compile(args, return_type))
                return self.overloads[args].entry_point

        def add_overload(self, cres):
            self.overloads[tuple(cres.signature.args)] = cres

    known: dict[tuple, tuple] = {}
    summaries: dict[int, tuple] = {}

    def summary(flags):
        """The options in force, as a text: they are set before types are inferred."""
        if id(flags) not in summaries:
            summaries[id(flags)] = flags, flags.summary()
        return summaries[id(flags)][1]

    def resolve_once(function, context, args, kws):
        """`Function.get_call_type`, which also notes the implementation that it chose."""
        if not sound:
            return resolve(function, context, args, kws)
        flags = ConfigStack.top_or_none()
        options = None if flags is None else summary(flags)
        key = id(function), tuple(args), tuple(kws.items()) if kws else (), options
        if key in known:
            _, signature, implementation = known[key]
            function._impl_keys[signature.args] = implementation
            return signature
        signature = resolve(function, context, args, kws)
        # The function itself is kept so that no other object gets its id.
        known[key] = function, signature, function._impl_keys[signature.args]
        return signature

    lower, numbas_class = NativeLowering.run_pass, NativeLowering.lowering_class
    borrowing_class = _borrowing.make_lower()
    replaced = [(*each, vars(each[0])[each[1]]) for each in _frontend.replacements()]

    def lower_numbas(self, state):
        """`NativeLowering.run_pass`, which only links what is Numba's own."""
        if sound and state.library is None and state.func_id.modname.startswith(NUMBAS_OWN):
            state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
            state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return lower(self, state)

    @contextlib.contextmanager
    def our_way():
        """While the outermost kernel compiles; Numba's lock is held."""
        if types.Function.get_call_type is resolve_once:
            yield
            return
        collecting = gc.isenabled()
        gc.disable()
        types.Function.get_call_type, NativeLowering.run_pass = resolve_once, lower_numbas
        NativeLowering.lowering_class = property(lambda self: borrowing_class)
        for owner, name, ours, _ in replaced if sound else ():
            setattr(owner, name, ours)
        try:
            yield
        finally:
            del types.Function.get_call_type, NativeLowering.run_pass  # the inherited ones are back
            NativeLowering.lowering_class = numbas_class
            for owner, name, _, numbas in replaced:
                setattr(owner, name, numbas)
            summaries.clear()
            if collecting:
                gc.enable()

    class KernelDispatcher(CPUDispatcher):
        """A kernel as Python calls it."""

        inner: InnerDispatcher | None = None

        @property
        def _numba_type_(self):
            if not sound:
                return numbas_type.__get__(self)
            if self.inner is None:
                options = {
                    **self.targetoptions,
                    "no_cpython_wrapper": True,
                    "no_cfunc_wrapper": True,
                }
                self.inner = InnerDispatcher(
                    copy_of(self.py_func), targetoptions=options, pipeline_class=InnerCompiler
                )
            return types.Dispatcher(self.inner)

        def compile(self, sig):
            with global_compiler_lock, our_way():
                args, _ = sigutils.normalize_signature(sig)
                for others, compiled in tuple(self.overloads.items()):
                    if others != args and serves(repr(others), repr(args)):
                        return self._take(args, compiled)
                try:
                    entry = super().compile(sig)
                finally:
                    if hasattr(self._cache, "release"):  # others may wait for it
                        self._cache.release(sig)
                if args not in self.overloads:  # the cache had code that serves as well
                    (*_, last) = self.overloads.values()
                    return self._take(args, last)
                return entry

        def _take(self, args, compiled):
            """Use code that was compiled for read-only arrays; those at hand may be writable."""
            if args not in self.overloads:
                self._insert([each._code for each in args], compiled.entry_point, False)
                self.overloads[args] = compiled
            return compiled.entry_point

    def adopt(dispatcher):
        """Make Numba's ``dispatcher`` link what it calls."""
        dispatcher._compiler  # noqa: B018
        dispatcher.__class__ = KernelDispatcher

    return adopt


READ_ONLY = re.compile(r"(readonly )?array\(|(?<='[CFA]', )(True|False)(?=, aligned)")
"""Where the text of a type says whether an array is read-only."""


def serves(compiled: str, wanted: str) -> bool:
    """Whether code for the ``compiled`` types does for the ``wanted`` ones, both as texts.

    They may differ in arrays that are read-only in the former: what only reads an array does not
    care whether it could write, and the machine code is the same.
    """
    if READ_ONLY.sub("", compiled) != READ_ONLY.sub("", wanted):
        return False
    pairs = zip(READ_ONLY.finditer(compiled), READ_ONLY.finditer(wanted), strict=True)
    return all(a.group() in (b.group(), "True", "readonly array(") for a, b in pairs)


def copy_of(function):
    """Another function of the same code: Numba recognises recursion by the function object."""
    return python_types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )


adopt = _make_adopt()


# ---------------------------------------------------------------------------- the proof

_looked_at: set[bool] = set()
"""The kinds of functions, parallel or not, that were proven here or earlier."""


def prove(shared: bool, folder: Path | None, launch: Callable[..., bool]) -> None:
    """Find out whether our way works, once for a cache folder, before a function is compiled.

    ``shared``: for drivers that run on many threads. ``launch(function, *args)`` runs one and
    returns True, or False if it may not be run now. A file in ``folder`` records what was proven;
    without a folder, or if nothing can be written there, every process tries anew.
    """
    global sound
    if shared in _looked_at or adopt is None or not sound:
        return
    _looked_at.add(shared)
    marker = folder and folder / ("linking-proven-" + ("parallel" if shared else "serial"))
    if marker is not None and marker.exists():
        return
    try:
        run = _probe(shared, launch)
    except Exception:  # any error means that this Numba works differently
        sound = False
        return
    if run and marker is not None:
        with contextlib.suppress(OSError):
            marker.touch()


PROBE = """
def driver(values, out):
    for i in prange(values.shape[0]):
        out[i] = outer(i, values)
"""


def _probe(shared: bool, launch: Callable[..., bool]) -> bool:
    """Compile and run a helper inside a helper inside a driver; True if it could be run."""
    import numpy as np
    from numba import get_num_threads, njit, prange

    from fastml import _sharing

    def linked(function):
        dispatcher = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)(function)
        adopt(dispatcher)
        return dispatcher

    @linked
    def inner(x):
        return 2.5 * x + 1.0

    @linked
    def outer(i, values):
        return inner(values[i]) - i

    scope = {"prange": prange, "outer": outer}
    exec(PROBE, scope)
    values = np.arange(9.0)
    expected = [2.5 * value + 1.0 - i for i, value in enumerate(values.tolist())]

    def check(function, *args):
        out = np.zeros(9)
        function(*args, values, out)
        if out.tolist() != expected:
            raise ArithmeticError(f"{out.tolist()} instead of {expected}")

    if not shared:
        check(linked(scope["driver"]))
        return True
    (tree,) = ast.parse(PROBE).body
    assert isinstance(tree, ast.FunctionDef)
    compiled = _sharing.compiled(scope["driver"], tree, linked)
    check(compiled, 0, 1)
    return launch(lambda: check(compiled, _sharing.launcher(), get_num_threads()))
