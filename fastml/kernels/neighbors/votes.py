"""Votes and means of neighbours, and dropping a query from its own neighbours."""

import numpy as np

from fastml._jit import kernel

SMALLEST_CLASS = 0
NEAREST_CLASS = 1
REFUSE = 2


@kernel
def count_votes(labels, indices, votes):
    """Write the number of neighbours of q with label c to ``votes[q, c]``."""
    for q in range(indices.shape[0]):
        for c in range(votes.shape[1]):
            votes[q, c] = 0.0
        for s in range(indices.shape[1]):
            votes[q, labels[indices[q, s]]] += 1.0


@kernel
def sum_votes(labels, indices, weights, votes):
    """Write the sum of the weights of the neighbours of q with label c to ``votes[q, c]``."""
    for q in range(indices.shape[0]):
        for c in range(votes.shape[1]):
            votes[q, c] = 0.0
        for s in range(indices.shape[1]):
            votes[q, labels[indices[q, s]]] += weights[q, s]


@kernel
def sum_ragged_votes(labels, indptr, indices, weights, votes):
    """`sum_votes` of the neighbours ``indices[indptr[q]:indptr[q + 1]]``; no weights: ones."""
    for q in range(indptr.shape[0] - 1):
        for c in range(votes.shape[1]):
            votes[q, c] = 0.0
        for s in range(indptr[q], indptr[q + 1]):
            weight = 1.0
            if weights.shape[0] > 0:
                weight = weights[s]
            votes[q, labels[indices[s]]] += weight


@kernel
def normalise_votes(votes):
    """Divide the rows of ``votes`` by their sums, in place; a row of zeros stays."""
    for q in range(votes.shape[0]):
        total = 0.0
        for c in range(votes.shape[1]):
            total += votes[q, c]
        if total != 0.0:
            for c in range(votes.shape[1]):
                votes[q, c] /= total


@kernel
def elect(votes, out):
    """Write the class with most votes to ``out``, the smallest of several."""
    for q in range(votes.shape[0]):
        best = 0
        for c in range(1, votes.shape[1]):
            if votes[q, c] > votes[q, best]:
                best = c
        out[q] = best


@kernel
def break_ties(rule, votes, labels, distances, indices, out):
    """Change ``out``, the classes elected, where several classes have most votes.

    REFUSE writes -1; NEAREST_CLASS the tied class that holds the nearest neighbour, or -1 if
    another tied class has a neighbour as near.
    """
    for q in range(votes.shape[0]):
        most = votes[q, out[q]]
        n_tied = 0
        for c in range(votes.shape[1]):
            if votes[q, c] == most:
                n_tied += 1
        if n_tied < 2:
            continue
        out[q] = -1
        if rule == REFUSE:
            continue
        nearest = -1.0
        for s in range(indices.shape[1]):
            label = labels[indices[q, s]]
            if votes[q, label] != most:
                continue
            if nearest < 0.0:
                nearest = distances[q, s]
                out[q] = label
            elif distances[q, s] > nearest:
                break
            elif label != out[q]:
                out[q] = -1
                break


@kernel
def mean_targets(targets, indices, out):
    """Write the mean target of the neighbours of each query, per output, to ``out``."""
    n_neighbors = indices.shape[1]
    for q in range(indices.shape[0]):
        for t in range(targets.shape[1]):
            total = 0.0
            for s in range(n_neighbors):
                total += targets[indices[q, s], t]
            out[q, t] = total / n_neighbors


@kernel
def weighted_mean_targets(targets, indices, weights, out):
    """Write sum w y / sum w over the neighbours of each query, per output, to ``out``."""
    for q in range(indices.shape[0]):
        weight_sum = 0.0
        for s in range(indices.shape[1]):
            weight_sum += weights[q, s]
        for t in range(targets.shape[1]):
            total = 0.0
            for s in range(indices.shape[1]):
                total += weights[q, s] * targets[indices[q, s], t]
            out[q, t] = total / weight_sum


@kernel
def ragged_mean_targets(targets, indptr, indices, weights, out):
    """`weighted_mean_targets` of the neighbours ``indices[indptr[q]:indptr[q + 1]]``.

    No weights (length 0) means ones; without neighbours NaN.
    """
    for q in range(indptr.shape[0] - 1):
        start, stop = indptr[q], indptr[q + 1]
        weight_sum = 0.0
        for s in range(start, stop):
            weight_sum += weights[s] if weights.shape[0] > 0 else 1.0
        for t in range(targets.shape[1]):
            total = 0.0
            for s in range(start, stop):
                weight = weights[s] if weights.shape[0] > 0 else 1.0
                total += weight * targets[indices[s], t]
            out[q, t] = total / weight_sum if stop > start else np.nan


@kernel
def drop_self(distances, indices, out_distances, out_indices):
    """Write the neighbours without query q itself to ``out_distances`` and ``out_indices``; if q is
    not among them, without the first.

    It may be missing where it has more duplicates than neighbours were asked for.
    """
    k = out_indices.shape[1]
    for q in range(indices.shape[0]):
        own = 0
        for s in range(k + 1):
            if indices[q, s] == q:
                own = s
                break
        for s in range(k):
            source = s if s < own else s + 1
            out_indices[q, s] = indices[q, source]
            out_distances[q, s] = distances[q, source]
