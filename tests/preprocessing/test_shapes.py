"""Distributions, bins, products and splines beside scikit-learn's, and what others got wrong."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.preprocessing as peer
from numpy.testing import assert_allclose, assert_array_equal

import fastml.preprocessing as ours

RNG = np.random.default_rng(0)
X = np.c_[RNG.normal(size=200), np.exp(RNG.normal(size=200)), RNG.integers(0, 3, 200)]


@pytest.mark.parametrize("output", ["uniform", "normal"])
def test_quantile_transformer(output):
    more = {"n_quantiles": 30, "output_distribution": output, "random_state": 0, "subsample": 150}
    mine, theirs = ours.QuantileTransformer(**more), peer.QuantileTransformer(**more)
    found, expected = mine.fit_transform(X), theirs.fit_transform(X)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    back = theirs.inverse_transform(expected)
    assert_allclose(mine.inverse_transform(found), back, rtol=1e-7, atol=1e-7)
    sparse = sp.csc_array(np.where(X > 0.5, X, 0.0))
    found, expected = mine.fit_transform(sparse), theirs.fit_transform(sparse)
    assert_allclose(found.toarray(), expected.toarray(), rtol=1e-9, atol=1e-9)


def test_quantiles_ascend():
    """scikit-learn#15733: rounding put them out of order."""
    values = np.array([0.1, 0.1 + 1e-17, 0.3, 0.1, 0.1, 0.3, 0.3])[:, None]
    found = ours.QuantileTransformer(n_quantiles=7).fit(values).quantiles_
    assert (np.diff(found, axis=0) >= 0.0).all()


@pytest.mark.parametrize("method", ["yeo-johnson", "box-cox"])
def test_power_transformer(method):
    rows = np.abs(X) + 0.1 if method == "box-cox" else X
    mine, theirs = ours.PowerTransformer(method), peer.PowerTransformer(method)
    found, expected = mine.fit_transform(rows), theirs.fit_transform(rows)
    assert_allclose(mine.lambdas_, theirs.lambdas_, rtol=1e-5, atol=1e-6)
    assert_allclose(found, expected, atol=1e-5)
    assert_allclose(mine.inverse_transform(found), rows, atol=1e-8)


@pytest.mark.parametrize(
    "values",
    [
        [2003.0, 1950.0, 1997.0, 2000.0, 2009.0, 1999.0],
        [1.0] * 355 + [0.0],
        [-2003.0, -1950.0, -1997.0, -2000.0],
        [1e300, 1e299, 3e299],
    ],
)
def test_powers_do_not_overflow(values):
    """scikit-learn#23319, #30904, scipy#18389: years; 355 ones and a zero."""
    rows = np.array(values)[:, None]
    model = ours.PowerTransformer()
    found = model.fit_transform(rows)
    assert np.isfinite(found).all()
    assert_array_equal(np.argsort(found.ravel(), kind="stable"), np.argsort(values, kind="stable"))


@pytest.mark.parametrize("strategy", ["uniform", "quantile", "kmeans"])
@pytest.mark.parametrize("encode", ["ordinal", "onehot"])
def test_bins(strategy, encode):
    more = {"n_bins": 4, "strategy": strategy, "encode": encode}
    rows = X[:, :2]
    mine, theirs = ours.KBinsDiscretizer(**more), peer.KBinsDiscretizer(**more)
    found, expected = mine.fit_transform(rows), theirs.fit_transform(rows)
    found, expected = (getattr(m, "toarray", lambda m=m: m)() for m in (found, expected))
    assert_array_equal(found, expected)
    assert_array_equal(mine.get_feature_names_out(), theirs.get_feature_names_out())


@pytest.mark.parametrize("extrapolation", ["constant", "linear", "continue", "periodic"])
@pytest.mark.parametrize("sparse", [False, True])
def test_splines(extrapolation, sparse):
    more = {"degree": 2, "extrapolation": extrapolation, "include_bias": False}
    mine = ours.SplineTransformer(**more, sparse_output=sparse).fit(X)
    found = mine.transform(2.0 * X)
    expected = peer.SplineTransformer(**more).fit(X).transform(2.0 * X)
    assert_allclose(found.toarray() if sparse else found, expected, atol=1e-10)


def test_products_of_any_degree():
    rows = sp.csr_array(np.where(X > 0.3, X, 0.0))
    for degree in ((2, 4), 1):
        found = ours.PolynomialFeatures(degree).fit_transform(rows)
        expected = peer.PolynomialFeatures(degree).fit_transform(rows.toarray())
        assert_allclose(found.toarray(), expected, rtol=1e-12)


def test_given_edges():
    edges = [[-np.inf, 0.0, np.inf], [0.0, 1.0, 2.0, 3.0]]
    found = ours.EdgeDiscretizer(edges, encode="onehot-dense").fit_transform(X[:, :2])
    bins = [np.searchsorted(inner, X[:, j], side="right") for j, inner in ((0, [0.0]), (1, [1, 2]))]
    assert_array_equal(found, np.c_[np.eye(2)[bins[0]], np.eye(3)[bins[1]]])
    for wrong in ([1.0], [2.0, 1.0], [[0.0, 1.0]] * 3):
        with pytest.raises(ValueError, match="edges"):
            ours.EdgeDiscretizer(wrong).fit(X[:, :2])
