"""Passes over blocks by Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

from fastml._engines.spark_jobs import PASSED_ON, failure, need_session, sent
from fastml.blocks._run import BlockTask

BLOCKS_PER_JOB = 4096
"""Results of so many blocks are in the driver's memory at a time."""


class SparkExecutor:
    """Blocks on the workers of Spark: each pass sends the model, and statistics come back.

    Workers read the blocks themselves, so their files must be where workers find them: on this
    machine with ``local[...]``, in a folder that all nodes share on a cluster. Statistics are
    merged in the order of the blocks: the model has the same bits as without Spark, whatever the
    number of partitions, and if workers die and their work is done again.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
    n_partitions : int, default=None
        Tasks of a pass; None: one for each slot of the cluster, two if there are blocks enough.

    Examples
    --------
    >>> from fastml.blocks import Blocks, SparkExecutor, fit
    >>> from fastml.cluster import KMeans
    >>> def fitted(spark, path):
    ...     blocks = Blocks.from_parquet(path)
    ...     return fit(KMeans(8), blocks, executor=SparkExecutor(spark))
    """

    def __init__(self, spark, n_partitions=None):
        self.spark, self.n_partitions = spark, n_partitions

    def run(self, task: BlockTask) -> Iterator[Any]:
        """What the task returns for every block, in their order."""
        context, n_blocks = need_session(self.spark), task.blocks.n_blocks
        work = sent(results_of, pickle.dumps(task, protocol=5))
        for begin in range(0, n_blocks, BLOCKS_PER_JOB):
            numbers = range(begin, min(begin + BLOCKS_PER_JOB, n_blocks))
            n_tasks = min(len(numbers), self._n_tasks(context, len(numbers)))
            found = collected(context.parallelize(numbers, n_tasks).mapPartitions(work))
            if [number for number, _ in found] != list(numbers):
                raise RuntimeError("Spark returned other blocks than it was asked for")
            for _, packed in found:
                kind, value = pickle.loads(packed)
                if kind == "error":
                    raise value
                yield value

    def run_sums(self, task: BlockTask) -> Iterator[Any]:
        """Sums of all blocks by `BlockTask.added`, one of each partition."""
        context, n_blocks = need_session(self.spark), task.blocks.n_blocks
        work = sent(sum_of, pickle.dumps(task, protocol=5))
        n_tasks = min(n_blocks, self._n_tasks(context, n_blocks))
        found = collected(context.parallelize(range(n_blocks), n_tasks).mapPartitions(work))
        if [number for numbers, _ in found for number in numbers] != list(range(n_blocks)):
            raise RuntimeError("Spark returned other blocks than it was asked for")
        for _, packed in found:
            kind, value = pickle.loads(packed)
            if kind == "error":
                raise value
            yield value

    def _n_tasks(self, context, n_blocks: int) -> int:
        if self.n_partitions is not None:
            if self.n_partitions < 1:
                raise ValueError(f"n_partitions must be at least 1, got {self.n_partitions}")
            return int(self.n_partitions)
        cores = int(context.getConf().get("spark.task.cpus", "1"))
        slots = max(1, context.defaultParallelism // cores)
        return slots if n_blocks < 16 * slots else 2 * slots


def collected(rdd) -> list:
    """``rdd.collect()``; if Spark gives up, an error with what the worker said."""
    try:
        return rdd.collect()
    except Exception as error:
        raise failure(error) from error


def results_of(numbers: Iterator[int], packed: bytes) -> Iterator[tuple[int, bytes]]:
    """(number, packed result) of each block; errors of the data are results, too.

    They come back whole and at once: trying again would find the same. So do those of files that
    have changed, which are found when the task is unpacked.
    """
    task: BlockTask | None = None
    for number in list(numbers):
        found: tuple[str, Any]
        try:
            if task is None:
                task = pickle.loads(packed)
            found = "result", task(number)
        except PASSED_ON:
            raise
        except Exception as error:
            yield number, _packed_error(error)
            continue
        yield number, pickle.dumps(found, protocol=5)


def sum_of(numbers: Iterator[int], packed: bytes) -> Iterator[tuple[list[int], bytes]]:
    """(numbers, packed sum) of the blocks of a partition; errors as in `results_of`."""
    here = list(numbers)
    if not here:
        return
    try:
        task: BlockTask = pickle.loads(packed)
        into = None
        for number in here:
            into = task.added(number, into)
        found = pickle.dumps(("result", into), protocol=5)
    except PASSED_ON:
        raise
    except Exception as error:
        found = _packed_error(error)
    yield here, found


def _packed_error(error: Exception) -> bytes:
    try:
        packed = pickle.dumps(("error", error), protocol=5)
        pickle.loads(packed)
        return packed
    except Exception:  # an error of a class that cannot be sent
        return pickle.dumps(("error", RuntimeError(f"{type(error).__name__}: {error}")))
