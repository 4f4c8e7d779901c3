"""Kernel density, regression and classification."""
