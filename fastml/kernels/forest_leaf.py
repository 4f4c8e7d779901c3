"""What a leaf of a forest's tree says: means or class shares, and its impurity."""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.exp import log64
from fastml.kernels.forest_score import CRITERION, IS_CLASS, POISSON, add_row


@kernel
def leaf_of(y, offsets, rules, weights, rows, slots, lower, upper, values):
    """Means of the outputs, or shares of the classes. Returns (weight, impurity, pure class)."""
    weight = 0.0
    pure = -1
    if offsets is None:
        total = 0.0
        squares = 0.0
        for i in range(rows.shape[0]):
            w, target = weights[rows[i]], y[0, rows[i]]
            weight += w
            total += w * target
            if rules[CRITERION] == POISSON:
                squares += w * target * log64(target) if target > 0.0 else 0.0
            else:
                squares += w * target * target
        mean = total / weight
        if rules[CRITERION] == POISSON:
            impurity = squares / weight - (mean * log64(mean) if mean > 0.0 else 0.0)
        else:
            impurity = squares / weight - mean * mean
        mean = min(max(mean, lower), upper)
        if rules[IS_CLASS]:
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
        add_row(slots, w, y, rows[i], offsets, rules[IS_CLASS])
        if not rules[IS_CLASS]:
            for o in range(n_outputs):
                target = y[o, rows[i]]
                if rules[CRITERION] == POISSON:
                    squares += w * target * log64(target) if target > 0.0 else 0.0
                else:
                    squares += w * target * target
    weight = slots[0]
    impurity = squares / weight
    n_columns = values.shape[0] // n_outputs
    for o in range(n_outputs):
        for k in range(offsets[o], offsets[o] + n_columns):
            share = slots[k] / weight if k < offsets[o + 1] else 0.0
            values[o * n_columns + k - offsets[o]] = share
            if not rules[IS_CLASS]:
                if rules[CRITERION] == POISSON:
                    impurity -= share * log64(share) if share > 0.0 else 0.0
                else:
                    impurity -= share * share
            elif share == 1.0 and n_outputs == 1:
                pure = k - offsets[o]
    return weight, max(impurity / n_outputs, 0.0), pure
