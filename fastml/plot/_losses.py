"""Plot of losses: surrogates of the 0-1 loss, or losses of distances."""

from __future__ import annotations

import numpy as np

from fastml import losses as known
from fastml.plot._axes import axes_or_new

SURROGATES = (
    known.Logistic(),
    known.Hinge(),
    known.SquaredHinge(),
    known.Exponential(),
    known.PerceptronLoss(),
)


def losses(which=None, *, width=3.0, base_two=True, ax=None):
    """Losses of two classes against the margin, with the 0-1 loss that they stand for.

    Losses of distances (`fastml.losses.Huber`, say) are drawn against r − y, at y = 0, without it.

    Parameters
    ----------
    which : sequence of losses, default=None
        Of `fastml.losses`, all of one kind; None means the surrogates of the 0-1 loss.
    width : float, default=3.0
        The axis goes from −width to width.
    base_two : bool, default=True
        Whether the logistic loss has the logarithm to base 2, so that it is 1 at margin 0 and
        nowhere below the 0-1 loss.
    ax : matplotlib Axes, default=None

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from fastml import losses, plot
    >>> ax = plot.losses([losses.Hinge(), losses.Logistic()])  # doctest: +SKIP
    """
    chosen = SURROGATES if which is None else tuple(which)
    of_margin = {loss.of_margin for loss in chosen}
    if len(of_margin) != 1:
        raise ValueError("which must hold losses of one kind: of two classes, or of distances")
    ax = axes_or_new(ax)
    x = np.linspace(-width, width, 601)
    (by_margin,) = of_margin
    if by_margin:
        ax.step(x, (x < 0).astype(float), color="black", label="0-1", where="post")
    for loss in chosen:
        values = loss.value(np.full_like(x, 1.0 if by_margin else 0.0), x)
        two = base_two and isinstance(loss, known.Logistic)
        ax.plot(x, values / np.log(2.0) if two else values, label=repr(loss).replace("()", ""))
    ax.set_xlabel("margin" if by_margin else "r − y")
    ax.set_ylabel("loss")
    if by_margin:
        ax.set_ylim(-0.1, width + 1.0)
    ax.legend()
    return ax
