"""Models in files without code: every estimator comes back, and nothing else does."""

import io
import json
import mmap
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import specimens
from sklearn.linear_model import LogisticRegression as PlainLogisticRegression

from fastml.cluster import KMeans
from fastml.convert import load, save
from fastml.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from fastml.neighbors import KNeighborsClassifier
from fastml.svm import SVC

CHOSEN = specimens.specimens()


def again(model, **options):
    save(model, file := io.BytesIO(), **options)
    return load(file)


def altered(model, change):
    """The file of a model, its JSON changed."""
    save(model, first := io.BytesIO())
    second = io.BytesIO()
    with zipfile.ZipFile(first) as old, zipfile.ZipFile(second, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "model.json":
                content = json.dumps(change(json.loads(content)))
            new.writestr(name, content)
    return second


@pytest.mark.parametrize(("cls", "parameters"), [c[1:] for c in CHOSEN], ids=[c[0] for c in CHOSEN])
def test_every_estimator_comes_back(cls, parameters):
    X = specimens.rows(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = specimens.fitted(specimens.make(cls, **parameters), X)
        loaded = again(model)
        assert type(loaded) is cls
        expected, found = specimens.everything(model, X), specimens.everything(loaded, X)
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_equal(specimens.plain(found[name]), specimens.plain(expected[name]))


def test_words_categories_sparse_rows_and_members_of_scikit_learn():
    table = pd.DataFrame({"a": pd.Categorical(list("xyzx") * 10), "b": np.arange(40.0)})
    y = np.array(["no", "yes"])[(table.b > 20).astype(int)]
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2).fit(table, y)
    loaded = again(model, compress=True)
    np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))
    assert loaded.feature_names_in_.tolist() == ["a", "b"]
    assert loaded.classes_.tolist() == [
        "no",
        "yes",
    ]

    X = sp.random(40, 6, 0.5, format="csr", random_state=0)
    for model in (SVC(), KNeighborsClassifier(), BaggingClassifier(PlainLogisticRegression())):
        model.fit(X, y)
        np.testing.assert_array_equal(again(model).predict(X), model.predict(X))


def test_a_generator_goes_on_where_it_was():
    model = KMeans(2, random_state=np.random.RandomState(3), n_init=1)
    drawn = again(model).random_state.random_sample(3)
    np.testing.assert_array_equal(drawn, model.random_state.random_sample(3))


def test_functions_are_refused_by_name():
    model = KNeighborsClassifier(metric=lambda a, b: np.abs(a - b).sum())
    with pytest.raises(TypeError, match=r"KNeighborsClassifier\.metric is a function"):
        save(model, io.BytesIO())


def test_a_path_is_written_at_once(tmp_path):
    path = tmp_path / "model.fastml"
    save(KMeans(2), path)
    assert load(path).n_clusters == 2
    assert load(str(path)).n_clusters == 2
    with pytest.raises(TypeError):
        save(KMeans(print), path)
    assert load(path).n_clusters == 2
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "subprocess.Popen",
        "sklearn.utils.Bunch",
        "KMeans",
        "fastml.cluster.KMeans",
        "fastml._jit.kernel",
        "fastml.no.Such",
    ],
)
def test_only_known_classes_are_made(name):
    def change(content):
        content["model"]["object"] = name
        return content

    with pytest.raises(ValueError, match=r"class|may not hold|not installed"):
        load(altered(KMeans(2), change))


def test_only_known_functions_are_named():
    def change(content):
        content["model"] = {"function": "os.getcwd"}
        return content

    with pytest.raises(ValueError, match="may not hold the function"):
        load(altered(KMeans(2), change))


def test_a_newer_schema_says_what_to_do():
    with pytest.raises(ValueError, match="upgrade"):
        load(altered(KMeans(2), lambda content: {**content, "schema": 99}))


def test_foreign_and_cut_files(tmp_path):
    with pytest.raises(ValueError, match=r"not a file of fastml\.convert\.save"):
        load(io.BytesIO(b"PK nonsense"))
    np.savez(tmp_path / "arrays.npz", a=np.arange(3))
    with pytest.raises(ValueError, match="damaged"):
        load(tmp_path / "arrays.npz")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")


def test_changed_bytes_give_an_error_or_the_same_model():
    X = specimens.rows(60)
    model = KMeans(3, random_state=0).fit(X)
    save(model, file := io.BytesIO())
    content, rng = file.getvalue(), np.random.default_rng(0)
    for _ in range(200):
        changed = bytearray(content)
        changed[rng.integers(len(content))] ^= 1 << rng.integers(8)
        try:
            loaded = load(io.BytesIO(bytes(changed)))
        except (ValueError, OSError):
            continue
        np.testing.assert_array_equal(loaded.cluster_centers_, model.cluster_centers_)


# ------------------------------------------------------------------------ arrays in the file


def _arrays(thing, seen):
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
        return
    parts = thing.values() if isinstance(thing, dict) else thing
    if hasattr(thing, "__dict__"):
        parts = vars(thing).values()
    elif not isinstance(thing, dict | list | tuple):
        return
    for part in parts:
        yield from _arrays(part, seen)


def _is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


def test_a_mapped_model_shares_its_file(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] > 0).astype(int)
    for i, model in enumerate((
        RandomForestClassifier(4, random_state=0), KNeighborsClassifier(),
        HistGradientBoostingClassifier(max_iter=3),
    )):  # fmt: skip
        model.fit(X, y)
        path = tmp_path / f"model{i}"
        save(model, path)
        before = path.read_bytes()
        loaded = load(path, mapped=True)
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        found = list(_arrays(loaded, set()))
        assert all(a.flags.aligned for a in found)
        in_file = sum(a.nbytes for a in found if _is_mapped(a))
        assert in_file > 0.5 * sum(a.nbytes for a in found)
        for array in found:  # a copy of its own where it is written to
            if _is_mapped(array) and array.flags.writeable:
                array.view(np.uint8).reshape(-1)[:1] ^= 1
        assert path.read_bytes() == before
        read = load(path)
        assert not any(_is_mapped(a) for a in _arrays(read, set()))
        np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))


def test_mapped_files_that_cannot_be(tmp_path):
    model = KMeans(2, random_state=0, n_init=1).fit([[0.0], [1.0], [9.0]])
    path = tmp_path / "model"
    save(model, path, compress=True)
    loaded = load(path, mapped=True)  # read, as it is compressed
    np.testing.assert_array_equal(loaded.cluster_centers_, model.cluster_centers_)
    with pytest.raises(TypeError, match="needs the path"):
        load(io.BytesIO(path.read_bytes()), mapped=True)
    save(model, path)
    whole = path.read_bytes()
    place = whole.index(b"(2, 1)")
    path.write_bytes(whole[:place] + b"(9, 1)" + whole[place + 6 :])
    with pytest.raises(ValueError, match="not as long as its array"):
        load(path, mapped=True)
