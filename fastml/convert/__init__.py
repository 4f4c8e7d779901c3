"""Models between libraries, and in files that hold no code."""

from fastml.convert._boosters._lightgbm import from_lightgbm
from fastml.convert._boosters._xgboost import from_xgboost
from fastml.convert._file import load, save

__all__ = ["from_lightgbm", "from_xgboost", "load", "save"]
