"""Where tasks run: in this process, in several, on Spark. All give the same."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

from fastml.mapreduce._tasks import Job, MappedSplit, map_split, reduce_partition


class Finished(NamedTuple):
    splits: list[MappedSplit]  # on Spark without their buckets
    outputs: list[list]  # of the partitions


def refuse_combiner(splits: Sequence[MappedSplit]) -> None:
    for split in splits:
        if split.wrong is not None:
            raise ValueError(split.wrong)


def locally(job: Job, splits: list[Sequence]) -> Finished:
    mapped = []
    for split in splits:
        mapped.append(map_split(job, split))
        refuse_combiner(mapped[-1:])
    parts = range(job.n_partitions)
    return Finished(mapped, [reduce_partition(job, [m.buckets[p] for m in mapped]) for p in parts])


# ---------------------------------------------------------------------------- processes


def in_processes(job: Job, splits: list[Sequence], n_workers: int) -> Finished:
    stored = _pickled_job(job)
    context = multiprocessing.get_context("spawn")  # forks of threaded processes may hang
    with ProcessPoolExecutor(max(1, min(n_workers, len(splits))), mp_context=context) as pool:
        mapped = _all(pool, map_split, stored, [pickle.dumps(split) for split in splits])
        refuse_combiner(mapped)
        buckets = [[m.buckets[p] for m in mapped] for p in range(job.n_partitions)]
        outputs = _all(pool, reduce_partition, stored, [pickle.dumps(b) for b in buckets])
    return Finished(mapped, outputs)


def _pickled_job(job: Job) -> bytes:
    for name, function in zip(job._fields[:4], job[:4]):
        try:
            pickle.dumps(function)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise TypeError(
                f"{name}={function!r} cannot be sent to another process: it must be a function at "
                f"the top of a module, no lambda and none within another function ({error})"
            ) from error
    return pickle.dumps(job)


def _all(pool, task: Callable, job: bytes, parts: list[bytes]) -> list:
    futures = [pool.submit(_unpickled, task, job, part) for part in parts]
    try:
        return [future.result() for future in futures]
    except BrokenProcessPool as error:
        raise RuntimeError(
            "a process ended before its task: it was killed, or the program that calls run(on="
            '"processes") does so on import; put the call below `if __name__ == "__main__":`'
        ) from error
    except BaseException:
        pool.shutdown(wait=True, cancel_futures=True)
        raise


def _unpickled(task: Callable, job: bytes, part: bytes) -> Any:
    """Unpickled here: an error within a pool's own unpickling would end the process."""
    try:
        functions = pickle.loads(job)
    except AttributeError as error:
        raise TypeError(
            f"a process cannot import a function ({error}): put it into a module of its own"
        ) from None
    return task(functions, pickle.loads(part))


# ---------------------------------------------------------------------------- Spark


def on_spark(job: Job, splits: list[Sequence], session: Any) -> Finished:
    """One stage of map tasks, Spark's shuffle, one stage of reduce tasks."""
    if not splits:
        return locally(job, splits)
    numbered = session.sparkContext.parallelize(list(enumerate(splits)), len(splits))
    mapped = numbered.map(lambda part: (part[0], map_split(job, part[1]))).cache()
    try:
        told = mapped.map(lambda part: part[1]._replace(buckets=[])).collect()
        refuse_combiner(told)
        sent = mapped.flatMap(
            lambda part: [(p, (part[0], bucket)) for p, bucket in enumerate(part[1].buckets)]
        ).partitionBy(job.n_partitions, int)

        def reduced(p, pairs):
            buckets = [bucket for _, bucket in sorted(pair for _, pair in pairs)]
            return [(p, reduce_partition(job, buckets))]

        return Finished(told, [out for _, out in sent.mapPartitionsWithIndex(reduced).collect()])
    finally:
        mapped.unpersist()
