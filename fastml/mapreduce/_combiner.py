"""Whether a combiner may be used: tried on a few values of a key, in several orders."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

VALUES_SEEN = 64  # of a key
ROUNDING = 1e-9  # relative to the largest number met: sums in another order differ by less


def refusal(key, values: list, combine: Callable, reduce: Callable) -> str | None:
    """What is wrong with the combiner on these values, or None.

    It must be commutative and associative, and the reducer must give the same for combined values.
    """
    a, b, c = _three(values)

    def joined(x, y):
        """Of copies: a combiner may write to its arguments."""
        return combine(copy.deepcopy(x), copy.deepcopy(y))

    def reduced(*several):
        return list(reduce(copy.deepcopy(key), copy.deepcopy(list(several))))

    ab, bc = joined(a, b), joined(b, c)
    rules = (
        ("commutative", "combine(a, b)", ab, "combine(b, a)", joined(b, a), (a, b)),
        ("commutative", "combine(a, b)", joined(ab, c), "combine(b, a)", joined(c, ab), (ab, c)),
        (
            "associative",
            "combine(combine(a, b), c)",
            joined(ab, c),
            "combine(a, combine(b, c))",
            joined(a, bc),
            (a, b, c),
        ),
    )
    for rule, left, one, right, other, given in rules:
        if not same(one, other, scale(given)):
            names = ", ".join(f"{name} = {value!r}" for name, value in zip("abc", given))
            return (
                f"combine is not {rule}: for the key {key!r} and {names}, "
                f"{left} is {one!r} but {right} is {other!r}"
            )
    plain, combined = reduced(a, b, c), reduced(joined(ab, c))
    if not same(plain, combined, scale((a, b, c))):
        return (
            f"reduce and combine do not fit together: for the key {key!r} and the values "
            f"{[a, b, c]!r}, reduce gives {plain!r}, but {combined!r} once they are combined"
        )
    return None


def _three(values: list) -> list:
    """Three of the first values, different ones if there are; the last is repeated if not."""
    found: list = []
    for value in values[:VALUES_SEEN]:
        if len(found) < 3 and not any(same(value, other, 0.0) for other in found):
            found.append(value)
    return found + [found[-1]] * (3 - len(found))


def scale(value: Any) -> float:
    """The largest finite number in it, without its sign."""
    value = _without_index(value)
    if isinstance(value, dict):
        return max(map(scale, value.values()), default=0.0)
    if isinstance(value, tuple | list | set | frozenset):
        return max(map(scale, value), default=0.0)
    if isinstance(value, np.ndarray | np.generic | float | int | complex):
        numbers = np.asarray(value)
        if numbers.dtype.kind in "fciu" and numbers.size:
            sizes = np.abs(numbers.astype(complex))
            return float(np.max(sizes, where=np.isfinite(sizes), initial=0.0))
    if not _has_own_equality(value):
        return scale(getattr(value, "__dict__", {}))
    return 0.0


def same(x: Any, y: Any, size: float) -> bool:
    """Equal; floats up to the rounding of numbers as large as ``size``."""
    x, y = _without_index(x), _without_index(y)
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        x, y = np.asarray(x), np.asarray(y)
        if x.shape != y.shape:
            return False
        if x.dtype.kind in "fc" or y.dtype.kind in "fc":
            return bool(np.allclose(x, y, ROUNDING, ROUNDING * size, equal_nan=True))
        return bool((x == y).all())
    if isinstance(x, float | complex) or isinstance(y, float | complex):
        try:
            return bool(np.isclose(x, y, ROUNDING, ROUNDING * size, equal_nan=True))
        except TypeError:
            return False
    if isinstance(x, dict) and isinstance(y, dict):
        return x.keys() == y.keys() and all(same(x[key], y[key], size) for key in x)
    for kind in (tuple, list):
        if isinstance(x, kind) and isinstance(y, kind):
            return len(x) == len(y) and all(same(a, b, size) for a, b in zip(x, y))
    if type(x) is type(y) and not _has_own_equality(x):
        return same(getattr(x, "__dict__", {}), getattr(y, "__dict__", {}), size)
    return bool(x == y)


def _without_index(value: Any) -> Any:
    """The array of a table or column, and anything else as it is."""
    return value.to_numpy() if hasattr(value, "to_numpy") else value


def _has_own_equality(value: Any) -> bool:
    return type(value).__eq__ is not object.__eq__
