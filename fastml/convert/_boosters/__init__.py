"""Boosted trees that another library trained."""
