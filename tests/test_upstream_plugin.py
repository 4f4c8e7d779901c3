"""The plugin that runs scikit-learn's tests against fastml, tried on small packages.

A folder holds a package named sklearn with a few classes, its tests, and a package that replaces
them and is broken on purpose.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from upstream.plugin import KnownDifference, load_known_differences
from upstream.run import LEFT_OUT, TOGETHER, Record, files_of, groups, sklearn_folder, unused

import fastml.mixture

UPSTREAM = Path(__file__).parent / "upstream"

SKLEARN = """
class KMeans:
    def __init__(self, n_clusters=2, max_iter=9):
        self.n_clusters = n_clusters

    def fit(self, X):
        self.labels_ = [x % self.n_clusters for x in X]
        return self

    def predict(self, X):
        return [x % self.n_clusters for x in X]

    inertia = property(lambda self: 0.0)
    radius = 0.0
    made_of = classmethod(lambda cls, labels: cls(len(labels)))
    distance = staticmethod(lambda a, b: abs(a - b))
    soft = lambda self: 0.0
    __len__ = lambda self: self.n_clusters

class MiniBatchKMeans(KMeans):
    pass

def kmeans_plusplus(X, n_clusters):
    return X[:n_clusters]
"""

BROKEN = """
import functools
import sklearn.cluster

__all__ = ["KMeans", "kmeans_plusplus", "only_here"]

class Available:  # a descriptor like that of scikit-learn's available_if
    def __init__(self, fn):
        self.fn = fn
    def __get__(self, instance, owner=None):
        return functools.partial(self.fn, instance)

class KMeans(sklearn.cluster.KMeans):
    def __init__(self, n_clusters=2):       # max_iter is missing on purpose
        super().__init__(n_clusters)

    def predict(self, X):
        return [label + 1 for label in super().predict(X)]   # wrong on purpose

    @property
    def inertia(self):
        return 0.0

    @functools.cached_property
    def radius(self):
        return 0.0

    @classmethod
    def made_of(cls, labels):
        return cls(len(labels))

    @staticmethod
    def distance(a, b):
        return abs(a - b)

    @Available
    def soft(self):
        return 0.0

    def __len__(self):
        return self.n_clusters

def kmeans_plusplus(X, n_clusters):
    return X[:n_clusters]

def only_here():
    pass
"""

TESTS = """
import pickle
import pytest
import sklearn.cluster
import sklearn.cluster._kmeans
from sklearn.cluster import KMeans, MiniBatchKMeans, kmeans_plusplus

X = list(range(6))
READY = KMeans(2)

def test_names():
    assert sklearn.cluster._kmeans.KMeans is KMeans
    assert sklearn.cluster.kmeans_plusplus is kmeans_plusplus
    assert pickle.loads(pickle.dumps(kmeans_plusplus)) is kmeans_plusplus

@pytest.mark.parametrize("shift", [0, 1])
def test_labels(shift):
    fitted = KMeans(2).fit(X)
    assert fitted.predict(X) == [label + shift for label in fitted.labels_]

def test_made_at_collection():
    assert min(READY.predict(X)) == 0

def test_function():
    assert kmeans_plusplus(X, 2) == [0, 1]

def test_made_only():
    KMeans(3).fit(X)

def test_untouched_passes():
    MiniBatchKMeans(2).predict(X)

def test_untouched_fails():
    assert False

def test_swapped_fails():
    assert KMeans.__module__.startswith("sklearn")

@pytest.mark.parametrize("rounds", [1])
def test_made_fails(rounds):
    KMeans(max_iter=rounds)

@pytest.mark.skip
def test_skipped():
    KMeans(2).predict(X)
