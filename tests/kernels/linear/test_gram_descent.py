import numpy as np
import pytest
from naive_linear import dual_value, mix_of_steps, net_objective, net_pass, net_solution

from fastml.kernels.linear.gram_descent import (
    KEPT,
    descend,
    extrapolate,
    gram_path,
    mixture,
    objective_and_gap,
    subtract,
    sweep,
)
from fastml.kernels.losses.penalties import Net

pytestmark = pytest.mark.small

SHAPES = [(12, 5), (1, 1), (2, 3), (6, 9)]
PENALTIES = [(0.7, 0.0), (0.3, 0.5), (0.0, 0.4)]


def problem(n, d, seed=0, kind="random"):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(n, d)), rng.normal(size=n)
    if kind == "constant":
        A[:, 0] = 0.0
    if kind == "duplicates":
        A[:, -1] = A[:, 0]
    return A, b, A.T @ A, A.T @ b, float(b @ b)


def test_subtract():
    values = np.arange(4.0)
    subtract(values, np.ones(6), 0.5)
    np.testing.assert_array_equal(values, np.arange(4.0) - 0.5)
    subtract(np.empty(0), np.ones(3), 1.0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["random", "constant", "duplicates"])
@pytest.mark.parametrize("positive", [False, True])
def test_sweep(shape, kind, positive):
    A, b, gram, cross, _ = problem(*shape, kind=kind)
    w, pull = np.zeros(shape[1]), cross.copy()
    order = np.arange(shape[1])[::-1].copy()
    for _ in range(3):
        expected = net_pass(gram, pull, w, order, 0.3, 0.2, positive)
        found = sweep(gram, pull, w, order, Net(0.3, 0.2, positive))
        for a, e in zip((w, pull, *found), expected):
            np.testing.assert_allclose(a, e, atol=1e-12)
    np.testing.assert_allclose(pull, A.T @ (b - A @ w), atol=1e-10)
    assert not positive or (w >= 0.0).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("positive", [False, True])
def test_objective_and_gap(shape, positive):
    A, b, _, cross, square = problem(*shape)
    w = np.abs(np.random.default_rng(1).normal(size=shape[1]))
    order = np.arange(shape[1])
    value, gap = objective_and_gap(
        cross, square, A.T @ (b - A @ w), w, order, Net(0.4, 0.0, positive)
    )
    assert value == pytest.approx(net_objective(A, b, w, 0.4, 0.0))
    assert gap == pytest.approx(value - dual_value(A, b, w, 0.4, 0.0, positive))
    for l1, l2 in PENALTIES:  # at the minimum there is no gap, elsewhere it bounds what is left
        best = net_solution(A, b, l1, l2, positive)
        for at, exact in ((best, True), (w, False)):
            pull = A.T @ (b - A @ at)
            net = Net(l1, l2, positive)
            value, gap = objective_and_gap(cross, square, pull, at, order, net)
            if exact:
                assert gap <= 1e-7 * max(square, 1.0)
            assert gap >= value - net_objective(A, b, best, l1, l2) - 1e-9


def test_gap_without_penalty_tells_the_minimum():
    A, b, _, cross, square = problem(12, 5)
    best = np.linalg.lstsq(A, b, rcond=None)[0]
    net = Net(0.0, 0.0, False)
    order = np.arange(5)
    assert objective_and_gap(cross, square, A.T @ (b - A @ best), best, order, net)[1] < 1e-10
    assert objective_and_gap(cross, square, cross.copy(), 0.0 * best, order, net)[1] > 1e-3


def test_mixture_and_extrapolation():
    A, b, gram, cross, square = problem(12, 5)
    net, order = Net(0.05, 0.0, False), np.arange(5)
    w, pull = np.zeros(5), cross.copy()
    history, pulls = np.empty((KEPT + 1, 5)), np.empty((KEPT + 1, 5))
    for kept in range(KEPT + 1):
        sweep(gram, pull, w, order, net)
        history[kept], pulls[kept] = w, pull
    shares = np.empty(KEPT)
    assert mixture(history, order, shares)
    np.testing.assert_allclose(shares, mix_of_steps(history), rtol=1e-4)
    assert not mixture(np.zeros((KEPT + 1, 5)), order, shares)
    before = net_objective(A, b, w, 0.05, 0.0)
    extrapolate(cross, square, pull, w, order, net, history, pulls)
    assert net_objective(A, b, w, 0.05, 0.0) <= before + 1e-12
    np.testing.assert_allclose(pull, A.T @ (b - A @ w), atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["random", "constant", "duplicates"])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(("l1", "l2"), PENALTIES)
def test_descend(shape, kind, positive, l1, l2):
    A, b, gram, cross, square = problem(*shape, kind=kind)
    padded = np.zeros((shape[1] + 3, shape[1] + 3))  # a cache may have more room than columns
    padded[: shape[1], : shape[1]] = gram
    w, pull = np.zeros(shape[1]), cross.copy()
    net = Net(l1, l2, positive)
    gap, passes = descend(
        padded, cross, square, pull, w, np.arange(shape[1]), net, 1e-12, 10_000, 0
    )
    assert gap <= 1e-12 * square or passes < 10_000
    expected = net_objective(A, b, net_solution(A, b, l1, l2, positive), l1, l2)
    assert net_objective(A, b, w, l1, l2) <= expected + 1e-9
    assert not positive or (w >= 0.0).all()


def test_descend_stops_when_told():
    _, _, gram, cross, square = problem(6, 9)
    w, pull = np.zeros(9), cross.copy()
    order, net = np.arange(9), Net(0.01, 0.0, False)
    assert descend(gram, cross, square, pull, w, order, net, 0.0, 3, 0)[1] == 3
    assert descend(gram, cross, square, cross.copy(), 0.0 * w, order, Net(99.0, 0.0, False),
                   1e-4, 10, 0) == (0.0, 0)  # fmt: skip


def test_gram_path():
    A, b, gram, cross, square = problem(12, 5)
    l1, l2 = np.array([1.0, 0.5, 0.1]), np.array([0.1, 0.05, 0.01])
    coefs, gaps, passes = np.empty((3, 5)), np.empty(3), np.empty(3, dtype=np.intp)
    for start in (np.zeros(5), np.ones(5)):
        gram_path(gram, cross, square, l1, l2, False, 1e-13, 5000, start, coefs, gaps, passes)
        for a in range(3):
            expected = net_solution(A, b, l1[a], l2[a])
            np.testing.assert_allclose(coefs[a], expected, atol=1e-6)
        assert (gaps <= 1e-12 * square).all()
        assert (passes > 0).all()
