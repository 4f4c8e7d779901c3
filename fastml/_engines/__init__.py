"""Algorithms that more than one estimator uses; no estimators."""
