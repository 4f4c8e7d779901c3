"""Spark's Python workers with fastml loaded before they are made.

Spark starts one process on each node, of which its workers are copies. With

    spark.python.daemon.module  fastml.spark.daemon

that process loads fastml, Numba and Arrow once, and no worker has to.
"""

import importlib

from pyspark.daemon import manager

LOADED = ("pyarrow", "numba", "scipy.linalg", "sklearn.base", "fastml.blocks")
"""Imported, and no more: a copy of a process that has run parallel kernels cannot run them."""


def main() -> None:
    """Load, then do what Spark's own module does."""
    for name in LOADED:
        importlib.import_module(name)
    manager()


if __name__ == "__main__":
    main()
