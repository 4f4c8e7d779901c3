"""What pytest leaves alone: the examples of `fastml.spark` where pyspark is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pyspark") else ["fastml/spark"]
