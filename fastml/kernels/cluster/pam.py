"""k-medoids by eager swaps: FasterPAM.

For every row, the nearest and the second nearest medoid are known. The gain of putting candidate c
in the place of *each* medoid follows from one pass over the distances of c:

    row o with d(c, o) < nearest(o)      gains d - nearest, whichever medoid goes;
    row o whose own medoid goes          moves to min(d, second), or stays at min(d, nearest).

A swap that lowers the loss is made at once; the search ends after a full round without one.
E. Schubert, P. J. Rousseeuw, "Fast and eager k-medoids clustering", Information Systems 101 (2021).
Distances are taken as symmetric: row c of the matrix is read for d(c, ·) and d(·, c).
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel

ROUND_OFF = 1e-12
"""Share of the loss that a swap must gain: less may be rounding, and swaps would go in circles."""


class NearestTwo(NamedTuple):
    """Per row, the places of the nearest and the second nearest medoid, and their distances."""

    near: np.ndarray
    second: np.ndarray
    near_distance: np.ndarray
    second_distance: np.ndarray


@kernel
def assign(D, medoids, two):
    """Write the nearest and second nearest medoid of every row to ``two``; return the loss."""
    near, second, near_distance, second_distance = two
    n = D.shape[0]
    k = medoids.shape[0]
    for o in range(n):
        near[o] = 0
        second[o] = -1
        near_distance[o] = D[medoids[0], o]
        second_distance[o] = np.inf
    for m in range(1, k):
        row = D[medoids[m]]
        for o in range(n):
            if row[o] < near_distance[o]:
                second[o], second_distance[o] = near[o], near_distance[o]
                near[o], near_distance[o] = m, row[o]
            elif row[o] < second_distance[o]:
                second[o], second_distance[o] = m, row[o]
    for m in range(k):  # a medoid is in its own cluster, whatever equals it
        o = medoids[m]
        if near[o] != m:
            second[o], second_distance[o] = near[o], near_distance[o]
            near[o], near_distance[o] = m, D[o, o]
    loss = 0.0
    for o in range(n):
        loss += near_distance[o]
    return loss


@kernel
def removal_losses(two, out):
    """Write to out[m] by how much the loss rises if medoid m is removed and its rows move to their
    second nearest medoid."""
    near, _, near_distance, second_distance = two
    for m in range(out.shape[0]):
        out[m] = 0.0
    for o in range(near.shape[0]):
        out[near[o]] += second_distance[o] - near_distance[o]


@kernel
def _best_swap(row, two, removal, change):
    """Return (change of the loss, medoid) of the best swap with a candidate at distances ``row``.

    ``removal`` is that of `removal_losses`; ``change`` is scratch, one entry per medoid.
    """
    near, _, near_distance, second_distance = two
    for m in range(removal.shape[0]):
        change[m] = removal[m]
    shared = 0.0
    for o in range(row.shape[0]):
        distance = row[o]
        if distance < second_distance[o]:
            if distance < near_distance[o]:
                shared += distance - near_distance[o]
                change[near[o]] += near_distance[o] - second_distance[o]
            else:
                change[near[o]] += distance - second_distance[o]
    best = 0
    for m in range(1, removal.shape[0]):
        if change[m] < change[best]:
            best = m
    return change[best] + shared, best


@kernel
def _find_second(D, medoids, near, o):
    """Return the medoid nearest to row o but for ``near``, and its distance."""
    best = -1
    distance = np.inf
    for m in range(medoids.shape[0]):
        if m != near and (best < 0 or D[medoids[m], o] < distance):
            best = m
            distance = D[medoids[m], o]
    return best, distance


@kernel
def _swap(D, medoids, m, c, two):
    """Replace ``medoids[m]`` by row c, bring ``two`` up to date and return the loss."""
    near, second, near_distance, second_distance = two
    medoids[m] = c
    row = D[c]
    loss = 0.0
    for o in range(row.shape[0]):
        distance = row[o]
        if o == c:
            if near[o] != m:
                second[o], second_distance[o] = near[o], near_distance[o]
            near[o], near_distance[o] = m, distance
        elif near[o] == m:
            if distance < second_distance[o]:
                near_distance[o] = distance
            else:
                near[o], near_distance[o] = second[o], second_distance[o]
                second[o], second_distance[o] = _find_second(D, medoids, near[o], o)
        elif distance < near_distance[o]:
            second[o], second_distance[o] = near[o], near_distance[o]
            near[o], near_distance[o] = m, distance
        elif distance < second_distance[o]:
            second[o], second_distance[o] = m, distance
        elif second[o] == m:
            second[o], second_distance[o] = _find_second(D, medoids, near[o], o)
        loss += near_distance[o]
    return loss


@kernel
def swap_round(
    D,
    first,
    last,
    order,
    last_swap,
    n_swaps,
    loss,
    medoids,
    two,
    removal,
    change,
):
    """Try candidates order[first..last]; return (last swap, swaps made, loss, whether to stop).

    A swap writes ``medoids``, ``two`` and ``removal``; ``change`` is scratch.

    ``last_swap`` is the position of the last swap (n before the first one): coming by it again
    means that a whole round has changed nothing.
    """
    for position in range(first, last):
        if position == last_swap:
            return last_swap, n_swaps, loss, True
        c = order[position]
        if medoids[two.near[c]] == c:
            continue
        gain, m = _best_swap(D[c], two, removal, change)
        if gain < -ROUND_OFF * loss:
            loss = _swap(D, medoids, m, c, two)
            removal_losses(two, removal)
            last_swap = position
            n_swaps += 1
    return last_swap, n_swaps, loss, False


@kernel
def best_addition(D, first, last, nearest, taken, best, most):
    """Return (row, gain) of the candidate first..last that lowers the loss the most.

    If none does by more than ``most``, they are (best, most). ``nearest`` are the distances to the
    medoids so far (inf: none yet); rows that are ``taken`` are no candidates.
    """
    n = D.shape[0]
    for c in range(first, last):
        if taken[c]:
            continue
        row = D[c]
        gain = 0.0
        for o in range(n):
            if nearest[o] == np.inf:
                gain -= row[o]
            elif row[o] < nearest[o]:
                gain += nearest[o] - row[o]
        if gain > most:
            most = gain
            best = c
    return best, most
