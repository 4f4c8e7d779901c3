"""How many threads, and why."""

import threading

import joblib
import pytest
from subprocesses import run_python

import fastml
from fastml import _threads
from fastml._threads import chunk_rows, effective_n_threads, limits

BIG = 1e12


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(_threads, "limits", lambda: {"cores": 4})


@pytest.mark.parametrize(
    "n_jobs, threads", [(None, 4), (-1, 4), (-2, 3), (-9, 1), (1, 1), (3, 3), (64, 4)]
)
def test_n_jobs(four_cores, n_jobs, threads):
    assert effective_n_threads(n_jobs) == threads
    assert effective_n_threads(n_jobs, BIG) == threads


@pytest.mark.parametrize("work, threads", [(0, 1), (1000, 1), (2**19, 2), (3 * 2**18, 3), (BIG, 4)])
def test_small_work_gets_few_threads(four_cores, work, threads):
    assert effective_n_threads(None, work) == threads


@pytest.mark.parametrize("work", [None, 10])
def test_bad_n_jobs(work):
    with pytest.raises(ValueError, match="n_jobs == 0"):
        effective_n_threads(0, work)
    for wrong in (1.5, "2", True):
        with pytest.raises(TypeError, match="n_jobs"):
            effective_n_threads(wrong, work)


def test_set_num_threads_and_thread_limit():
    try:
        fastml.set_num_threads(1)
        assert effective_n_threads(-1) == 1
    finally:
        fastml.set_num_threads(None)
    with fastml.thread_limit(1):
        assert effective_n_threads(-1) == 1
        assert limits()["fastml.thread_limit"] == 1
        # another Python thread is not concerned
        seen = []
        thread = threading.Thread(target=lambda: seen.append("fastml.thread_limit" in limits()))
        thread.start()
        thread.join()
        assert seen == [False]
    assert "fastml.thread_limit" not in limits()


@pytest.mark.parametrize("wrong, error", [(0, ValueError), (-1, ValueError), ("1", TypeError)])
def test_bad_limits(wrong, error):
    with pytest.raises(error, match="number of threads"):
        fastml.set_num_threads(wrong)
    with pytest.raises(error, match="number of threads"), fastml.thread_limit(wrong):
        pass


def test_joblib_thread_worker_gets_one_thread():
    jobs = joblib.Parallel(n_jobs=2, backend="threading")(
        joblib.delayed(effective_n_threads)(-1) for _ in range(4)
    )
    assert jobs == [1, 1, 1, 1]


def test_cgroup_quota(tmp_path):
    read = _threads.cgroup_quota.__wrapped__

    def quota(name, **files):
        root = tmp_path / name
        for path, text in files.items():
            file = root / path.replace("__", "/").replace("_DOT_", ".")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return read(root, root / "self")

    assert quota("none") is None
    assert quota("v2 unlimited", cpu_DOT_max="max 100000") is None
    assert quota("v2", cpu_DOT_max="150000 100000") == 2
    assert quota("v2 less than one", cpu_DOT_max="50000 100000") == 1
    nested = quota(
        "v2 nested", self="0::/pod", cpu_DOT_max="max 100000", pod__cpu_DOT_max="300000 100000"
    )
    assert nested == 3
    v1 = {"cpu__cpu_DOT_cfs_quota_us": "200000", "cpu__cpu_DOT_cfs_period_us": "100000"}
    assert quota("v1", self="4:cpu,cpuacct:/", **v1) == 2
    assert quota("garbage", cpu_DOT_max="no numbers here") is None


def test_chunks_depend_on_the_size_only():
    for n_rows in (0, 1, 7, 1000, 10**6, 10**9):
        with fastml.thread_limit(1):
            alone = chunk_rows(n_rows, 100)
        assert alone == chunk_rows(n_rows, 100) >= 1
        assert -(-n_rows // alone) <= 1024
    assert chunk_rows(10, 1e9) == 1
    assert chunk_rows(10, 1e9, at_least=8) == 8


TWO_THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), 2)


def test_overlapping_blas_holds_restore_the_limit():
    """In a process of its own: the limit is global, and what other tests load sets it too."""
    run_python(
        """
    import threading
    from fastml import _threads
    from fastml._threads import single_threaded_blas

    def blas_threads():
        return {lib["num_threads"] for lib in _threads._blas_controller().info()}

    before = blas_threads()
    assert 1 not in before, "nothing to hold"
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with single_threaded_blas():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait()
    with single_threaded_blas():
        assert blas_threads() == {1}
        leave.set()
        thread.join()  # the first user leaves before the second
        assert blas_threads() == {1}
    assert blas_threads() == before
    """,
        **TWO_THREADS,
    )


def test_blas_is_held_by_any_thread_in_turn():
    """From 3.8 on, threadpoolctl ignores what a second thread asks for."""
    run_python(
        """
    import threading
    from fastml import _threads

    def blas_threads():
        return {lib["num_threads"] for lib in _threads._blas_controller().info()}

    before, found = blas_threads(), []
    assert 1 not in before, "nothing to hold"

    def hold():
        with _threads.single_threaded_blas():
            found.append(blas_threads())

    hold()
    for _ in range(2):
        thread = threading.Thread(target=hold)
        thread.start()
        thread.join()
    assert found == [{1}] * 3, found
    assert blas_threads() == before
    """,
        **TWO_THREADS,
    )


def test_interruptible_gives_results_and_errors():
    assert _threads.interruptible(max, [1, 3], key=lambda value: -value) == 1
    with pytest.raises(ZeroDivisionError):
        _threads.interruptible(lambda: 1 // 0)
    with _threads.thread_limit(1):
        assert _threads.interruptible(effective_n_threads, None) == 1
