"""Distances and similarities of all pairs of rows."""
