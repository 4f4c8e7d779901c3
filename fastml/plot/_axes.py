"""Where a plot is drawn."""

from __future__ import annotations


def axes_or_new(ax):
    """The axes given, or those of a new figure; Matplotlib is loaded only then."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError("plots need Matplotlib: pip install fastml[plot]") from missing
    return plt.subplots()[1]
