"""Passes by workers in other processes, wherever these were started.

The driver listens; workers connect, prove that they know its key, and wait. A pass sends its
function and model to each once, then numbers of blocks one by one; statistics come back and are
handed on in the order of the blocks. Blocks of a worker that is lost go to the others, whoever
connects late simply joins, and one worker alone would finish everything.
"""

from __future__ import annotations

import contextlib
import itertools
import pickle
import secrets
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any

from fastml._engines.spark_jobs import PASSED_ON
from fastml.blocks._run import BlockTask

TICK = 0.5
"""Seconds without a word from workers after which it is asked what has become of them."""

AHEAD = 2
"""Blocks that a worker has at a time: it does not wait for the next one, while there are many."""

MORE_THAN_NEEDED = 16
"""Results that may wait for one before them, at least; else four for each worker."""

CONNECT_SECONDS = 20.0


class _Worker:
    """A connection, and what its worker has been given."""

    def __init__(self, connection: Connection):
        self.connection = connection
        self.doing: list[tuple[int, int | None]] = []  # (pass, block), or None: asked for its sum
        self.knows: set[tuple[str, int]] = set()

    def send(self, *order: Any) -> None:
        self.connection.send_bytes(pickle.dumps(order, protocol=5))


class _Pass:
    """What is left of a pass, and what has come back."""

    def __init__(self, number: int, blocks: int, task: BlockTask, adds: bool, homes: dict):
        self.number, self.blocks, self.n = number, blocks, task.blocks.n_blocks
        self.packed = pickle.dumps((task.function, task.state), protocol=5)
        self.adds, self.homes = adds, homes
        self.left: dict[_Worker | None, deque[int]] = {}
        for block in range(self.n):
            self.left.setdefault(homes.get((blocks, block)), deque()).append(block)
        self.found: dict[int, tuple[str, Any]] = {}
        self.sums: list[tuple[int, tuple[str, Any]]] = []
        self.added: dict[_Worker, list[int]] = {}

    def take(self, worker: _Worker, limit: int) -> int | None:
        """A block for the worker: one that it had before, one that nobody had, one of another's.

        What a process has kept of a block would be lost to another: the last block that is left
        for a worker stays its own.
        """
        for owner in (worker, None):
            queue = self.left.get(owner)
            if queue and queue[0] < limit:
                return queue.popleft()
        rich = max(self.left.values(), key=len, default=deque())
        return rich.popleft() if len(rich) > 1 and rich[0] < limit else None

    def give_back(self, blocks: list[int]) -> None:
        self.left[None] = deque(sorted([*self.left.get(None, ()), *blocks]))

    def lose(self, worker: _Worker) -> None:
        """What the worker had or was to have is anybody's again."""
        lost = [b for p, b in worker.doing if p == self.number and b is not None]
        self.give_back([*lost, *self.left.pop(worker, ()), *self.added.pop(worker, ())])


