"""Partial dependence of boosted trees: the mean over their training rows, by the trees' counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.boosted.trees import BoostedTree


def add_dependence_of_tree(
    tree: BoostedTree, bins: NDArray, fixed: NDArray, missing_bin: int, out: NDArray
) -> None:
    """out[i] += mean value of the leaves that rows with the bins of row i in the ``fixed`` features
    reach: other splits share them out by how many rows went either way.

    All rows of the grid pass a node together: trees are small, and grids are short.
    """
    nodes = tree.nodes
    waiting = [(0, np.ones(len(bins)))]
    while waiting:
        at, share = waiting.pop()
        node = nodes[at]
        left = int(node["left"])
        if left < 0:
            out += share * node["value"]
            continue
        feature = int(node["feature_idx"])
        if fixed[feature]:
            column = bins[:, feature]
            goes_left = column <= node["bin_threshold"]
            goes_left[column == missing_bin] = bool(node["missing_go_to_left"])
            parts = share * goes_left, share * ~goes_left
        else:
            part = nodes["count"][left] / max(int(node["count"]), 1)
            parts = share * part, share * (1.0 - part)
        for child, mine in zip((left, left + 1), parts):
            if mine.any():
                waiting.append((child, mine))
