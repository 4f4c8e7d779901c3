"""Scores of single columns: moments of groups of rows, neighbours on a line."""
