"""What holds for every class that learns from labels alone, or from a kernel matrix."""

import pickle
import pickletools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import specimens
from assertions import assert_bit_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator
from test_common import compare_signatures

import fastml
from fastml.preprocessing import LabelBinarizer, MultiLabelBinarizer

LABELS = specimens.label_transformers()
KERNELS = specimens.kernel_transformers()
every_class = pytest.mark.parametrize(
    ("path", "cls"), [*LABELS.items(), *KERNELS.items()], ids=[*LABELS, *KERNELS]
)
every_label_class = pytest.mark.parametrize(("path", "cls"), LABELS.items(), ids=list(LABELS))


def given(path, kind="text", n=4000):
    """What the class learns from."""
    rng = np.random.default_rng(0)
    if path in KERNELS:
        X = rng.normal(size=(60, 4))
        return (X @ X.T).astype(np.float32 if kind == "float32" else np.float64)
    codes = rng.integers(0, 7, size=n)
    names = np.array([f"class {'x' * code}" for code in range(7)])
    labels = {"text": names[codes], "objects": names.astype(object)[codes], "float32": codes}
    if "Multi" in path:
        return [set(labels[kind][i : i + 3].tolist()) for i in range(n // 4)]
    return labels[kind]


def everything(cls, data):
    """Attributes and answers."""
    model = cls().fit(data)
    found = model.transform(data)
    answers = [found, cls().fit_transform(data)]
    if hasattr(model, "inverse_transform"):
        answers.append(model.inverse_transform(found))
    return {**specimens.attributes(model), "answers": specimens.plain(answers)}


@every_class
def test_signatures_are_scikit_learns(path, cls):
    theirs = specimens.counterpart(path)
    compare_signatures(cls.__init__, theirs.__init__, path)
    for name in ("fit", "transform", "fit_transform", "inverse_transform"):
        if hasattr(theirs, name):
            compare_signatures(getattr(cls, name), getattr(theirs, name), f"{path}.{name}")


@pytest.mark.parametrize("kind", ["text", "objects", "float32"])
@every_class
def test_answers_are_scikit_learns(path, cls, kind):
    mine, theirs = (everything(c, given(path, kind)) for c in (cls, specimens.counterpart(path)))
    assert set(theirs) <= set(mine)
    assert_bit_equal({name: mine[name] for name in theirs}, theirs)


@pytest.mark.parametrize("kind", ["text", "objects"])
@every_class
def test_the_same_on_any_thread(path, cls, kind):
    data = given(path, kind, n=8_000)
    with fastml.thread_limit(1):
        alone = everything(cls, data)
    assert_bit_equal(everything(cls, data), alone)
    with ThreadPoolExecutor(8) as pool:
        for call in [pool.submit(everything, cls, data) for _ in range(8)]:
            assert_bit_equal(call.result(), alone)


@every_class
def test_refit_and_clone(path, cls):
    model = cls().fit(given(path))
    first = specimens.attributes(model)
    other = given(path, "float32")
    model.fit(other[:9, :9] if path in KERNELS else other)
    assert_bit_equal(specimens.attributes(model.fit(given(path))), first)
    assert not specimens.attributes(clone(model))
    with pytest.raises(NotFittedError):
        clone(model).transform(given(path))


@every_class
def test_read_only_and_left_alone(path, cls):
    data = given(path, "objects")
    if isinstance(data, list):
        before = [set(item) for item in data]
        everything(cls, data)
        assert data == before
        return
    before = data.copy()
    data.flags.writeable = False
    assert_bit_equal(everything(cls, data), everything(cls, before.copy()))
    np.testing.assert_array_equal(data, before)


@every_label_class
def test_any_container(path, cls):
    if "Multi" in path:
        rows = [sorted(item) for item in given(path)]
        columns = {"tuples": [tuple(row) for row in rows], "frozen": list(map(frozenset, rows))}
        columns["object array"] = np.array([*rows, None], dtype=object)[:-1]
        columns["pandas"] = pd.Series(rows)
    else:
        rows = given(path)
        columns = {
            "list": rows.tolist(), "strided": np.repeat(rows, 2)[::2], "pandas": pd.Series(rows),
            "category": pd.Series(rows).astype("category"), "polars": pl.Series(rows.tolist()),
        }  # fmt: skip
    expected = cls().fit_transform(rows)
    for kind, column in columns.items():
        np.testing.assert_array_equal(cls().fit_transform(column), expected, err_msg=kind)


@every_class
def test_pickles_are_arrays_only(path, cls):
    data = given(path)
    model = cls().fit(data)
    dumped = pickle.dumps(model)
    words = [str(argument) for _, argument, _ in pickletools.genops(dumped)]
    assert not any("numba" in word for word in words)
    again = pickle.loads(dumped)
    assert_bit_equal(specimens.plain(again.transform(data)), specimens.plain(model.transform(data)))
    assert_bit_equal(specimens.attributes(again), specimens.attributes(model))


BAD = [[], [[1, 2], [3, 4]], np.array([1.5, np.inf]), 7, "text", None]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bad", BAD, ids=repr)
@every_label_class
def test_bad_labels_as_in_scikit_learn(path, cls, bad):
    outcomes = []
    for c in (cls, specimens.counterpart(path)):
        try:
            outcomes.append(np.asarray(c().fit(bad).classes_).tolist())
        except Exception as error:
            outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sparse", [False, True])
@every_label_class
def test_unknown_labels_as_in_scikit_learn(path, cls, sparse):
    data, new = (["a", "b", "c"], ["b", "zz"])
    if "Multi" in path:
        data, new = [["a", "b"], ["c"]], [["b", "zz"]]
    options = {"sparse_output": sparse} if path != "preprocessing.LabelEncoder" else {}
    outcomes = []
    for c in (cls, specimens.counterpart(path)):
        try:
            found = c(**options).fit(data).transform(new)
            outcomes.append(found.toarray().tolist() if sp.issparse(found) else found.tolist())
        except Exception as error:
            outcomes.append((type(error), str(error)))
    if path == "preprocessing.LabelEncoder":  # theirs names what it cut
        assert outcomes[0] == (ValueError, "y contains previously unseen labels: ['zz']")
        assert outcomes[1][0] is ValueError
    else:
        assert outcomes[0] == outcomes[1]


def test_longer_labels_are_not_cut():
    from fastml.preprocessing import LabelEncoder

    for labels in (["a", "b"], [b"a", b"b"]):
        model = LabelEncoder().fit(labels)
        with pytest.raises(ValueError, match=r"unseen labels: .*aa"):
            model.transform([2 * labels[0], labels[1]])
        assert model.transform([labels[1]]).tolist() == [1]
    assert LabelEncoder().fit(["1", "22"]).transform([22, 1]).tolist() == [1, 0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", KERNELS.values(), ids=list(KERNELS))
def test_scikit_learn_checks(cls):
    for estimator, check in estimator_checks_generator(cls()):
        check(estimator)


def test_kernels_that_are_not_square_or_not_finite_are_refused():
    from fastml.preprocessing import KernelCenterer

    with pytest.raises(ValueError, match=r"square matrix\. Input is a 2x3 matrix"):
        KernelCenterer().fit(np.ones((2, 3)))
    with pytest.raises(ValueError, match="NaN"):
        KernelCenterer().fit([[np.nan]])
    K = given("preprocessing.KernelCenterer")
    model = KernelCenterer().fit(K)
    centred = K.copy()
    assert model.transform(centred, copy=False) is centred
    np.testing.assert_allclose(centred.sum(axis=0), 0.0, atol=1e-12)
    X = np.random.default_rng(0).normal(size=(60, 4))
    np.testing.assert_allclose(centred, (X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T, atol=1e-12)


def test_an_indicator_of_one_axis_is_refused():
    model = MultiLabelBinarizer().fit([["a", "b"]])
    with pytest.raises(ValueError, match="two axes"):
        model.inverse_transform(np.array([0, 1]))
    labels = LabelBinarizer().fit(np.eye(2, dtype=int))
    with pytest.raises(ValueError, match="number of dimension"):
        labels.inverse_transform(np.array([0, 1]))
