"""Log-likelihoods beside a sum of logarithms."""

import naive_scores
import numpy as np
import pytest
from arrays import read_only

from fastml.kernels.scores.likelihood import binary_log_likelihood, log_likelihood

EPS = float(np.finfo(np.float64).eps)


@pytest.mark.small
@pytest.mark.parametrize("n", [1, 2, 16, 17, 200])
@pytest.mark.parametrize("k", [2, 3])
def test_log_likelihood(n, k):
    rng = np.random.default_rng(n)
    codes, p = rng.integers(k, size=n), rng.dirichlet(np.full(k, 0.3), n)
    p[0] = np.eye(k)[0]
    total, lowest, highest, p_sum, n_off = log_likelihood(read_only(codes), read_only(p), EPS, 1e-8)
    assert total == pytest.approx(naive_scores.log_likelihood(codes, p, EPS), rel=1e-13)
    assert (lowest, highest, n_off) == (p.min(), p.max(), 0)
    assert p_sum == pytest.approx(n)
    p[-1] *= 0.9
    assert log_likelihood(read_only(codes), read_only(p), EPS, 1e-8)[4] == 1


@pytest.mark.small
@pytest.mark.parametrize("n", [1, 2, 16, 33, 200])
def test_binary_log_likelihood(n):
    rng = np.random.default_rng(n)
    codes, p = rng.integers(2, size=n), rng.random(n)
    p[0] = 1.0
    total, lowest, highest, p_sum = binary_log_likelihood(read_only(codes), read_only(p), EPS)
    both = np.column_stack([1 - p, p])
    assert total == pytest.approx(naive_scores.log_likelihood(codes, both, EPS), rel=1e-13)
    assert (lowest, highest) == (p.min(), p.max())
    assert p_sum == pytest.approx(p.sum())


@pytest.mark.small
def test_the_least_probabilities_do_not_underflow():
    codes, p = np.ones(64, dtype=np.int64), np.zeros(64)
    total = binary_log_likelihood(read_only(codes), read_only(p), EPS)[0]
    assert total == pytest.approx(64 * np.log(EPS))


@pytest.mark.small
@pytest.mark.parametrize("n", [1, 40])
def test_float32_is_read_as_it_is_and_reckoned_with_in_float64(n):
    rng = np.random.default_rng(n)
    codes, p = rng.integers(2, size=n), rng.random((n, 2)).astype(np.float32)
    exact = p.astype(np.float64)
    for kernel, more in ((binary_log_likelihood, ()), (log_likelihood, (1e-3,))):
        given = (p[:, 1].copy(), exact[:, 1].copy()) if more == () else (p, exact)
        found = [kernel(read_only(codes), read_only(each), 1e-7, *more) for each in given]
        assert found[0] == found[1]


@pytest.mark.small
def test_missing_numbers_show_in_the_sum():
    codes, p = np.zeros(5, dtype=np.int64), np.full(5, 0.5)
    p[2] = np.nan
    assert np.isnan(binary_log_likelihood(read_only(codes), read_only(p), EPS)[3])
