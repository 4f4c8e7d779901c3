"""Workers that connect to the driver: the same results for any number, order and loss of them."""

import socket
import threading
from multiprocessing import AuthenticationError

import numpy as np
import pytest

from fastml.blocks import Blocks
from fastml.blocks._run import BlockTask
from fastml.blocks._workers import Workers, work_for

N_BLOCKS = 23


@pytest.fixture
def blocks(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "X.npy", rng.normal(size=(N_BLOCKS * 10 - 3, 2)) ** 5)
    return Blocks.from_npy(str(tmp_path / "X.npy"), block_rows=10)


class Crew:
    """Workers as threads of this process; more are started when there are too few."""

    def __init__(self, n):
        self.n, self.threads, self.ends, self.asked = n, [], [], 0
        self.workers = Workers("127.0.0.1", 0, self.watch)

    def watch(self, n_workers):
        self.asked += 1
        if n_workers < self.n and sum(t.is_alive() for t in self.threads) < self.n:
            self.start()

    def start(self):
        thread = threading.Thread(target=self.worker, daemon=True)
        self.threads.append(thread)
        thread.start()

    def worker(self):
        try:
            work_for("127.0.0.1", self.workers.port, self.workers.key)
            self.ends.append(None)
        except Exception as error:
            self.ends.append(error)
        self.workers.wake()

    def __enter__(self):
        for _ in range(self.n):
            self.start()
        return self.workers

    def __exit__(self, *error):
        self.workers.close()
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive()


def block_sum(block, factor):
    return block.number, factor * block.X.sum(axis=0)


def add_rows(block, into):
    return (0 if into is None else into) + len(block.X)


def merged(workers, blocks, factor=0.1):
    total = np.zeros(2)
    for place, (number, found) in enumerate(
        workers.results(BlockTask(blocks, block_sum, (factor,)))
    ):
        assert number == place
        total += found
    return total.tobytes()


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_the_same_bits_for_any_number_of_workers(blocks, n):
    here = np.zeros(2)
    for block in blocks:
        here += block_sum(block, 0.1)[1]
    with Crew(n) as workers:
        for _ in range(3):
            assert merged(workers, blocks) == here.tobytes()
        assert sum(workers.sums(BlockTask(blocks, add_rows, ()))) == blocks.n_rows


class Lossy:
    """Rows whose readers are lost ``times`` times, at a certain block."""

    def __init__(self, source, counter, times):
        self.source, self.counter, self.times = source, counter, times
        self.n_rows = source.n_rows

    def read(self, first, last):
        if first == 70:
            with open(self.counter, "ab") as file:
                file.write(b".")
                if file.tell() <= self.times:
                    raise OSError("the worker is lost")
        return self.source.read(first, last)


@pytest.mark.parametrize("what", ["results", "sums"])
def test_what_a_lost_worker_had_is_done_by_others(blocks, tmp_path, what):
    lossy = Blocks(Lossy(blocks.source, str(tmp_path / "n"), 3), 10)
    crew = Crew(2)
    with crew as workers:
        if what == "results":
            assert merged(workers, lossy) == merged(workers, blocks)
        else:
            assert sum(workers.sums(BlockTask(lossy, add_rows, ()))) == blocks.n_rows
    assert sum(isinstance(end, OSError) for end in crew.ends) == 3
    assert len(crew.threads) > 2


def test_a_late_worker_joins(blocks):
    crew = Crew(1)
    with crew as workers:
        alone = merged(workers, blocks)
        assert len(set(workers._homes.values())) == 1
        crew.start()
        for _ in range(10_000):
            assert merged(workers, blocks) == alone
            if len(set(workers._homes.values())) == 2:
                break
        else:
            raise AssertionError("it was given nothing to do")


def test_a_worker_gets_the_blocks_that_it_had(blocks):
    with Crew(3) as workers:
        merged(workers, blocks)
        before = dict(workers._homes)
        for _ in range(4):
            merged(workers, blocks)
        same = sum(workers._homes[key] is owner for key, owner in before.items())
    assert same > 0.5 * N_BLOCKS


def test_passes_inside_passes_and_passes_left_early(blocks):
    with Crew(2) as workers:
        alone = merged(workers, blocks)
        outer = workers.results(BlockTask(blocks, block_sum, (1.0,)))
        for number, _ in zip(range(5), outer):
            assert merged(workers, blocks) == alone, number
        outer.close()
        assert merged(workers, blocks) == alone
        assert sum(workers.sums(BlockTask(blocks, add_rows, ()))) == blocks.n_rows


def refuse(block, into=None):
    if block.number in (5, 9):
        raise ValueError(f"block {block.number} is bad")
    return block.number


def large_result(block, model):
    return np.full(5_000_000, block.number + len(model))


def test_large_answers_and_large_models_do_not_meet(blocks):
    """A worker that sends what a pass left early asked for does not read the next pass's model."""
    model = bytes(40_000_000)  # more than the buffers of a connection hold
    with Crew(1) as workers:
        left_early = workers.results(BlockTask(blocks, large_result, (b"",)))
        assert next(left_early)[0] == 0
        workers._wait()  # one answer more: while the next is sent, the worker has one to do
        left_early.close()
        again = workers.results(BlockTask(blocks, large_result, (model,)))
        found = [next(again)[0] for _ in range(3)]
        again.close()
    assert found == [len(model) + i for i in range(3)]


def test_errors_of_the_data_come_back_in_the_order_of_the_blocks(blocks):
    crew = Crew(2)
    with crew as workers:
        with pytest.raises(ValueError, match="block 5 is bad"):
            list(workers.results(BlockTask(blocks, refuse, ())))
        with pytest.raises(ValueError, match="is bad"):
            list(workers.sums(BlockTask(blocks, refuse, ())))
        merged(workers, blocks)
    assert crew.ends == [None, None]


def test_whoever_does_not_know_the_key_is_sent_away(blocks):
    with Crew(1) as workers:
        told = []

        def stranger():
            try:
                work_for("127.0.0.1", workers.port, b"guess")
            except AuthenticationError as error:
                told.append(error)

        thread = threading.Thread(target=stranger, daemon=True)
        with socket.create_connection(("127.0.0.1", workers.port)):  # says nothing
            thread.start()
            while not told:
                merged(workers, blocks)
            thread.join()
            assert len(workers._workers) == 1


def test_late_workers_are_sent_home_until_all_are_gone(blocks):
    crew = Crew(1)
    with crew as workers:
        merged(workers, blocks)
        crew.start()
        workers.close(lambda: len(crew.ends) == 2, 10.0)
    assert crew.ends == [None, None]


def test_a_driver_out_of_reach_is_named():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ConnectionError, match=rf"127\.0\.0\.1:{port} .*spark\.driver\.host"):
        work_for("127.0.0.1", port, b"key")


def test_a_fixed_port_or_one_of_the_next(blocks):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        workers = Workers("127.0.0.1", port, lambda n: None)
        assert port < workers.port < port + 16
        workers.close()
