"""Settings and fixtures of the whole suite.

Kernels use the user's normal cache folder: it is keyed by a hash of the kernel sources, so a second
run compiles nothing and an edited kernel is never missed.
"""

import os
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

os.environ.setdefault("FASTML_QUIET", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import numpy as np
import pytest
from hypothesis import settings

try:
    import fcntl
except ImportError:  # Windows: tests of wall-clock time then need `pytest -n 0`
    fcntl = None

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


class Turns:
    """A test marked `alone` measures wall-clock time: xdist's other workers wait until it is done.

    One lock, shared by ordinary tests. The gate before it is held by whoever waits for the lock, so
    that ordinary tests cannot keep overtaking the one that wants to be alone. A plugin: a hook in
    this file would not see the doctests.
    """

    def __init__(self, run: str):
        self.gate, self.turn = (
            Path(tempfile.gettempdir()) / f"fastml-{name}-{run}" for name in ("gate", "turn")
        )

    @staticmethod
    @contextmanager
    def lock(path, alone):
        with path.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            yield

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        with ExitStack() as until_done:
            with self.lock(self.gate, alone=True):
                alone = item.get_closest_marker("alone") is not None
                until_done.enter_context(self.lock(self.turn, alone))
            return (yield)

    def pytest_sessionfinish(self):
        self.gate.unlink(missing_ok=True)
        self.turn.unlink(missing_ok=True)


def pytest_configure(config):
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")  # set in workers only
    if run and fcntl is not None:
        config.pluginmanager.register(Turns(run))


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
