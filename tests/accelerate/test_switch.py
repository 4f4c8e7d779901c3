"""The ways to switch acceleration on and off."""

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest
from subprocesses import environment, finish, run_python, start_python

from fastml import accelerate
from fastml.accelerate._functions import cell_of
from fastml.accelerate._names import names

PROGRAM = """
import sys
from sklearn.cluster import KMeans
from sklearn.linear_model import Ridge

if __name__ == "__main__":
    print(sys.argv[1:], KMeans(2, random_state=0).fit([[0.0], [0.1], [5.0], [5.1]]).inertia_ < 1)
    Ridge(copy_X=False).fit([[0.0], [1.0]], [0.0, 1.0])
"""


def state_of_scikit_learn():
    """What acceleration could leave behind: members of classes and modules, cells of functions."""
    state = {"finders": list(map(id, sys.meta_path))}
    for path in names():
        module, _, name = path.rpartition(".")
        found = getattr(importlib.import_module(f"sklearn.{module}"), name)
        if isinstance(found, type):
            for cls in found.__mro__:
                state[cls] = {
                    key: id(value) for key, value in vars(cls).items() if key != "__slotnames__"
                }  # pickle's own memory
        else:
            cell = cell_of(found)
            state[path] = None if cell is None else id(cell.cell_contents)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "sklearn":
            state[name] = {key: id(value) for key, value in vars(module).items()}
            state[name, "loader"] = id(module.__spec__.loader)
    return state


def test_everything_is_undone():
    """sklex#1717, autogluon#1049: every class, function and module is as it was."""
    from sklearn.cluster import KMeans
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401

    state_of_scikit_learn()  # imports all
    before = state_of_scikit_learn()
    for _ in range(2):
        with accelerate.enabled():
            assert accelerate.is_on()
            inside = state_of_scikit_learn()
            changed = {each for each in before if before[each] != inside[each]}
            assert {f"{cls.__module__}.{cls.__name__}" for cls in changed
                    if isinstance(cls, type)} >= {"sklearn.cluster._kmeans.KMeans"}  # fmt: skip
            assert {"metrics.r2_score", "finders"} <= changed
            assert not [each for each in changed if str(each).startswith("sklearn")]
            KMeans(1).fit([[0.0], [1.0]])
            accelerate.install(only="cluster")
        accelerate.uninstall()  # once more does nothing
        assert state_of_scikit_learn() == before
        assert not accelerate.is_on()


def test_methods_kept_from_before_are_scikit_learns():
    """A method that somebody took while it was served, called after the end."""
    from sklearn.cluster import KMeans

    model = KMeans(2, random_state=0)
    X = [[0.0], [0.1], [5.0], [5.1]]
    with accelerate.enabled():
        fit, of_class = model.fit, KMeans.fit
    accelerate.report(clear=True)
    for again in (fit, lambda X: of_class(model, X)):
        assert again(X).predict([[0.0]]) == model.labels_[0]
        assert accelerate.ran(model) == "scikit-learn"
    assert accelerate.report() == []


def test_patches_of_others_in_any_order(monkeypatch):
    from sklearn.cluster import KMeans

    own = vars(KMeans)["fit"]
    X = [[0.0], [1.0]]

    def theirs(self, X, y=None, sample_weight=None):
        self.seen = True
        return own(self, X)

    with monkeypatch.context() as patch:  # first on, first off
        patch.setattr(KMeans, "fit", theirs)
        accelerate.install(only="KMeans")
    assert vars(KMeans)["fit"] is own
    accelerate.uninstall()
    assert vars(KMeans)["fit"] is own
    with monkeypatch.context() as patch:  # still there when acceleration ends
        accelerate.install(only="KMeans")
        patch.setattr(KMeans, "fit", theirs)
        accelerate.uninstall()
        assert vars(KMeans)["fit"] is theirs
        assert KMeans(1).fit(X).seen
        patch.undo()
        assert accelerate.ran(KMeans(1).fit(X)) == "scikit-learn"
    # The patch has put back what it found, a method that was served: it is scikit-learn's now.
    monkeypatch.setattr(KMeans, "fit", own)


def test_switched_off_during_a_fit():
    from sklearn.svm import SVC

    def kernel(A, B):
        accelerate.uninstall()
        return A @ B.T

    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    with accelerate.enabled():
        model = SVC(kernel=kernel).fit(X, [0, 0, 1, 1])
        assert accelerate.ran(model) == "scikit-learn"
        assert model.predict(X).tolist() == [0, 0, 1, 1]
        assert "_n_support" in vars(model)


