import numpy as np
import pytest
import scipy.sparse as sp
from naive_preprocessing import monomials as naive
from numpy.testing import assert_allclose

from fastml.kernels.preprocessing.products import monomials, sparse_monomials
from fastml.preprocessing import PolynomialFeatures

pytestmark = pytest.mark.small

CASES = [(2, False), (2, True), ((2, 3), False), ((1, 3), True), (0, False), (1, True)]


def degrees_of(degree):
    low, high = (0, degree) if isinstance(degree, int) else degree
    return range(max(1, low), high + 1)


@pytest.mark.parametrize(("degree", "distinct"), CASES)
@pytest.mark.parametrize("bias", [False, True])
def test_monomials(degree, distinct, bias):
    if degree == 0 and not bias:
        return
    X = np.random.default_rng(0).normal(size=(5, 3))
    model = PolynomialFeatures(degree, interaction_only=distinct, include_bias=bias).fit(X)
    full, size = model._count(3, 0), model.n_output_features_
    out = np.empty((5, size))
    X.flags.writeable = False
    monomials(X, model._segments(3), bias, full - size, full, 2, out, n_threads=2)
    for row, found in zip(X, out):
        assert_allclose(found, naive(row, degrees_of(degree), distinct, bias), rtol=1e-12)


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("degree", [2, 3])
def test_sparse_monomials(degree, distinct, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.6)
    X[2] = 0.0
    calls = []

    def noted(*arguments):
        calls.append(arguments[4])
        sparse_monomials(*arguments)

    monkeypatch.setattr("fastml.preprocessing._polynomial.sparse_monomials", noted)
    model = PolynomialFeatures((degree, degree), interaction_only=distinct, include_bias=False)
    found = model.fit_transform(sp.csr_array(X)).toarray()
    assert calls == [degree]
    expected = [naive(row, [degree], distinct, False) for row in X]
    assert_allclose(found, expected, rtol=1e-12)
