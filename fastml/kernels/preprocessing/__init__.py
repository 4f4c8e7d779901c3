"""Passes over columns: moments, extremes, scaling, order, bins, codes of categories, products."""
