"""Choosing columns: scores of single columns, weights of models, searches over subsets."""

from fastml.feature_selection._base import SelectorMixin as SelectorMixin
from fastml.feature_selection._distributions import information_gain, total_variation
from fastml.feature_selection._exhaustive import ExhaustiveFeatureSelector
from fastml.feature_selection._from_model import SelectFromModel
from fastml.feature_selection._mutual_information import (
    mutual_info_classif,
    mutual_info_regression,
)
from fastml.feature_selection._rfe import RFE, RFECV
from fastml.feature_selection._scores import chi2, f_classif, f_oneway, f_regression, r_regression
from fastml.feature_selection._sequential import SequentialFeatureSelector
from fastml.feature_selection._univariate import (
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
)
from fastml.feature_selection._variance import VarianceThreshold

__all__ = [
    "RFE",
    "RFECV",
    "ExhaustiveFeatureSelector",
    "GenericUnivariateSelect",
    "SelectFdr",
    "SelectFpr",
    "SelectFromModel",
    "SelectFwe",
    "SelectKBest",
    "SelectPercentile",
    "SequentialFeatureSelector",
    "VarianceThreshold",
    "chi2",
    "f_classif",
    "f_oneway",
    "f_regression",
    "information_gain",
    "mutual_info_classif",
    "mutual_info_regression",
    "r_regression",
    "total_variation",
]
