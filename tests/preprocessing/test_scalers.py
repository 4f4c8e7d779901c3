"""Scalers beside scikit-learn's, and what others got wrong."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.preprocessing as peer
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import fastml.preprocessing as ours

SCALERS = ["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer"]
FUNCTIONS = ["scale", "minmax_scale", "maxabs_scale", "robust_scale", "normalize", "binarize"]


def data(dtype=np.float64, holes=True):
    X = np.random.default_rng(0).normal(loc=[0.0, 5.0, -10.0], scale=[1.0, 9.0, 0.5], size=(70, 3))
    if holes:
        X[::7, 1] = np.nan
    return X.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("name", SCALERS)
def test_as_scikit_learn(name, dtype):
    X = data(dtype, holes=name != "Normalizer")
    mine, theirs = getattr(ours, name)(), getattr(peer, name)()
    found, expected = mine.fit_transform(X), theirs.fit_transform(X)
    assert found.dtype == expected.dtype
    near = {np.float64: 1e-10, np.float32: 1e-4, np.float16: 2e-2}[dtype]
    assert_allclose(found, expected, rtol=near, atol=near)
    if hasattr(mine, "inverse_transform"):
        assert_allclose(mine.inverse_transform(found), X, rtol=10 * near, atol=10 * near)


@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_array])
def test_sparse_rows(layout):
    X = layout(np.where(np.abs(data(holes=False)) > 1.0, data(holes=False), 0.0))
    for name, more in (
        ("StandardScaler", {"with_mean": False}),
        ("MaxAbsScaler", {}),
        ("RobustScaler", {"with_centering": False}),
        ("Normalizer", {"norm": "l1"}),
    ):
        found = getattr(ours, name)(**more).fit_transform(X)
        expected = getattr(peer, name)(**more).fit_transform(X)
        assert_allclose(found.toarray(), expected.toarray(), rtol=1e-10)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("axis", [0, 1])
def test_functions(name, axis):
    X = data(holes=False)
    more = {} if name == "binarize" else {"axis": axis}
    assert_allclose(getattr(ours, name)(X, **more), getattr(peer, name)(X, **more), atol=1e-9)


def test_a_stream_is_as_all_rows():
    X, w = data(), np.random.default_rng(1).integers(0, 4, 70)
    whole = ours.StandardScaler().fit(X, sample_weight=w)
    stream = ours.StandardScaler()
    for first in range(0, 70, 13):
        stream.partial_fit(X[first : first + 13], sample_weight=w[first : first + 13])
    repeated = ours.StandardScaler().fit(np.repeat(X, w, axis=0))
    for other in (stream, repeated):
        assert_allclose(other.mean_, whole.mean_, rtol=1e-12)
        assert_allclose(other.var_, whole.var_, rtol=1e-9)
        assert_allclose(other.n_samples_seen_, whole.n_samples_seen_)


def test_in_place():
    for order in "CF":
        X = np.asarray(data(), order=order)
        expected = ours.StandardScaler().fit_transform(X)
        found = ours.StandardScaler(copy=False).fit_transform(X)
        assert np.shares_memory(found, X)
        assert_array_equal(found, expected)


@pytest.mark.parametrize("name", [*SCALERS[:4], "QuantileTransformer", "PowerTransformer"])
def test_infinity_is_refused(name):
    X = data()
    model = getattr(ours, name)(**({"n_quantiles": 9} if name[0] == "Q" else {})).fit(X)
    X[5, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.transform(X)
    with pytest.raises(ValueError, match="infinity"):
        clone(model).fit(X)


@pytest.mark.parametrize("value", [14.62, 0.1, 1e10, 1.0 / 3.0])
@pytest.mark.parametrize("n", [3, 1000, 40_000])
def test_a_constant_becomes_zero(value, n):
    """scikit-learn#17794: 14.62 became −1."""
    scaler = ours.StandardScaler().fit(np.full((n, 1), value))
    assert scaler.var_[0] == 0.0
    assert scaler.mean_[0] == value
    assert scaler.transform([[value]])[0, 0] == 0.0


def test_tiny_variance_is_no_constant():
    """scikit-learn#19726."""
    X = np.array([[1e-20], [3e-20]])
    assert_allclose(ours.StandardScaler().fit_transform(X).ravel(), [-1.0, 1.0])


def test_many_rows_of_float32():
    """scikit-learn#12333: sums of float32 lose the later rows."""
    X = np.full((1 << 20, 1), 0.1, dtype=np.float32)
    X[::2] = 0.3
    scaler = ours.StandardScaler().fit(X)
    assert_allclose(scaler.mean_[0], X.astype(np.float64).mean(), rtol=1e-12)
    assert_allclose(scaler.var_[0], X.astype(np.float64).var(), rtol=1e-9)


def test_a_stream_of_huge_numbers():
    """scikit-learn#5602: sums of squares overflowed."""
    scaler = ours.StandardScaler()
    for _ in range(5):
        scaler.partial_fit(np.array([[1e153], [-1e153]]))
    assert_allclose(scaler.scale_[0], 1e153)
    assert scaler.mean_[0] == 0.0


def test_add_dummy_feature():
    X = np.arange(6.0).reshape(3, 2)
    expected = np.c_[np.ones(3), X]
    assert_array_equal(ours.add_dummy_feature(X), expected)
    for layout in ("csr", "csc", "coo"):
        found = ours.add_dummy_feature(sp.csr_array(X).asformat(layout))
        assert found.format == layout
        assert_array_equal(found.toarray(), expected)
