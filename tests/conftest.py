"""Settings and fixtures of the whole suite.

Kernels use the user's normal cache folder: it is keyed by a hash of the kernel sources, so a second
run compiles nothing and an edited kernel is never missed.
"""

import inspect
import os
from pathlib import Path

os.environ.setdefault("FASTML_QUIET", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
if "PYTEST_XDIST_WORKER" in os.environ:  # workers share the cores
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait must sleep
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads never do

import numpy as np
import pytest
from hypothesis import settings

import fastml

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


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """``pytest -m spark``: one process, so one session of Spark, which has the cores for itself."""
    if config.option.markexpr == "spark" and hasattr(config.option, "numprocesses"):
        config.option.numprocesses, config.option.dist, config.option.tx = None, "no", []


def pytest_report_header(config):
    return f"fastml: FASTML_TEST_SEED={chosen_seed()}"


FAMILY_OF_ROOM = {
    **dict.fromkeys(("boosting", "forest", "hist", "losses"), "ensemble"),
    **dict.fromkeys(("distances", "scores"), "metrics"),
    "density": "neighbors",
    "linalg": "kernel_ridge",
    "linear": "svm",
}
"""Rooms of `fastml/kernels` that are not named as the module whose estimators run them."""

EVERY_FAMILY = "~"
"""Sorts last: tests that run kernels of several families find them in the cache by then."""


def family(item) -> str:
    """The public module whose kernels a test is likely to compile."""
    parts = Path(item.nodeid.partition("::")[0]).with_suffix("").parts
    below = [part.removeprefix("test_") for part in parts if part not in ("tests", "fastml")]
    if below[0] == "kernels" and len(below) > 1:
        return FAMILY_OF_ROOM.get(below[1], below[1])
    if below[0] in fastml._SUBMODULES:
        return FAMILY_OF_ROOM.get(below[0], below[0])
    if below[0] == "common":
        return _family_of_parameters(item)
    return EVERY_FAMILY


def _family_of_parameters(item) -> str:
    for value in item.callspec.params.values() if hasattr(item, "callspec") else ():
        owner = value if inspect.isclass(value) or inspect.isroutine(value) else type(value)
        package, _, module = owner.__module__.partition(".")
        if package == "fastml":
            name = module.partition(".")[0]
            return FAMILY_OF_ROOM.get(name, name)
    return EVERY_FAMILY


def pytest_collection_modifyitems(items):
    """One family after the other: xdist's workers begin far apart and compile different kernels."""
    items.sort(key=family)


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
