"""Histogram gradient boosting: bins, histograms, splits, growth, prediction."""
