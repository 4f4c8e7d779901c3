"""Values for what is missing."""

from fastml.impute._indicator import MissingIndicator
from fastml.impute._iterative import IterativeImputer
from fastml.impute._knn import KNNImputer
from fastml.impute._simple import SimpleImputer

__all__ = ["IterativeImputer", "KNNImputer", "MissingIndicator", "SimpleImputer"]
