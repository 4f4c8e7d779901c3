"""Decision trees: exact splits on columns that are sorted once."""

import sys

from fastml.tree._base import be_found_by_scikit_learn
from fastml.tree._classifiers import DecisionTreeClassifier, ExtraTreeClassifier
from fastml.tree._pruning import prune_by_cv
from fastml.tree._regressors import DecisionTreeRegressor, ExtraTreeRegressor

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "prune_by_cv",
]

if "sklearn.tree" in sys.modules:
    be_found_by_scikit_learn(
        DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor
    )
