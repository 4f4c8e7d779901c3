"""Plain `pytest` needs no pyspark: without it, `fastml.spark` has the doctests of `plan` only."""

import importlib.util
from pathlib import Path

FREE_OF_PYSPARK = ("__init__.py", "_plan.py")

collect_ignore = []
if importlib.util.find_spec("pyspark") is None:
    files = (Path(__file__).parent / "fastml" / "spark").glob("*.py")
    collect_ignore = [str(path) for path in files if path.name not in FREE_OF_PYSPARK]
