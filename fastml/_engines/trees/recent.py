"""Arrays that can be worked out again, kept while they are recent.

scikit-learn's arrays of a tree are seven times the size of what is stored. Code that reads them in
a loop must not have them made anew each time; code that goes through the trees of a large forest
must not keep them all.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict

from numpy.typing import NDArray

KEPT_BYTES = 1 << 24
"""Of all dictionaries together; the one that was written last stays, however large."""

_lock = threading.RLock()  # what the garbage collector calls may come while it is held
_recent: OrderedDict[int, tuple[weakref.ref, int]] = OrderedDict()  # by identity: whose, bytes
_total = 0


class RecentArrays(dict[str, NDArray]):
    """A dictionary that is emptied once enough was written to others since."""

    __slots__ = ("__weakref__",)

    def __setitem__(self, name: str, array: NDArray) -> None:
        global _total
        super().__setitem__(name, array)
        key = id(self)
        with _lock:
            ref, size = _recent.pop(key, (None, 0))
            ref = weakref.ref(self, lambda _: _forget(key)) if ref is None else ref
            _recent[key] = ref, size + array.nbytes
            _total += array.nbytes
            while _total > KEPT_BYTES and len(_recent) > 1:
                oldest = _recent[next(iter(_recent))][0]()
                _forget(next(iter(_recent)))
                if oldest is not None:
                    oldest.clear()


def _forget(key: int) -> None:
    global _total
    with _lock:
        _total -= _recent.pop(key, (None, 0))[1]
