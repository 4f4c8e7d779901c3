"""What a model has learned, as bytes that can be compared."""

import numpy as np


def nodes_of(model):
    """Arrays of boosted trees or of a forest's, if the model has some."""
    boosted = [tree.nodes for trees in getattr(model, "_predictors", ()) for tree in trees]
    return boosted + ([model._trees.nodes] if hasattr(model, "_trees") else [])


def state_of(model):
    """Bytes of all that was learned, independent of which objects are shared."""
    return {
        name: np.asarray(value).tobytes()
        for name, value in vars(model).items()
        if name.endswith("_")
        and not isinstance(value, (str, bool, type(None)))
        and np.asarray(value).dtype != object
    } | {f"trees {i}": nodes.tobytes() for i, nodes in enumerate(nodes_of(model))}
