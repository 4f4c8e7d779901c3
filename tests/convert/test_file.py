"""Models in files without code: every estimator comes back, and nothing else does."""

import io
import json
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
from fastml.ensemble import BaggingClassifier, HistGradientBoostingClassifier
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
