"""Decision trees: exact splits on columns that are sorted once; splits into many branches."""

import sys

from fastml._engines.trees.sklearn_types import register_with_scikit_learn
from fastml.tree._classifiers import DecisionTreeClassifier, ExtraTreeClassifier
from fastml.tree._export import export_text
from fastml.tree._multiway import MultiwayTreeClassifier
from fastml.tree._prune_by_cv import prune_by_cv
from fastml.tree._regressors import DecisionTreeRegressor, ExtraTreeRegressor

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "MultiwayTreeClassifier",
    "export_text",
    "prune_by_cv",
]

if "sklearn.tree" in sys.modules:
    register_with_scikit_learn(
        DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor
    )
