"""How a decision tree lies in memory: 16 bytes a node, depth first, and what is worked out from it.

The left child of node i is i + 1, so only the right child is stored. The low bits of ``feature``
name the column; two flags above them say where missing values go and whether the split is a set of
categories. A leaf has feature `LEAF`; its ``right`` is a row of the table of leaf values, or ``~k``
for a leaf of class k only, and its ``threshold`` is the value itself in a regression tree of one
output. Inner values, sample counts and impurities follow from those of the leaves.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.numeric.exp import log64

NODE = np.dtype([("threshold", np.float64), ("right", np.int32), ("feature", np.int32)])
LEAF = -1
MISSING_LEFT = 1 << 29
CATEGORIES = 1 << 30
FEATURE = MISSING_LEFT - 1

GINI = 0
ENTROPY = 1
ERROR = 2
SQUARED_ERROR = 3
POISSON = 4
ABSOLUTE_ERROR = 5

LN2 = 0.6931471805599453


@kernel
def sum_of_quotients(a, a_weight, b, b_weight):
    """a / a_weight + b / b_weight by one division: of whole numbers it is rounded once, so that
    equally good splits have equal scores."""
    return (a * b_weight + b * a_weight) / (a_weight * b_weight)


@kernel
def node_depths(nodes, depths):
    """Write the depth of every node to ``depths``; returns the largest."""
    deepest = 0
    if nodes.shape[0] > 0:
        depths[0] = 0
    for i in range(nodes.shape[0]):
        if nodes[i]["feature"] != LEAF:
            below = depths[i] + 1
            depths[i + 1] = below
            depths[nodes[i]["right"]] = below
            if below > deepest:
                deepest = below
    return deepest


@kernel
def sums_from_leaves(nodes, leaf_samples, leaf_weights, samples, weights):
    """Write ``samples`` and ``weights`` of all nodes, from those of the leaves in order."""
    leaf = leaf_samples.shape[0] - 1
    for i in range(nodes.shape[0] - 1, -1, -1):
        if nodes[i]["feature"] == LEAF:
            samples[i] = leaf_samples[leaf]
            weights[i] = leaf_weights[leaf]
            leaf -= 1
        else:
            right = nodes[i]["right"]
            samples[i] = samples[i + 1] + samples[right]
            weights[i] = weights[i + 1] + weights[right]


@kernel
def values_from_leaves(nodes, table, scalar, weights, values):
    """Write the values of all nodes: a leaf's own, an inner node's the weighted mean of its
    children's.

    ``values`` is (n_nodes, n_columns); ``scalar`` says that leaves hold their value themselves.
    """
    n_columns = values.shape[1]
    for i in range(nodes.shape[0] - 1, -1, -1):
        right = nodes[i]["right"]
        if nodes[i]["feature"] == LEAF:
            if scalar:
                values[i, 0] = nodes[i]["threshold"]
            elif right >= 0:
                for j in range(n_columns):
                    values[i, j] = table[right, j]
            else:
                for j in range(n_columns):
                    values[i, j] = 0.0
                values[i, ~right] = 1.0
        else:
            total = weights[i]
            for j in range(n_columns):
                mass = weights[i + 1] * values[i + 1, j] + weights[right] * values[right, j]
                values[i, j] = mass / total if total != 0.0 else 0.0


@kernel
def total_of(table, row, n_columns):
    """What the values of a row of the table are divided by: counts have their sum behind them."""
    return np.float64(table[row, n_columns]) if table.shape[1] > n_columns else 1.0


@kernel
def class_impurity(weights, first, last, criterion, whole):
    """Impurity of the class weights in columns first..last of a row; ``whole`` is their sum."""
    total = 0.0
    for j in range(first, last):
        share = weights[j] / whole
        if criterion == GINI:
            total += share * share
        elif criterion == ENTROPY:
            if share > 0.0:
                total -= share * log64(share) / LN2
        elif share > total:
            total = share
    return total if criterion == ENTROPY else 1.0 - total


@kernel
def class_impurities(values, n_outputs, criterion, impurities):
    """Write the impurity of every node's class fractions ``values`` to ``impurities``: the mean
    over the outputs."""
    n_columns = values.shape[1] // n_outputs
    for i in range(values.shape[0]):
        total = 0.0
        for o in range(n_outputs):
            total += class_impurity(values[i], o * n_columns, (o + 1) * n_columns, criterion, 1.0)
        impurities[i] = total / n_outputs


@kernel
def mean_impurities(nodes, leaf_impurities, values, weights, criterion, impurities):
    """Write the impurity of every node of a regression tree to ``impurities``: within its children
    plus between them; that of the leaves is given in order."""
    n_outputs = values.shape[1]
    leaf = leaf_impurities.shape[0] - 1
    for i in range(nodes.shape[0] - 1, -1, -1):
        if nodes[i]["feature"] == LEAF:
            impurities[i] = leaf_impurities[leaf] if leaf >= 0 else 0.0
            leaf -= 1
            continue
        left, right, total = i + 1, nodes[i]["right"], weights[i]
        if total == 0.0:
            impurities[i] = 0.0
            continue
        share_left, share_right = weights[left] / total, weights[right] / total
        between = 0.0
        for o in range(n_outputs):
            a, b = values[left, o], values[right, o]
            if criterion == POISSON:
                between += share_left * _x_log_x(a) + share_right * _x_log_x(b)
                between -= _x_log_x(share_left * a + share_right * b)
            else:
                between += share_left * share_right * (a - b) * (a - b)
        within = share_left * impurities[left] + share_right * impurities[right]
        impurities[i] = within + between / n_outputs


@kernel
def _x_log_x(x):
    """x log x, and its limit 0 at 0."""
    return x * log64(x) if x > 0.0 else 0.0


@kernel
def importances(nodes, weights, impurities, out):
    """Add every split's weighted decrease of impurity to ``out`` at its column."""
    for i in range(nodes.shape[0]):
        feature = nodes[i]["feature"]
        if feature != LEAF:
            left, right = i + 1, nodes[i]["right"]
            out[feature & FEATURE] += (
                weights[i] * impurities[i]
                - weights[left] * impurities[left]
                - weights[right] * impurities[right]
            )
