"""Forests: codes of the values, growth of trees in memory and on blocks."""
