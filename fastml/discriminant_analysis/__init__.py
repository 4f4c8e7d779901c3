"""Discriminant analysis: classes that are normal distributions."""

from fastml.discriminant_analysis._linear import LinearDiscriminantAnalysis
from fastml.discriminant_analysis._quadratic import QuadraticDiscriminantAnalysis

__all__ = ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"]
