"""Samplers beside imbalanced-learn's: the same rows in the same order."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from assertions import assert_bit_equal
from numpy.testing import assert_allclose, assert_array_equal

import fastml
from fastml import imbalance as ours

over_sampling = pytest.importorskip("imblearn.over_sampling")
under_sampling = pytest.importorskip("imblearn.under_sampling")

OVER = ("RandomOverSampler", "SMOTE", "BorderlineSMOTE", "ADASYN")
UNDER = ("RandomUnderSampler", "TomekLinks", "EditedNearestNeighbours")


def table(classes=3):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), [60, 25, 15][:classes])
    X = rng.normal(size=(len(y), 3)) + 0.7 * y[:, None]
    return X, y


def theirs(name):
    return getattr(over_sampling if name in OVER else under_sampling, name)


def seeded(cls, **options):
    known = cls().get_params()
    return cls(**options, **({"random_state": 7} if "random_state" in known else {}))


VARIANTS = {
    "RandomOverSampler": [{}, {"shrinkage": 0.5}, {"shrinkage": {1: 0.1, 2: 2.0}}],
    "RandomUnderSampler": [{}, {"replacement": True}],
    "SMOTE": [{}, {"k_neighbors": 2}],
    "BorderlineSMOTE": [{}, {"kind": "borderline-2"}, {"m_neighbors": 4}],
    "ADASYN": [{}],
    "TomekLinks": [{}, {"sampling_strategy": "all"}, {"sampling_strategy": [0, 2]}],
    "EditedNearestNeighbours": [{}, {"kind_sel": "mode"}, {"sampling_strategy": "all"}],
}


@pytest.mark.parametrize("contain", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", [*OVER, *UNDER])
def test_the_same_rows(name, contain):
    X, y = table()
    for options in VARIANTS[name]:
        found = seeded(getattr(ours, name), **options)
        expected = seeded(theirs(name), **options)
        rows, labels = found.fit_resample(contain(X), y)
        if contain is np.asarray or options == {"kind": "borderline-2"}:  # theirs fails on sparse
            their_rows, their_labels = expected.fit_resample(X, y)
            rows = rows.toarray() if sp.issparse(rows) else rows
        else:
            their_rows, their_labels = expected.fit_resample(sp.csr_matrix(X), y)
            assert sp.issparse(rows)
            rows, their_rows = rows.toarray(), their_rows.toarray()
        assert_allclose(rows, their_rows, atol=1e-12)
        assert_array_equal(labels, their_labels)
        assert found.sampling_strategy_ == expected.sampling_strategy_
        if hasattr(expected, "sample_indices_"):
            assert_array_equal(found.sample_indices_, expected.sample_indices_)


STRATEGIES = [
    0.5, 0.9, "minority", "majority", "not minority", "not majority", "all", "auto",
    {0: 60, 1: 40}, {0: 30, 1: 20}, {9: 5}, {1: -1}, [1], lambda y: {1: 30}, 0.1, "nonsense", 2.0,
]  # fmt: skip


@pytest.mark.parametrize("name", ["SMOTE", "RandomUnderSampler", "TomekLinks"])
@pytest.mark.parametrize("classes", [2, 3])
def test_strategies_and_their_errors(name, classes):
    X, y = table(classes)
    for strategy in STRATEGIES:
        found, expected = (
            seeded(cls, sampling_strategy=strategy) for cls in (getattr(ours, name), theirs(name))
        )
        try:
            expected.fit_resample(X, y)
        except ValueError as error:
            with pytest.raises(ValueError, match=r".") as ours_error:
                found.fit_resample(X, y)
            words, their_words = str(ours_error.value), str(error)
            if "parameter of" not in their_words:  # a set's order of options is not fixed
                assert words == their_words
            continue
        found.fit_resample(X, y)
        assert found.sampling_strategy_ == expected.sampling_strategy_, strategy


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="more than 1 class"):
        ours.SMOTE().fit_resample([[1.0], [2.0]], [0, 0])
    with pytest.raises(ValueError, match="n_neighbors"):
        ours.SMOTE().fit_resample([[1.0], [2.0], [3.0]], [0, 0, 1])
    X = np.r_[np.zeros((20, 1)), np.full((10, 1), 9.0)] + np.arange(30)[:, None] / 100
    with pytest.raises(RuntimeError, match="ADASYN is not suited"):
        ours.ADASYN().fit_resample(X, [0] * 20 + [1] * 10)


@pytest.mark.parametrize("m", [1.0, 1.5, 2.0, 3.0])
def test_the_ratio_grows_by_the_multiplier(m):
    X, y = table(2)
    for cls in (ours.RandomOverSampler, ours.RandomUnderSampler):
        sampler = cls(multiplier=m, random_state=0)
        _, labels = sampler.fit_resample(X, y)
        before, after = sampler.imbalance_ratio_
        assert before == ours.imbalance_ratio(y) == 25 / 60
        assert after == ours.imbalance_ratio(labels)
        grown = np.bincount(labels)
        assert grown[1] / grown[0] == pytest.approx(m * before, rel=0.03)
    with pytest.raises(ValueError, match="two ways"):
        ours.RandomOverSampler(multiplier=2.0, sampling_strategy="all").fit_resample(X, y)


def test_containers_come_back():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abc")).astype({"c": np.float32})
    frame["d"] = np.where(y > 0, "u", None)
    for cls in (ours.RandomOverSampler, ours.RandomUnderSampler):
        rows, labels = cls(random_state=0).fit_resample(frame, pd.Series(y, name="y"))
        assert isinstance(rows, pd.DataFrame)
        assert labels.name == "y"
        assert_array_equal(rows.dtypes, frame.dtypes)
        assert_array_equal(rows.index, labels.index)
        assert rows["d"].isna().any()
    rows, _ = ours.SMOTE(random_state=0).fit_resample(frame[["a", "b", "c"]], y)
    assert rows["c"].dtype == np.float32
    indicators = np.eye(3, dtype=int)[y]
    _, labels = ours.SMOTE(random_state=0).fit_resample(X, indicators)
    assert labels.shape[1] == 3
    assert_array_equal(labels.sum(axis=0), [60, 60, 60])


def test_their_pipelines_take_ours():
    pipeline = pytest.importorskip("imblearn.pipeline")
    from fastml.linear_model import LogisticRegression

    X, y = table(2)
    chain = pipeline.make_pipeline(ours.SMOTE(random_state=0), LogisticRegression()).fit(X, y)
    alone = LogisticRegression().fit(*ours.SMOTE(random_state=0).fit_resample(X, y))
    assert_allclose(chain.predict_proba(X), alone.predict_proba(X))


@pytest.mark.parametrize("name", [*OVER, *UNDER])
def test_the_same_bits_for_any_number_of_threads(name):
    X, y = table()
    found = []
    for n in (1, 2):
        with fastml.thread_limit(n):
            found.append(seeded(getattr(ours, name)).fit_resample(X, y))
    assert_bit_equal(list(found[0]), list(found[1]))


def test_int_and_float32_rows_keep_their_type():
    X, y = table()
    rows, _ = ours.SMOTE(random_state=0).fit_resample(X.astype(np.float32), y)
    assert rows.dtype == np.float32
    whole, expected = (
        cls(random_state=0).fit_resample((9e5 * X).astype(int), y)[0]
        for cls in (ours.SMOTE, over_sampling.SMOTE)
    )
    assert_array_equal(whole, expected)


def mixed(text=True):
    X, y = table()
    kinds = np.random.default_rng(1).integers(0, 3, size=(len(y), 2))
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.insert(1, "k", np.array(["u", "v", "w"])[kinds[:, 0]] if text else kinds[:, 0])
    frame["l"] = kinds[:, 1]
    return frame, y


@pytest.mark.parametrize("text", [False, True])
def test_categories_are_the_neighbours(text):
    frame, y = mixed(text)
    for X, columns in ((frame, ["k", "l"]), (frame.to_numpy(), [1, 4])):
        found, labels = ours.SMOTENC(columns, random_state=3).fit_resample(X, y)
        expected, their_labels = over_sampling.SMOTENC(columns, random_state=3).fit_resample(X, y)
        assert_array_equal(labels, their_labels)
        found, expected = np.asarray(found, dtype=object), np.asarray(expected, dtype=object)
        assert_array_equal(found[:, [1, 4]], expected[:, [1, 4]])
        numbers = [0, 2, 3]
        assert_allclose(found[:, numbers].astype(float), expected[:, numbers].astype(float))


def test_a_median_deviation_of_zero():
    """imb#675: categories were made of nothing."""
    frame, y = mixed()
    frame[["a", "b", "c"]] = 1.0
    found, labels = ours.SMOTENC(["k", "l"], random_state=0).fit_resample(frame, y)
    assert set(found["k"]) <= {"u", "v", "w"}
    assert (np.bincount(labels) == 60).all()
    assert (found["a"] == 1.0).all()
    with pytest.raises(ValueError, match="only with categorical"):
        ours.SMOTENC([0, 1]).fit_resample(frame[["k", "l"]], y)
    with pytest.raises(ValueError, match="only with numerical"):
        ours.SMOTENC("auto").fit_resample(frame[["a", "b"]], y)
