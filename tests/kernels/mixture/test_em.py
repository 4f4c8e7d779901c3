"""Fused E step and statistics beside one plain step of EM."""

import naive
import numpy as np
import pytest
from arrays import read_only

from fastml._engines.em import SHAPES, MixtureRows, Parameters, finish, merge
from fastml.kernels.mixture import em as kernels


def example(n_rows, n_features, n_components, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) + 3.0
    factors = rng.normal(size=(n_components, n_features, n_features)) * 0.3
    covariances = factors @ factors.transpose(0, 2, 1) + np.eye(n_features)
    weights = rng.dirichlet(np.ones(n_components))
    means = rng.normal(size=(n_components, n_features)) + 3.0
    return X, rng.integers(1, 4, size=n_rows).astype(float), weights, means, covariances


SIZES = [
    pytest.param(*size, marks=pytest.mark.small)
    for size in [(1, 1, 1), (2, 2, 1), (5, 3, 2), (130, 4, 3), (40, 5, 2)]
] + [(900, 10, 4), (400, 13, 3)]


@pytest.mark.parametrize("n_rows, n_features, n_components", SIZES)
def test_step_is_the_naive_one(n_rows, n_features, n_components, dtype):
    X, sample_weight, weights, means, covariances = example(n_rows, n_features, n_components)
    X = X.astype(dtype)
    shape = SHAPES["full"]
    rows = MixtureRows(X, shape, n_components, weights=sample_weight, n_jobs=1)
    parameters = Parameters(weights, means, covariances, shape.factor(covariances))
    statistics = rows.expect(parameters, kernels.STATISTICS)
    expected = naive.em_step(X.astype(float), sample_weight, weights, means, covariances)
    bound = statistics.log_likelihood / sample_weight.sum()
    assert bound == pytest.approx(expected[0], rel=1e-11)
    reg_covar = 1e-3
    _, after = finish(
        shape, statistics, means, reg_covar=reg_covar, eps=0.0, center=rows.center, scatter=None
    )
    np.testing.assert_allclose(after.weights, expected[1], rtol=1e-10)
    np.testing.assert_allclose(after.means, expected[2], rtol=1e-9)
    regular = expected[3] + reg_covar * np.eye(n_features)
    np.testing.assert_allclose(after.covariances, regular, rtol=1e-8, atol=1e-10)
    identity = after.precisions_cholesky.transpose(0, 2, 1) @ regular @ after.precisions_cholesky
    np.testing.assert_allclose(
        identity, np.broadcast_to(np.eye(n_features), identity.shape), atol=1e-7
    )


@pytest.mark.small
@pytest.mark.parametrize("form", ["tied", "diag", "spherical"])
def test_other_forms_have_the_density_of_the_full_one(form):
    X, _, weights, means, covariances = example(140, 5, 3)
    if form == "tied":
        own = covariances[0]
        full = np.repeat(own[None], 3, axis=0)
    elif form == "diag":
        own = np.diagonal(covariances, axis1=1, axis2=2).copy()
        full = np.stack([np.diag(row) for row in own])
    else:
        own = covariances[:, 0, 0].copy()
        full = own[:, None, None] * np.eye(5)
    shape = SHAPES[form]
    rows = MixtureRows(X, shape, 3, center=X.mean(axis=0), n_jobs=1)
    log_density, resp, labels = np.empty(140), np.empty((140, 3)), np.empty(140, dtype=np.intp)
    rows.expect(
        Parameters(weights, means, own, shape.factor(own)),
        kernels.STORE | kernels.STORE_LABELS,
        log_density=log_density,
        labels=labels,
        resp=resp,
    )
    joint = naive.gaussian_log_densities(X, means, full) + np.log(weights)
    expected = np.logaddexp.reduce(joint, axis=1)
    np.testing.assert_allclose(log_density, expected, rtol=1e-11)
    np.testing.assert_allclose(resp, np.exp(joint - expected[:, None]), rtol=1e-9, atol=1e-300)
    np.testing.assert_array_equal(labels, joint.argmax(axis=1))


@pytest.mark.small
@pytest.mark.parametrize("form", ["full", "tied", "diag"])
def test_statistics_of_blocks_add_up(form):
    X, weights, shares, means, _ = example(150, 3, 2)
    shape = SHAPES[form]
    covariances = shape.empty(2, 3) + (1.0 if form == "diag" else np.eye(3))
    parameters = Parameters(shares, means, covariances, shape.factor(covariances))

    def statistics(part):
        rows = MixtureRows(X[part], shape, 2, weights=weights[part], n_jobs=1)
        return rows.expect(parameters, kernels.STATISTICS)

    whole = statistics(slice(None))
    merged = merge(statistics(slice(0, 61)), statistics(slice(61, None)))
    for a, b in zip(whole, merged):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.small
