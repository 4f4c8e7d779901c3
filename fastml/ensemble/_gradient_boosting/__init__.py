"""Gradient boosting on exact trees."""
