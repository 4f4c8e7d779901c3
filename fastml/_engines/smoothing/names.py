"""Names of smoothing kernels → integer codes."""

from __future__ import annotations

from fastml.kernels.density import smoothing

SMOOTHING_KERNELS: dict[str, int] = {
    "gaussian": smoothing.GAUSSIAN_KERNEL,
    "tophat": smoothing.TOPHAT_KERNEL,
    "epanechnikov": smoothing.EPANECHNIKOV_KERNEL,
    "exponential": smoothing.EXPONENTIAL_KERNEL,
    "linear": smoothing.LINEAR_KERNEL,
    "cosine": smoothing.COSINE_KERNEL,
}
"""Kernels of densities and of local regression."""
