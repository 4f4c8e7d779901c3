"""MapReduce by Spark gives what it gives here."""

import numpy as np
import pytest

from fastml.mapreduce import kmeans_pass, run, word_count

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]  # pyspark's own

LINES = ["a b a", "b c", "", "a a a d", "Ä ä b"] * 7


def test_spark_gives_the_same(spark):
    assert word_count(LINES, spark) == word_count(LINES)
    X = np.random.default_rng(0).normal(size=(40, 2))
    here, there = kmeans_pass(X, X[:3], block_rows=9), kmeans_pass(X, X[:3], spark, block_rows=9)
    assert here[1:] == there[1:]
    for (j, center), (k, other) in zip(here.output, there.output):
        assert j == k
        np.testing.assert_array_equal(center, other)


def test_a_combiner_that_does_not_commute_is_found(spark):
    def pair(record):
        return [record]

    def add(key, values):
        return [(key, sum(values))]

    with pytest.raises(ValueError, match="not commutative"):
        run([("k", 1), ("k", 3)], pair, add, lambda a, b: a - b, on=spark, n_splits=1)
