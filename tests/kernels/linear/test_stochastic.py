"""An epoch is the plain sequence of steps; the order is scikit-learn's."""

import naive_smooth as naive
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from fastml._engines.stochastic import sgd_rows
from fastml.kernels.linear import stochastic as kernels
from fastml.kernels.losses import definitions

pytestmark = pytest.mark.small


def rules(**changes):
    plain = kernels.SgdRules(
        definitions.SQUARED, 0.0, kernels.ELASTIC_NET, 0.01, 0.3, kernels.INVSCALING, 0.05, 0.25,
        0.0, 1.0, 0.0, True, False,
    )  # fmt: skip
    return plain._replace(**changes)


def state(d, average=False):
    numbers = np.zeros(kernels.N_NUMBERS)
    numbers[kernels.SCALE] = numbers[kernels.AVERAGE_B] = numbers[kernels.TIME] = 1.0
    return kernels.SgdState(np.zeros(d), np.zeros(d if average else 0), np.zeros(d), numbers)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n", [1, 2, kernels.AHEAD + 5])
def test_epochs(sparse, n):
    rng = np.random.default_rng(n)
    X, y, weights = rng.normal(size=(n, 3)), rng.normal(size=n), rng.random(n)
    rows = sgd_rows(csr_array(X) if sparse else X, y, weights)
    order, left_out = rng.permutation(n), np.zeros(n, dtype=bool)
    for l1, power, watched in ((0.3, 0.25, True), (0.0, 0.4, True), (0.0, 0.25, False),
                               (1.0, 0.5, False)):  # fmt: skip
        found = state(3)
        own = rules(l1_ratio=l1, power_t=power, with_objective=watched)
        for _ in range(3):
            kernels.sgd_epoch(own, rows, order, left_out, found)
        kernels.rescale(found)
        w, b = naive.sgd(X, y, weights, order, 3, 0.05, power, 0.01, l1, lambda y, r: r - y)
        assert_allclose(found.w, w, rtol=1e-9, atol=1e-12)
        assert_allclose(found.numbers[kernels.INTERCEPT], b)
        assert found.numbers[kernels.TIME] == 3 * n + 1
        assert found.numbers[kernels.SCALE] == 1.0


def test_numbers_beside_the_weights():
    """Loss and objective, updates, the pull on the intercept of one class."""
    rng = np.random.default_rng(1)
    X, y, weights = rng.normal(size=(9, 3)), np.where(np.arange(9) % 2, 1.0, -1.0), np.ones(9)
    for rows in (X, csr_array(X)):
        for one_class in (False, True):
            found = state(3)
            own = rules(
                code=definitions.PERCEPTRON, l1_ratio=0.0, penalty=kernels.L2_PENALTY, alpha=0.5,
                rate=kernels.CONSTANT, one_class=one_class,
            )  # fmt: skip
            found.numbers[kernels.ETA] = 0.1
            left_out = np.zeros(9, dtype=bool)
            kernels.sgd_epoch(own, sgd_rows(rows, y, weights), np.arange(9), left_out, found)
            kernels.rescale(found)
            w, b, losses, objective, updates = np.zeros(3), 0.0, 0.0, 0.0, 0
            for x, sign in zip(X, y):
                raw = w @ x + b
                loss = max(0.0, -sign * raw)
                losses += loss
                objective += loss + 0.25 * w @ w + (0.5 * b if one_class else 0.0)
                wrong = sign * raw <= 0.0
                w = 0.95 * w + 0.1 * wrong * sign * x
                b += 0.1 * wrong * sign - (0.05 if one_class else 0.0)
                updates += wrong
            assert_allclose(found.w, w, rtol=1e-12)
            for place, value in ((kernels.INTERCEPT, b), (kernels.LOSS_SUM, losses),
                                 (kernels.OBJECTIVE_SUM, objective),
                                 (kernels.N_UPDATES, updates)):  # fmt: skip
                assert_allclose(found.numbers[place], value, rtol=1e-12)


@pytest.mark.parametrize("rate", [kernels.PASSIVE_1, kernels.PASSIVE_2])
def test_passive_aggressive(rate):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(8, 2)), rng.normal(size=8)
    X[3] = 0.0
    for rows in (X, csr_array(X)):
        found = state(2)
        own = rules(
            code=definitions.EPSILON_INSENSITIVE, parameter=0.1, penalty=kernels.NO_PENALTY,
            l1_ratio=0.0, rate=rate, eta0=0.4,
        )  # fmt: skip
        rows = sgd_rows(rows, y, np.ones(8))
        kernels.sgd_epoch(own, rows, np.arange(8), np.zeros(8, dtype=bool), found)
        w, b = np.zeros(2), 0.0
        for x, target in zip(X, y):
            error = target - w @ x - b
            loss, square = max(0.0, abs(error) - 0.1), x @ x
            if rate == kernels.PASSIVE_1:
                step = min(0.4, loss / square) if square > 0.0 else 0.0
            else:
                step = loss / (square + 0.5 / 0.4)
            w, b = w + np.sign(error) * step * x, b + np.sign(error) * step
        assert_allclose(found.w, w, rtol=1e-12)
        assert_allclose(found.numbers[kernels.INTERCEPT], b, rtol=1e-12)


def test_averages_and_rows_left_out():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    left_out = np.arange(40) >= 30
    found, path = state(3, average=True), []
    own = rules(average=1.0, l1_ratio=0.0, penalty=kernels.L2_PENALTY)
    kernels.sgd_epoch(own, sgd_rows(X, y, np.ones(40)), np.arange(40), left_out, found)
    kernels.rescale(found)
    for k in range(1, 31):
        part = naive.sgd(X[:k], y[:k], np.ones(k), range(k), 1, 0.05, 0.25, 0.01, 0.0,
                         lambda y, r: r - y)  # fmt: skip
        path.append(part)
    assert_allclose(found.w, path[-1][0], rtol=1e-9)
    assert_allclose(found.average, np.mean([w for w, _ in path], axis=0), rtol=1e-9)
    assert_allclose(found.numbers[kernels.AVERAGE_INTERCEPT], np.mean([b for _, b in path]))


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**31 - 2])
def test_order(seed):
    for n in (0, 1, 2, 50):
        order = np.arange(n)
        kernels.shuffle_as_sklearn(order, seed)
        assert order.tolist() == naive.xorshift_order(range(n), seed)