"""

MEMBERS = {
    "property": "KMeans().inertia",
    "cached": "KMeans().radius",
    "classmethod": "KMeans.made_of([0, 1])",
    "staticmethod": "KMeans.distance(0, 1)",
    "available": "KMeans().soft()",
    "operator": "len(KMeans())",
}
FILE = "cluster/tests/test_it.py"


def known(test, reason="labels start at one", **more):
    return {"test": f"{FILE}::{test}", "reason": reason, **more}


TRUTH = [
    known("test_labels[0]"),
    known("test_made_at_collection"),
    known("test_swapped_fails", "its module has another name"),
    known("test_made_fails", "no max_iter"),
]


def packages(folder):
    """Both packages, the tests and a true list, below the folder."""
    for name, source in {
        "brokenml/__init__.py": "",
        "brokenml/cluster.py": BROKEN,
        "brokenml/_private.py": "raise ImportError('private modules are not for the plugin')",
        "sklearn/__init__.py": "",
        "sklearn/cluster/__init__.py": "from sklearn.cluster._kmeans import *",
        "sklearn/cluster/_kmeans.py": SKLEARN,
        "sklearn/cluster/tests/__init__.py": "",
        "sklearn/cluster/tests/test_it.py": TESTS,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    (folder / "known.yaml").write_text(json.dumps(TRUTH))


@pytest.fixture
def folder(tmp_path):
    packages(tmp_path)
    return tmp_path


def python(folder, *command):
    path = os.pathsep.join([str(UPSTREAM), str(folder), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, *map(str, command)]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def run(folder):
    """Run the tests above with the broken package and a list; return (status, report, output)."""

    def run_with(listed, *extra):
        (folder / "known.yaml").write_text(json.dumps(listed))
        status, output = python(
            folder, "-m", "pytest", "-p", "plugin", "-c", UPSTREAM / "pytest.ini",
            f"--rootdir={folder}", "--swap-package=brokenml", "--known-differences=known.yaml",
            "--upstream-report=report.json", f"sklearn/{FILE}", *extra,
        )  # fmt: skip
        report = folder / "report.json"
        return status, json.loads(report.read_text()) if report.exists() else None, output

    return run_with


def test_true_list_is_accepted(run):
    status, report, output = run(TRUTH)
    assert status == 0, output
    assert report["swapped"] == ["cluster.KMeans", "cluster.kmeans_plusplus"]
    assert report["surprises"] == []
    assert report["counts"] == {
        "used": 6,
        "passed": 2,
        "known difference": 4,
        "surprise": 0,
        "skipped": 1,
        "irrelevant": 4,
    }
    assert report["files"] == {FILE: report["counts"]}
    assert "used: 6, passed: 2, share: 33.3%" in output


def test_failures_count(run):
    """Also those that used nothing of ours, if they pass on plain scikit-learn."""
    status, report, output = run([])
    assert status == 1
    unused = "failed; it uses nothing of the swapped package, but passes without it"
    assert report["surprises"] == [
        f"{FILE}::test_labels[0]: failed",
        f"{FILE}::test_made_at_collection: failed",
        f"{FILE}::test_swapped_fails: {unused}",
        f"{FILE}::test_made_fails[1]: {unused}",
    ]
    assert report["tests"][f"{FILE}::test_untouched_fails"]["status"] == "irrelevant"
    assert "got an unexpected keyword argument 'max_iter'" in output


def test_failure_without_use_alone_is_an_error(run):
    """pytest itself has seen no failure then."""
    assert run([], "-k", "made_fails")[0] == 1


@pytest.mark.parametrize("jump", ["", "KMeans(2)"])
def test_what_counts_as_use(folder, run, jump):
    """Every kind of member that the package wrote; making an object alone does not count."""
    source = "from sklearn.cluster import KMeans\n" + "".join(
        f"def test_{name}():\n    {jump or call}\n" for name, call in MEMBERS.items()
    )
    (folder / "sklearn" / FILE).write_text(source)
    report = run([])[1]
    used = {name.rpartition("_")[2]: test["used"] for name, test in report["tests"].items()}
    assert used == dict.fromkeys(MEMBERS, not jump)
    made = {name.rpartition("_")[2]: test["made"] for name, test in report["tests"].items()}
    assert made == {name: bool(jump) or name != "staticmethod" for name in MEMBERS}


def test_false_entries_are_errors(run):
    false = {
        "test_labels": "test_labels[1]: listed as a known difference, but it passes",
        "test_function": "test_function: listed as a known difference, but it passes",
        "test_untouched_passes": "test_untouched_passes: listed as a known",
        "test_untouched_fails": "listed as a known difference, but it uses nothing",
        "test_gone": "test_gone: listed, but no test has this id",
        "test_label": "test_label: listed, but no test has this id",
    }
    status, report, output = run([*TRUTH[1:], *(known(test, "not so") for test in false)])
    assert status == 1, output
    for complaint in false.values():
        assert sum(complaint in surprise for surprise in report["surprises"]) == 1, complaint
    assert len(report["surprises"]) == len(false)


def test_unmatched_entry_alone_is_an_error(run):
    assert run([*TRUTH, known("test_gone")], "-k", "function")[0] == 1


def test_list_holds_under_a_selection(run):
    """Unrun, other files' and starred entries; a selection does not make entries unmatched."""
    other = {"test": "cluster/tests/test_k_means.py::test_gone", "reason": "another file"}
    listed = [known("test_labels[*0]"), other, known("test_made_at_collection", run=False)]
    status, report, output = run(listed, "-k", "labels or collection")
    assert status == 0, output
    assert report["counts"]["known difference"] == 2
    assert report["counts"]["used"] == 3


