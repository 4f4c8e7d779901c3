"""SVC, NuSVC, SVR, NuSVR, OneClassSVM: scikit-learn's answers, and the mathematics itself."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from assertions import assert_bit_equal
from naive import smo_gap
from numba import njit
from sklearn import svm as reference
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import cosine_similarity, laplacian_kernel, rbf_kernel

from fastml._engines import smo
from fastml._engines.gram import sources
from fastml._jit import jit_enabled
from fastml.metrics.pairwise import make_kernel
from fastml.svm import (
    SVC,
    SVR,
    LinearSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    geometric_margins,
    kkt_groups,
    margins,
    signed_distances,
)

IRIS, SPECIES = load_iris(return_X_y=True)
MACHINES = [(SVC, {}), (NuSVC, {"nu": 0.3}), (SVR, {}), (NuSVR, {}), (OneClassSVM, {"nu": 0.3})]
every_machine = pytest.mark.parametrize(("cls", "parameters"), MACHINES, ids=lambda p: str(p))


def theirs(cls, **parameters):
    return getattr(reference, cls.__name__)(**parameters)


def values(machine, X):
    return getattr(machine, "decision_function", machine.predict)(X)


def assert_same_machine(ours, other, X, atol):
    np.testing.assert_allclose(values(ours, X), values(other, X), atol=atol)
    np.testing.assert_array_equal(ours.predict(X[:0:-7]).shape, other.predict(X[:0:-7]).shape)
    assert len(set(ours.support_) ^ set(other.support_)) <= 1  # β of almost nothing
    assert ours.n_support_.sum() == ours.support_.size == ours.dual_coef_.shape[1]
    assert ours.n_support_.shape == other.n_support_.shape
    assert ours.dual_coef_.shape[0] == other.dual_coef_.shape[0]
    for name in ("support_", "n_support_", "dual_coef_", "intercept_", "n_iter_"):
        assert np.asarray(getattr(ours, name)).dtype == np.asarray(getattr(other, name)).dtype, name


@pytest.fixture
def by_rounds(monkeypatch):
    """Working sets, in single precision where it will do, even for small data."""
    monkeypatch.setattr(smo, "WHOLE", 10)
    monkeypatch.setattr(sources, "SINGLE_FROM", 0)
    monkeypatch.setattr(smo, "WORKING_SET", 40)


# ---------------------------------------------------------------------------- scikit-learn


@every_machine
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
def test_scikit_learns_machine(cls, parameters, kernel):
    parameters = {**parameters, "kernel": kernel, "tol": 1e-6, "coef0": 0.1}
    if kernel == "sigmoid":
        parameters |= {"gamma": 0.01}
    X = IRIS / IRIS.std(axis=0)
    ours = cls(**parameters).fit(X, SPECIES)
    other = theirs(cls, **parameters).fit(X, SPECIES)
    np.testing.assert_allclose(values(ours, X), values(other, X), atol=2e-3)
    if kernel == "rbf":
        assert_same_machine(ours, other, X, 1e-4)
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, other.coef_, atol=1e-3)
        assert not ours.coef_.flags.writeable


@every_machine
@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian"])
def test_sparse_rows_as_dense(cls, parameters, kernel):
    X = np.where(IRIS > 1.5, IRIS - 1.5, 0.0)
    dense = cls(**parameters, kernel=kernel, tol=1e-6, gamma=0.5).fit(X, SPECIES)
    sparse = cls(**parameters, kernel=kernel, tol=1e-6, gamma=0.5).fit(sp.csr_array(X), SPECIES)
    np.testing.assert_allclose(values(sparse, sp.csr_array(X)), values(dense, X), atol=1e-3)
    np.testing.assert_array_equal(sparse.support_, dense.support_)
    assert sp.issparse(sparse.support_vectors_)
    assert sp.issparse(sparse.dual_coef_)
    with pytest.raises(ValueError, match="trained on dense"):
        dense.predict(sp.csr_array(X))


@njit
def compiled_rbf(x, y):
    total = 0.0
    for k in range(x.shape[0]):
        total += (x[k] - y[k]) ** 2
    return np.exp(-0.5 * total)


@every_machine
def test_kernels_given_in_other_ways(cls, parameters):
    named = cls(**parameters, gamma=0.5, tol=1e-6).fit(IRIS, SPECIES)
    expected = values(named, IRIS)
    K = rbf_kernel(IRIS, gamma=0.5)
    matrix = cls(**parameters, kernel="precomputed", tol=1e-6).fit(K, SPECIES)
    np.testing.assert_allclose(values(matrix, K), expected, atol=1e-4)
    for kernel in (lambda X, Y: rbf_kernel(X, Y, gamma=0.5), compiled_rbf):
        if kernel is compiled_rbf and not jit_enabled():
            continue
        other = cls(**parameters, kernel=kernel, tol=1e-6).fit(IRIS, SPECIES)
        np.testing.assert_allclose(values(other, IRIS), expected, atol=1e-4)
        different = set(other.support_) ^ set(named.support_)  # β of almost nothing
        assert len(different) <= 2


@pytest.mark.parametrize(
    ("kernel", "function"),
    [("laplacian", lambda X, Y: laplacian_kernel(X, Y, 0.5)), ("cosine", cosine_similarity)],
)
@every_machine
def test_kernels_beyond_scikit_learn(cls, parameters, kernel, function):
    ours = cls(**parameters, kernel=kernel, gamma=0.5, tol=1e-7).fit(IRIS, SPECIES)
    other = theirs(cls, **parameters, kernel=function, tol=1e-7).fit(IRIS, SPECIES)
    np.testing.assert_allclose(values(ours, IRIS), values(other, IRIS), atol=5e-3)


@every_machine
def test_working_sets_find_the_same(cls, parameters, by_rounds):
    X, y = make_classification(400, 6, n_informative=4, flip_y=0.1, random_state=0)
    parameters = {**parameters, "tol": 1e-5}
    ours = cls(**parameters, cache_size=0.2).fit(X, y)
    other = theirs(cls, **parameters).fit(X, y)
    np.testing.assert_allclose(values(ours, X), values(other, X), atol=1e-3)
    other = theirs(cls, **parameters, kernel=lambda X, Y: laplacian_kernel(X, Y)).fit(X, y)
    for kernel in ("laplacian", lambda X, Y: laplacian_kernel(X, Y)):
        ours.set_params(kernel=kernel, gamma="auto").fit(X, y)
        np.testing.assert_allclose(values(ours, X), values(other, X), atol=1e-3)


def test_weights():
    rng = np.random.default_rng(0)
    weights = rng.uniform(0, 2, 150)
    weights[::9] = 0.0
    for cls, parameters in MACHINES:
        ours = cls(**parameters, tol=1e-6).fit(IRIS, SPECIES, sample_weight=weights)
        other = theirs(cls, **parameters, tol=1e-6).fit(IRIS, SPECIES, sample_weight=weights)
        np.testing.assert_allclose(values(ours, IRIS), values(other, IRIS), atol=1e-3)
        assert not np.isin(ours.support_, np.arange(0, 150, 9)).any()
    by_class = {0: 1.0, 1: 5.0, 2: 0.1}
    ours = SVC(class_weight=by_class, tol=1e-6).fit(IRIS, SPECIES)
    other = reference.SVC(class_weight=by_class, tol=1e-6).fit(IRIS, SPECIES)
    assert_same_machine(ours, other, IRIS, 1e-4)
    np.testing.assert_array_equal(ours.class_weight_, other.class_weight_)


def test_repeated_rows_are_weights():
    counts = np.random.default_rng(1).integers(1, 4, 150)
    weighted = SVC(tol=1e-7, gamma=0.5).fit(IRIS, SPECIES, sample_weight=counts)
    repeated = SVC(tol=1e-7, gamma=0.5).fit(np.repeat(IRIS, counts, 0), np.repeat(SPECIES, counts))
    np.testing.assert_allclose(values(weighted, IRIS), values(repeated, IRIS), atol=1e-4)


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_votes_and_ties(shape):
    X, y = make_classification(
        300, 5, n_informative=4, n_redundant=0, n_classes=4, n_clusters_per_class=1, random_state=3
    )
    parameters = {"decision_function_shape": shape, "tol": 1e-6}
    ours, other = SVC(**parameters).fit(X, y), reference.SVC(**parameters).fit(X, y)
    grid = np.random.default_rng(0).normal(size=(500, 5)) * 3
    assert ours.decision_function(grid).shape == other.decision_function(grid).shape
    np.testing.assert_array_equal(ours.predict(grid), other.predict(grid))
    broken = {"break_ties": True, "decision_function_shape": shape}
    if shape == "ovo":
        with pytest.raises(ValueError, match="break_ties must be False"):
            ours.set_params(**broken).predict(grid)
    else:
        ours.set_params(**broken)
        other.set_params(**broken)
        np.testing.assert_array_equal(ours.predict(grid), other.predict(grid))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_probabilities(n_classes):
    X, y = IRIS[: 50 * n_classes], SPECIES[: 50 * n_classes]
    rng = np.random.default_rng(0)
    X = X + rng.normal(size=X.shape)
    for cls, parameters in MACHINES[:2]:
        ours = cls(**parameters, probability=True, random_state=0).fit(X, y)
        other = theirs(cls, **parameters, probability=True, random_state=0).fit(X, y)
        p = ours.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_allclose(p, other.predict_proba(X), atol=0.15)
        np.testing.assert_allclose(ours.predict_log_proba(X), np.log(p))
        assert ours.probA_.shape == other.probA_.shape
        assert (ours.probA_ < 0).all()  # positive values mean the first class of a pair
        same = cls(**parameters, probability=True, random_state=0).fit(X, y)
        np.testing.assert_array_equal(same.predict_proba(X), p)


def test_probability_is_off_by_default():
    machine = SVC().fit(IRIS, SPECIES)
    assert not hasattr(machine, "predict_proba")
    for name in ("probA_", "probB_"):
        with pytest.warns(FutureWarning, match=f"`{name}` was deprecated"):
            assert getattr(machine, name).shape == (0,)
    with pytest.raises(NotFittedError, match="probability=False"):
        machine.set_params(probability=True).predict_proba(IRIS)
    with pytest.warns(FutureWarning, match="probability"):
        SVC(probability=False).fit(IRIS, SPECIES)


# ---------------------------------------------------------------------------- mathematics


def gap_of(machine, K, y):
    """The gap of a fitted binary SVC, from its public attributes alone."""
    C = machine.C
    beta = np.zeros(len(y))
    beta[machine.support_] = machine.dual_coef_[0]
    sign = np.where(y == machine.classes_[1], 1.0, -1.0)
    lower, upper = np.minimum(C * sign, 0.0), np.maximum(C * sign, 0.0)
    assert (lower <= beta).all()
    assert (beta <= upper).all()
    assert beta.sum() == pytest.approx(0.0, abs=1e-8 * C)
    return smo_gap(beta, sign - K @ beta, lower, upper, [np.arange(len(y))])


@pytest.mark.parametrize(
    ("C", "n", "cache_size"),
    [(1.0, 3000, 200), (1.0, 3000, 10), (1000.0, 3000, 10), (1000.0, 400, 200), (0.01, 300, 200)],
)
def test_gap_from_scratch(C, n, cache_size):
    """Single and double precision, at once and (a cache too small for the matrix) by rounds."""
    X, y = make_classification(n, 10, n_informative=6, flip_y=0.1, random_state=0)
    machine = SVC(C=C, cache_size=cache_size).fit(X, y)
    assert gap_of(machine, rbf_kernel(X, gamma=machine._gamma), y) <= machine.tol


def test_gap_is_told_and_falls(by_rounds, capsys):
    X, y = make_classification(300, 5, random_state=0)
    SVC(verbose=True).fit(X, y)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    told = [(int(words[2].rstrip(",")), float(words[4])) for words in lines]
    assert len(told) > 2
    assert told[-1][1] < 1e-3 < told[0][1]
    assert [steps for steps, _ in told] == sorted(steps for steps, _ in told)


def test_hard_margin():
    """Two points at distance 2: the margin is the half of it, whatever C."""
    X, y = np.array([[0.0, 0.0], [2.0, 0.0], [5.0, 1.0]]), np.array([0, 1, 1])
    machine = SVC(kernel="linear", C=1e10, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(machine.coef_, [[1.0, 0.0]], atol=1e-6)
    np.testing.assert_allclose(machine.intercept_, [-1.0], atol=1e-6)
    found = margins(machine, X, y)
    np.testing.assert_allclose(found.margin, [1.0, 1.0, 4.0], atol=1e-6)
    np.testing.assert_allclose(found.slack, 0.0, atol=1e-6)


def test_margins():
    pair = IRIS[SPECIES > 0], SPECIES[SPECIES > 0]
    machine = SVC(C=10).fit(*pair)
    found = margins(machine, *pair)
    errors = machine.predict(pair[0]) != pair[1]
    np.testing.assert_array_equal(found.margin < 0, errors)
    np.testing.assert_allclose(found.slack, np.maximum(0, 1 - found.margin))
    assert set(np.flatnonzero(found.slack > 1e-2)) <= set(machine.support_)
    every = margins(SVC().fit(IRIS, SPECIES), IRIS, SPECIES)
    assert every.margin.shape == (150, 3)
    assert np.isnan(every.slack[SPECIES == 2, 0]).all()
    tube = SVR(epsilon=0.2).fit(IRIS, IRIS[:, 0])
    found = margins(tube, IRIS, IRIS[:, 0])
    np.testing.assert_allclose(
        found.slack, np.maximum(0, np.abs(IRIS[:, 0] - tube.predict(IRIS)) - 0.2)
    )
    with pytest.raises(ValueError, match="does not know"):
        margins(machine, IRIS, SPECIES)


@pytest.mark.parametrize("seed", range(5))
def test_sigmoid_kernel_ends_in_a_stationary_point_like_libsvms(seed):
    """The kernel is not positive: the points may differ, how good they are may not by much."""
    X, y = make_classification(200, 6, flip_y=0.1, random_state=seed)
    found, expected = (kind(kernel="sigmoid").fit(X, y) for kind in (SVC, reference.SVC))
    K = np.tanh(found._gamma * X @ X.T)

    def signed(machine):
        beta = np.zeros(len(y))
        beta[machine.support_] = machine.dual_coef_.ravel()
        return beta

    def dual(beta):
        return 0.5 * beta @ K @ beta - np.abs(beta).sum()

    beta, sign = signed(found), np.where(y == 1, 1.0, -1.0)
    lower, upper = np.minimum(sign, 0.0), np.maximum(sign, 0.0)
    assert smo_gap(beta, sign - K @ beta, lower, upper, [np.arange(len(y))]) < 1e-3
    assert dual(beta) <= dual(signed(expected)) * (1 - 1e-3)  # both are negative


def test_sigmoid_machines_are_as_often_better_as_worse_than_libsvms():
    """Over many problems neither solver finds the better stationary points."""
    gaps = []
    for seed in range(40):
        X, y = make_classification(60, 6, flip_y=0.1, random_state=seed)
        duals = []
        for kind in (SVC, reference.SVC):
            machine = kind(kernel="sigmoid").fit(X, y)
            rows, beta = X[machine.support_], machine.dual_coef_.ravel()
            K = np.tanh(machine._gamma * rows @ rows.T)
            duals.append(0.5 * beta @ K @ beta - np.abs(beta).sum())
        gaps.append((duals[0] - duals[1]) / abs(duals[1]))
    gaps = np.array(gaps)
    better, worse = np.sum(gaps < -1e-3), np.sum(gaps > 1e-3)
    assert better + worse > 3  # they do differ
    assert worse <= better + 3
    assert gaps.mean() < 2e-3


def test_margins_of_a_class_against_the_rest():
    machine = LinearSVC(dual=False).fit(IRIS, SPECIES)
    values = machine.decision_function(IRIS)
    signs = np.where(SPECIES[:, None] == np.arange(3), 1.0, -1.0)
    np.testing.assert_allclose(margins(machine, IRIS, SPECIES).margin, signs * values)
    lengths = np.linalg.norm(machine.coef_, axis=1)
    found = geometric_margins(machine, IRIS, SPECIES)
    np.testing.assert_allclose(found, signs * values / lengths)
    machine = LinearSVC(multi_class="crammer_singer", max_iter=100_000, random_state=0).fit(
        IRIS, SPECIES
    )
    found = margins(machine, IRIS, SPECIES).margin
    np.testing.assert_array_equal(found > 0, machine.predict(IRIS) == SPECIES)
    with pytest.raises(TypeError, match="Crammer"):
        geometric_margins(machine, IRIS, SPECIES)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "compiled", "gram", "sparse"])
def test_signed_distances_are_values_by_the_length_of_the_weights(kernel):
    X, y = IRIS[SPECIES > 0], np.array(["", "red", "blue"])[SPECIES[SPECIES > 0]]

    @njit
    def compiled(a, b):
        return np.exp(-((a - b) ** 2).sum())

    functions = {"compiled": compiled, "gram": rbf_kernel}
    machine = SVC(kernel=functions.get(kernel, "rbf" if kernel == "sparse" else kernel), C=2.0)
    rows = sp.csr_array(X) if kernel == "sparse" else X
    machine.fit(rows, y)
    beta = np.zeros(len(X))
    coefficients = machine.dual_coef_
    beta[machine.support_] = (coefficients.toarray() if kernel == "sparse" else coefficients)[0]
    if kernel in ("linear", "poly"):
        K = X @ X.T if kernel == "linear" else (machine._gamma * X @ X.T) ** 3
    else:
        gamma = {"compiled": 1.0, "gram": 1.0 / 4}.get(kernel, machine._gamma)
        K = rbf_kernel(X, gamma=gamma)
    length = np.sqrt(beta @ K @ beta)
    expected = machine.decision_function(rows) / length
    np.testing.assert_allclose(signed_distances(machine, rows), expected, rtol=1e-9)
    found = geometric_margins(machine, rows, y)
    np.testing.assert_allclose(found, np.where(y == "red", 1, -1) * expected, rtol=1e-9)
    with pytest.raises(TypeError, match="not its matrix alone"):
        signed_distances(SVC(kernel="precomputed").fit(K, y), K)


def test_signed_distances_of_pairs_and_of_one_class():
    machine = SVC().fit(IRIS, SPECIES)
    found = signed_distances(machine, IRIS)
    for p, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        chosen = (a == SPECIES) | (b == SPECIES)
        pair = SVC(gamma=machine._gamma).fit(IRIS[chosen], SPECIES[chosen])
        np.testing.assert_allclose(found[:, p], -signed_distances(pair, IRIS), rtol=1e-6, atol=1e-9)
    inside = OneClassSVM(kernel="linear", nu=0.3).fit(IRIS)
    expected = inside.decision_function(IRIS) / np.linalg.norm(inside.coef_)
    np.testing.assert_allclose(signed_distances(inside, IRIS), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_kkt_groups(weighted):
    chosen = SPECIES > 0
    X, y = IRIS[chosen], SPECIES[chosen]
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else None
    machine = SVC(C=3.0, tol=1e-6, class_weight={1: 2.0}).fit(X, y, sample_weight=weights)
    groups = kkt_groups(machine, y, weights)
    together = np.concatenate(groups)
    np.testing.assert_array_equal(np.sort(together), np.arange(len(y)))
    found = margins(machine, X, y).margin
    assert (found[groups.outside] >= 1 - 1e-4).all()
    np.testing.assert_allclose(found[groups.on_margin], 1.0, atol=1e-4)
    assert (found[groups.inside] <= 1 + 1e-4).all()
    assert min(map(len, groups)) > 0


def test_kkt_groups_of_pairs():
    machine = SVC(tol=1e-6).fit(IRIS, SPECIES)
    groups = kkt_groups(machine, SPECIES)
    values = margins(machine, IRIS, SPECIES).margin
    for p in range(3):
        assert (values[groups.outside[p], p] >= 1 - 1e-4).all()
        np.testing.assert_allclose(values[groups.on_margin[p], p], 1.0, atol=1e-4)
        assert (values[groups.inside[p], p] <= 1 + 1e-4).all()
        assert sum(len(group[p]) for group in groups) == 100
    with pytest.raises(TypeError, match="SVC"):
        kkt_groups(SVR().fit(IRIS, SPECIES), SPECIES)
    with pytest.raises(ValueError, match="150 training rows"):
        kkt_groups(machine, SPECIES[:100])


@pytest.mark.parametrize("nu", [0.1, 0.4, 0.7])
def test_nu_bounds_errors_and_support(nu):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = X[:, 0] + rng.normal(size=500) / 2
    labels = (y > 0).astype(int)
    inside = OneClassSVM(nu=nu).fit(X)
    assert (inside.decision_function(X) < -1e-3).mean() <= nu
    assert inside.support_.size >= nu * 500
    assert NuSVR(nu=nu).fit(X, y).support_.size >= nu * 500
    if nu > 0.3:  # below the share of errors nothing has a margin
        machine = NuSVC(nu=nu).fit(X, labels)
        assert (margins(machine, X, labels).margin < 1 - 1e-2).mean() <= nu
        assert machine.support_.size >= nu * 500


def test_same_bits_for_any_number_of_threads():
    """Beyond tests/test_common.py: working sets, many classes."""
    X, y = make_classification(2800, 8, n_informative=6, n_classes=2, random_state=0)
    kept = {}
    for n_jobs in (1, 2, 4):
        for cache_size in (200, 10):
            machine = SVC(n_jobs=n_jobs, cache_size=cache_size).fit(X, y)
            result = [machine.dual_coef_, machine.intercept_, machine.decision_function(X)]
            assert_bit_equal(result, kept.setdefault(cache_size, result))


# ---------------------------------------------------------------------------- bad input


def test_refusals():
    X, y = IRIS, SPECIES
    K = X @ X.T
    cases = [
        (SVC(), (X, np.zeros(150)), "number of classes has to be greater than one"),
        (SVC(C=0.0), (X, y), "'C' parameter"),
        (SVC(C=-1.0), (X, y), "'C' parameter"),
        (NuSVC(nu=0.9), (X[:60], y[:60]), "nu is infeasible"),
        (NuSVC(nu=0.0), (X, y), "'nu' parameter"),
        (SVC(kernel="precomputed"), (K[:, :-1], y), "must be a square matrix"),
        (SVC(kernel=lambda A, B: A), (X, y), r"X.shape\[0\] should be equal"),
        (SVC(kernel="unknown"), (X, y), "'kernel' parameter"),
        (SVC(), (np.where(X > 7.5, np.nan, X), y), "NaN"),
        (SVR(epsilon=-1.0), (X, y), "'epsilon' parameter"),
        (SVC(), (X, y, np.zeros(150)), "zero or negative weights"),
        (SVC(), (X, y, np.where(y == 1, 1.0, 0.0)), "belong to the same class"),
        (SVC(), (X, y, np.where(y == 1, 0.0, 1.0)), "no sample of class"),
        (SVC(), (X, y, np.ones(3)), "incompatible shapes"),
        (SVC(), (X, y, np.full(150, np.nan)), "must be finite"),
    ]
    for machine, arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            machine.fit(*arguments)
        assert not hasattr(machine, "support_vectors_"), "something half-fitted is left"
    with pytest.raises(TypeError, match="Sparse precomputed"):
        SVC(kernel="precomputed").fit(sp.csr_array(K), y)
    matrix = SVC(kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match="is expecting 150 features"):
        matrix.predict(K[:, :-1])
    with pytest.raises(AttributeError, match="linear kernel"):
        matrix.coef_  # noqa: B018


def test_a_kernel_that_is_not_positive_ends():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 60))
    for machine in (SVC(kernel="precomputed"), SVC(kernel="precomputed", C=1e6)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(A + A.T, np.arange(60) % 2)
        assert np.isfinite(machine.dual_coef_).all()


@every_machine
def test_max_iter(cls, parameters, monkeypatch):
    for whole in (smo.WHOLE, 10):
        monkeypatch.setattr(smo, "WHOLE", whole)
        with pytest.warns(ConvergenceWarning, match="max_iter=2"):
            machine = cls(**parameters, max_iter=2).fit(IRIS, SPECIES)
        assert machine.fit_status_ == 1
        assert (np.asarray(machine.n_iter_) <= 2).all()


@every_machine
def test_rows_of_a_working_set_alone_or_together(cls, parameters, by_rounds, monkeypatch):
    """Rows as they are needed, or all at once: one machine; and the same bits for any threads."""
    made = []
    monkeypatch.setattr(smo, "EARLY", 2)
    lazily = smo._solve_lazily

    def counted(*args):
        made.append(args[1].size)
        return lazily(*args)

    monkeypatch.setattr(smo, "_solve_lazily", counted)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.integers(0, 2, 300)  # nearly all are support vectors
    machines = {}
    for way, factor in (("alone", 0.0), ("together", 1e9)):
        monkeypatch.setattr(smo, "ROW_AT_A_TIME", (factor, 0.0))
        machines[way] = cls(**parameters, tol=1e-6, n_jobs=1).fit(X, y)
        assert bool(made) == (way == "alone")
        if made:
            assert max(made) > smo.WORKING_SET
            assert_bit_equal(
                values(cls(**parameters, tol=1e-6, n_jobs=2).fit(X, y), X),
                values(machines[way], X),
            )
        made.clear()
    np.testing.assert_allclose(
        values(machines["alone"], X), values(machines["together"], X), atol=2e-3
    )


@pytest.mark.parametrize("C", [1e3, 1e6, 1e9])
def test_hardly_bounded_regression_comes_to_its_optimum(C):
    """SMO alone takes 10 million steps and is then 4 to 12 % poorer (LIBSVM: 700 million)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 8))
    y = X @ rng.normal(size=8) + rng.normal(size=20)
    model = NuSVR(kernel="linear", C=C).fit(X, y)
    assert model.fit_status_ == 0
    assert model.n_iter_ < 1_000_000
    beta = np.zeros(20)
    beta[model.support_] = model.dual_coef_.ravel()
    dual = 0.5 * beta @ (X @ X.T) @ beta - y @ beta

    # As C grows, β tends to C times the solution of a linear programme: bounds on Σ |y - Xw - b|.
    w, b = model.coef_.ravel(), model.intercept_[0]
    errors = np.abs(y - X @ w - b)
    epsilon = np.sort(errors)[-10]
    primal = 0.5 * w @ w + C * (0.5 * 20 * epsilon + np.maximum(errors - epsilon, 0.0).sum())
    assert abs(beta.sum()) < 1e-9 * C
    assert np.abs(beta).sum() <= 0.5 * C * 20 * (1 + 1e-9)
    np.testing.assert_allclose(-dual, primal, rtol=1e-4)  # no gap: both are optimal


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("doubled", [False, True])
def test_leap_falls_and_keeps_sums(grouped, doubled):
    rng = np.random.default_rng(3)
    n = 12
    root = rng.normal(size=(n, 4))
    K = root @ root.T
    m = 2 * n if doubled else n
    lower, upper = np.full(m, -1.0), np.full(m, 1.0)
    beta = rng.uniform(-0.5, 0.5, m)
    target = rng.normal(size=m)
    split = n if doubled else 5
    dual = smo.Dual(np.arange(n), target, lower, upper, beta, split, grouped)

    def fold(values):
        return values[:n] + values[n:] if doubled else values

    def objective(values):
        return 0.5 * fold(values) @ K @ fold(values) - target @ values

    def gradient(values):
        return target - (np.tile(K @ fold(values), 2) if doubled else K @ fold(values))

    after, v = beta.copy(), gradient(beta)
    smo.leap(K, dual, after, v)
    assert objective(after) < objective(beta) - 1e-3
    assert (after >= lower).all()
    assert (after <= upper).all()
    np.testing.assert_allclose(v, gradient(after), atol=1e-10)
    np.testing.assert_allclose(after.sum(), beta.sum(), atol=1e-10)
    if grouped:
        np.testing.assert_allclose(after[:split].sum(), beta[:split].sum(), atol=1e-10)


