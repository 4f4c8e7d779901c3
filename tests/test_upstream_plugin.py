"""The plugin that runs scikit-learn's tests against fastml, tried on a package that is broken."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from upstream.plugin import KnownDifference, load_known_differences
from upstream.run import LEFT_OUT, files_of, sklearn_folder

UPSTREAM = Path(__file__).parent / "upstream"

PACKAGE = {
    "__init__.py": "",
    "cluster.py": """
import sklearn.cluster
from sklearn.cluster import kmeans_plusplus as theirs

__all__ = ["KMeans", "kmeans_plusplus", "only_here"]

class KMeans(sklearn.cluster.KMeans):
    def predict(self, X):
        return super().predict(X) + 1   # wrong on purpose

def kmeans_plusplus(*args, **kwargs):
    return theirs(*args, **kwargs)

def only_here():
    pass
""",
    "_private.py": "raise ImportError('private modules are not for the plugin')",
}

TESTS = """
import pickle
import numpy as np
import pytest
import sklearn.cluster
import sklearn.cluster._kmeans
from sklearn.cluster import KMeans, MiniBatchKMeans, kmeans_plusplus
from sklearn.metrics.pairwise import euclidean_distances

X = np.random.default_rng(0).random((30, 2))
READY = KMeans(2, n_init=1, random_state=0)

def test_names_are_swapped():
    assert KMeans.__module__ == "brokenml.cluster"
    assert sklearn.cluster._kmeans.KMeans is KMeans
    assert sklearn.cluster.kmeans_plusplus is kmeans_plusplus
    assert pickle.loads(pickle.dumps(kmeans_plusplus)) is kmeans_plusplus
    KMeans().get_params()

@pytest.mark.parametrize("shift", [0, 1])
def test_labels(shift):
    fitted = KMeans(2, n_init=1, random_state=0).fit(X)
    assert (fitted.predict(X) == fitted.labels_ + shift).all()

def test_made_at_collection():
    assert READY.fit(X).predict(X).min() == 0

def test_function():
    assert kmeans_plusplus(X, 2, random_state=0)[0].shape == (2, 2)

def test_untouched_passes():
    euclidean_distances(X)

def test_untouched_fails():
    MiniBatchKMeans(2)
    assert False

@pytest.mark.skip
def test_skipped():
    pass
