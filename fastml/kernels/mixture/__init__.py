"""Gaussian mixtures: the E step, and the statistics of the M step."""