# ---------------------------------------------------------------------------- kernels of kernels


def gram_of(kernel):
    return lambda A, B: kernel(A, B)


@every_machine
@pytest.mark.parametrize("rounds", [False, True])
def test_kernels_made_of_kernels(cls, parameters, rounds, monkeypatch):
    if rounds:
        monkeypatch.setattr(smo, "WHOLE", 10)
    kernel = make_kernel("rbf", gamma=0.3) + 0.1 * make_kernel("linear") * make_kernel("cosine")
    small = {"cache_size": 0.01} if rounds else {}  # kernel rows as they are needed
    ours = cls(kernel=kernel, tol=1e-6, **small, **parameters).fit(IRIS, SPECIES)
    other = theirs(cls, kernel=gram_of(kernel), tol=1e-6, **parameters).fit(IRIS, SPECIES)
    np.testing.assert_allclose(values(ours, IRIS), values(other, IRIS), atol=1e-4)
    assert ours.support_vectors_.shape == (ours.support_.size, 4)  # no other rows are kept
    sparse = cls(kernel=kernel, tol=1e-6, **parameters).fit(sp.csr_array(IRIS), SPECIES)
    np.testing.assert_allclose(values(sparse, sp.csr_array(IRIS)), values(other, IRIS), atol=1e-4)


