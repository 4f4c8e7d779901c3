"""Models between libraries, and in files that hold no code."""

from fastml.convert._boosters._catboost import from_catboost
from fastml.convert._boosters._lightgbm import from_lightgbm
from fastml.convert._boosters._xgboost import from_xgboost
from fastml.convert._counterparts._convert import from_sklearn, to_sklearn
from fastml.convert._errors import NotConvertible
from fastml.convert._file import load, save

__all__ = [
    "NotConvertible",
    "from_catboost",
    "from_lightgbm",
    "from_sklearn",
    "from_xgboost",
    "load",
    "save",
    "to_sklearn",
]
