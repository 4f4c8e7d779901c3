"""What a leaf of a forest's tree says: means or class shares, and its impurity."""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.forest.score import add_row
from fastml.kernels.numeric.exp import log64
from fastml.kernels.tree.nodes import ERROR, POISSON


@kernel
def leaf_of(frame, offsets, criterion, rows, slots, lower, upper, values):
    """Write the means of the outputs, or the shares of the classes, of some rows of a frame to
    ``values``; ``slots`` is scratch. Returns (weight, impurity, class if there is one only, or -1).

    A mean on its own is kept between ``lower`` and ``upper``.
    """
    y, weights = frame.y, frame.weights
    is_class = criterion <= ERROR
    poisson = criterion == POISSON
    weight = 0.0
    pure = -1
    if offsets is None:
        total = 0.0
        squares = 0.0
        for i in range(rows.shape[0]):
            w, target = weights[rows[i]], y[0, rows[i]]
            weight += w
            total += w * target
            if poisson:
                squares += w * target * log64(target) if target > 0.0 else 0.0
            else:
                squares += w * target * target
        mean = total / weight
        if poisson:
            impurity = squares / weight - (mean * log64(mean) if mean > 0.0 else 0.0)
        else:
            impurity = squares / weight - mean * mean
        mean = min(max(mean, lower), upper)
        if is_class:
            values[0] = 1.0 - mean
            if values.shape[0] > 1:  # else there is one class
                values[1] = mean
            if mean == 0.0 or mean == 1.0:
                pure = np.intp(mean)
        else:
            values[0] = mean
        return weight, max(impurity, 0.0), pure
    for k in range(slots.shape[0]):
        slots[k] = 0.0
    squares = 0.0
    n_outputs = y.shape[0]
    for i in range(rows.shape[0]):
        w = weights[rows[i]]
        add_row(slots, w, y, rows[i], offsets, is_class)
        if not is_class:
            for o in range(n_outputs):
                target = y[o, rows[i]]
                if poisson:
                    squares += w * target * log64(target) if target > 0.0 else 0.0
                else:
                    squares += w * target * target
    weight = slots[0]
    impurity = squares / weight
    n_columns = values.shape[0] // n_outputs
    for o in range(n_outputs):
        for k in range(offsets[o], offsets[o] + n_columns):
            share = slots[k] / weight if k < offsets[o + 1] and slots[k] != 0.0 else 0.0
            values[o * n_columns + k - offsets[o]] = share
            if not is_class:
                if poisson:
                    impurity -= share * log64(share) if share > 0.0 else 0.0
                else:
                    impurity -= share * share
            elif share == 1.0 and n_outputs == 1:
                pure = k - offsets[o]
    return weight, max(impurity / n_outputs, 0.0), pure
