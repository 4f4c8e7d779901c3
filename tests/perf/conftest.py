"""Run as they are, these are tests of quality on tiny data; with ``--benchmark-enable`` they
measure on full sizes (``FASTML_PERF=tiny``, ``quick`` or ``full`` overrules).
"""

import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
PROFILES = ("tiny", "quick", "full")


@pytest.fixture(scope="session")
def size(request: pytest.FixtureRequest) -> str:
    """``FASTML_PERF`` if set, else full sizes exactly when benchmarks are switched on."""
    chosen = os.environ.get("FASTML_PERF", "")
    if chosen and chosen not in PROFILES:
        raise pytest.UsageError(f"FASTML_PERF must be one of {PROFILES}, got {chosen!r}")
    options = request.config.option
    return chosen or ("full" if options.benchmark_enable or options.benchmark_only else "tiny")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fixed work stops before convergence on purpose, and what a peer warns about is not ours."""
    for item in items:
        if item.path.is_relative_to(FOLDER):
            item.add_marker(pytest.mark.filterwarnings("ignore"))
