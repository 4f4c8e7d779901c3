"""Weakest-link pruning (Breiman et al. 1984): collapse the node that costs least per leaf."""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.tree.nodes import LEAF


@kernel
def weakest_links(nodes, risks, most, alphas, impurities, collapsed_at):
    """Collapse nodes while their alpha is at most ``most``; the number of steps.

    ``risks[i]`` is the impurity of node i times its share of the weight. Step s collapses the node
    with the smallest (R(t) - R(T_t)) / (leaves - 1), notes it in alphas[s] and the impurity that is
    left in impurities[s] (entry 0 is the whole tree), and collapsed_at[node] = s.
    """
    n = nodes.shape[0]
    parents = np.full(n, -1, np.intp)
    below, leaves = np.empty(n), np.empty(n, np.intp)  # risk and number of leaves of the branch
    for i in range(n - 1, -1, -1):
        collapsed_at[i] = -1
        if nodes[i]["feature"] == LEAF:
            below[i], leaves[i] = risks[i], 1
        else:
            right = np.intp(nodes[i]["right"])
            parents[i + 1], parents[right] = i, i
            below[i] = below[i + 1] + below[right]
            leaves[i] = leaves[i + 1] + leaves[right]
    alphas[0], impurities[0] = 0.0, below[0]
    step = 0
    while leaves[0] > 1:
        weakest, alpha = -1, np.inf
        i = 0
        while i < n:
            if leaves[i] > 1:
                own = (risks[i] - below[i]) / (leaves[i] - 1)
                if weakest < 0 or own < alpha:
                    weakest, alpha = i, own
                i += 1
            elif nodes[i]["feature"] == LEAF:
                i += 1
            else:  # collapsed: jump over its branch
                i = last_below(nodes, i) + 1
        if alpha > most:
            break
        step += 1
        collapsed_at[weakest] = step
        lost_risk, lost_leaves = risks[weakest] - below[weakest], leaves[weakest] - 1
        i = weakest
        while i >= 0:
            below[i] += lost_risk
            leaves[i] -= lost_leaves
            i = parents[i]
        alphas[step], impurities[step] = alpha, below[0]
    return step + 1


@kernel
def last_below(nodes, i):
    """Index of the last node of a branch."""
    while nodes[i]["feature"] != LEAF:
        i = np.intp(nodes[i]["right"])
    return i


@kernel
def kept_nodes(nodes, leaf_now, kept):
    """kept[j] = old index of the j-th node of the tree whose nodes ``leaf_now`` are leaves."""
    count, i, n = 0, 0, nodes.shape[0]
    while i < n:
        kept[count] = i
        count += 1
        i = last_below(nodes, i) + 1 if leaf_now[i] else i + 1
    return count
