"""Sums of smoothing kernels: tiles with bounds, series, grids, local lines."""
