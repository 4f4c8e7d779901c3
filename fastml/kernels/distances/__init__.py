"""Distances and kernels of kernel methods, of two rows and of all pairs."""
