"""Shared by the performance tests. Run as they are, they are smoke tests on small data;
``pytest tests/perf --benchmark-enable`` measures on full sizes (``FASTML_PERF=small`` or ``full``
overrules).

A test looks like this::

    @pytest.mark.parametrize("library", ["fastml", "sklearn", "faiss"], indirect=True)
    def test_knn(measure, size, library):
        X = data(size(small=200, full=100_000))
        search = searches[library](X)
        neighbours = measure(search, X)
        assert ...  # the same answer from every library

`library` skips what is not installed, `size` picks one of two sizes, `measure` calls once untimed
(that is where fastml compiles), then a few rounds under pytest-benchmark, and returns the result.
"""

import importlib
import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
PROFILES = ("small", "full")
ROUNDS = 5


def profile(config: pytest.Config) -> str:
    """``FASTML_PERF`` if set, else full sizes exactly when benchmarks are switched on."""
    chosen = os.environ.get("FASTML_PERF", "")
    if chosen and chosen not in PROFILES:
        raise pytest.UsageError(f"FASTML_PERF must be one of {PROFILES}, got {chosen!r}")
    measuring = config.getoption("benchmark_enable") or config.getoption("benchmark_only")
    default = "full" if measuring else "small"
    return chosen or default


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What a peer warns about is not ours to fix; fastml's own warnings stay errors."""
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        ours = parameters.get("library", "fastml") == "fastml"
        if not ours and item.path.is_relative_to(FOLDER):
            item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.fixture
def library(request: pytest.FixtureRequest) -> str:
    """The name of an importable package; the test is skipped if it is not installed."""
    name = request.param
    try:
        importlib.import_module(name)
    except ImportError as missing:
        pytest.skip(f"{name} is not installed: {missing}")
    return name


@pytest.fixture
def size(request: pytest.FixtureRequest):
    """``size(small=..., full=...)``: one of the two, by profile."""
    chosen = profile(request.config)

    def pick(*, small, full):
        return full if chosen == "full" else small

    return pick


@pytest.fixture
def measure(benchmark):
    """``measure(function, *args, **kwargs)``: warm, then timed; returns the last result."""

    def run(function, *args, **kwargs):
        return benchmark.pedantic(function, args, kwargs, rounds=ROUNDS, warmup_rounds=1)

    return run
