"""The decorators and the launch gate, on kernels of this file's own."""

import threading

import numba
import numpy as np
import pytest

from fastml import _jit
from fastml._jit import FAST_MATH, REGISTRY, jit_enabled, kernel, parallel_kernel, prange

needs_jit = pytest.mark.skipif(not jit_enabled(), reason="about compiled drivers")


@kernel
def _fill_chunk(c, out):
    out[c] = c * c


@parallel_kernel
def fill_squares(out):
    """Squares."""
    for c in prange(out.shape[0]):
        _fill_chunk(np.intp(c), out)


@kernel(fast_math=True)
def fast_total(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
    return total


@pytest.fixture(autouse=True)
def registry_without_this_file():
    """The kernels of this file are not the library's."""
    yield
    for name in [name for name in REGISTRY if name.startswith(__name__)]:
        del REGISTRY[name]


def squares(n_threads):
    out = np.zeros(7)
    fill_squares(out, n_threads=n_threads)
    return out.tolist()


@pytest.mark.small
@pytest.mark.parametrize("n_threads", [1, 2, 100])
def test_driver_runs_on_any_number_of_threads(n_threads):
    assert squares(n_threads) == [0, 1, 4, 9, 16, 25, 36]
    assert fill_squares.__doc__ == "Squares."


def no_launch(*args):
    raise AssertionError("it was launched")


@needs_jit
def test_one_thread_is_no_launch(monkeypatch):
    monkeypatch.setattr(fill_squares, "_launch", no_launch)
    assert squares(1)[-1] == 36
    with pytest.raises(AssertionError, match="launched"):
        squares(2)


@needs_jit
def test_forked_child_launches_nothing(monkeypatch):
    monkeypatch.setattr(fill_squares, "_launch", no_launch)
    monkeypatch.setattr(_jit._gate, "in_forked_child", True)
    assert squares(2)[-1] == 36


@needs_jit
def test_unsafe_layer_launches_one_at_a_time(monkeypatch):
    monkeypatch.setattr(_jit, "THREAD_SAFE_LAYERS", frozenset())
    launched = []

    def launch(args, n_threads):
        launched.append("parallel")
        # while this launch is under way, another thread must not launch
        other = threading.Thread(target=squares, args=(2,))
        other.start()
        other.join()

    monkeypatch.setattr(fill_squares, "_launch", launch)
    run = fill_squares._run
    monkeypatch.setattr(fill_squares, "_run", lambda *a: (launched.append(a[:2]), run(*a)))
    squares(2)
    assert launched == ["parallel", (0, 1)]
    launched.clear()
    monkeypatch.setattr(fill_squares, "_launch", lambda *args: launched.append("parallel"))
    later = threading.Thread(target=squares, args=(2,))
    later.start()
    later.join()
    assert launched == ["parallel"], "the gate was not opened again"


@needs_jit
def test_a_launch_may_launch_on_its_own_thread(monkeypatch):
    """As the probe of linking does where the launch must first be compiled."""
    monkeypatch.setattr(_jit, "THREAD_SAFE_LAYERS", frozenset())
    inside = []

    def launch(args, n_threads):
        inside.append(_jit._launched(inside.append, "launched"))

    monkeypatch.setattr(fill_squares, "_launch", launch)
    squares(2)
    assert inside == ["launched", True]


def test_a_probe_is_not_launched_where_it_could_do_harm(monkeypatch):
    def elsewhere():
        outcomes.append(_jit._launched(outcomes.append, "launched"))

    outcomes = []
    with _jit._gate.lock:
        other = threading.Thread(target=elsewhere)
        other.start()
        other.join()
    monkeypatch.setattr(_jit._gate, "in_forked_child", True)
    elsewhere()
    assert outcomes == [False, False]


@needs_jit
def test_thread_mask_is_restored_even_after_an_error(monkeypatch):
    before = numba.get_num_threads()

    def fail(launcher, n_threads, args):
        numba.set_num_threads(1)
        raise RuntimeError("as planned")

    if before == 1:
        pytest.skip("one core: the mask cannot be lowered")
    monkeypatch.setattr(fill_squares, "_run", fail)
    with pytest.raises(RuntimeError, match="as planned"):
        fill_squares._launch((np.zeros(3),), 1)
    assert numba.get_num_threads() == before


@needs_jit
def test_thread_mask_is_as_before_a_launch_on_fewer_threads():
    before = numba.get_num_threads()
    for n_threads in (2, max(before - 1, 2), before + 1):
        assert squares(n_threads)[-1] == 36
        assert numba.get_num_threads() == before


def fresh_driver():
    @parallel_kernel
    def fresh(out):
        for c in prange(out.shape[0]):
            _fill_chunk(np.intp(c), out)

    return fresh


@needs_jit
def test_one_compiled_function_serves_one_thread_and_many():
    fresh = fresh_driver()
    for n_threads in (1, 2):
        out = np.zeros(5)
        fresh(out, n_threads=n_threads)
        assert out.tolist() == [0, 1, 4, 9, 16]
    assert len(fresh.shared.signatures) == 1
    assert fresh.functions == {"": fresh.shared}


@needs_jit
def test_without_sharing_warm_up_compiles_both_twins(monkeypatch):
    monkeypatch.setattr(_jit._sharing, "share", None)
    fresh = fresh_driver()
    assert fresh.shared is None
    with _jit.compile_both_twins():
        for n_threads in (1, 2):
            out = np.zeros(5)
            fresh(out, n_threads=n_threads)
            assert out.tolist() == [0, 1, 4, 9, 16]
    assert len(fresh.parallel.signatures) == len(fresh.serial.signatures) == 1
    assert list(fresh.functions) == [" (parallel)", " (serial)"]
    assert not _jit._compile_only.active


@pytest.mark.small
def test_fast_math_keeps_nan_and_infinity():
    assert not {"nnan", "ninf", "fast"} & FAST_MATH
    assert np.isnan(fast_total(np.array([1.0, np.nan])))
    assert np.isinf(fast_total(np.array([1.0, np.inf])))


@needs_jit
def test_kernels_release_the_gil_and_divide_as_ieee():
    @kernel
    def reciprocal(x):
        return 1.0 / x

    assert reciprocal.targetoptions["nogil"]
    assert reciprocal(0.0) == np.inf


def test_registry_knows_every_kernel():
    @kernel
    def known(x):
        return x

    assert REGISTRY[f"{__name__}.{known.__qualname__}"] is known