def test_given_responsibilities():
    X, weights, _, means, _ = example(20, 3, 2)
    resp = np.random.default_rng(0).dirichlet([1, 1], size=20)
    rows = MixtureRows(X, SHAPES["diag"], 2, weights=weights, n_jobs=1)
    what = kernels.STATISTICS | kernels.GIVEN
    found = rows.visit(what, means, np.empty((0, 0, 0)), np.empty(0), resp=resp)
    r = resp * weights[:, None]
    gaps = X[:, None, :] - means
    np.testing.assert_allclose(found.mass, r.sum(axis=0))
    np.testing.assert_allclose(found.first, np.einsum("nk,nkd->kd", r, gaps))
    np.testing.assert_allclose(found.second[:, 0], np.einsum("nk,nkd->kd", r, gaps**2))


@pytest.mark.small
def test_hard_step_counts_rows():
    X, weights, shares, means, covariances = example(60, 2, 3)
    shape = SHAPES["full"]
    rows = MixtureRows(X, shape, 3, weights=weights, n_jobs=1)
    parameters = Parameters(shares, means, covariances, shape.factor(covariances))
    found = rows.expect(parameters, kernels.STATISTICS | kernels.HARD)
    joint = naive.gaussian_log_densities(X, means, covariances)
    np.testing.assert_allclose(found.mass, np.bincount(joint.argmax(1), weights, minlength=3))
    assert found.log_likelihood == pytest.approx(weights @ joint.max(axis=1))


@pytest.mark.small
@pytest.mark.parametrize("n", [1, 2, 7])
def test_factors_of_precisions(n):
    lower = np.tril(np.random.default_rng(n).normal(size=(2, n, n))) + 3 * np.eye(n)
    upper = SHAPES["full"].factor(lower @ lower.transpose(0, 2, 1))
    np.testing.assert_allclose(upper, np.linalg.inv(lower).transpose(0, 2, 1), atol=1e-12)
    assert (np.tril(upper, -1) == 0).all()


@pytest.mark.small
@pytest.mark.parametrize("n_rows", [0, 1, 2, 300])
def test_chunks_of_a_visit(n_rows, n_threads):
    """Of three chunks the last two: their rows and no others are read and written."""
    X, weights, shares, means, covariances = example(n_rows, 3, 2)
    center = np.array([3.0, 2.0, 1.0])
    shape, lanes = SHAPES["full"], kernels.TILE_LANES
    factors, log_det = shape.layout(shape.factor(covariances), 2, 3)
    offsets = log_det - 1.5 * np.log(2 * np.pi) + np.log(shares)
    components = kernels.Components(means - center, np.empty((0, 0)), factors, offsets)
    moments = kernels.ChunkMoments(
        np.zeros((3, 2)),
        np.zeros((3, 2, 3)),
        np.zeros((3, 2, *shape.moments_shape(3))),
        np.full(3, 7.0),
    )
    results = kernels.RowResults(
        np.full(n_rows, 7.0), np.full(n_rows, 7), np.full((n_rows, 2), 7.0)
    )
    what = kernels.STATISTICS | kernels.STORE | kernels.STORE_LABELS
    read = map(read_only, (X, center, weights))
    kernels.visit_chunks(
        1, 3, lanes, what, shape.form, *read, components, moments, results,
        n_threads=n_threads,
    )  # fmt: skip
    joint = naive.gaussian_log_densities(X, means, covariances) + np.log(shares)
    log_density = np.logaddexp.reduce(joint, axis=1)
    responsibilities = np.exp(joint - log_density[:, None])
    seen = np.arange(n_rows) >= lanes
    for found, expected in zip(results, (log_density, joint.argmax(axis=1), responsibilities)):
        np.testing.assert_allclose(found[seen], expected[seen], rtol=1e-10)
        assert (found[~seen] == 7).all()
    assert moments.log_likelihood[0] == 7.0
    assert (moments.mass[0] == 0).all()
    for chunk in (1, 2):
        own = slice(chunk * lanes, (chunk + 1) * lanes)
        r, gaps = weights[own, None] * responsibilities[own], X[own, None] - means
        assert moments.log_likelihood[chunk] == pytest.approx(weights[own] @ log_density[own])
        np.testing.assert_allclose(moments.mass[chunk], r.sum(axis=0), rtol=1e-10)
        first = np.einsum("nk,nkd->kd", r, gaps)
        np.testing.assert_allclose(moments.first[chunk], first, rtol=1e-9, atol=1e-11)
        second = np.triu(np.einsum("nk,nkd,nke->kde", r, gaps, gaps))
        found = np.triu(moments.second[chunk][:, :3, :3])
        np.testing.assert_allclose(found, second, rtol=1e-9, atol=1e-11)