@every_machine
def test_the_exponential_kernel(cls, parameters):
    X = IRIS / 8.0
    ours = cls(kernel="exponential", gamma=0.5, tol=1e-6, **parameters).fit(X, SPECIES)
    gram = lambda A, B: np.exp(0.5 * A @ B.T)  # noqa: E731
    other = theirs(cls, kernel=gram, tol=1e-6, **parameters).fit(X, SPECIES)
    np.testing.assert_allclose(values(ours, X), values(other, X), atol=1e-4)


@njit
def inner(x, y):
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total * total


NORMALISED = {
    "linear": lambda A, B: A @ B.T,
    "poly": lambda A, B: (0.5 * A @ B.T) ** 3,
    "rbf": lambda A, B: rbf_kernel(A, B, gamma=0.5),
    "exponential": lambda A, B: np.exp(0.5 * A @ B.T),
    inner: lambda A, B: (A @ B.T) ** 2,
    gram_of(lambda A, B: A @ B.T): lambda A, B: A @ B.T,
}


@pytest.mark.parametrize("cls", [SVC, SVR])
@pytest.mark.parametrize("kernel", NORMALISED, ids=lambda kernel: str(kernel)[:12])
def test_normalised_kernels(cls, kernel):
    X = IRIS - IRIS.mean(axis=0)
    X[3] = 0.0  # K(x, x) is 0 there for some
    plain = NORMALISED[kernel]

    def gram(A, B):
        own = [np.array([plain(row[None], row[None])[0, 0] for row in rows]) for rows in (A, B)]
        unit = np.sqrt(np.outer(*own))
        return np.divide(plain(A, B), unit, out=np.zeros_like(unit), where=unit > 0)

    ours = cls(kernel=kernel, gamma=0.5, normalize=True, tol=1e-6).fit(X, SPECIES)
    other = theirs(cls, kernel=gram, tol=1e-6).fit(X, SPECIES)
    np.testing.assert_allclose(values(ours, X), values(other, X), atol=1e-4)
    assert not hasattr(ours, "coef_")


def test_a_matrix_is_not_normalised():
    for cls in (SVC, SVR):
        with pytest.raises(ValueError, match="needs a kernel"):
            cls(kernel="precomputed", normalize=True).fit(IRIS @ IRIS.T, SPECIES)
