"""Columns of tables as levels and codes: ranks, joint counts, sums by group."""
