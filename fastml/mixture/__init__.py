"""Mixture models by expectation maximisation."""

from fastml.mixture._gaussian_mixture import GaussianMixture

__all__ = ["GaussianMixture"]
