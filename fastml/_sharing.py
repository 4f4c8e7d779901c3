"""A ``prange`` driver becomes one compiled function that runs on one thread or on many.

Numba compiles ``for c in prange(n): _chunk(c, ...)`` by a long way of its own, and a serial twin
for launches that must not be parallel is the same work once more. Here every such loop is taken out
of the driver as a function of its own, ``part(first, last, ...)`` with a plain ``range``, and the
driver calls `share` in its place: that hands parts of the range to the threads of Numba's layer, or
runs the whole of it where it stands. Parallel and serial runs are then the same machine code, which
is compiled once and lies in the cache once.

`outlined` rewrites the driver's syntax tree; `share` is written as LLVM code. Where Numba lacks a
name that is used here, `share` is None, and `fastml._jit` falls back to Numba's own ``prange``.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

LAUNCHER, THREADS, SHARE = "fastml_launcher", "fastml_threads", "fastml_share"
FIRST, LAST = "fastml_first", "fastml_last"


class NotOutlined(Exception):
    """A loop of the driver cannot be taken out of it."""


class Outlined(NamedTuple):
    """The functions that a driver became."""

    driver: ast.FunctionDef
    parts: list[ast.FunctionDef]


# ---------------------------------------------------------------------------- the syntax tree


def outlined(driver: ast.FunctionDef) -> Outlined:
    """The driver with a call of `share` in the place of each loop, and those loops as functions.

    The driver takes two arguments more, before its own: the address of the launcher of Numba's
    layer, or 0, and the number of threads.
    """
    given = driver.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults:
        raise NotOutlined(f"{driver.name} has arguments that are not plain")
    driver = copy.deepcopy(driver)
    driver.decorator_list, driver.returns = [], None
    outliner = _Outliner(driver)
    outliner.visit(driver)
    if not outliner.parts:
        raise NotOutlined(f"{driver.name} has no loop over prange")
    names = [LAUNCHER, THREADS, *(argument.arg for argument in driver.args.args)]
    driver.args = _function(driver.name, names).args
    for function in (driver, *outliner.parts):
        ast.fix_missing_locations(function)
    return Outlined(driver, outliner.parts)


class _Outliner(ast.NodeTransformer):
    def __init__(self, driver: ast.FunctionDef):
        self.driver = driver
        self.parts: list[ast.FunctionDef] = []
        self.parameters = {argument.arg for argument in driver.args.args}
        self.stored = self.parameters | set(_names([driver], ast.Store))

    def visit_For(self, loop: ast.For) -> ast.AST:
        if not _is_prange(loop.iter):
            return self.generic_visit(loop)
        assert isinstance(loop.iter, ast.Call)
        if not isinstance(loop.target, ast.Name) or len(loop.iter.args) != 1 or loop.orelse:
            raise NotOutlined(f"{self.driver.name}: a loop other than `for c in prange(n)`")
        if shared := self._used_elsewhere(loop):
            raise NotOutlined(f"{self.driver.name}: {shared} set in a loop and used outside")
        own = {loop.target.id, *_names(loop.body, ast.Store)}
        taken = sorted((set(_names(loop.body, ast.Load)) & self.stored) - own)
        part = _function(f"{self.driver.name}__part{len(self.parts)}", [FIRST, LAST, *taken])
        chunks = ast.parse(f"range({FIRST}, {LAST})", mode="eval").body
        part.body = [ast.copy_location(ast.For(loop.target, chunks, loop.body, []), loop)]
        self.parts.append(ast.copy_location(part, loop))
        tuple_of_taken = "(" + "".join(f"{name}," for name in taken) + ")"
        call = f"{SHARE}({LAUNCHER}, {THREADS}, None, {part.name}, {tuple_of_taken})"
        (statement,) = ast.parse(call).body
        assert isinstance(statement, ast.Expr)
        assert isinstance(statement.value, ast.Call)
        statement.value.args[2] = loop.iter.args[0]
        for node in ast.walk(statement):
            ast.copy_location(node, loop)
        return statement

    def _used_elsewhere(self, loop: ast.For) -> list[str]:
        """Names that the loop sets for others to read: sums over the loop, for instance."""
        own = set(_names(loop.body, ast.Store))
        inside = {id(node) for node in ast.walk(loop)}
        rest = (node for node in ast.walk(self.driver) if id(node) not in inside)
        outside = {node.id for node in rest if isinstance(node, ast.Name)}
        summed = {
            node.target.id
            for node in ast.walk(loop)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
        }
        return sorted((own & (outside | self.parameters)) | summed)


def _is_prange(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "prange"
    )


def _names(nodes: Iterable[ast.AST], context: type) -> Iterator[str]:
    for node in nodes:
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, context):
                yield each.id


def _function(name: str, arguments: list[str]) -> ast.FunctionDef:
    (function,) = ast.parse(f"def {name}({', '.join(arguments)}): pass").body
    assert isinstance(function, ast.FunctionDef)
    return function


def compiled(function: Any, tree: ast.FunctionDef, jit: Callable[[Any], Any]) -> Any:
    """The driver ``function`` of the syntax ``tree`` as one jitted function.

    ``jit(python_function)`` makes a kernel.
    """
    new = outlined(tree)
    scope = {**function.__globals__, SHARE: share}
    source = ast.Module([*new.parts, new.driver], [])
    exec(compile(source, function.__code__.co_filename, "exec", dont_inherit=True), scope)
    for part in new.parts:
        scope[part.name] = jit(scope[part.name])
    return jit(scope[new.driver.name])


# ---------------------------------------------------------------------------- the launch


def launcher() -> int:
    """The address of the function by which Numba's layer runs a function on its threads."""
    from numba.np.ufunc import parallel

    parallel._launch_threads()
    return _layer(parallel.threading_layer()).parallel_for


