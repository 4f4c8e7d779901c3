"""L0Regressor against every subset of few columns, and against greedy choices."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression

from fastml.linear_model import L0Regressor, OrthogonalMatchingPursuit


def data(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1:] += 1.5 * X[:, :-1]
    w = np.where(np.arange(d) % 3 == 0, rng.normal(size=d), 0.0)
    return X, X @ w + 0.3 * rng.normal(size=n)


def loss(X, y, columns):
    if not len(columns):
        return 0.5 * np.mean((y - y.mean()) ** 2)
    model = LinearRegression().fit(X[:, columns], y)
    return 0.5 * np.mean((y - model.predict(X[:, columns])) ** 2)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [1, 2, 3])
def test_bound_against_all_subsets(seed, count):
    X, y = data(40, 7, seed)
    found = L0Regressor(n_nonzero_coefs=count).fit(X, y)
    chosen = np.flatnonzero(found.coef_)
    assert len(chosen) <= count
    best = min(loss(X, y, list(s)) for s in itertools.combinations(range(7), count))
    own = 0.5 * np.mean((y - found.predict(X)) ** 2)
    assert own == pytest.approx(loss(X, y, chosen))
    assert own <= best * 1.05  # a swap away from nothing better
    greedy = OrthogonalMatchingPursuit(n_nonzero_coefs=count).fit(X, y)
    assert own <= 0.5 * np.mean((y - greedy.predict(X)) ** 2) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_no_change_of_one_column_improves(seed):
    X, y = data(40, 7, seed)
    alpha = 0.02
    found = L0Regressor(alpha=alpha).fit(X, y)
    chosen = set(np.flatnonzero(found.coef_))
    own = loss(X, y, sorted(chosen)) + alpha * len(chosen)
    others = [chosen - {i} for i in chosen] + [chosen | {j} for j in set(range(7)) - chosen]
    others += [(chosen - {i}) | {j} for i in chosen for j in set(range(7)) - chosen]
    for other in others:
        assert own <= loss(X, y, sorted(other)) + alpha * len(other) + 1e-10


def test_weights_sparse_and_degenerate():
    X, y = data(40, 7, 0)
    u = np.random.default_rng(0).integers(1, 4, 40)
    weighted = L0Regressor(n_nonzero_coefs=3).fit(X, y, u)
    repeated = L0Regressor(n_nonzero_coefs=3).fit(np.repeat(X, u, axis=0), np.repeat(y, u))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    np.testing.assert_allclose(
        L0Regressor(n_nonzero_coefs=3).fit(sp.csr_array(X), y).coef_,
        L0Regressor(n_nonzero_coefs=3).fit(X, y).coef_,
        atol=1e-9,
    )
    twins = np.column_stack([X[:, 0], X[:, 0], np.ones(40)])
    assert np.count_nonzero(L0Regressor(n_nonzero_coefs=3).fit(twins, y).coef_) == 1
    assert not L0Regressor(alpha=1e6).fit(X, y).coef_.any()
