"""Nothing brings the process down: threads, forks, joblib, on every threading layer.

Each test runs a script in a fresh process, because an abort of Numba's threading layer would take
pytest with it. ``OPERATIONS_PER_THREAD`` is lowered so that small data is launched in parallel.
"""

import importlib.util
import os
import sys
import textwrap

import pytest
from subprocesses import run_python

from fastml._jit import jit_enabled

pytestmark = [
    pytest.mark.skipif(not jit_enabled(), reason="no threads without JIT"),
    pytest.mark.skipif(sys.platform != "linux", reason="fork and the layers tested are Linux's"),
]

LAYERS = ["omp", "workqueue"]
if importlib.util.find_spec("tbb"):
    LAYERS.append("tbb")

WORKLOAD = """
import os, sys, threading
import numpy as np
from fastml import _threads
_threads.OPERATIONS_PER_THREAD = 1000
from fastml.cluster import KMeans
from fastml.neighbors import KNeighborsClassifier

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(c, 1.0, (500, 4)) for c in (-4, 0, 4)])
y = np.repeat([0, 1, 2], 500)

def work(n_jobs=2):
    kmeans = KMeans(3, n_init=2, random_state=0, n_jobs=n_jobs).fit(X)
    brute = KNeighborsClassifier(algorithm="brute", n_jobs=n_jobs).fit(X, y)
    tree = KNeighborsClassifier(algorithm="kd_tree", n_jobs=n_jobs).fit(X, y)
    return np.concatenate([
        kmeans.cluster_centers_.ravel(), kmeans.predict(X), [kmeans.inertia_],
        brute.predict_proba(X).ravel(), tree.kneighbors(X)[0].ravel(),
    ]).tobytes()
"""


def script(body):
    return WORKLOAD + textwrap.dedent(body)


@pytest.fixture(params=LAYERS)
def layer(request):
    return request.param


def test_eight_threads_at_once(layer):
    run_python(
        script("""
        expected = work()
        results, errors = [], []
        start = threading.Barrier(8)
        def loop():
            try:
                start.wait()
                for _ in range(5):
                    results.append(work() == expected)
            except BaseException as error:
                errors.append(error)
        threads = [threading.Thread(target=loop) for _ in range(8)]
        for t in threads: t.start()
        for t in threads: t.join()
        assert not errors, errors
        assert results == [True] * 40, results
        import numba
        assert numba.threading_layer() == os.environ["NUMBA_THREADING_LAYER"]
        """),
        NUMBA_THREADING_LAYER=layer,
    )


def test_first_launch_from_eight_threads_at_once(layer):
    """No launch has happened yet: the layer is not known when they race."""
    run_python(
        script("""
        results = []
        threads = [threading.Thread(target=lambda: results.append(work())) for _ in range(8)]
        for t in threads: t.start()
        for t in threads: t.join()
        assert len(results) == 8 and len(set(results)) == 1
        """),
        NUMBA_THREADING_LAYER=layer,
    )


def test_fork_after_a_fit(layer):
    run_python(
        script("""
        expected = work()
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        for _ in range(2):
            child = os.fork()
            if child == 0:
                os._exit(0 if work() == expected else 1)
            _, status = os.waitpid(child, 0)
            assert status == 0, status
            assert work() == expected  # the parent goes on as before
        """),
        NUMBA_THREADING_LAYER=layer,
    )


def test_every_estimator_after_a_fork():
    """Parent, child and parent again find the same; none of them hangs.

    On the layer that would kill the child. The gate is the same for all; the tests around this one
    see it on each.
    """
    run_python(
        """
        import os, pickle, warnings
        import specimens
        from fastml import _jit, _threads
        _threads.OPERATIONS_PER_THREAD = 256
        warnings.simplefilter("ignore")
        X = specimens.rows()

        def results():
            return {
                path: pickle.dumps(specimens.everything(specimens.make(cls), X))
                for path, cls in specimens.estimators().items()
            }

        expected = results()
        assert _jit.threading_layer(), "nothing was launched in parallel"
        child = os.fork()
        if child == 0:
            found = results()
            print(*(path for path in expected if found[path] != expected[path]), flush=True)
            os._exit(found != expected)
        assert os.waitpid(child, 0)[1] == 0
        assert results() == expected
        """,
        timeout=900,  # it may be the first to compile them
        NUMBA_THREADING_LAYER="omp",
        PYTHONPATH=os.path.dirname(__file__),
    )


