"""Gradient boosting and AdaBoost: a stage's residuals and leaves, weighted medians, weights."""
