"""Passes over blocks by Spark."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from fastml._engines.spark_jobs import failure, need_session, sent
from fastml.blocks._run import BlockTask
from fastml.blocks._workers import Workers, unreachable, work_for

UNREACHED_SECONDS = 90.0
"""So long tasks may run without one of them having connected."""

ENDING_SECONDS = 5.0
"""So long tasks have to end by themselves before they are cancelled."""


class SparkExecutor:
    """Blocks on the workers of Spark: a pass sends the model, and statistics come back.

    A fit is one job of Spark, whose tasks connect to the driver and are handed the blocks of one
    pass after the other; so a pass costs milliseconds, not a job. Workers read the blocks
    themselves, so their files must be where workers find them: on this machine with
    ``local[...]``, in a folder that all nodes share on a cluster. Statistics are merged in the
    order of the blocks: the model has the same bits as without Spark, whatever the number of
    workers, and if workers die and their work is done again.

    Executors connect to ``spark.driver.host`` at a free port, or at the one that the setting
    ``spark.fastml.port`` names (or one of the fifteen after it). Both sides prove that they know a
    key made for the session; what they say is not encrypted.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
    n_partitions : int, default=None
        Tasks of the job; None: one for each slot of the cluster. They hold their slots until the
        fit ends.

    Notes
    -----
    Each call of `fit`, `predict`, ... is a session of its own. ``with SparkExecutor(spark) as
    executor:`` keeps one for all calls inside; its slots are taken as long.

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
        self._sessions: dict[int, _Session] = {}

    def __enter__(self) -> SparkExecutor:
        self._entered()
        return self

    def __exit__(self, *error: Any) -> None:
        self._left(self._sessions[threading.get_ident()])

    def _entered(self) -> _Session:
        """This thread's session, used by one more."""
        owner = threading.get_ident()
        if owner not in self._sessions:
            self._sessions[owner] = _Session(self, owner)
        session = self._sessions[owner]
        session.users += 1
        return session

    def _left(self, session: _Session) -> None:
        session.users -= 1
        if not session.users:
            self._sessions.pop(session.owner, None)
            session.close()

    def run(self, task: BlockTask) -> Iterator[Any]:
        """What the task returns for every block, in their order."""
        session = self._entered()
        try:
            yield from session.workers_for(task).results(task)
        finally:
            self._left(session)

    def run_sums(self, task: BlockTask) -> Iterator[Any]:
        """Sums of all blocks by `BlockTask.added`, one or more of each worker."""
        session = self._entered()
        try:
            yield from session.workers_for(task).sums(task)
        finally:
            self._left(session)

    def _n_tasks(self, context) -> int:
        if self.n_partitions is not None:
            if self.n_partitions < 1:
                raise ValueError(f"n_partitions must be at least 1, got {self.n_partitions}")
            return int(self.n_partitions)
        cores = int(context.getConf().get("spark.task.cpus", "1"))
        return max(1, context.defaultParallelism // cores)


class _Session:
    """Workers of one fit, and the job that they are tasks of; both begin with the first pass."""

    def __init__(self, executor: SparkExecutor, owner: int):
        self.executor, self.owner, self.users = executor, owner, 0
        self.workers: Workers | None = None
        self.job: _Job | None = None

    def workers_for(self, task: BlockTask) -> Workers:
        if self.workers is None:
            context = need_session(self.executor.spark)
            n_tasks = min(self.executor._n_tasks(context), task.blocks.n_blocks)
            conf = context.getConf()
            host = conf.get("spark.driver.host", "localhost")
            bind = conf.get("spark.driver.bindAddress", host)
            workers = Workers(bind, int(conf.get("spark.fastml.port", "0")), self._watch)
            try:
                workers.prepare(task)
                self.job = _Job(context, n_tasks, (host, workers.port, workers.key), workers.wake)
            except BaseException:
                workers.close()
                raise
            self.workers = workers
        return self.workers

    def _watch(self, n_workers: int) -> None:
        """An error if there will be no more workers.

        If tasks died too often in a job that has finished a pass, another one is begun.
        """
        job, workers = self.job, self.workers
        assert job is not None
        assert workers is not None
        if job.ended:
            if n_workers:
                return
            if not workers.n_finished:
                raise job.failure()
            workers.n_finished = 0
            self.job = job.again(workers.wake)
        elif n_workers:
            job.waited_since = None
        elif job.unreached():
            host, port, _ = job.address
            raise RuntimeError(
                unreachable(host, port, f"none did within {UNREACHED_SECONDS:g} seconds")
            )

    def close(self) -> None:
        """Leave nothing behind: tasks end as their connections do, else they are cancelled."""
        if self.workers is None or self.job is None:
            return
        try:
            self.workers.close(lambda: self.job is None or self.job.ended, ENDING_SECONDS)
        finally:
            self.job.end()


class _Job:
    """A job of Spark whose tasks work for the driver at the address."""

    def __init__(self, context, n_tasks: int, address: tuple, ended: Callable[[], None]):
        from pyspark import InheritableThread

        self.context, self.n_tasks, self.address = context, n_tasks, address
        self.group = f"fastml-{uuid.uuid4().hex}"
        self.error: Exception | None = None
        self.ended = False
        self.waited_since: float | None = None
        self._tell = ended
        self._thread = InheritableThread(target=self._run, daemon=True)
        self._thread.start()

    def again(self, ended: Callable[[], None]) -> _Job:
        return _Job(self.context, self.n_tasks, self.address, ended)

    def _run(self) -> None:
        try:
            self.context.setJobGroup(self.group, "fastml: passes over blocks")
            tasks = self.context.parallelize(range(self.n_tasks), self.n_tasks)
            tasks.mapPartitions(sent(worker_task, *self.address)).collect()
        except Exception as error:
            self.error = error
        finally:
            self.ended = True
            self._tell()

    def failure(self) -> Exception:
        """Why there are no workers any more."""
        return failure(self.error or RuntimeError("the tasks have ended"))

    def unreached(self) -> bool:
        """Whether tasks have run for long and none is heard of; those that wait may wait."""
        if not self._n_running():
            self.waited_since = None
        elif self.waited_since is None:
            self.waited_since = time.monotonic()
        return (
            self.waited_since is not None
            and time.monotonic() - self.waited_since > UNREACHED_SECONDS
        )

    def _n_running(self) -> int:
        tracker, n_running = self.context.statusTracker(), 0
        for job in tracker.getJobIdsForGroup(self.group):
            for stage in getattr(tracker.getJobInfo(job), "stageIds", ()):
                n_running += getattr(tracker.getStageInfo(stage), "numActiveTasks", 0)
        return n_running

    def end(self) -> None:
        if not self.ended:
            with contextlib.suppress(Exception):  # Spark itself may have been stopped
                self.context.cancelJobGroup(self.group)
            self._thread.join(ENDING_SECONDS)


def worker_task(items: Iterator, host: str, port: int, key: bytes) -> Iterator:
    """A task of the job; it returns nothing: all was said to the driver."""
    for _ in items:
        pass
    work_for(host, port, key)
    return iter(())
