"""What a split of a forest's node is worth, and the rules a tree is grown by.

Every criterion is a sum over the children: a split is worth score(left) + score(right), and lowers
impurity by ``(that - score(node)) / total weight``. Two kinds of statistics:

pair
    Weight and one sum: regression of one output, and two classes (the sum is class 1's weight; Gini
    is twice the variance of a 0/1 target).
slots
    Weight, then class weights or sums per output: everything else.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel
from fastml.kernels.exp import log64
from fastml.kernels.rng import wins_tie
from fastml.kernels.tree_nodes import sum_of_quotients

SQUARED = 0
"""s² / w per sum or class: squared error, Gini."""
ENTROPY = 1
POISSON = 2
ERROR = 3
"""Weight of the largest class."""

WORST = -1e300
INVALID = -2e300

# Positions in ``rules`` (integers).
MAX_DEPTH, MIN_SPLIT, MIN_LEAF, MAX_FEATURES, MAX_LEAVES = range(5)
CRITERION, IS_CLASS, CONSTRAINED = range(5, 8)
N_RULES = 8


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
    if x <= 0.0:
        return 0.0
    return x * log64(x)


@kernel
def pair_score(weight, total, criterion):
    """score of a set of rows from its weight and sum; `WORST` if it may not exist."""
    if criterion == SQUARED:
        return total * total / weight
    if criterion == ENTROPY:
        return x_log_x(total) + x_log_x(weight - total) - x_log_x(weight)
    if criterion == POISSON:
        if total <= 0.0:
            return WORST
        return total * log64(total / weight)
    rest = weight - total
    if rest > total:
        return rest
    return total


@kernel
def add_row(slots, weight, y, row, offsets, is_class):
    """Add a row's weight and targets to slots."""
    slots[0] += weight
    if is_class:
        for o in range(y.shape[0]):
            slots[offsets[o] + np.intp(y[o, row])] += weight
    else:
        for o in range(y.shape[0]):
            slots[offsets[o]] += weight * y[o, row]


@kernel
def slots_score(slots, offsets, is_class, criterion):
    """The same for a row of slots: the mean over outputs."""
    weight = slots[0]
    n_outputs = offsets.shape[0] - 1
    score = 0.0
    for o in range(n_outputs):
        if not is_class:
            part = pair_score(weight, slots[offsets[o]], criterion)
            if part == WORST:
                return WORST
            score += part
        elif criterion == SQUARED:
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
    """score of the two parts of a cut."""
    if criterion == SQUARED:
        return sum_of_quotients(
            left_total * left_total, left_weight, right_total * right_total, right_weight
        )
    left = pair_score(left_weight, left_total, criterion)
    return left + pair_score(right_weight, right_total, criterion)


@kernel
def leaf_split():
    return Split(INVALID, 0.0, np.intp(0), np.intp(0), 0.0, np.intp(0), (0.0, 0.0))


@kernel
def is_better(score, feature, best, seed):
    """Whether a cut replaces the best so far; between equally good features as in single trees."""
    if score < 0.5 * WORST:
        return False
    return score > best.score or (score == best.score and wins_tie(seed, feature, best.feature))


@kernel
def start_draws(state, features):
    """Features in order, to be drawn from as in `node_split.draw_columns`; the node's seed."""
    for f in range(features.shape[0]):
        features[f] = f
    seed = state[0]
    state[0] = ~seed
    return seed