class Workers:
    """Whoever connects to the address with the key does blocks of passes.

    ``watch(n_workers)`` is called when nothing was heard for a while, and may raise.
    """

    def __init__(self, bind: str, port: int, watch: Callable[[int], None]):
        self.key, self.watch = secrets.token_bytes(32), watch
        self._listener = _listening(bind, port)
        self.port: int = self._listener.getsockname()[1]
        self._wakes, self._woken = socket.socketpair()
        self._events = selectors.DefaultSelector()
        self._listener.setblocking(False)
        self._events.register(self._listener, selectors.EVENT_READ)
        self._events.register(self._woken, selectors.EVENT_READ)
        self._greeted: deque[_Worker] = deque()
        self._workers: list[_Worker] = []
        self._passes: dict[int, _Pass] = {}
        self._blocks: dict[int, tuple[Any, int, bytes]] = {}
        self._homes: dict[tuple[int, int], _Worker] = {}
        self._numbers = itertools.count()
        self._closed = False
        self.n_finished = 0

    # ------------------------------------------------------------------------ passes

    def results(self, task: BlockTask) -> Iterator[Any]:
        """What the task returns for every block, in their order."""
        own = self._begun(task, adds=False)
        try:
            for block in range(own.n):
                while block not in own.found:
                    self._hand_out(own, block)
                    if block not in own.found:
                        self._wait()
                self._hand_out(own, block + 1)  # nobody waits while this one is merged
                yield _value(own.found.pop(block))
            self.n_finished += 1
        finally:
            self._end(own)

    def sums(self, task: BlockTask) -> Iterator[Any]:
        """Sums of all blocks by `BlockTask.added`, one or more of each worker."""
        own, missing = self._begun(task, adds=True), task.blocks.n_blocks
        try:
            while missing:
                self._hand_out(own, own.n)
                self._wait()
                while own.sums:
                    n, found = own.sums.pop()
                    missing -= n
                    yield _value(found)
            self.n_finished += 1
        finally:
            self._end(own)

    def prepare(self, task: BlockTask) -> None:
        """Pack the blocks of the task: an error if they cannot be sent."""
        known = self._blocks.get(id(task.blocks))
        if known is None:
            packed = pickle.dumps(task.blocks, protocol=5)
            self._blocks[id(task.blocks)] = task.blocks, len(self._blocks), packed

    def _begun(self, task: BlockTask, adds: bool) -> _Pass:
        self.prepare(task)
        own = _Pass(next(self._numbers), self._blocks[id(task.blocks)][1], task, adds, self._homes)
        self._passes[own.number] = own
        return own

    def _end(self, own: _Pass) -> None:
        del self._passes[own.number]
        for worker in self._workers[:]:
            if ("pass", own.number) in worker.knows:
                worker.knows.discard(("pass", own.number))
                self._send(worker, "end", own.number)

    def _hand_out(self, own: _Pass, first: int) -> None:
        """Blocks to whoever has none; ``first`` is the one that is merged next."""
        n_left = sum(len(queue) for queue in own.left.values())
        limit = own.n if own.adds else first + max(MORE_THAN_NEEDED, 4 * len(self._workers))
        ahead = AHEAD if n_left >= 4 * len(self._workers) else 1
        for worker in self._workers[:]:
            if worker.doing and ("pass", own.number) not in worker.knows:
                continue  # it may be sending what an earlier pass asked for: both would wait
            while len(worker.doing) < ahead and (block := own.take(worker, limit)) is not None:
                worker.doing.append((own.number, block))
                self._homes[own.blocks, block] = worker
                order = "add" if own.adds else "do", own.number, block
                if not self._taught(worker, own) or not self._send(worker, *order):
                    break
            if own.adds and not worker.doing and own.added.get(worker):
                worker.doing.append((own.number, None))
                self._send(worker, "sum", own.number)

    def _taught(self, worker: _Worker, own: _Pass) -> bool:
        """Send what the worker needs to know for the pass, once."""
        if ("pass", own.number) in worker.knows:
            return True
        if ("blocks", own.blocks) not in worker.knows:
            packed = next(p for _, number, p in self._blocks.values() if number == own.blocks)
            worker.knows.add(("blocks", own.blocks))
            if not self._send(worker, "blocks", own.blocks, packed):
                return False
        worker.knows.add(("pass", own.number))
        return self._send(worker, "pass", own.number, own.blocks, own.packed)

    # ------------------------------------------------------------------------ workers

    def _send(self, worker: _Worker, *order: Any) -> bool:
        try:
            worker.send(*order)
            return True
        except OSError:
            self._lose(worker)
            return False

    def _wait(self) -> None:
        """Take in what has arrived; if nothing does for a while, see to the workers."""
        events = self._events.select(TICK)
        for key, _ in events:
            if isinstance(key.data, _Worker):
                self._heard(key.data)
            elif key.fileobj is self._listener:
                self._accept()
            else:
                self._woken.recv(4096)
        while self._greeted:
            worker = self._greeted.popleft()
            self._workers.append(worker)
            self._events.register(worker.connection, selectors.EVENT_READ, worker)
        if not events or not self._workers:
            self.watch(len(self._workers))

    def _heard(self, worker: _Worker) -> None:
        if worker not in self._workers:
            return
        try:
            number, block, n, found = pickle.loads(worker.connection.recv_bytes())
        except (EOFError, OSError):
            self._lose(worker)
            return
        worker.doing.remove((number, block))
        own = self._passes.get(number)
        if own is None:  # whoever wanted it has read enough
            return
        if block is None:
            own.added.pop(worker, None)
            own.sums.append((n, found))
        elif own.adds and found is None:
            own.added.setdefault(worker, []).append(block)
        elif own.adds:  # an error
            own.sums.append((0, found))
        else:
            own.found[block] = found

    def _lose(self, worker: _Worker) -> None:
        if worker not in self._workers:
            return
        self._workers.remove(worker)
        self._events.unregister(worker.connection)
        worker.connection.close()
        for key in [key for key, owner in self._homes.items() if owner is worker]:
            del self._homes[key]
        for own in self._passes.values():
            own.lose(worker)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            made, _ = self._listener.accept()
            made.setblocking(True)
            threading.Thread(target=self._greet, args=(made,), daemon=True).start()

    def _greet(self, made: socket.socket) -> None:
        """Whoever does not know the key is sent away; a thread, as this may take its time."""
        connection = _connection(made)
        try:
            deliver_challenge(connection, self.key)
            answer_challenge(connection, self.key)
            self._greeted.append(_Worker(connection))
            self.wake()
            if self._closed:
                connection.close()
        except Exception:
            connection.close()

    def wake(self) -> None:
        """Have `watch` called soon; from any thread."""
        with contextlib.suppress(OSError):
            self._wakes.send(b".")

    def close(self, gone: Callable[[], bool] = lambda: True, seconds: float = 0.0) -> None:
        """Send all workers home; also those that come now, until ``gone()`` or the time is over."""
        self._closed = True
        try:
            for worker in self._workers[:]:
                self._lose(worker)
            for worker in self._greeted:
                worker.connection.close()
            end = time.monotonic() + seconds
            while not gone() and (left := end - time.monotonic()) > 0:
                for key, _ in self._events.select(min(left, TICK)):
                    if key.fileobj is self._woken:
                        self._woken.recv(4096)
                    else:
                        with contextlib.suppress(OSError):
                            self._listener.accept()[0].close()
        finally:
            for each in (self._events, self._listener, self._wakes, self._woken):
                each.close()
            self._blocks = {}


