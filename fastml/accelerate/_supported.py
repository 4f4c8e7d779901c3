"""What can be served, as data and as the table of the documentation."""

from __future__ import annotations

from typing import NamedTuple

from fastml.accelerate._names import CLASSES, CONDITIONS, NOT_SERVED, names


class Support(NamedTuple):
    """One class or function of both libraries.

    Attributes
    ----------
    name : path below ``sklearn``
    kind : ``"class"`` or ``"function"``
    served : whether fastml serves it at all
    conditions : when scikit-learn does it instead, beside `FOR_ALL`; or why it always does
    """

    name: str
    kind: str
    served: bool
    conditions: tuple[str, ...]


def supported() -> list[Support]:
    """Everything that fastml and scikit-learn both have, and when scikit-learn does it.

    Returns
    -------
    supported : list of Support
        ``(name, kind, served, conditions)``, by name.

    Examples
    --------
    >>> from fastml.accelerate import supported
    >>> next(entry for entry in supported() if entry.name == "linear_model.Lasso")
    Support(name='linear_model.Lasso', kind='class', served=True,
            conditions=('`copy_X=False` asks to write into X',))
    """
    classes = {f"{module}.{name}" for module, listed in CLASSES.items() for name in listed}
    found = []
    for name in names():
        kind = "class" if name in classes else "function"
        if name in NOT_SERVED:
            found.append(Support(name, kind, False, (NOT_SERVED[name],)))
        else:
            conditions = tuple(each.text for each in CONDITIONS.get(name, ()))
            found.append(Support(name, kind, True, conditions))
    return found
