"""Balancing classes: rows drawn again, left out, or made between neighbours."""

from fastml.imbalance._cleaning import EditedNearestNeighbours, TomekLinks
from fastml.imbalance._random import RandomOverSampler, RandomUnderSampler
from fastml.imbalance._smote import ADASYN, SMOTE, BorderlineSMOTE
from fastml.imbalance._smote_mixed import SMOTENC
from fastml.imbalance._strategy import imbalance_ratio

__all__ = [
    "ADASYN",
    "SMOTE",
    "SMOTENC",
    "BorderlineSMOTE",
    "EditedNearestNeighbours",
    "RandomOverSampler",
    "RandomUnderSampler",
    "TomekLinks",
    "imbalance_ratio",
]
