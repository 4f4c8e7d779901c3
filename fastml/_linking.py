"""Kernels inside kernels are linked, not compiled: only what Python calls becomes machine code.

Numba optimises a function and makes machine code of it when it is first *seen*, links it into its
caller, optimises the whole again, and so on up: a helper five calls deep goes through LLVM six
times, and the body of a `prange` three times more for Numba's own wrappers. None of these results
is ever run. Here jitted code sees, in the place of a kernel, its *inner twin*, which stays LLVM IR
without Python wrappers until the outermost function, the one that Python calls, links and optimises
everything at once. A third of the wait on an empty cache goes away with it.

The types of built-in operations are looked up once as well: for every ``a[i]`` or ``a + b`` Numba
tries all implementations that it knows in turn, dozens of them, and does so again for the same
types at the next place. That is another tenth.

This leans on Numba's insides. Where they have moved, `adopt` is None and kernels are Numba's
ordinary functions: slower to compile, equal otherwise.
"""

from __future__ import annotations

import contextlib
import types as python_types


def _make_adopt():
    try:
        from numba.core import types
        from numba.core.codegen import JITCodeLibrary
        from numba.core.compiler import CompilerBase, DefaultPassBuilder
        from numba.core.compiler_lock import global_compiler_lock
        from numba.core.compiler_machinery import PassManager, register_pass
        from numba.core.registry import CPUDispatcher
        from numba.core.targetconfig import ConfigStack
        from numba.core.typed_passes import NativeLowering, NativeParforLowering

        JITCodeLibrary._get_module_for_linking, CPUDispatcher._numba_type_  # noqa: B018
        resolve = types.Function.get_call_type
    except (ImportError, AttributeError):
        return None

    class NoAddresses:
        """The codegen as a linked library shows it: there is no place to write an environment."""

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

    @register_pass(mutates_CFG=True, analysis_only=False)
    class DriverLowering(NativeParforLowering):
        """The loop's body and Numba's two wrappers of it are linked; the driver is compiled."""

        _name = "fastml_driver_lowering"

        def run_pass(self, state):
            codegen = state.targetctx.codegen()
            state.library = codegen.create_library(state.func_id.func_qualname)
            state.library.enable_object_caching()
            with linking_all_libraries_of(codegen):
                return super().run_pass(state)

    @contextlib.contextmanager
    def linking_all_libraries_of(codegen):
        """Whatever Numba compiles within is linked only; its compiler lock is held meanwhile."""
        codegen._library_class = LinkedLibrary
        try:
            yield
        finally:
            del codegen._library_class  # the class's own shows again

    def compiler_with(lowering):
        (numbas,) = lowering.__bases__

        class KernelCompiler(CompilerBase):
            def define_pipelines(self):
                numba = DefaultPassBuilder.define_nopython_pipeline(self.state)
                ours = PassManager(numba.pipeline_name)
                for step, description in numba.passes:
                    ours.add_pass(lowering if step is numbas else step, description)
                ours.finalize()
                return [ours]

        return KernelCompiler

    InnerCompiler, DriverCompiler = compiler_with(InnerLowering), compiler_with(DriverLowering)

    class InnerDispatcher(CPUDispatcher):
        """Seen by jitted code only: Python must find nothing to call."""

        def add_overload(self, cres):
            self.overloads[tuple(cres.signature.args)] = cres

    known: dict[tuple, tuple] = {}

    def resolve_once(function, context, args, kws):
        """`Function.get_call_type`, which also notes the implementation that it chose."""
        flags = ConfigStack.top_or_none()
        options = None if flags is None else flags.summary()
        key = id(function), tuple(args), tuple(kws.items()) if kws else (), options
        if key in known:
            _, signature, implementation = known[key]
            function._impl_keys[signature.args] = implementation
            return signature
        signature = resolve(function, context, args, kws)
        # The function itself is kept so that no other object gets its id.
        known[key] = function, signature, function._impl_keys[signature.args]
        return signature

    class RememberingDispatcher(CPUDispatcher):
        """While it compiles, built-in operations are resolved once."""

        def compile(self, sig):
            with global_compiler_lock:
                if types.Function.get_call_type is resolve_once:
                    return super().compile(sig)
                types.Function.get_call_type = resolve_once
                try:
                    return super().compile(sig)
                finally:
                    del types.Function.get_call_type  # the inherited one shows again

    class KernelDispatcher(RememberingDispatcher):
        """Python's view of a kernel."""

        inner: InnerDispatcher | None = None

        @property
        def _numba_type_(self):
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

    def adopt(dispatcher, *, parallel: bool):
        """Make Numba's ``dispatcher`` link what it calls."""
        if parallel:
            dispatcher._compiler.pipeline_class = DriverCompiler
        dispatcher.__class__ = RememberingDispatcher if parallel else KernelDispatcher

    return adopt


def copy_of(function):
    """Another function of the same code: Numba tells a recursive call by the function object."""
    return python_types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )


adopt = _make_adopt()
