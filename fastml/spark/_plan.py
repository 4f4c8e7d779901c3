"""Sizing on paper: executors, partitions, time, failures and money of a fit on a cluster.

Nothing here starts Spark, nor needs it installed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

GB = 1e9
BLOCK_ROWS = 65_536
HISTOGRAM = 256 * 3 * 8
"""Bytes of the histogram of one feature of a boosted node, and of the tile before it."""
SEARCH = 1.6e-6
"""Seconds of the driver to find the split of one feature of a boosted node."""
FOREST_HISTOGRAM = 256 * 3 * 8
FOREST_PASS = 1 << 27
"""Bytes of the histograms of one pass of a forest."""

RATES = {
    "kmeans": 3.3e-11,  # per row, column, centre and pass
    "logistic": 7.5e-10,  # per row, column, class and pass
    "linear": 2.6e-11,  # per row, squared column and pass
    "boosting": 6.4e-10,  # per row, column and level
    "forest": 2.6e-9,  # per row, drawn column, tree and level
}
"""Seconds of one core, measured with `docs/cluster.py --rates` on a machine of two cores."""


@dataclass(frozen=True)
class Workload:
    """What an algorithm does in a pass: seconds of one core per row, bytes of the model sent to
    each executor, bytes of the statistics that come back from each block; ``kept_bytes`` of a
    value that all passes but the first read, None: those of the data (trees keep bins)."""

    passes: int
    seconds_per_row: float
    model_bytes: float
    block_bytes: float
    kept_bytes: float | None = None
    merged: bool = False  # a worker sends one sum: whole numbers, whose order does not matter
    driver_seconds: float = 0.0  # that the driver works for a pass


def _kmeans(columns: int, *, clusters: int = 8, iterations: int = 10) -> Workload:
    size = 8.0 * clusters * (columns + 1)
    return Workload(iterations + 2, RATES["kmeans"] * columns * clusters, size, size)


def _logistic(columns: int, *, classes: int = 2, iterations: int = 10) -> Workload:
    weights = (columns + 1) * (1 if classes == 2 else classes)
    second = weights * weights if weights <= 1024 else 0.0
    return Workload(
        iterations + 3, RATES["logistic"] * columns * max(1, classes - 1), 8.0 * weights,
        8.0 * (weights + second),
    )  # fmt: skip


def _linear(columns: int) -> Workload:
    return Workload(2, RATES["linear"] * columns**2, 8.0 * columns, 8.0 * columns * (columns + 2))


def _boosting(columns: int, *, trees: int = 100, depth: int = 5, classes: int = 2) -> Workload:
    each = 1 if classes == 2 else classes
    passes = trees * (depth + 2)
    levels = trees * depth * each
    # The smaller child of every split is counted: half the nodes below the root, and the root.
    nodes = trees * each * (1 + (2 ** (depth - 1) - 1))
    return Workload(
        passes, RATES["boosting"] * columns * levels / passes, 40.0 * each * 2**depth * depth,
        HISTOGRAM * columns * nodes / passes, 2.0, True, SEARCH * columns * 2.0 * nodes / passes,
    )  # fmt: skip


def _forest(columns: int, *, trees: int = 100, depth: int = 8, drawn: int | None = None):
    drawn = max(1, int(math.sqrt(columns))) if drawn is None else drawn
    total = float(FOREST_HISTOGRAM) * drawn * trees * (2**depth - 1)
    passes = 2 + max(depth, math.ceil(total / FOREST_PASS))
    return Workload(
        passes, RATES["forest"] * drawn * trees * depth / passes, 48.0 * trees * 2**depth,
        total / passes, 1.0,
    )  # fmt: skip


ALGORITHMS: dict[str, Callable[..., Workload]] = {
    "kmeans": _kmeans,
    "logistic": _logistic,
    "linear": _linear,
    "boosting": _boosting,
    "forest": _forest,
}


@dataclass(frozen=True)
class ClusterPlan:
    """What `plan` found; printing it gives a table.

    ``seconds`` is the sum of ``parts`` (name → seconds of the whole fit), ``limit`` the largest of
    them; memory is in GB.
    """

    algorithm: str
    nodes: int
    executors: int
    executors_per_node: int
    executor_cores: int
    executor_memory: float
    slots: int
    blocks: int
    partitions: int
    passes: int
    data: float
    in_memory: bool
    parts: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    limit: str = ""
    failures_per_day: float = 0.0
    chance_of_failure: float = 0.0
    cost: float = 0.0

    @property
    def settings(self) -> dict[str, str]:
        """For ``SparkSession.builder.config``."""
        return {
            "spark.executor.instances": str(self.executors),
            "spark.executor.cores": str(self.executor_cores),
            "spark.executor.memory": f"{max(1, int(self.executor_memory * 1000))}m",
            "spark.default.parallelism": str(self.slots),
            "spark.task.cpus": "1",
        }

    def __str__(self) -> str:
        lines = [
            f"{self.algorithm}: {self.data:,.1f} GB in {self.blocks:,} blocks, "
            f"{'kept in memory' if self.in_memory else 'read from disk in every pass'}",
            f"{self.nodes:,} nodes, {self.executors:,} executors of {self.executor_cores} cores "
            f"and {self.executor_memory:.2f} GB, {self.slots:,} slots, "
            f"{self.partitions:,} partitions",
            f"{self.passes:,} passes, {self.seconds:,.1f} s, of which",
            *(f"  {name:<11}{value:10,.1f} s" for name, value in self.parts.items()),
            f"limited by: {self.limit}",
            f"failures a day {self.failures_per_day:.3g}, chance of one meanwhile "
            f"{self.chance_of_failure:.2%}; cost {self.cost:,.2f}",
        ]
        return "\n".join(lines)


def executors(
    nodes: int, cores: int, memory: float, kind: str = "balanced", *, reserved_cores: int = 1,
    reserved_memory: float = 1.0, overhead: float = 0.1, cores_each: int = 5,
) -> tuple[int, int, int, float]:  # fmt: skip
    """(executors, executors of a node, cores of each, GB of each).

    A node keeps ``reserved_cores`` and ``reserved_memory`` for its system. 'tiny': an executor per
    core; 'fat': one per node; 'balanced': ``cores_each`` cores. Of an executor's share of memory
    ``overhead`` is not its heap. Of several nodes' balanced executors one is the application
    master's.

    Examples
    --------
    >>> from fastml.spark._plan import executors
    >>> executors(10, 16, 64.0, overhead=0.07)  # (63 GB / 3) less 7 %
    (29, 3, 5, 19.53)
    >>> executors(10, 16, 64.0, "tiny", reserved_cores=0, reserved_memory=0.0, overhead=0.0)
    (160, 16, 1, 4.0)
    """
    usable = max(1, cores - reserved_cores)
    left = memory - reserved_memory
    if left <= 0.0:
        raise ValueError(f"memory={memory} GB leaves nothing beside {reserved_memory} GB")
    if kind == "tiny":
        per_node, each = usable, 1
    elif kind == "fat":
        per_node, each = 1, usable
    elif kind == "balanced":
        each = min(cores_each, usable)
        per_node = usable // each
    else:
        raise ValueError(f"executors must be 'tiny', 'fat' or 'balanced', got {kind!r}")
    total = nodes * per_node
    if kind == "balanced" and nodes > 1:
        total -= 1
    return total, per_node, each, round(left / per_node * (1.0 - overhead), 4)


def plan(
    rows,
    columns,
    algorithm="kmeans",
    nodes=1,
    cores=16,
    memory=64.0,
    *,
    kind="balanced",
    reserved_cores=1,
    reserved_memory=1.0,
    overhead=0.1,
    cores_each=5,
    value_bytes=8,
    cache_share=0.5,
    disk=0.5,
    network=1.25,
    job_seconds=0.3,
    tasks_per_second=1500.0,
    pass_seconds=0.002,
    block_seconds=5.5e-5,
    variation=0.1,
    mttf=1000.0,
    recovery=60.0,
    price=1.0,
    speed=1.0,
    **work,
):
    """What a fit on a cluster takes: executors, partitions, time, failures and money.

    A fit is one job, which takes a while to begin; its tasks are then handed blocks. A pass takes

    .. math:: w \\frac{n}{S} (1 + c \\sqrt{2 \\ln S}) + \\frac{D}{N b_d} + \\frac{m S}{b_n}
        + \\frac{B s}{b_n} + t_p + B t_b + t_d

    for n rows on S slots, w seconds of a core per row, the greatest of S times of relative
    deviation c in place of their mean; D bytes from the disks of N nodes where they exceed the
    memory; a model of m bytes to each slot; statistics of s bytes from each of B blocks, which
    all come to the driver, since they are merged in the order of the blocks (of whole numbers one
    sum a slot); a message to a block and back, and what the driver works itself. A day has N / MTTF
    failures; each costs ``recovery`` seconds and a pass.

    Parameters
    ----------
    rows, columns : int
        Of the data.
    algorithm : {'kmeans', 'logistic', 'linear', 'boosting', 'forest'}, default='kmeans'
        Its own sizes are keywords: ``clusters`` and ``iterations``; ``classes`` and ``iterations``;
        none; ``trees``, ``depth`` and ``classes``; ``trees``, ``depth`` and ``drawn``.
    nodes, cores : int, default=1 and 16
        Machines, and cores of each.
    memory : float, default=64.0
        GB of each.
    kind : {'balanced', 'tiny', 'fat'}, default='balanced'
        Executors of ``cores_each`` cores, of one core, or one per node.
    reserved_cores, reserved_memory : int and float, default=1 and 1.0
        What every node keeps for its system.
    overhead : float, default=0.1
        Share of an executor's memory beside its heap.
    cores_each : int, default=5
        Cores of a balanced executor.
    value_bytes : int, default=8
        Of a number.
    cache_share : float, default=0.5
        Share of the memory that keeps blocks from pass to pass (the system's page cache).
    disk, network : float, default=0.5 and 1.25
        GB a second of a node's disk, and of its network.
    job_seconds : float, default=0.3
        To begin and to end the job of a fit.
    tasks_per_second : float, default=1500
        That the driver can start.
    pass_seconds : float, default=0.002
        From the end of a pass to the first work of the next.
    block_seconds : float, default=5.5e-5
        Of the driver, to hand out a block and to take what comes back.
    variation : float, default=0.1
        Standard deviation of the time of equal tasks, over their mean.
    mttf : float, default=1000
        Mean time to failure of a node, in days.
    recovery : float, default=60.0
        Seconds until a lost node's work is begun again.
    price : float, default=1.0
        Of a node and hour.
    speed : float, default=1.0
        Of a core, beside those that the rates were measured on.
    **work
        Sizes of the algorithm.

    Returns
    -------
    plan : ClusterPlan
        Print it, or read its attributes; ``plan.settings`` are Spark's.

    Examples
    --------
    >>> from fastml.spark import plan
    >>> found = plan(1_000_000_000, 20, "kmeans", nodes=10, clusters=100, iterations=20)
    >>> found.executors, found.executor_cores, found.slots, found.in_memory
    (29, 5, 145, True)
    >>> found.limit
    'disk'
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {sorted(ALGORITHMS)}, got {algorithm!r}")
    positive = {
        "rows": rows, "columns": columns, "nodes": nodes, "cores": cores, "memory": memory,
        "disk": disk, "network": network, "mttf": mttf, "speed": speed, "cores_each": cores_each,
        "tasks_per_second": tasks_per_second, "value_bytes": value_bytes,
    }  # fmt: skip
    for name, value in positive.items():
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value}")
    try:
        does = ALGORITHMS[algorithm](int(columns), **work)
    except TypeError as error:
        raise TypeError(f"{algorithm} takes no such size: {error}") from None
    n_executors, per_node, each, heap = executors(
        nodes, cores, memory, kind, reserved_cores=reserved_cores,
        reserved_memory=reserved_memory, overhead=overhead, cores_each=cores_each,
    )  # fmt: skip
    blocks = math.ceil(rows / BLOCK_ROWS)
    slots = n_executors * each
    used = min(slots, blocks)  # a block is one task's
    data = rows * columns * value_bytes / GB
    kept = data if does.kept_bytes is None else data / value_bytes * does.kept_bytes
    in_memory = kept <= cache_share * nodes * memory

    # Rows of the busiest slot.
    fullest = math.ceil(blocks / used) * min(BLOCK_ROWS, rows)
    mean = does.seconds_per_row * fullest / speed
    wire = network * GB if nodes > 1 else 4.0 * GB  # one machine: between its processes
    one = {
        "work": mean,
        "stragglers": mean * variation * math.sqrt(2.0 * math.log(used)),
        "disk": 0.0 if in_memory else kept / (nodes * disk),
        "model": does.model_bytes * used / wire,
        "statistics": (used if does.merged else blocks) * does.block_bytes / wire,
        "messages": pass_seconds + blocks * block_seconds,
        "driver": does.driver_seconds / speed,
    }
    parts = {name: does.passes * value for name, value in one.items()}
    parts["job"] = job_seconds + used / tasks_per_second
    parts["disk"] += (data if does.kept_bytes is not None or in_memory else 0.0) / (nodes * disk)
    seconds = sum(parts.values())
    per_day = nodes / mttf
    expected = per_day * seconds / 86_400.0
    parts["failures"] = expected * (recovery + sum(one.values()))
    seconds += parts["failures"]
    return ClusterPlan(
        algorithm=algorithm, nodes=nodes, executors=n_executors, executors_per_node=per_node,
        executor_cores=each, executor_memory=heap, slots=slots, blocks=blocks,
        partitions=used, passes=does.passes, data=data, in_memory=in_memory, parts=parts,
        seconds=seconds, limit=max(parts, key=lambda name: parts[name]),
        failures_per_day=per_day,
        chance_of_failure=1.0 - (1.0 - min(1.0, 1.0 / mttf)) ** (nodes * seconds / 86_400.0),
        cost=nodes * seconds / 3600.0 * price,
    )  # fmt: skip
