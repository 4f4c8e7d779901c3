"""Weights of the rows from round to round of AdaBoost."""

from fastml._jit import kernel


@kernel
def raise_weights(wrong, factor, weights):
    """Multiply the weights of the rows marked as wrong by the factor, twice."""
    for i in range(weights.shape[0]):
        w = weights[i]
        weights[i] = w * factor * factor if wrong[i] else w
