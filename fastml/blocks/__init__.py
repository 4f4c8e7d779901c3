"""Data larger than memory: passes over blocks of rows.

    blocks = Blocks.from_parquet("rows/", target="y")
    model = fit(LogisticRegression(), blocks)

What `fit` returns is an ordinary fitted estimator.
"""

from fastml.blocks._blocks import Blocks
from fastml.blocks._density import histogram_density
from fastml.blocks._fit import fit, trainable
from fastml.blocks._neighbors import kneighbors
from fastml.blocks._output import predict, report, score, transform
from fastml.blocks._run import ThreadsExecutor
from fastml.blocks._spark import SparkExecutor

__all__ = [
    "Blocks",
    "SparkExecutor",
    "ThreadsExecutor",
    "fit",
    "histogram_density",
    "kneighbors",
    "predict",
    "report",
    "score",
    "trainable",
    "transform",
]
