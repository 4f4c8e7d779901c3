"""Counts over the scores of positives and of negatives, each sorted: areas and curves.

Values are sorted, never indices: positives and negatives apart, then merged.
"""

import numpy as np

from fastml._jit import kernel


@kernel
def split_scores(is_positive, scores, split):
    """Write scores of positives to the front of ``split``, of negatives to its back, reversed.

    Both places are written and one is kept: no branch to mispredict. Return how many are positive.
    """
    front = 0
    back = scores.shape[0] - 1
    for i in range(scores.shape[0]):
        split[front] = scores[i]
        split[back] = scores[i]
        one = np.intp(is_positive[i])
        front += one
        back -= 1 - one
    return front


@kernel
def ordered_pairs(positives, negatives):
    """Return the pairs of a positive above a negative, and the tied pairs; both arrays ascend."""
    below = 0
    not_above = 0
    n = negatives.shape[0]
    above = 0
    tied = 0
    for i in range(positives.shape[0]):
        score = positives[i]
        while below < n and negatives[below] < score:
            below += 1
        if not_above < below:
            not_above = below
        while not_above < n and negatives[not_above] <= score:
            not_above += 1
        above += below
        tied += not_above - below
    return above, tied


@kernel
def precision_area(positives, negatives):
    """Return the sum of precision times the number of new positives, over falling thresholds.

    Both arrays ascend.
    """
    i = positives.shape[0] - 1
    j = negatives.shape[0] - 1
    n_positives = 0
    n_negatives = 0
    area = 0.0
    while i >= 0:
        score = positives[i]
        while j >= 0 and negatives[j] >= score:
            j -= 1
            n_negatives += 1
        new = n_positives
        while i >= 0 and positives[i] == score:
            i -= 1
            n_positives += 1
        new = n_positives - new
        area += new * (n_positives / (n_positives + n_negatives))
    return area


@kernel
def threshold_counts(positives, negatives, thresholds, true_positives, false_positives):
    """Write the distinct scores, falling, to ``thresholds``, and what lies at or above each.

    ``true_positives`` and ``false_positives`` get the counts. Both score arrays ascend. Return the
    number of distinct scores.
    """
    i = positives.shape[0] - 1
    j = negatives.shape[0] - 1
    n = 0
    while i >= 0 or j >= 0:
        if j < 0 or (i >= 0 and positives[i] >= negatives[j]):
            score = positives[i]
        else:
            score = negatives[j]
        while i >= 0 and positives[i] == score:
            i -= 1
        while j >= 0 and negatives[j] == score:
            j -= 1
        thresholds[n] = score
        true_positives[n] = positives.shape[0] - 1 - i
        false_positives[n] = negatives.shape[0] - 1 - j
        n += 1
    return n