def _layer(name: str) -> Any:
    import importlib

    modules = {"tbb": "tbbpool", "omp": "omppool", "workqueue": "workqueue"}
    return importlib.import_module(f"numba.np.ufunc.{modules[name]}")


def _define_share() -> Any:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.core.callconv import errcode_t, excinfo_ptr_t
    from numba.extending import intrinsic
    from numba.np.ufunc import parallel

    assert parallel._launch_threads
    assert _layer("workqueue").parallel_for
    pointer = cgutils.voidptr_t
    N, SHARES, ERROR, EXCEPTION, TAKEN = range(5)  # fields of a job; what the part takes comes last

    @intrinsic
    def share(typingctx, launcher, n_threads, n, part, taken):
        """Call ``part(first, last, *taken)`` for shares of 0..n, on threads if there is a launcher.

        The layer is told of as many items as there are shares, and of one argument whose address
        is that of the job, plus one for each item: the difference is the number of the share.
        """
        given = (types.intp, types.intp, *map(types.unliteral, taken.types))
        if part.get_call_type(typingctx, given, {}) is None:
            return None
        signature = types.none(types.intp, types.intp, types.intp, part, taken)
        return signature, lambda *lowering: _lower(given, *lowering)

    def _lower(given, context, builder, signature, args):
        launcher, n_threads, n, _, taken = args
        intp = context.get_value_type(types.intp)
        values = [
            _borrowed(context, builder, type_, builder.extract_value(taken, i))
            for i, type_ in enumerate(given[2:])
        ]
        fields = [intp, intp, errcode_t, excinfo_ptr_t, *(value.type for value in values)]
        job_type = ir.LiteralStructType(fields)
        part = signature.args[3].dispatcher.overloads[given]
        task = _task(context, builder.module, part, job_type, len(values))

        job = cgutils.alloca_once(builder, job_type)
        place, count, step = (cgutils.alloca_once(builder, t) for t in (pointer, intp, intp))
        address = builder.bitcast(job, pointer)
        alone = builder.or_(
            builder.icmp_signed("==", launcher, intp(0)), builder.icmp_signed("<", n, intp(2))
        )
        n_shares = builder.select(alone, intp(1), n_threads)
        for i, value in enumerate((n, n_shares, errcode_t(0), excinfo_ptr_t(None), *values)):
            builder.store(value, cgutils.gep_inbounds(builder, job, 0, i))
        builder.store(address, place)
        builder.store(n_shares, count)
        builder.store(intp(1), step)
        with builder.if_else(alone) as (here, on_threads):
            with here:
                builder.call(task, [place, count, step, address])
            with on_threads:
                type_ = ir.FunctionType(ir.VoidType(), [pointer] * 5 + [intp] * 3)
                launch = builder.inttoptr(launcher, type_.as_pointer())
                given_to_it = [
                    builder.bitcast(each, pointer) for each in (task, place, count, step)
                ]
                sizes = [intp(0), intp(1), n_shares]  # inner dimensions, arguments, threads
                builder.call(launch, [*given_to_it, address, *sizes])
        error, exception = (
            builder.load(cgutils.gep_inbounds(builder, job, 0, i)) for i in (ERROR, EXCEPTION)
        )
        status = context.call_conv._get_return_status(builder, error, exception)
        with cgutils.if_unlikely(builder, status.is_error):  # of one of the threads that had one
            context.call_conv.return_status_propagate(builder, status)
        return context.get_dummy_value()

    def _borrowed(context, builder, type_, value):
        """``value`` with arrays that belong to nobody: the driver holds them while the loop runs.

        A kernel counts the references to an array whenever it takes it from a struct or makes a
        view of it. Threads that count in one place wait for each other, up to twice as long as the
        work itself takes; what has no owner is not counted.
        """
        if isinstance(type_, types.Array):
            array = context.make_array(type_)(context, builder, value)
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            return array._getvalue()
        if isinstance(type_, types.BaseTuple):
            for i, each in enumerate(type_):
                member = _borrowed(context, builder, each, builder.extract_value(value, i))
                value = builder.insert_value(value, member, i)
        return value

    def _task(context, module, part, job_type, n_taken):
        """``part`` as a layer calls it."""
        intp = context.get_value_type(types.intp)
        type_ = ir.FunctionType(
            ir.VoidType(), [pointer.as_pointer(), intp.as_pointer(), intp.as_pointer(), pointer]
        )
        task = ir.Function(module, type_, module.get_unique_name("fastml.task"))
        task.linkage = "internal"
        task.attributes.add("noinline")  # it is called at two places
        builder = ir.IRBuilder(task.append_basic_block("entry"))
        place, count, _, address = task.args
        job = builder.bitcast(address, job_type.as_pointer())

        def field(i):
            return builder.load(cgutils.gep_inbounds(builder, job, 0, i))

        n, n_shares = field(N), field(SHARES)
        begin = builder.sub(
            builder.ptrtoint(builder.load(place), intp), builder.ptrtoint(address, intp)
        )
        end = builder.add(begin, builder.load(count))
        first, last = (builder.sdiv(builder.mul(each, n), n_shares) for each in (begin, end))
        taken = [field(TAKEN + i) for i in range(n_taken)]
        context.add_linking_libs([part.library])
        called = context.declare_function(module, part.fndesc)
        status, _ = context.call_conv.call_function(
            builder, called, part.signature.return_type, part.signature.args, [first, last, *taken]
        )
        with cgutils.if_unlikely(builder, status.is_error):
            builder.store(status.code, cgutils.gep_inbounds(builder, job, 0, ERROR))
            builder.store(status.excinfoptr, cgutils.gep_inbounds(builder, job, 0, EXCEPTION))
        builder.ret_void()
        return task

    return share


def _make_share() -> Any:
    try:
        return _define_share()
    except Exception:  # any error means that this Numba works differently
        return None


share = _make_share()
