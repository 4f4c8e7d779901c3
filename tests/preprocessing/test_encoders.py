"""Encoders beside scikit-learn's, columns of every kind, and what others got wrong."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn.preprocessing as peer
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold, StratifiedKFold

import fastml.preprocessing as ours
from fastml._engines import categories, python_text
from fastml._engines.categories import factorise, ordered, positions, sorted_factor

NAMES = np.array(["pear", "apple", "fig", "apple pie"])
CODES = np.random.default_rng(0).integers(0, 4, 3000)
TEXT = NAMES[CODES]

COLUMNS = {
    "text": TEXT,
    "bytes": TEXT.astype("S"),
    "shared objects": NAMES.astype(object)[CODES],
    "own objects": np.array([str(name) + "" for name in TEXT.tolist()], dtype=object),
    "pandas": pd.Series(TEXT),
    "pandas category": pd.Series(TEXT).astype("category"),
    "polars": pl.Series(TEXT.tolist()),
    "polars category": pl.Series(TEXT.tolist()).cast(pl.Categorical),
    "polars enum": pl.Series(TEXT.tolist()).cast(pl.Enum(NAMES.tolist())),
    "Arrow": pa.array(TEXT.tolist()),
    "Arrow dictionary": pa.chunked_array([TEXT.tolist()]).dictionary_encode(),
    "integers": CODES,
    "wide integers": CODES * 10**15,
    "floats": CODES / 7.0,
    "booleans": CODES > 1,
    "times": CODES.astype("datetime64[D]"),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_codes_of_columns(kind):
    column = COLUMNS[kind]
    values = np.asarray(column)
    found, codes = sorted_factor(factorise(column))
    expected, inverse = np.unique(values, return_inverse=True)
    assert_array_equal(found, expected)
    assert_array_equal(codes, inverse)


def test_missing_values_are_last_and_one():
    values = np.array(["b", None, float("nan"), "a", np.nan, None], dtype=object)
    found, codes = sorted_factor(factorise(values))
    assert found[:3].tolist() == ["a", "b", None]
    assert found[3] != found[3]
    assert_array_equal(codes, [1, 2, 3, 0, 3, 2])
    assert_array_equal(positions(values, found), codes)
    numbers = np.array([2.0, np.nan, -0.0, 0.0, np.nan])
    found, codes = sorted_factor(factorise(numbers))
    assert_array_equal(found, [0.0, 2.0, np.nan])
    assert_array_equal(codes, [1, 2, 0, 0, 2])
    with pytest.raises(TypeError, match="uniformly strings or numbers"):
        ordered(np.array(["a", 1], dtype=object))


TABLES = {
    "array": np.c_[TEXT, TEXT[::-1]],
    "pandas": pd.DataFrame({"a": TEXT, "b": TEXT[::-1]}),
    "polars": pl.DataFrame({"a": TEXT.tolist(), "b": TEXT[::-1].tolist()}),
    "Arrow": pa.table({"a": TEXT.tolist(), "b": TEXT[::-1].tolist()}),
}


@pytest.mark.parametrize("table", TABLES)
def test_as_scikit_learn(table):
    X, plain = TABLES[table], np.asarray(TABLES["array"], dtype=object)
    y = CODES % 2 + 0.1 * np.arange(3000) / 3000
    for name, more in (
        ("OneHotEncoder", {"drop": "first"}),
        ("OneHotEncoder", {"max_categories": 3}),
        ("OrdinalEncoder", {"min_frequency": 760}),
    ):
        found = getattr(ours, name)(**more).fit_transform(X)
        expected = getattr(peer, name)(**more).fit_transform(plain)
        found, expected = (getattr(m, "toarray", lambda m=m: m)() for m in (found, expected))
        assert_array_equal(found, expected)
    folds = KFold(3, shuffle=True, random_state=0)
    for smooth in ("auto", 5.0):
        mine, theirs = (lib.TargetEncoder(cv=folds, smooth=smooth) for lib in (ours, peer))
        found, expected = mine.fit_transform(X, y), theirs.fit_transform(plain, y)
        assert_allclose(found, expected, rtol=1e-9)
        assert_allclose(mine.transform(X), theirs.transform(plain), rtol=1e-9)


def test_training_rows_transformed_after_fit_are_warned_of():
    """scikit-learn#32318: a model that learns from ``fit(X, y).transform(X)`` overfits."""
    rng = np.random.default_rng(0)
    X, y = rng.choice(["a", "b", "c"], size=(60, 2)), rng.normal(size=60)
    encoder = ours.TargetEncoder(cv=KFold(3)).fit(X, y)
    for same in (X, X.tolist(), pd.DataFrame(X)):
        with pytest.warns(UserWarning, match="the rows of fit") as caught:
            ours.TargetEncoder().fit(X, y).transform(same)
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.transform(X[:-1])
        encoder.transform(X[::-1])
        encoder.transform(np.where(np.arange(60)[:, None] == 59, "new", X))
        encoder.fit_transform(X, y)
        encoder.transform(X)  # as a pipeline does that predicts its training rows


