"""Shapley values by their definition: all coalitions."""

from itertools import combinations
from math import factorial

import numpy as np


def of_game(v, d):
    """Of the game ``v(set of players)`` of d players."""
    found = np.zeros(d)
    for j in range(d):
        others = [i for i in range(d) if i != j]
        for k in range(d):
            weight = factorial(k) * factorial(d - 1 - k) / factorial(d)
            for chosen in combinations(others, k):
                found[j] += weight * (v({*chosen, j}) - v(set(chosen)))
    return found


def pairs_of_game(v, d):
    """Interactions, half on each side; the diagonal has the rest of each Shapley value."""
    found = np.zeros((d, d))
    for i in range(d):
        for j in range(d):
            others = [p for p in range(d) if p not in (i, j)]
            for k in range(d - 1 if i != j else 0):
                weight = factorial(k) * factorial(d - 2 - k) / (2 * factorial(d - 1))
                for chosen in map(set, combinations(others, k)):
                    found[i, j] += weight * (
                        v(chosen | {i, j}) - v(chosen | {i}) - v(chosen | {j}) + v(chosen)
                    )
    alone = of_game(v, d)
    found[np.diag_indices(d)] = alone - found.sum(axis=1)
    return found


def leaf_game(passes, shares):
    """Of one leaf of value 1: players outside the coalition let their share pass."""
    return lambda S: np.prod([passes[j] if j in S else shares[j] for j in range(len(shares))])


def leaf_with_background(passes, others):
    """The same, where others pass as the rows of a background do."""
    rows = [[passes[j] for j in range(len(passes))], *others]
    return lambda S: np.mean(
        [
            np.prod([rows[0][j] if j in S else other[j] for j in range(len(passes))])
            for other in rows[1:]
        ]
    )


def mean_of_tree(tree, x, S, node=0):
    """Answer of a ``tree_`` that knows the columns S of x; others go both ways by cover."""
    if tree.children_left[node] < 0:
        return tree.value[node, 0]
    left, right = tree.children_left[node], tree.children_right[node]
    if tree.feature[node] in S:
        goes_left = np.float32(x[tree.feature[node]]) <= tree.threshold[node]
        return mean_of_tree(tree, x, S, left if goes_left else right)
    cover = tree.weighted_n_node_samples
    share = cover[left] / cover[node]
    return share * mean_of_tree(tree, x, S, left) + (1 - share) * mean_of_tree(tree, x, S, right)