def test_grandchild_of_a_fork(layer):
    run_python(
        script("""
        expected = work()
        child = os.fork()
        if child == 0:
            grandchild = os.fork()
            if grandchild == 0:
                os._exit(0 if work() == expected else 1)
            os._exit(os.waitpid(grandchild, 0)[1] != 0)
        assert os.waitpid(child, 0)[1] == 0
        """),
        NUMBA_THREADING_LAYER=layer,
    )


def test_fork_before_any_launch_uses_threads(layer):
    run_python(
        script("""
        from fastml import _jit
        child = os.fork()
        if child == 0:
            work()
            os._exit(0 if not _jit._gate.in_forked_child and _jit.threading_layer() else 1)
        assert os.waitpid(child, 0)[1] == 0
        """),
        NUMBA_THREADING_LAYER=layer,
    )


START_OPENMP = """
import ctypes, os, sys, threading
try:
    openmp = ctypes.CDLL("libgomp.so.1")
except OSError:
    print("no OpenMP")
    sys.exit()
BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
ran = []
openmp.GOMP_parallel(BODY(lambda _: ran.append(threading.get_ident())), None, 2, 0)
assert len(set(ran)) == 2
"""
"""As LightGBM does: its threads are OpenMP's, in the library that Numba uses as well."""


def run_with_openmp(code, **environment):
    found = run_python(code, timeout=120, **environment).strip()
    if found == "no OpenMP":
        pytest.skip("this machine has no libgomp, nor has Numba")
    assert found == "done"


def test_fork_after_another_library_used_openmp():
    body = """
        child = os.fork()
        if child == 0:
            os._exit(0 if work() == work(n_jobs=1) else 1)
        assert os.waitpid(child, 0)[1] == 0
        print("done")
    """
    run_with_openmp(WORKLOAD + START_OPENMP + textwrap.dedent(body), NUMBA_THREADING_LAYER="omp")


def test_fork_after_openmp_and_before_the_first_import_of_fastml():
    """The child cannot have been told of the fork: it must see for itself that it is one."""
    body = """
        child = os.fork()
        if child == 0:
            from fastml import _jit
            os._exit(0 if _jit._gate.in_forked_child else 1)
        assert os.waitpid(child, 0)[1] == 0
        from fastml import _jit
        assert not _jit._gate.in_forked_child
        print("done")
    """
    run_with_openmp(START_OPENMP + textwrap.dedent(body))


def test_multiprocessing_fork_pool_after_a_fit(layer):
    run_python(
        script("""
        import multiprocessing, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        expected = work()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(work, [2, 2, 1, 2]) == [expected] * 4
        """),
        NUMBA_THREADING_LAYER=layer,
    )


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib_backends(backend, tmp_path):
    module = tmp_path / "runtime_workload.py"
    module.write_text(WORKLOAD)
    run_python(
        f"""
        import sys, joblib
        sys.path.insert(0, {str(tmp_path)!r})
        from runtime_workload import work
        expected = work()
        jobs = joblib.Parallel(n_jobs=2, backend={backend!r})(
            joblib.delayed(work)() for _ in range(4))
        assert jobs == [expected] * 4
        """,
        PYTHONPATH=tmp_path,
    )


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_grid_search(backend):
    out = run_python(
        script(f"""
        import joblib
        from sklearn.model_selection import GridSearchCV
        grid = {{"n_neighbors": [1, 5, 9], "algorithm": ["brute", "kd_tree"]}}
        with joblib.parallel_config(backend={backend!r}):
            search = GridSearchCV(KNeighborsClassifier(), grid, n_jobs=2, cv=3).fit(X, y)
        print(search.best_score_)
        """)
    )
    assert float(out) > 0.9


def test_same_bits_for_any_n_jobs_and_in_two_processes():
    code = script("""
    import hashlib
    digests = {hashlib.sha256(work(n_jobs)).hexdigest() for n_jobs in (1, 2, 4)}
    print(len(digests), *digests)
    """)
    first = run_python(code, NUMBA_NUM_THREADS=4)
    assert first.split()[0] == "1"
    assert run_python(code, NUMBA_NUM_THREADS=1) == first


def test_numba_settings_of_the_user_are_left_alone():
    run_python(
        script("""
        import numba
        numba.set_num_threads(1)
        work()
        assert numba.get_num_threads() == 1
        assert _threads.effective_n_threads(None) == 1
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
        before = numba.get_num_threads()
        work(n_jobs=1)
        work(n_jobs=2)
        assert numba.get_num_threads() == before
        """),
        NUMBA_NUM_THREADS=3,
    )
