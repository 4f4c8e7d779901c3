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

from fastml._jit import jit_enabled
from fastml.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM, _smo, _sources, margins

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
    monkeypatch.setattr(_smo, "WHOLE", 10)
    monkeypatch.setattr(_sources, "SINGLE_FROM", 0)
    monkeypatch.setattr(_smo, "WORKING_SET", 40)


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
    assert not hasattr(machine, "probA_")
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
    told = []
    SVC(callback=lambda steps, gap: told.append((steps, gap)), verbose=True).fit(X, y)
    assert len(told) > 2
    assert told[-1][1] < 1e-3 < told[0][1]
    assert [steps for steps, _ in told] == sorted(steps for steps, _ in told)
    assert "gap" in capsys.readouterr().out


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
    for whole in (_smo.WHOLE, 10):
        monkeypatch.setattr(_smo, "WHOLE", whole)
        with pytest.warns(ConvergenceWarning, match="max_iter=2"):
            machine = cls(**parameters, max_iter=2).fit(IRIS, SPECIES)
        assert machine.fit_status_ == 1
        assert (np.asarray(machine.n_iter_) <= 2).all()
