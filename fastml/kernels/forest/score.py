"""What a split of a forest's node is worth.

Every criterion is a sum over the children: a split is worth score(left) + score(right), and lowers
impurity by ``(that - score(node)) / total weight``. Squared error and Gini score s² / w per sum or
class, the error rate the weight of the largest class. Criteria have the codes of `tree.nodes`: up
to `ERROR` the targets are class codes. Two kinds of statistics:

pair
    Weight and one sum: regression of one output, and two classes (the sum is class 1's weight; Gini
    is twice the variance of a 0/1 target).
slots
    Weight, then class weights or sums per output: everything else.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel
from fastml.kernels.numeric.exp import log64
from fastml.kernels.numeric.rng import wins_tie
from fastml.kernels.tree.nodes import (
    ENTROPY,
    ERROR,
    GINI,
    LN2,
    POISSON,
    SQUARED_ERROR,
    sum_of_quotients,
)

WORST = -1e300
"""Score of a set of rows that may not exist."""
INVALID = -2e300
"""Score of a node that is not split."""


class Split(NamedTuple):
    """``score`` is `INVALID` for a leaf; ``undivided`` the node's own; rows with codes up to
    ``code`` go left, those that lack the value if ``missing_left`` is 1 (2: none lacks it, the
    larger side); ``means`` of the two parts."""

    score: float
    undivided: float
    feature: int
    code: int
    threshold: float
    missing_left: int
    means: tuple


@kernel
def x_log_x(x):
    """x log x, and its limit 0 at 0."""
    if x <= 0.0:
        return 0.0
    return x * log64(x)


@kernel
def is_squared(criterion):
    """Whether a set of rows scores s² / w per sum or class."""
    return criterion == GINI or criterion == SQUARED_ERROR


@kernel
def impurity_factor(criterion, pairs):
    """Impurity for one of score: Gini of ``pairs`` is worked out for one class of two, entropy in
    natural logarithms."""
    if criterion == GINI and pairs:
        return 2.0
    if criterion == ENTROPY:
        return 1.0 / LN2
    return 1.0


@kernel
def pair_score(weight, total, criterion):
    """Score of a set of rows from its weight and sum; `WORST` if it may not exist."""
    if is_squared(criterion):
        return total * total / weight
    if criterion == ENTROPY:
        return x_log_x(total) + x_log_x(weight - total) - x_log_x(weight)
    if criterion == POISSON:
        if total <= 0.0:
            return WORST
        return total * log64(total / weight)
    rest = weight - total  # error: the weight of the larger class
    if rest > total:
        return rest
    return total


@kernel
def add_row(slots, weight, y, row, offsets, is_class):
    """Add the weight and the targets ``y[:, row]`` of a row to ``slots``; output o has those from
    ``offsets[o]`` on."""
    slots[0] += weight
    if is_class:
        for o in range(y.shape[0]):
            slots[offsets[o] + np.intp(y[o, row])] += weight
    else:
        for o in range(y.shape[0]):
            slots[offsets[o]] += weight * y[o, row]


@kernel
def slots_score(slots, offsets, criterion):
    """Score of a set of rows from its ``slots``: the mean over the outputs; `WORST` if it may not
    exist."""
    weight = slots[0]
    n_outputs = offsets.shape[0] - 1
    score = 0.0
    for o in range(n_outputs):
        if criterion > ERROR:
            part = pair_score(weight, slots[offsets[o]], criterion)
            if part == WORST:
                return WORST
            score += part
        elif criterion == GINI:
            squares = 0.0
            for k in range(offsets[o], offsets[o + 1]):
                squares += slots[k] * slots[k]
            score += squares / weight
        elif criterion == ENTROPY:
            for k in range(offsets[o], offsets[o + 1]):
                score += x_log_x(slots[k])
            score -= x_log_x(weight)
        else:
            largest = 0.0
            for k in range(offsets[o], offsets[o + 1]):
                if slots[k] > largest:
                    largest = slots[k]
            score += largest
    return score / n_outputs


@kernel
def cut_score(left_weight, left_total, right_weight, right_total, criterion):
    """Score of the two parts of a cut, from their weights and sums."""
    if is_squared(criterion):
        return sum_of_quotients(
            left_total * left_total, left_weight, right_total * right_total, right_weight
        )
    left = pair_score(left_weight, left_total, criterion)
    return left + pair_score(right_weight, right_total, criterion)


@kernel
def leaf_split():
    """What a search returns that has found no split."""
    return Split(INVALID, 0.0, np.intp(0), np.intp(0), 0.0, np.intp(0), (0.0, 0.0))


@kernel
def breaks_direction(sign, lower, upper, means):
    """Whether the means of two parts go against the direction of their column, or lie beyond the
    bounds that splits above have set."""
    return (
        (means[0] - means[1]) * sign > 0.0
        or min(means[0], means[1]) < lower
        or max(means[0], means[1]) > upper
    )


@kernel
def is_better(score, feature, best, seed):
    """Whether a cut replaces the best so far; between equally good features as in single trees."""
    if score < 0.5 * WORST:
        return False
    return score > best.score or (score == best.score and wins_tie(seed, feature, best.feature))


@kernel
def start_draws(state, features):
    """Write the features in order, to be drawn from as in `node_split.draw_columns`, and the state
    that draws begin with. Returns the node's seed, which ``state`` held."""
    for f in range(features.shape[0]):
        features[f] = f
    seed = state[0]
    state[0] = ~seed
    return seed