def test_unknown_missing_and_infrequent_have_codes_of_their_own():
    """scikit-learn#12018, #28462."""
    X = np.array([["a"]] * 5 + [["b"]] * 5 + [["c"], ["d"], [np.nan]], dtype=object)
    encoder = ours.OrdinalEncoder(
        min_frequency=3, handle_unknown="use_encoded_value", unknown_value=-1,
        encoded_missing_value=-2,
    ).fit(X)  # fmt: skip
    rows = np.array([["a"], ["b"], ["c"], ["d"], [np.nan], ["new"]], dtype=object)
    assert_array_equal(encoder.transform(rows).ravel(), [0, 1, 2, 2, -2, -1])


def test_every_row_has_one_one_per_column():
    """scikit-learn#15726: a one-hot matrix that contained 2."""
    X = np.array([["x", "x"], ["y", "x"]] * 40)
    encoder = ours.OneHotEncoder(handle_unknown="ignore").fit(X)
    found = encoder.transform(np.array([["x", "new"], ["y", "x"]] * 40))
    found.sum_duplicates()
    assert set(found.data.tolist()) == {1.0}
    assert_array_equal(found.toarray().sum(axis=1), [1.0, 2.0] * 40)


def test_longer_text_is_not_cut():
    """scikit-learn#19888: 'AA' was taken for 'A'."""
    encoder = ours.OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder.fit(np.array([["A"], ["B"]]))
    assert_array_equal(encoder.transform(np.array([["AA"], ["A"]])), [[0, 0], [1, 0]])


def test_missing_is_no_smallest_integer():
    """category_encoders#221."""
    X = pd.DataFrame({"a": pd.Series([1, 2, None], dtype="Int64")})
    assert_array_equal(ours.OrdinalEncoder().fit_transform(X).ravel(), [0.0, 1.0, np.nan])
    with pytest.raises(ValueError, match="missing values in features"):
        ours.OrdinalEncoder(dtype=np.int64).fit(X)


def test_labels_are_scikit_learns():
    y = ["b", "a", "c", "a"]
    for name in ("LabelEncoder", "LabelBinarizer"):
        mine, theirs = getattr(ours, name)().fit(y), getattr(peer, name)().fit(y)
        found = mine.transform(y)
        assert_array_equal(found, theirs.transform(y))
        assert mine.inverse_transform(found).tolist() == y
        with pytest.raises(ValueError, match="previously unseen"):
            ours.LabelEncoder().fit(y).transform(["new"])
    sets = [{"x", "y"}, set(), {"z"}]
    mine = ours.MultiLabelBinarizer().fit(sets)
    assert_array_equal(mine.transform(sets), peer.MultiLabelBinarizer().fit_transform(sets))
    with pytest.warns(UserWarning, match="unknown class"):
        assert_array_equal(mine.transform([{"q"}]), [[0, 0, 0]])


def test_thermometer_keeps_unknown_apart():
    encoder = ours.ThermometerEncoder(handle_unknown="ignore").fit([["a"], ["b"]])
    assert_array_equal(encoder.transform([["b"], ["c"]]), [[1, 1], [0, 0]])
    assert encoder.get_feature_names_out().tolist() == ["x0>=a", "x0>=b"]
    with pytest.raises(ValueError, match="unknown categories"):
        ours.ThermometerEncoder().fit([["a"]]).transform([["c"]])


