"""Smoothing kernels K(u), u = |x - y| / bandwidth, of a buffer of squared distances.

Gaussian and exponential are powers of two: the caller scales the data so that K = 2^-s, where s is
|x - y|^2 (GAUSSIAN_KERNEL) or |x - y| (EXPONENTIAL_KERNEL). The others are zero for u >= 1.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.numeric.exp import ROUND64, ROUND64_BITS

GAUSSIAN_KERNEL = 0
EXPONENTIAL_KERNEL = 1
LAST_ENDLESS = 1  # kernels with codes up to this one are positive at any distance
TOPHAT_KERNEL = 2
EPANECHNIKOV_KERNEL = 3
LINEAR_KERNEL = 4
COSINE_KERNEL = 5

FARTHEST = 1000.0  # 2^-1000 stands for all that is smaller


@kernel(fused=True)
def exp2_negative(s):
    """2^-s for s >= 0, relative error below 1e-12, 2^0 = 1 exactly; not below 2^-1000.

    2^f on |f| <= 1/2 is a weighted minimax polynomial 1 + f q(f).
    """
    y = -s
    if y < -FARTHEST:
        y = -FARTHEST
    shifted = y + ROUND64
    f = y - (shifted - ROUND64)
    p = 1.317892757912044e-06
    p = p * f + 1.5309155941536277e-05
    p = p * f + 0.00015403825486821099
    p = p * f + 0.0013333454861411385
    p = p * f + 0.009618128616101696
    p = p * f + 0.05550410935265449
    p = p * f + 0.24022650698110665
    p = p * f + 0.6931471805482123
    p = p * f + 1.0
    exponent = np.float64(shifted).view(np.int64) - ROUND64_BITS
    bits = np.float64(p).view(np.int64) + (exponent << np.int64(52))
    return np.int64(bits).view(np.float64)


@kernel(fused=True)
def _cosine_arch(u2):
    """cos(pi u / 2) from u^2 <= 1: (1 - u^2) times a polynomial, relative error below 2e-14."""
    p = 6.097354471891915e-09
    p = p * u2 + -4.6445955299761384e-07
    p = p * u2 + 2.4737067962059683e-05
    p = p * u2 + -0.0008945229256342596
    p = p * u2 + 0.019968957752745917
    p = p * u2 + -0.23370055013541155
    p = p * u2 + 0.9999999999999922
    return (1.0 - u2) * p


@kernel
def tail_exponent(code, r2):
    """The s of K = 2^-s at the squared distance r2, for the endless kernels."""
    if code == GAUSSIAN_KERNEL:
        return r2
    return np.sqrt(r2)


@kernel
def kernel_values(code, buffer, shift, reach2, scale):
    """Change ``buffer``, squared distances, to kernel values.

    Endless kernels give 2^(shift - s). The others vanish where r2 >= reach2, and their argument is
    u^2 = r2 * scale.
    """
    n = buffer.shape[0]
    if code == GAUSSIAN_KERNEL:
        for i in range(n):
            buffer[i] = exp2_negative(buffer[i] - shift)
    elif code == EXPONENTIAL_KERNEL:
        for i in range(n):
            buffer[i] = exp2_negative(np.sqrt(buffer[i]) - shift)
    elif code == TOPHAT_KERNEL:
        for i in range(n):
            buffer[i] = 1.0 if buffer[i] < reach2 else 0.0
    elif code == EPANECHNIKOV_KERNEL:
        for i in range(n):
            r2 = buffer[i]
            buffer[i] = 1.0 - r2 * scale if r2 < reach2 else 0.0
    elif code == LINEAR_KERNEL:
        for i in range(n):
            r2 = buffer[i]
            buffer[i] = 1.0 - np.sqrt(r2 * scale) if r2 < reach2 else 0.0
    else:
        for i in range(n):
            r2 = buffer[i]
            buffer[i] = _cosine_arch(r2 * scale) if r2 < reach2 else 0.0
