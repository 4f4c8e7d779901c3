"""Every case by every installed library: timed by pytest-benchmark, and as good as it must be."""

import functools

import numpy as np
import pytest

from fastml._cases._case import Case, cases, family_of

ROUNDS = 5
EVERY = [
    pytest.param(case, library, id=f"{family_of(case)}-{case.id}-{library}")
    for case in cases()
    for library in case.libraries
]


@functools.lru_cache(maxsize=8)
def data_of(case_id: str, size: str):
    (case,) = (case for case in cases() if case.id == case_id)
    return case.build(size)


@functools.cache
def quality_of_fastml(case_id: str, size: str) -> float:
    (case,) = (case for case in cases() if case.id == case_id)
    data = data_of(case_id, size)
    return case.quality.judge(data, case.prepare("fastml", data)())


@pytest.mark.parametrize(("case", "library"), EVERY)
def test_case(benchmark, size, case: Case, library: str):
    """No worse than the reference; and fastml no worse than the peer."""
    data = data_of(case.id, size)
    try:
        call = case.prepare(library, data)
    except ImportError as missing:
        if library == "fastml":
            raise
        pytest.skip(f"{library} is not installed: {missing}")
    answer = benchmark.pedantic(call, rounds=ROUNDS if size == "full" else 1, warmup_rounds=1)
    found = case.quality.judge(data, answer)
    assert np.isfinite(found)
    if case.quality.reference is not None:
        expected = case.quality.reference(data)
        assert case.quality.as_good(found, expected, size, library), (found, expected)
    if case.quality.better == "error":
        assert case.quality.as_good(found, 0.0, size, library), found
    elif library != "fastml":
        ours = quality_of_fastml(case.id, size)
        assert case.quality.as_good(ours, found, size), (ours, found)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_declaration(case):
    """Something to compare with, a name of its own, data that asv's versions can follow."""
    judged = case.quality.reference is not None or case.quality.better == "error"
    in_ci = {"sklearn", "scipy", "numpy", "pandas", "lightgbm", "imblearn"}
    assert judged or in_ci & set(case.peers), "nothing that CI can compare"
    assert sum(other.id == case.id for other in cases()) == 1
    function = getattr(case.data, "func", case.data)
    assert function.__name__ != "<lambda>"
    assert (
        case.version("quick") != case.version("full") or case.sizes["quick"] == case.sizes["full"]
    )