def test_left_out(folder, run):
    """By the name of one test or of a function; never a listed one."""
    names = ["test_labels[1]", "test_made_at_collection", "test_untouched_fails", "test_skipped"]
    names += ["test_function", "test_made_only"]
    (folder / "left.json").write_text(json.dumps([f"{FILE}::{name}" for name in names]))
    status, report, output = run(TRUTH, "--leave-out=left.json")
    assert status == 0, output
    assert [name.partition("::")[2] for name in report["tests"]] == [
        "test_names",
        "test_labels[0]",
        "test_made_at_collection",
        "test_untouched_passes",
        "test_swapped_fails",
        "test_made_fails[1]",
    ]


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
        ([known("test_labels[0]", " ")], "without test or reason"),
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
    assert not hasattr(fastml.mixture, "BayesianGaussianMixture")  # else its tests must be run


# ---------------------------------------------------------------------------- the command


def command(folder, *extra):
    status, output = python(
        folder, UPSTREAM / "run.py", "--swap-package=brokenml", "--known-differences=known.yaml",
        f"--record={folder}", f"--json={folder / 'all.json'}", *extra,
    )  # fmt: skip
    processes = json.loads((folder / "all.json").read_text())
    ran = {name.partition("::")[2] for each in processes for name in each["outcome"]["tests"]}
    return status, output, ran


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("original")
    packages(folder)
    status, output, _ = command(folder, "--write-floors")
    assert status == 0, output
    return folder


@pytest.fixture
def recorded(original, tmp_path):
    """A folder in which a full run has left its record."""
    return shutil.copytree(original, tmp_path / "copy")


def lose(folder, name):
    path = folder / "brokenml" / "cluster.py"
    path.write_text(path.read_text().replace(f'"{name}", ', "", 1))


def test_record(recorded):
    """What a full run writes; the next one keeps to it and --all does not."""
    assert yaml.safe_load((recorded / "floors.yaml").read_text()) == {"cluster": {FILE: 6}}
    written = yaml.safe_load((recorded / "unused.yaml").read_text())
    assert written["names"] == ["cluster.KMeans", "cluster.kmeans_plusplus"]
    idle = ["test_names", "test_untouched_fails", "test_untouched_passes"]
    assert written["files"] == {FILE: {"kept": 8, "seconds": 0, "unused": idle}}

    status, output, ran = command(recorded)
    assert status == 0, output
    assert ran.isdisjoint(idle)
    assert len(ran) == 8
    status, output, ran = command(recorded, "--all")
    assert status == 0, output
    assert ran >= set(idle)


@pytest.mark.parametrize("name", ["kmeans_plusplus", "KMeans"])
def test_lost_name_is_an_error(recorded, name):
    lose(recorded, name)
    (recorded / "known.yaml").write_text("[]")
    status, output, _ = command(recorded)
    assert status == 1
    assert f"surprise: {FILE}: {5 if name == 'kmeans_plusplus' else 1} tests use" in output


def test_lost_family_is_an_error(recorded):
    lose(recorded, "kmeans_plusplus")
    lose(recorded, "KMeans")
    status, output, ran = command(recorded)
    assert (status, ran) == (1, set())
    assert f"surprise: {FILE}: 0 tests use" in output


def test_new_name_runs_everything(recorded):
    """What was idle when it was recorded may use the new name."""
    path = recorded / "unused.yaml"
    path.write_text(path.read_text().replace("- cluster.kmeans_plusplus\n", ""))
    status, output, ran = command(recorded)
    assert status == 0, output
    assert "nothing is left out (new names: cluster.kmeans_plusplus)" in output
    assert "test_untouched_passes" in ran


def test_floors_of_the_chosen_families(tmp_path):
    (tmp_path / "floors.yaml").write_text("{svm: {a: 3, b: 2}, tree: {c: 1}}")
    record = Record(tmp_path)
    assert record.below({"a": 3, "b": 4}, ["svm"]) == []
    assert record.below({"a": 3, "b": 1}, ["svm"]) == ["b: 1 tests use fastml, 2 did"]
    assert record.below({"a": 3, "b": 2}, ["svm", "tree"]) == ["c: 0 tests use fastml, 1 did"]
    assert record.below({"c": 1, "d": 0}, ["tree"]) == ["d: no floor; run --write-floors"]


def test_unused_names_a_function_where_all_its_tests_are():
    idle = {"status": "passed", "used": False, "made": False}
    tests = {
        "f::a[1]": idle,
        "f::a[2]": idle,
        "f::b[1]": idle,
        "f::b[2]": {**idle, "made": True},
        "f::c": {**idle, "status": "skipped"},
        "f::d": {**idle, "used": True},
        "f::e": {**idle, "status": "irrelevant"},
    }
    assert unused(tests) == ["a", "b[1]", "e"]


def test_files_that_share_a_process():
    """Neighbours up to the limit, the longest first; an unknown file alone."""
    shares = {"a": 0.6, "b": 0.3, "c": 0.2, "d": 1.5, "e": 0.1}
    seconds = {file: share * TOGETHER for file, share in shares.items()}
    assert groups("abcdxe", seconds) == [["d"], ["x"], ["a", "b"], ["c"], ["e"]]
