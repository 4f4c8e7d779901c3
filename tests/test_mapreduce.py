"""fastml.mapreduce: the same results wherever it runs, its counts, and combiners that are wrong."""

import operator
import pickle
import statistics
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from fastml.mapreduce import (
    inverted_index,
    kmeans_pass,
    mean_by_key,
    natural_join,
    run,
    word_count,
)
from fastml.mapreduce._tasks import stable_hash

LINES = ["a b a", "b c", "", "a a a d", "Ä ä b"] * 7


def as_pair(record):
    return [record]


def add(key, values):
    return [(key, sum(values))]


def fail(record):
    raise KeyError(f"no {record}")


# ---------------------------------------------------------------------------- results and counts


@pytest.mark.parametrize("n_splits", [1, 3, 100])
def test_words_are_counted_and_so_are_pairs(n_splits):
    found = word_count(LINES, n_splits=n_splits, n_partitions=3)
    truth = Counter(word for line in LINES for word in line.lower().split())
    assert dict(found.output) == truth
    assert found.pairs_mapped == sum(truth.values())
    assert found.n_splits == min(n_splits, len(LINES))
    cuts = [i * len(LINES) // found.n_splits for i in range(found.n_splits + 1)]
    of_splits = [set(" ".join(LINES[i:j]).lower().split()) for i, j in pairwise(cuts)]
    assert found.pairs_combined == sum(map(len, of_splits)) == sum(found.pairs_shuffled)
    for p in range(3):
        here = [w for words in of_splits for w in words if stable_hash(w) % 3 == p]
        assert found.pairs_shuffled[p] == len(here)
        assert (found.bytes_shuffled[p] > 0) == bool(here)


def test_bytes_are_those_of_pickles():
    found = run([("k", 1), ("k", 2)], as_pair, add, n_splits=1, n_partitions=1)
    assert found.bytes_shuffled == [len(pickle.dumps([("k", [1, 2])], protocol=5))]


def test_output_is_ordered_by_partition_and_key():
    def by_parity(key, n_partitions):
        return key % n_partitions

    found = run([(k, 1) for k in (5, 2, 9, 4, 2)], as_pair, add, None, by_parity, n_partitions=2)
    assert found.output == [(2, 2), (4, 1), (5, 1), (9, 1)]
    assert found.pairs_combined == 5
    mixed = run([("x", 1), (3, 1), (None, 1)], as_pair, add, n_partitions=1)
    assert mixed.output == [("x", 1), (3, 1), (None, 1)], "not comparable: as they came"


def test_equal_keys_meet_in_one_partition():
    keys = [1, 1.0, True, np.int64(1), np.float32(1), Fraction(1), np.True_]
    assert {stable_hash(k) for k in keys} == {1}
    assert stable_hash((1, "a")) == stable_hash((1.0, np.str_("a")))
    assert stable_hash(frozenset("abc")) == stable_hash(frozenset("cba"))
    assert stable_hash("a") == 0xE8B7BE43, "of text: the same in every process (CRC-32)"
    assert run([(k, 1) for k in keys], as_pair, add).output == [(1, len(keys))]


def test_means_by_sum_and_count():
    rng = np.random.default_rng(0)
    pairs = [(int(k), float(v)) for k, v in zip(rng.integers(0, 5, 200), rng.normal(size=200))]
    for key, mean in mean_by_key(pairs).output:
        assert mean == pytest.approx(statistics.fmean(v for k, v in pairs if k == key), rel=1e-12)


def test_inverted_index_and_join_against_loops():
    texts = {f"d{i}": LINES[i] for i in range(5)}
    index = dict(inverted_index(texts).output)
    for word in "abcdä":
        assert index[word] == [n for n, text in texts.items() if word in text.lower()]
    left = [{"a": i % 3, "b": i % 2, "c": i} for i in range(8)]
    right = [{"b": i % 2, "a": i % 4, "d": -i} for i in range(8)]
    truth = [{**x, **y} for x in left for y in right if x["a"] == y["a"] and x["b"] == y["b"]]
    found = natural_join(left, right).output
    assert len(found) == len(truth)
    assert all(row in found for row in truth)
    assert len(natural_join([{"a": 1}] * 2, [{"b": 1}] * 3).output) == 6
    assert natural_join([], right).output == []
    with pytest.raises(ValueError, match="rows of left differ"):
        natural_join([{"a": 1}, {"b": 1}], right)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kmeans_pass_against_numpy(dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(50, 3)) + 100).astype(dtype)
    centers = np.vstack([X[:4], np.full((1, 3), -1e3)])  # the last stays empty
    labels = ((X[:, None].astype(float) - centers) ** 2).sum(axis=2).argmin(axis=1)
    found = kmeans_pass(X, centers, block_rows=7, n_partitions=2)
    assert found.n_splits == 8
    assert sorted(cluster for cluster, _ in found.output) == [0, 1, 2, 3]
    for cluster, center in found.output:
        assert center.dtype == dtype
        np.testing.assert_allclose(center, X[labels == cluster].mean(axis=0), rtol=1e-6)


