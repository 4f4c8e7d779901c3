"""What a rule of conversion says, beside "copy the attributes"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Rule(NamedTuple):
    """How a class differs from its counterpart.

    Parameters that both have, and attributes, are copied; what is copied first may be replaced by
    ``forth`` and ``back``, which get (converter, the model, what is made of it).
    """

    ours: tuple[str, ...] = ()
    """Attributes that fastml alone has: not copied to scikit-learn's."""
    theirs: tuple[str, ...] = ()
    """Attributes that scikit-learn alone has: not copied to fastml's."""
    learning: tuple[str, ...] = ()
    """Parameters of fastml alone that only `fit` reads: left out, whatever their value. Others must
    have their default, as predictions would differ."""
    forth: Callable[[Any, Any, Any], None] | None = None
    back: Callable[[Any, Any, Any], None] | None = None
