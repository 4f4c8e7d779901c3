"""Settings and fixtures of the whole suite.

Kernels use the user's normal cache folder: it is keyed by a hash of the kernel sources, so a second
run compiles nothing and an edited kernel is never missed.
"""

import os

os.environ.setdefault("FASTML_QUIET", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import numpy as np
import pytest
from hypothesis import settings

# The first example of a test may compile kernels: no deadline. Derandomised: CI must not flicker.
settings.register_profile("fastml", deadline=None, derandomize=True, database=None)
settings.load_profile("fastml")

DEFAULT_SEED = 42


def chosen_seed() -> int:
    """``FASTML_TEST_SEED`` (0 to 99), or always the same one."""
    seed = int(os.environ.get("FASTML_TEST_SEED", DEFAULT_SEED))
    if not 0 <= seed <= 99:
        raise pytest.UsageError(f"FASTML_TEST_SEED must be from 0 to 99, got {seed}")
    return seed


def pytest_report_header(config):
    return f"fastml: FASTML_TEST_SEED={chosen_seed()}"


@pytest.fixture(scope="session")
def global_random_seed():
    """A seed that any test should pass with: choose another by ``FASTML_TEST_SEED``."""
    return chosen_seed()


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def dtype(request):
    """The two float types that kernels are compiled for."""
    return request.param


@pytest.fixture(params=[1, 2], ids=["1thread", "2threads"])
def n_threads(request):
    """For kernels: the serial twin and a parallel launch."""
    return request.param