"""


@pytest.fixture
def run(tmp_path):
    """Run the tests above with the broken package and a list; return (status, report, output)."""
    (tmp_path / "brokenml").mkdir()
    for name, source in PACKAGE.items():
        (tmp_path / "brokenml" / name).write_text(source)
    (tmp_path / "test_it.py").write_text(TESTS)

    def run_with(listed, *extra):
        (tmp_path / "known.yaml").write_text(json.dumps(listed))
        path = os.pathsep.join([str(UPSTREAM), str(tmp_path), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "plugin", "-c", str(UPSTREAM / "pytest.ini"),
             f"--rootdir={tmp_path}", "--swap-package=brokenml", "--known-differences=known.yaml",
             "--upstream-report=report.json", "test_it.py", *extra],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
        )  # fmt: skip
        report = tmp_path / "report.json"
        output = done.stdout + done.stderr
        return done.returncode, json.loads(report.read_text()) if report.exists() else None, output

    return run_with


TRUTH = [
    {"test": "test_it.py::test_labels[0]", "reason": "labels start at one"},
    {"test": "test_it.py::test_made_at_collection", "reason": "labels start at one"},
]


def test_true_list_is_accepted(run):
    status, report, output = run(TRUTH)
    assert status == 0, output
    assert report["swapped"] == ["cluster.KMeans", "cluster.kmeans_plusplus"]
    assert report["surprises"] == []
    assert report["counts"] == {
        "used": 5,
        "passed": 3,
        "known difference": 2,
        "surprise": 0,
        "skipped": 1,
        "irrelevant": 2,
    }
    assert "used: 5, passed: 3, share: 60.0%" in output


def test_broken_class_fails(run):
    status, report, _ = run([])
    assert status == 1
    assert report["surprises"] == [
        "test_it.py::test_labels[0]: failed",
        "test_it.py::test_made_at_collection: failed",
    ]


def test_false_entries_are_errors(run):
    false = {
        "test_it.py::test_labels": "test_labels[1]: listed as a known difference, but it passes",
        "test_it.py::test_function": "test_function: listed as a known difference, but it passes",
        "test_it.py::test_untouched_passes": "test_untouched_passes: listed as a known",
        "test_it.py::test_untouched_fails": "calls nothing",
        "test_it.py::test_gone": "test_gone: listed, but no test has this id",
        "test_it.py::test_label": "test_label: listed, but no test has this id",
    }
    listed = [{"test": test, "reason": "not so"} for test in false]
    status, report, output = run([TRUTH[1], *listed])
    assert status == 1, output
    for complaint in false.values():
        assert sum(complaint in surprise for surprise in report["surprises"]) == 1, complaint
    assert len(report["surprises"]) == len(false)


def test_unmatched_entry_alone_is_an_error(run):
    gone = {"test": "test_it.py::test_gone", "reason": "not so"}
    assert run([*TRUTH, gone], "-k", "function")[0] == 1


def test_list_holds_under_a_selection(run):
    """Unrun, other files' and starred entries; a selection does not make entries unmatched."""
    other = {"test": "cluster/tests/test_k_means.py::test_gone", "reason": "another file"}
    listed = [{"test": "test_it.py::test_labels[*0]", "reason": "starts at one"}, other]
    listed.append({**TRUTH[1], "run": False})
    status, report, output = run(listed, "-k", "labels or collection")
    assert status == 0, output
    assert report["counts"]["known difference"] == 2
    assert report["counts"]["used"] == 3


@pytest.mark.parametrize(
    ("entry", "name", "matches"),
    [
        ("a.py::test_x", "a.py::test_x", True),
        ("a.py::test_x", "a.py::test_x[1-y]", True),
        ("a.py::test_x", "a.py::test_xy", False),
        ("a.py::test_x[1", "a.py::test_x[1-y]", True),
        ("a.py::test_x[1", "a.py::test_x[2-y]", False),
        ("a.py::test_x[*-y", "a.py::test_x[2-y-z]", True),
        ("a.py::test_x[*-y]", "a.py::test_x[2-y-z]", False),
        ("a.py::test_*", "a.py::test_xy[2]", True),
        ("a.py::test_x[1]", "a.py::test_x1", False),
    ],
)
def test_what_an_entry_matches(entry, name, matches):
    assert KnownDifference(entry, "reason").matches(name) is matches


@pytest.mark.parametrize(
    ("listed", "complaint"),
    [
        ([TRUTH[0], TRUTH[0]], "listed twice"),
        ([{"test": "test_it.py::test_labels[0]", "reason": " "}], "without test or reason"),
    ],
)
def test_malformed_list(tmp_path, listed, complaint):
    path = tmp_path / "known.yaml"
    path.write_text(json.dumps(listed))
    with pytest.raises(pytest.UsageError, match=complaint):
        load_known_differences(path)


def test_files_of_a_family(tmp_path):
    folder = tmp_path / "cluster" / "tests"
    folder.mkdir(parents=True)
    (folder / "test_short.py").write_text("KMeans")
    (folder / "test_long.py").write_text("x = KMeans()\n")
    (folder / "test_other.py").write_text("MiniBatchKMeans, KMeansish")
    (folder / "common.py").write_text("KMeans")
    found = files_of("cluster", ["cluster.KMeans", "metrics.f"], tmp_path)
    assert found == ["cluster/tests/test_long.py", "cluster/tests/test_short.py"]


def test_files_left_out_exist():
    assert [name for name in LEFT_OUT if not (sklearn_folder() / name).exists()] == []