def test_silent_by_default():
    """sklex#2387: no line, no warning, no record of a program that logs at level INFO."""
    code = """
        import logging, warnings
        logging.basicConfig(level={level})
        warnings.simplefilter("always")
        import fastml.accelerate
        fastml.accelerate.install()
        from sklearn.linear_model import Ridge
        from sklearn.metrics import r2_score
        for copy_X in (True, False):  # served, and not
            model = Ridge(copy_X=copy_X).fit([[0.0], [1.0]], [0.0, 1.0])
            model.predict([[0.5]])
        r2_score([0.0, 1.0], [0.0, 1.0])
        assert len(fastml.accelerate.report()) > 2
        fastml.accelerate.uninstall()
    """
    assert finish(start_python(code.format(level="logging.INFO"))) == ("", "")
    out, err = finish(start_python(code.format(level="logging.DEBUG")))
    lines = [line for line in err.splitlines() if "fastml.accelerate" in line]
    assert out == ""
    assert "DEBUG:fastml.accelerate:linear_model.Ridge.fit runs on scikit-learn" in lines[0]


def test_lists_of_names():
    from sklearn.cluster import DBSCAN, KMeans

    own = vars(DBSCAN)["fit"]
    for lists in ({"only": "KMeans"}, {"only": ["cluster"], "exclude": "cluster.DBSCAN"}):
        with accelerate.enabled(**lists):
            assert vars(DBSCAN)["fit"] is own
            assert KMeans.fit.__wrapped__ is not None
            assert accelerate.ran(KMeans(1).fit([[0.0], [1.0]])) == "fastml"
            with accelerate.enabled(only="DBSCAN"):
                assert vars(DBSCAN)["fit"] is not own
            assert vars(DBSCAN)["fit"] is own
            assert accelerate.ran(KMeans(1).fit([[0.0], [1.0]])) == "fastml"
    with pytest.raises(ValueError, match=r"only: .* no 'KMean' in common"):
        accelerate.install(only="KMean")
    with pytest.raises(ValueError, match="on_fallback must be one of"):
        accelerate.install(on_fallback="loud")
    assert not accelerate.is_on()


def test_before_and_after_the_import():
    run_python("""
        import sys
        import fastml.accelerate as accelerate
        import sklearn.cluster
        early = sklearn.cluster.KMeans
        accelerate.install()
        assert "numba" not in sys.modules and "sklearn.impute" not in sys.modules
        from sklearn.linear_model._ridge import Ridge
        import sklearn.linear_model
        assert "numba" not in sys.modules
        assert type(sklearn.linear_model.__spec__.loader).__module__ != "fastml.accelerate._switch"
        assert accelerate.ran(Ridge().fit([[0.0], [1.0]], [0.0, 1.0])) == "fastml"
        assert accelerate.ran(early(1).fit([[0.0], [1.0]])) == "fastml"
        from sklearn.experimental import enable_iterative_imputer
        from sklearn.impute import IterativeImputer
        assert IterativeImputer.fit_transform.__wrapped__
    """)


def command(*arguments, cwd, **env):
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment(**env), text=True,
        capture_output=True, check=True,
    )  # fmt: skip


