"""Map, combine, partition, shuffle, reduce: the words of MapReduce as one small function.

    counts = run(lines, map=words, reduce=total, combine=operator.add)
    counts.output, counts.pairs_mapped, counts.pairs_combined, counts.bytes_shuffled

In this process, in several, or on Spark, with the same result. To fit models on data larger than
memory see `fastml.blocks`.
"""

from fastml.mapreduce._examples import (
    inverted_index,
    kmeans_pass,
    mean_by_key,
    natural_join,
    word_count,
)
from fastml.mapreduce._run import MapReduceResult, run

__all__ = [
    "MapReduceResult",
    "inverted_index",
    "kmeans_pass",
    "mean_by_key",
    "natural_join",
    "run",
    "word_count",
]