@pytest.mark.filterwarnings("ignore:`TargetEncoder.shuffle`:FutureWarning")
@pytest.mark.parametrize("n_classes", [None, 2, 3])
@pytest.mark.parametrize("n", [23, 60])
def test_target_encoder_folds_are_the_splitters(n, n_classes):
    rng = np.random.RandomState(n)
    y = rng.normal(size=n) if n_classes is None else rng.randint(n_classes, size=n) + 5
    splitter = KFold if n_classes is None else StratifiedKFold
    X = rng.randint(4, size=(n, 2)).astype(object)
    for folds in (2, 5):
        cv = splitter(folds, shuffle=True, random_state=3)
        expected = ours.TargetEncoder(cv=cv).fit_transform(X, y)
        assert_array_equal(
            ours.TargetEncoder(cv=folds, random_state=3).fit_transform(X, y), expected
        )


@pytest.mark.filterwarnings("ignore:`TargetEncoder.shuffle`:FutureWarning")
def test_target_encoder_folds_of_rare_labels_are_the_splitters():
    X, y = np.arange(12).reshape(-1, 1) % 3, np.repeat([0, 1], (10, 2))
    cv = StratifiedKFold(5, shuffle=True, random_state=3)
    with pytest.warns(UserWarning, match="least populated"):
        expected = ours.TargetEncoder(cv=cv).fit_transform(X, y)
    with pytest.warns(UserWarning, match="least populated"):
        assert_array_equal(ours.TargetEncoder(cv=5, random_state=3).fit_transform(X, y), expected)


def objects_of(kind, n=3000):
    """Python objects, each of its own address."""
    rng = np.random.RandomState(0)
    words = {
        "ascii": ["", "a", "ab", "abc", "abcd", "abcde", "nul\0", "nul", "nul\0\0\0\0\0"],
        "wide": ["caf\xe9", "cafe", "\u0434\u0430", "\U0001f600", "a\u0434", "\xff" * 9],
        "long": ["x" * 50, "x" * 51, "x" * 49 + "y", "short"],
        "very long": ["x" * 500, "x" * 501],
        "with None": ["a", "b", None],
        "with NaN": ["a", "b", np.nan],
        "with both": ["a", "b", None, float("nan")],
        "numbers": [1000, 1001, 10**30, 2.5],
    }[kind]
    column = np.empty(n, dtype=object)
    for i, code in enumerate(rng.randint(len(words), size=n)):
        word = words[code]
        if isinstance(word, str):
            word = (word + "!")[:-1] if len(word) > 1 else "".join([word])
        elif word is not None:
            word = type(word)(str(word))
        column[i] = word
    return column


KINDS = ["ascii", "wide", "long", "very long", "with None", "with NaN", "with both", "numbers"]


@pytest.mark.parametrize("kind", KINDS)
def test_objects_of_many_addresses(kind):
    X = np.column_stack([objects_of(kind), objects_of(kind)[::-1]])
    mine, theirs = ours.OrdinalEncoder().fit(X), peer.OrdinalEncoder().fit(X)
    for own, other in zip(mine.categories_, theirs.categories_):
        assert list(map(repr, own)) == list(map(repr, other))
    assert_array_equal(mine.transform(X), theirs.transform(X))
    assert_array_equal(ours.OrdinalEncoder().fit_transform(X), theirs.transform(X))


def test_objects_of_text_and_kinds_that_do_not_go_together():
    column = objects_of("ascii")
    column[2000] = 3
    with pytest.raises(TypeError, match="uniformly strings or numbers"):
        ours.OneHotEncoder().fit(column[:, None])
    known = ours.OneHotEncoder(handle_unknown="ignore").fit(objects_of("ascii")[:, None])
    assert known.transform(column[:, None])[2000].nnz == 0


def test_text_behind_what_is_none_is_hashed(monkeypatch):
    column = objects_of("long")
    column[0] = None
    expected = ours.OrdinalEncoder().fit_transform(column[:, None])
    asked = []
    read = categories.item_words
    monkeypatch.setattr(categories, "item_words", lambda values: asked.append(read(values)))
    assert_array_equal(ours.OrdinalEncoder().fit_transform(column[:, None]), expected)
    assert len(asked) == 1
    assert asked[0] is not None or python_text._shift() is None


def test_subclasses_of_text_equal_text():
    column = objects_of("wide")
    other = column.copy()
    other[::3] = [np.str_(text) for text in column[::3]]
    expected = ours.OrdinalEncoder().fit_transform(column[:, None])
    assert_array_equal(ours.OrdinalEncoder().fit_transform(other[:, None]), expected)
