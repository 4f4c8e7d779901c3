"""Arrays that trees keep while they are recent."""

import gc
from collections import OrderedDict

import numpy as np

from fastml._engines.trees import recent


def test_older_arrays_go_and_the_last_stay(monkeypatch):
    monkeypatch.setattr(recent, "KEPT_BYTES", 1000)
    monkeypatch.setattr(recent, "_recent", OrderedDict())
    monkeypatch.setattr(recent, "_total", 0)
    first, second, third = (recent.RecentArrays() for _ in range(3))
    first["a"] = np.zeros(50)
    second["a"] = np.zeros(50)
    assert "a" in first
    first["b"] = np.zeros(10)  # now the most recent
    third["a"] = np.zeros(20)
    assert "a" in first
    assert "a" not in second
    third["b"] = np.zeros(5000)
    assert set(third) == {"a", "b"}
    assert not first


def test_what_is_gone_does_not_count():
    gc.collect()
    before, n = recent._total, len(recent._recent)
    kept = recent.RecentArrays()
    kept["a"] = np.zeros(100)
    assert recent._total == before + 800
    del kept
    gc.collect()
    assert (recent._total, len(recent._recent)) == (before, n)