def test_command(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    script = ["-m", "fastml.accelerate", "--report", "program.py", "a", "--report"]
    done = command(*script, cwd=tmp_path)
    assert done.stdout == "['a', '--report'] True\n"
    assert any(line.split()[:4] == ["cluster.KMeans", "fit", "fastml", "1"]
               for line in done.stderr.splitlines())  # fmt: skip
    assert "`copy_X=False` asks to write into X" in done.stderr
    module = ["-m", "fastml.accelerate", "--exclude", "cluster", "--report", "-m", "program", "b"]
    done = command(*module, cwd=tmp_path)
    assert done.stdout == "['b'] True\n"
    assert "cluster.KMeans" not in done.stderr


def test_variable_of_the_environment(tmp_path):
    """As at Python's start, where the folder of packages has the file that the wheel carries."""
    from source_tree import ROOT

    line = (ROOT / "fastml_accelerate.pth").read_text()
    (tmp_path / "fastml_accelerate.pth").write_text(line)
    code = f"""
        import site, sys
        site.addsitedir({str(tmp_path)!r})
        on = "fastml.accelerate" in sys.modules
        import fastml.accelerate
        assert on == fastml.accelerate.is_on() and "sklearn" not in sys.modules
        from sklearn.cluster import KMeans, DBSCAN
        served = [vars(each)["fit"].__code__.co_filename.endswith("_estimators.py")
                  for each in (KMeans, DBSCAN)]
        print(on, *served)
    """
    assert run_python(code, FASTML_ACCELERATE="1").split() == ["True", "True", "True"]
    assert run_python(code, FASTML_ACCELERATE="KMeans").split() == ["True", "True", "False"]
    for off in ("0", None):
        assert run_python(code, FASTML_ACCELERATE=off).split() == ["False"] * 3


@pytest.mark.parametrize(
    ("value", "served"),
    [("1", "KMeans DBSCAN Ridge"), ("On", "KMeans DBSCAN Ridge"), ("cluster", "KMeans DBSCAN"),
     ("-KMeans", "DBSCAN Ridge"), ("1, -cluster", "Ridge"),
     ("cluster, -DBSCAN,Ridge", "KMeans Ridge"), ("0", ""), ("off", ""), (" ", "")],
)  # fmt: skip
def test_values_of_the_variable(monkeypatch, value, served):
    from sklearn.cluster import DBSCAN, KMeans
    from sklearn.linear_model import Ridge

    from fastml.accelerate._estimators import is_served
    from fastml.accelerate._switch import install_from_environment

    monkeypatch.setenv("FASTML_ACCELERATE", value)
    install_from_environment()
    try:
        found = [cls.__name__ for cls in (KMeans, DBSCAN, Ridge) if is_served(cls)]
    finally:
        accelerate.uninstall()
    assert found == served.split()


WORKERS = """
import sys
from joblib import Parallel, delayed

def work(i):
    import fastml.accelerate as accelerate
    from sklearn.cluster import KMeans
    from sklearn.linear_model import Ridge
    rows, y = [[0.0], [1.0], [5.0]], [0.0, 1.0, 5.0]
    models = KMeans(2, random_state=0).fit(rows), Ridge().fit(rows, y)
    return models, [accelerate.ran(model) for model in models]

if __name__ == "__main__":
    from multiprocessing import get_context
    import fastml.accelerate as accelerate
    (models, said), = Parallel(2, backend="loky")(delayed(work)(i) for i in range(1))
    print("loky", *said, *map(accelerate.ran, models))
    with get_context("spawn").Pool(1) as pool:
        print("spawn", *pool.map(work, [0])[0][1])
"""


def as_from_a_wheel(folder):
    """A folder for PYTHONPATH with the line that Python runs at its start."""
    from source_tree import ROOT

    (folder / "sitecustomize.py").write_text((ROOT / "fastml_accelerate.pth").read_text())
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH", ""))))


def test_workers_serve_what_the_command_says(tmp_path):
    (tmp_path / "workers.py").write_text(WORKERS)
    path = as_from_a_wheel(tmp_path)
    script = ["-m", "fastml.accelerate", "--exclude", "Ridge", "workers.py"]
    done = command(*script, cwd=tmp_path, PYTHONPATH=path)
    assert done.stdout.splitlines() == [
        "loky fastml scikit-learn fastml scikit-learn",
        "spawn fastml scikit-learn",
    ]


def test_workers_of_pytest(tmp_path):
    pytest.importorskip("xdist")
    (tmp_path / "test_served.py").write_text("""
from sklearn.cluster import KMeans

def test_served(worker_id):
    from fastml.accelerate import ran
    assert worker_id == "gw0"
    assert ran(KMeans(1).fit([[0.0], [1.0]])) == "fastml"
""")
    options = ["-q", "-n", "1", "-p", "no:cacheprovider", f"--rootdir={tmp_path}"]
    program = ["-m", "pytest", *options, "-c", os.devnull, "test_served.py"]
    path = as_from_a_wheel(tmp_path)
    clean = {name: None for name in os.environ if name.startswith("PYTEST_")}
    done = command(*program, cwd=tmp_path, PYTHONPATH=path, FASTML_ACCELERATE="1", **clean)
    assert "1 passed" in done.stdout


def test_extension_of_ipython(tmp_path):
    pytest.importorskip("IPython")
    said = run_python(
        """
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()

        def run(line):
            shell.run_cell(line).raise_error()

        run("from sklearn.cluster import KMeans")  # before and after
        run("%load_ext fastml.accelerate")
        run("from sklearn.linear_model import Ridge")
        run("from fastml.accelerate import is_on, ran, report")
        run("model = KMeans(1).fit([[0.0], [1.0]])")
        run("print(ran(model), ran(Ridge().fit([[0.0], [1.0]], [0, 1])))")
        run("model")
        run("report()")
        run("%reload_ext fastml.accelerate")
        run("print(is_on(), ran(KMeans(1).fit([[0.0], [1.0]])))")
        run("%unload_ext fastml.accelerate")
        run("print(is_on(), ran(model), model.predict([[0.0]]))")
        """,
        IPYTHONDIR=tmp_path,
    )
    lines = said.splitlines()
    assert lines[0] == "fastml fastml"
    assert "KMeans(n_clusters=1)" in lines[1]
    assert any(line.split()[:3] == ["cluster.KMeans", "fit", "fastml"] for line in lines)
    assert lines[-2:] == ["True fastml", "False scikit-learn [0]"]


def test_report_and_supported_as_text():
    with accelerate.enabled():
        from sklearn.cluster import KMeans

        accelerate.report(clear=True)
        KMeans(1).fit([[0.0], [1.0]])
        found = accelerate.report(clear=True)
    assert str(found).splitlines()[0].split()[:3] == ["name", "method", "ran"]
    assert "<td>cluster.KMeans</td>" in found._repr_html_()
    entries = {entry.name: entry for entry in accelerate.supported()}
    assert entries["cluster.KMeans"].served
    assert not entries["neighbors.KDTree"].served


def test_the_page_is_made_from_supported():
    from accelerate_page import PAGE, page

    assert PAGE.read_text() == page()
