"""Sizing on paper: worked examples, and what the terms must do."""

import math

import pytest

from fastml.spark._plan import ALGORITHMS, executors, plan


def test_executors_of_the_worked_example():
    # 10 nodes of 16 cores and 64 GB; one core and 1 GB of each are the system's.
    assert executors(10, 16, 64.0, overhead=0.07) == (29, 3, 5, 19.53)
    nothing_kept = {"reserved_cores": 0, "reserved_memory": 0.0, "overhead": 0.0}
    assert executors(10, 16, 64.0, "tiny", **nothing_kept) == (160, 16, 1, 4.0)
    assert executors(10, 16, 64.0, "fat", overhead=0.0) == (10, 1, 15, 63.0)
    assert executors(1, 2, 8.0, reserved_cores=0, reserved_memory=0.0, overhead=0.0) == (
        1, 1, 2, 8.0,
    )  # fmt: skip
    assert executors(3, 1, 2.0, overhead=0.0) == (2, 1, 1, 1.0)  # a node of one core keeps none
    with pytest.raises(ValueError, match="leaves nothing"):
        executors(1, 4, 1.0)
    with pytest.raises(ValueError, match="'tiny', 'fat' or 'balanced'"):
        executors(1, 4, 8.0, "huge")


def test_failures_are_nodes_over_the_mean_time():
    found = plan(10**6, 10, nodes=1000, mttf=1000.0)
    assert found.failures_per_day == 1.0
    a_day = plan(10**6, 10, nodes=500, mttf=1000.0).failures_per_day
    assert a_day == 0.5
    assert 0.0 < found.chance_of_failure < 1.0
    assert found.chance_of_failure == pytest.approx(
        1.0 - (1.0 - 1e-3) ** (1000 * found.seconds / 86_400)
    )


def test_terms_by_hand():
    # One slot, one block, no disk, nothing sent: work and jobs only.
    found = plan(
        60_000, 10, "kmeans", cores=1, memory=8.0, clusters=5, iterations=4, disk=1e9,
        tasks_per_second=1e12, job_seconds=0.5, pass_seconds=0.25, block_seconds=0.125,
    )  # fmt: skip
    assert found.slots == found.blocks == found.partitions == 1
    assert found.passes == 6
    does = ALGORITHMS["kmeans"](10, clusters=5, iterations=4)
    assert found.parts["work"] == pytest.approx(6 * 60_000 * does.seconds_per_row)
    assert found.parts["stragglers"] == 0.0
    assert found.parts["job"] == pytest.approx(0.5)  # one for all passes
    assert found.parts["messages"] == pytest.approx(6 * 0.375)
    assert found.seconds == pytest.approx(sum(found.parts.values()))
    assert found.cost == pytest.approx(found.seconds / 3600.0)
    assert found.limit == "messages"
    twice = plan(60_000, 10, "kmeans", cores=1, memory=8.0, clusters=5, iterations=4, speed=2.0)
    assert twice.parts["work"] == pytest.approx(found.parts["work"] / 2.0)


def test_stragglers_grow_with_the_slots():
    few, many = (plan(10**8, 20, nodes=n, variation=0.2) for n in (2, 40))
    for found in (few, many):
        share = found.parts["stragglers"] / found.parts["work"]
        assert share == pytest.approx(0.2 * math.sqrt(2.0 * math.log(min(found.slots, 1526))))


def test_memory_decides_what_is_read():
    small = plan(10**9, 20, nodes=2)
    large = plan(10**9, 20, nodes=10)
    assert not small.in_memory
    assert large.in_memory
    assert small.parts["disk"] == pytest.approx(small.passes * 160.0 / (2 * 0.5))
    assert large.parts["disk"] == pytest.approx(160.0 / (10 * 0.5))
    assert plan(10**9, 20, "boosting", nodes=2).in_memory  # bins take a quarter


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_algorithm_from_one_to_a_thousand_nodes(algorithm):
    last = math.inf
    for nodes in (1, 10, 100, 1000):
        found = plan(10**9, 20, algorithm, nodes=nodes)
        assert found.parts["work"] <= last
        last = found.parts["work"]
        assert all(value >= 0.0 for value in found.parts.values())
        assert found.limit in str(found)
        assert found.settings["spark.executor.cores"] == "5"
    assert plan(1, 1, algorithm).blocks == 1


def test_statistics_are_those_of_fits():
    """Bytes that a block returns, beside what fits send."""
    import pickle

    import numpy as np

    from fastml.blocks import Blocks, ThreadsExecutor, fit
    from fastml.cluster import KMeans
    from fastml.ensemble import HistGradientBoostingClassifier

    class Weighed(ThreadsExecutor):
        def run(self, task):
            for found in super().run(task):
                sizes.setdefault(task.function.__name__, []).append(len(pickle.dumps(found, 5)))
                yield found

        def run_sums(self, task):
            for found in super().run_sums(task):
                sizes.setdefault(task.function.__name__, []).append(len(pickle.dumps(found, 5)))
                yield found

    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6))
    blocks = Blocks.from_npy(X, (X[:, 0] > 0).astype(int), block_rows=1000)
    sizes: dict = {}
    fit(KMeans(20, init=X[:20], n_init=1, max_iter=3), blocks, Weighed(1))
    assert ALGORITHMS["kmeans"](6, clusters=20).block_bytes == pytest.approx(
        np.mean(sizes["block_sums"]), rel=0.3
    )
    sizes.clear()
    boosting = HistGradientBoostingClassifier(
        max_iter=2, max_depth=3, max_leaf_nodes=None, min_samples_leaf=1, early_stopping=False
    )
    fit(boosting, blocks, Weighed(1))
    does = ALGORITHMS["boosting"](6, trees=2, depth=3)
    assert does.merged  # one sum a pass here: there is one thread
    total = sum(sizes.pop("count_block")) + sum(map(sum, sizes.values())) / blocks.n_blocks
    # Nodes of more than 32,768 rows send three words a bin, others one.
    assert does.block_bytes * does.passes / 3.0 < total < does.block_bytes * does.passes
    assert does.driver_seconds > 0.0


@pytest.mark.parametrize(
    ("more", "kind", "match"),
    [
        ({"algorithm": "svm"}, ValueError, "algorithm must be"),
        ({"nodes": 0}, ValueError, "nodes must be positive"),
        ({"trees": 3}, TypeError, "kmeans takes no such size"),
        ({"kind": "small"}, ValueError, "executors must be"),
    ],
)
def test_what_is_refused(more, kind, match):
    with pytest.raises(kind, match=match):
        plan(1000, 10, **more)
