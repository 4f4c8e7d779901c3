"""Tests marked `alone` do run alone; ordinary ones run side by side."""

import contextlib
import threading
import uuid

import pytest
from conftest import Turns, fcntl

pytestmark = pytest.mark.skipif(fcntl is None, reason="needs file locks")


class Item:
    def __init__(self, alone):
        self.alone = alone

    def get_closest_marker(self, name):
        return name if self.alone else None


@pytest.fixture
def turns():
    turns = Turns(uuid.uuid4().hex)
    yield turns
    turns.pytest_sessionfinish()


@contextlib.contextmanager
def running(turns, alone):
    """As pytest drives the hook: up to its yield, then to its end."""
    hook = turns.pytest_runtest_protocol(Item(alone))
    next(hook)
    yield
    with contextlib.suppress(StopIteration):
        hook.send(None)


def starts_within(turns, alone, seconds):
    """Whether a test of another worker starts while the caller's is running."""
    started, may_end = threading.Event(), threading.Event()

    def other():
        with running(turns, alone):
            started.set()
            may_end.wait()

    thread = threading.Thread(target=other)
    thread.start()
    result = started.wait(seconds)
    may_end.set()
    return result, thread


@pytest.mark.parametrize("first, second", [(True, False), (False, True), (True, True)])
def test_one_waits_for_the_other(turns, first, second):
    with running(turns, first):
        started, thread = starts_within(turns, second, seconds=0.2)
        assert not started
    thread.join(timeout=10)
    assert not thread.is_alive()


def test_ordinary_tests_run_side_by_side(turns):
    with running(turns, False):
        started, thread = starts_within(turns, False, seconds=10)
        assert started
    thread.join()


def test_one_that_waits_is_not_overtaken(turns):
    with running(turns, False):
        _, waiting = starts_within(turns, True, seconds=0.2)
        overtaken, ordinary = starts_within(turns, False, seconds=0.2)
        assert not overtaken
    waiting.join(timeout=10)
    ordinary.join(timeout=10)
    assert not waiting.is_alive()
    assert not ordinary.is_alive()
