"""Kernel sums for densities and local regression, and their bandwidths."""
