"""The ways to switch acceleration on and off."""

import subprocess
import sys

import pytest
from subprocesses import environment, run_python

from fastml import accelerate

PROGRAM = """
import sys
from sklearn.cluster import KMeans
from sklearn.linear_model import Ridge

if __name__ == "__main__":
    print(sys.argv[1:], KMeans(2, random_state=0).fit([[0.0], [0.1], [5.0], [5.1]]).inertia_ < 1)
    Ridge(copy_X=False).fit([[0.0], [1.0]], [0.0, 1.0])
"""


def test_everything_is_undone():
    import sklearn.cluster
    import sklearn.metrics

    cls, function = sklearn.cluster.KMeans, sklearn.metrics.r2_score
    members, finders = dict(vars(cls)), list(sys.meta_path)
    inner = function.__closure__
    with accelerate.enabled():
        assert sklearn.cluster.KMeans is cls
        assert sklearn.metrics.r2_score is function
        assert dict(vars(cls)) != members
        assert accelerate.is_on()
    assert dict(vars(cls)) == members
    assert [cell.cell_contents for cell in function.__closure__] == [
        cell.cell_contents for cell in inner
    ]
    assert sys.meta_path == finders
    assert not accelerate.is_on()


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


def test_extension_of_ipython():
    accelerate.load_ipython_extension(None)
    assert accelerate.is_on()
    accelerate.unload_ipython_extension(None)
    assert not accelerate.is_on()


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