@pytest.mark.parametrize("on", ["local", "processes"])
def test_no_data_no_output(on):
    found = run([], as_pair, add, n_partitions=2, on=on)
    assert found == ([], 0, 0, 0, [0, 0], [0, 0])


# ---------------------------------------------------------------------------- combiners


@pytest.mark.parametrize(
    ("combine", "reduce", "message"),
    [
        (operator.sub, add, "not commutative"),
        (lambda a, b: (a + b) / 2, add, "not associative"),
        (lambda a, b: statistics.median([a, a, b]), add, "not commutative"),
        (max, add, "do not fit together"),
        (operator.add, lambda key, values: [len(values)], "do not fit together"),
    ],
)
def test_a_wrong_combiner_is_refused(combine, reduce, message):
    pairs = [("k", float(v)) for v in (3, 1, 4, 1, 5)]
    with pytest.raises(ValueError, match=message):
        run(pairs, as_pair, reduce, combine, n_splits=1)


def test_lists_are_no_combiner_but_rounding_is_none_of_its_faults():
    def join(key, lists):
        return [sorted(value for values in lists for value in values)]

    with pytest.raises(ValueError, match=r"not commutative: for the key 'k' and a = \[1\]"):
        run([("k", [1]), ("k", [2])], as_pair, join, operator.add, n_splits=1)
    values = [0.1, 1e10, -1e10, 0.2, 0.3]
    run([("k", v) for v in values], as_pair, add, operator.add, n_splits=1)
    for kind in (np.array, pd.Series):
        several = [("k", kind([v, np.nan])) for v in values]
        assert run(several, as_pair, add, operator.add, n_splits=1).pairs_combined == 1


def test_a_combiner_may_write_to_its_first_argument():
    def update(a, b):
        a += b
        return a

    pairs = [("k", np.array([float(i)])) for i in range(3000)]  # combined in between, too
    found = run(pairs, as_pair, add, update, n_splits=1)
    assert found.output[0][1] == sum(range(3000))
    assert found.pairs_combined == 1


def test_objects_are_compared_by_what_they_hold():
    class Count:
        def __init__(self, n):
            self.n = n

    def total(key, values):
        return [sum(v.n for v in values)]

    def plus(a, b):
        return Count(a.n + b.n)

    # A pickle needs a class at the top of a module, so only the check is reached.
    with pytest.raises(TypeError, match="shuffled as pickles"):
        run([("k", Count(1))] * 3, as_pair, total, plus, n_splits=1)
    with pytest.raises(ValueError, match="not associative"):
        run(
            [("k", Count(i)) for i in range(3)],
            as_pair,
            total,
            lambda a, b: Count((a.n + b.n) / 2),
            n_splits=1,
        )


# ---------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"data": "one text"}, TypeError, "splitlines"),
        ({"map": None}, TypeError, "map must be callable"),
        ({"combine": 1}, TypeError, "combine must be callable"),
        ({"map": lambda r: None}, TypeError, "map must return an iterable"),
        ({"map": lambda r: ["ab"]}, TypeError, r"\(key, value\) pairs, got 'ab'"),
        ({"map": lambda r: [([], 1)]}, TypeError, "hashable"),
        ({"map": lambda r: [((0, np.nan), 1)]}, ValueError, "cannot be a key"),
        ({"map": lambda r: [(object(), 1)]}, TypeError, "without partition="),
        ({"map": lambda r: [(1, (i for i in ""))]}, TypeError, "shuffled as pickles"),
        ({"reduce": lambda k, v: "text"}, TypeError, "reduce must return an iterable"),
        ({"partition": lambda k, n: n}, ValueError, "from 0 to 3, got 4"),
        ({"n_partitions": 0}, ValueError, "n_partitions must be at least 1"),
        ({"n_splits": 1.5}, TypeError, "n_splits must be an int"),
        ({"on": "cluster"}, ValueError, "on must be"),
        ({"map": fail}, KeyError, "no "),
        ({"on": "processes", "map": lambda r: [r]}, TypeError, "map=.* no lambda"),
    ],
)
def test_what_is_wrong_is_said(arguments, error, message):
    with pytest.raises(error, match=message):
        run(**{"data": [("k", 1)], "map": as_pair, "reduce": add, **arguments})


# ---------------------------------------------------------------------------- elsewhere


def test_processes_give_the_same():
    here = word_count(LINES)
    assert word_count(LINES, "processes", n_jobs=2) == here


PROGRAM = """
import sys
from fastml.mapreduce import run

def pair(record):
    if record[1] < 0:
        raise KeyError("negative")
    return [record]

def add(key, values):
    return [(key, sum(values))]

def minus(a, b):
    return a - b

if __name__ == "__main__":
    for values, combine in ((1, 2, -1), None), ((1, 2, 4), minus):
        try:
            run([("k", v) for v in values], pair, add, combine, on="processes", n_splits=1)
        except Exception as error:
            print(type(error).__name__, error)
"""


def test_errors_of_processes_arrive(tmp_path):
    """In a program of its own, as users write it."""
    (tmp_path / "program.py").write_text(PROGRAM)
    found = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True
    )
    first, second = found.stdout.splitlines()
    assert first == "KeyError 'negative'", found.stderr
    assert second.startswith("ValueError combine is not commutative"), found.stderr
