"""GaussianMixture: scikit-learn's answers, the mathematics of EM, weights, hard mode, errors."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Theirs

from fastml.cluster import KMeans
from fastml.mixture import GaussianMixture

SHAPES = ["full", "tied", "diag", "spherical"]
STARTS = ["kmeans", "k-means++", "random", "random_from_data"]
FITTED = ["weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"]


def blobs(n_rows=400, n_features=3, n_blobs=3, seed=0, scale=4.0, offset=50.0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(scale=scale, size=(n_blobs, n_features)) + offset
    return centers[rng.integers(n_blobs, size=n_rows)] + rng.normal(size=(n_rows, n_features))


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_same_result_as_scikit_learn(shape, start):
    X = blobs()
    parameters = {"covariance_type": shape, "init_params": start, "random_state": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours = GaussianMixture(3, **parameters).fit(X)
        theirs = Theirs(3, **parameters).fit(X)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.converged_ == theirs.converged_
    # The first variances of a start from single rows are reg_covar and rounding: so is that bound.
    np.testing.assert_allclose(ours.lower_bounds_[1:], theirs.lower_bounds_[1:], rtol=1e-6)
    for name in FITTED:
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-9, err_msg=name
        )
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.aic(X) == pytest.approx(theirs.aic(X))
    assert ours.bic(X) == pytest.approx(theirs.bic(X))
    for mine, other in zip(ours.sample(20), theirs.sample(20)):
        np.testing.assert_allclose(mine, other, rtol=1e-6)


@pytest.mark.parametrize("shape", [*SHAPES, "tied_spherical"])
@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_likelihood_never_falls(shape, assignment, global_random_seed):
    X = blobs(500, 4, 5, seed=global_random_seed, scale=1.5)
    model = GaussianMixture(
        5,
        covariance_type=shape,
        assignment=assignment,
        init_params="random_from_data",
        reg_covar=1e-9 if assignment == "soft" and shape != "full" else 1e-3,
        tol=0.0,
        max_iter=60,
        random_state=global_random_seed,
    )
    if shape in ("full", "diag", "spherical"):  # not from points: likelihood has no bound there
        model.set_params(init_params="kmeans")
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    gains = np.diff(model.lower_bounds_)
    allowed = 1e-3 if model.reg_covar > 1e-9 else 1e-9  # reg_covar moves the optimum a little
    assert gains.min() > -allowed, gains.min()


@pytest.mark.parametrize("shape", [*SHAPES, "tied_spherical"])
def test_whole_weights_are_repeated_rows(shape):
    X = blobs(200, 2, 2, scale=8.0)
    weights = np.random.default_rng(0).integers(0, 4, size=200)
    start = {
        "weights_init": [0.5, 0.5],
        "means_init": [X[weights > 0][0], X[weights > 0][-1]],
        "precisions_init": {
            "full": [np.eye(2)] * 2,
            "tied": np.eye(2),
            "diag": np.ones((2, 2)),
        }.get(shape, np.ones(2)),
    }
    weighted = GaussianMixture(2, covariance_type=shape, **start).fit(X, sample_weight=weights)
    repeated = GaussianMixture(2, covariance_type=shape, **start).fit(np.repeat(X, weights, axis=0))
    for name in FITTED:
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), rtol=1e-8, atol=1e-10, err_msg=name
        )
    assert weighted.lower_bound_ == pytest.approx(repeated.lower_bound_)


@pytest.mark.parametrize("start", STARTS)
def test_rows_of_weight_zero_do_not_count(start):
    X = np.concatenate([blobs(200, 2, 2), [[1e6, -1e6]] * 3])
    weights = np.r_[np.ones(200), np.zeros(3)]
    model = GaussianMixture(2, init_params=start, random_state=0, reg_covar=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, sample_weight=weights)
    assert np.abs(model.means_).max() < 1e3


def test_hard_assignment_is_k_means():
    X = blobs(600, 3, 4, scale=3.0)
    start = X[:4]
    kmeans = KMeans(4, init=start, n_init=1, tol=0, max_iter=500).fit(X)
    mixture = GaussianMixture(
        4,
        covariance_type="tied_spherical",
        assignment="hard",
        weights_init=np.full(4, 0.25),
        means_init=start,
        precisions_init=np.ones(4),
        tol=1e-12,
        max_iter=500,
    )
    labels = mixture.fit_predict(X)
    np.testing.assert_array_equal(labels, kmeans.labels_)
    np.testing.assert_allclose(mixture.means_, kmeans.cluster_centers_, rtol=1e-10)
    np.testing.assert_allclose(mixture.covariances_, kmeans.inertia_ / X.size, rtol=1e-4)
    np.testing.assert_array_equal(mixture.predict(X), labels)


def test_density_integrates_to_one():
    X = blobs(300, 1, 2, scale=3.0, offset=0.0)
    model = GaussianMixture(2, random_state=0).fit(X)
    grid = np.linspace(-40, 40, 20_001)
    total = np.trapezoid(np.exp(model.score_samples(grid[:, None])), grid)
    assert total == pytest.approx(1.0, abs=1e-6)


def test_far_from_the_origin_no_digits_are_lost():
    X = blobs(300, 2, 2, offset=0.0)
    near = GaussianMixture(2, random_state=0).fit(X)
    far = GaussianMixture(2, random_state=0).fit(X + 1e7)
    np.testing.assert_allclose(near.covariances_, far.covariances_, rtol=1e-6)


def test_warm_start_goes_on():
    X = blobs(scale=1.0)
    whole = GaussianMixture(3, random_state=0, max_iter=6, tol=0)
    parts = GaussianMixture(3, random_state=0, max_iter=3, tol=0, warm_start=True)
    for model in (whole, parts, parts):
        with pytest.warns(ConvergenceWarning):
            model.fit(X)
    np.testing.assert_allclose(whole.means_, parts.means_, rtol=1e-12)
    assert whole.lower_bound_ == pytest.approx(parts.lower_bound_)


def test_more_rows_than_a_chunk_and_a_block():
    X = blobs(40_000, 2, 2)
    ours, theirs = (cls(2, random_state=0).fit(X) for cls in (GaussianMixture, Theirs))
    np.testing.assert_allclose(ours.covariances_, theirs.covariances_, rtol=1e-6)
    assert ours.n_iter_ == theirs.n_iter_


@pytest.mark.small
def test_float32_stays(dtype):
    X = blobs(60, 2, 2).astype(dtype)
    model = GaussianMixture(2, random_state=0).fit(X)
    assert {getattr(model, name).dtype for name in FITTED} == {np.dtype(dtype)}
    assert model.score_samples(X).dtype == dtype
    assert model.predict_proba(X).dtype == dtype


@pytest.mark.small
def test_labels_of_fit_are_those_of_predict():
    X = blobs(150, 2, 3, scale=1.0).astype(np.float32)
    model = GaussianMixture(3, random_state=0, n_init=2, max_iter=200)
    np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))


def test_pickle_is_arrays_only():
    X = blobs()
    model = GaussianMixture(3, random_state=0).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_verbose(capsys):
    GaussianMixture(2, random_state=0, verbose=2, verbose_interval=1).fit(blobs(100, 2, 2))
    said = capsys.readouterr().out
    assert "Initialization 0" in said
    assert "ll change" in said
    assert "converged. time lapse" in said


BAD = {
    "k > n": ({"n_components": 9}, {"X": np.eye(4)}, "n_samples >= n_components"),
    "k < 1": ({"n_components": 0}, {}, "n_components"),
    "NaN": ({}, {"X": [[np.nan], [1.0]]}, "NaN"),
    "shape": ({"covariance_type": "round"}, {}, "covariance_type"),
    "weights": ({"n_components": 2, "weights_init": [0.1, 0.1]}, {}, "normalized"),
    "means": ({"n_components": 2, "means_init": [[1.0]]}, {}, "'means' should have the shape"),
    "precisions": ({"precisions_init": [[[-1.0]]]}, {"X": np.ones((3, 1))}, "positive-definite"),
    "negative weight": ({}, {"sample_weight": [-1.0] + [1.0] * 9}, "[Nn]egative"),
    "zero weights": ({}, {"sample_weight": np.zeros(10)}, "at least one"),
    "singular": ({"reg_covar": 0.0}, {"X": np.ones((5, 2))}, "ill-defined"),
    "one row": ({}, {"X": [[1.0]]}, "minimum of 2"),
}


@pytest.mark.small
@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    parameters, arguments, message = BAD[case]
    arguments = {"X": np.arange(20.0).reshape(10, 2), **arguments}
    model = GaussianMixture(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(**arguments)
    assert not hasattr(model, "means_")


@pytest.mark.parametrize("shape", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("seed", range(4))
def test_variances_that_are_rounding_are_zero(shape, seed):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(3, 3)) + seed, 50, axis=0)
    parameters = {"covariance_type": shape, "random_state": 0}
    with pytest.raises(ValueError, match="ill-defined"):
        GaussianMixture(3, reg_covar=0.0, **parameters).fit(X)
    GaussianMixture(3, **parameters).fit(X)
    if shape != "spherical":
        X = np.c_[rng.normal(size=(100, 2)), np.full(100, 0.1 * seed + 0.3)]
        with pytest.raises(ValueError, match="ill-defined"):
            GaussianMixture(2, reg_covar=0.0, **parameters).fit(X)


@pytest.mark.parametrize("shape", ["full", "tied", "diag", "spherical"])
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value", "ignore:Number of distinct")
def test_overflow_is_an_error(shape):
    with pytest.raises(ValueError, match="ill-defined"):
        GaussianMixture(2, covariance_type=shape).fit(1e200 * blobs(100, 2, 2))


def test_starts_on_rows_of_positive_weight():
    weights = np.r_[1.0, np.zeros(9)]
    with pytest.raises(ValueError, match="n_components=2 rows of positive weight, got 1"):
        GaussianMixture(2, init_params="random_from_data").fit(np.eye(10), sample_weight=weights)


@pytest.mark.small
def test_sample_needs_a_number():
    model = GaussianMixture().fit(np.arange(6.0).reshape(3, 2))
    with pytest.raises(ValueError, match="at least one sample"):
        model.sample(0)