def _value(found: tuple[str, Any]) -> Any:
    kind, value = found
    if kind == "error":
        raise value
    return value


def _listening(bind: str, port: int) -> socket.socket:
    """A server at the port or, if it is taken, one of the next fifteen; 0: any."""
    family = socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM)[0][0]
    for at in range(port, port + 16) if port else [0]:
        try:
            return socket.create_server((bind, at), family=family, backlog=1024)
        except OSError as error:
            told = error
    raise OSError(told.errno, f"no port for workers at {bind}, {port or 'any'}: {told.strerror}")


def _connection(made: socket.socket) -> Connection:
    """Small messages go at once; a host that vanishes is noticed within a minute or two."""
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return Connection(made.detach())


# ---------------------------------------------------------------------------- in the worker


def work_for(host: str, port: int, key: bytes) -> None:
    """Do blocks for the driver at the address until it closes the connection.

    Errors of the data are sent back: trying again would find the same. Those of `PASSED_ON` end
    the worker, so that whoever started it may start another.
    """
    connection = _connected(host, port, key)
    if connection is None:
        return
    with connection:
        known = _Orders()
        while True:
            try:
                order = pickle.loads(connection.recv_bytes())
            except (EOFError, OSError):
                return
            answer = known.done(*order)
            if answer is not None:
                try:
                    connection.send_bytes(answer)
                except OSError:
                    return


def _connected(host: str, port: int, key: bytes) -> Connection | None:
    """None: the driver has all that it wanted."""
    try:
        made = socket.create_connection((host, port), timeout=CONNECT_SECONDS)
    except OSError as error:
        raise ConnectionError(unreachable(host, port, error)) from error
    made.settimeout(None)
    connection = _connection(made)
    try:
        answer_challenge(connection, key)
        deliver_challenge(connection, key)
    except (OSError, EOFError):
        connection.close()
        return None
    return connection


def unreachable(host: str, port: int, error: Any) -> str:
    return (
        f"a worker cannot reach the driver at {host}:{port} ({error}): executors must be able to "
        "connect to spark.driver.host; spark.fastml.port fixes the port"
    )


class _Orders:
    """What a worker was told."""

    def __init__(self):
        self.packed: dict[int, bytes] = {}
        self.blocks: dict[int, Any] = {}
        self.passes: dict[int, Any] = {}
        self.sums: dict[int, tuple[int, Any]] = {}

    def done(self, what: str, number: int, *more: Any) -> bytes | None:
        """Follow an order; the answer, if it has one: (pass, block, number of blocks, found)."""
        if what == "blocks":
            self.packed[number] = more[0]
        elif what == "pass":
            self.passes[number] = more
        elif what == "end":
            self.passes.pop(number, None)
            self.sums.pop(number, None)
        elif what == "sum":
            n, into = self.sums.pop(number)
            return pickle.dumps((number, None, n, ("result", into)), protocol=5)
        elif what == "do":
            return self._did(number, more[0], adds=False)
        elif what == "add":
            return self._did(number, more[0], adds=True)
        return None

    def _did(self, number: int, block: int, adds: bool) -> bytes:
        try:
            task = self._task(number)
            if adds:
                n, into = self.sums.get(number, (0, None))
                self.sums[number] = n + 1, task.added(block, into)
                return pickle.dumps((number, block, 0, None), protocol=5)
            return pickle.dumps((number, block, 1, ("result", task(block))), protocol=5)
        except PASSED_ON:
            raise
        except Exception as error:
            return pickle.dumps((number, block, 0, ("error", _sendable(error))), protocol=5)

    def _task(self, number: int) -> BlockTask:
        found = self.passes[number]
        if not isinstance(found, BlockTask):
            blocks, packed = found
            if blocks not in self.blocks:  # files that have changed are found here
                self.blocks[blocks] = pickle.loads(self.packed[blocks])
            found = self.passes[number] = BlockTask(self.blocks[blocks], *pickle.loads(packed))
        return found


def _sendable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error, protocol=5))
        return error
    except Exception:  # an error of a class that cannot be sent
        return RuntimeError(f"{type(error).__name__}: {error}")
