"""Gradient boosting beside the boosting libraries."""

import pytest

from fastml._cli import cases_boosting as bench

BOTH = pytest.mark.parametrize("library", ["fastml", "lightgbm", "xgboost"], indirect=True)
LIGHTGBM = pytest.mark.parametrize("library", ["fastml", "lightgbm"], indirect=True)
SKLEARN = pytest.mark.parametrize("library", ["fastml", "sklearn"], indirect=True)
XGBOOST = pytest.mark.parametrize("library", ["fastml", "xgboost"], indirect=True)


def fit(measure, library, data, kind="Classifier"):
    return measure(bench._fit(library, kind)(data))


@BOTH
def test_two_classes(measure, size, library):
    data = bench._binary(size(small=2_000, full=500_000), 28, size(small=10, full=100))
    assert bench._log_loss(data, fit(measure, library, data)) < 0.69


@BOTH
def test_regression(measure, size, library):
    data = bench._regression(size(small=2_000, full=200_000), 50, size(small=10, full=200))
    assert bench._error(data, fit(measure, library, data, "Regressor")) < 2.0


@BOTH
def test_five_classes(measure, size, library):
    data = bench._classes(size(small=2_000, full=100_000), 30, size(small=5, full=50))
    assert bench._log_loss(data, fit(measure, library, data)) < 1.6


@LIGHTGBM
def test_missing_values_and_categories(measure, size, library):
    data = bench._mixed(size(small=2_000, full=200_000), 20, size(small=10, full=100))
    assert bench._log_loss(data, fit(measure, library, data)) < 0.72


@SKLEARN
def test_small_data(measure, size, library):
    data = bench._binary(1_000, 10, size(small=10, full=100))
    assert bench._log_loss(data, fit(measure, library, data)) < 0.8


@SKLEARN
def test_exact_trees(measure, size, library):
    data = bench._binary(size(small=2_000, full=50_000), 20, size(small=10, full=100))
    assert bench._log_loss(data, measure(bench._fit_exact(library)(data))) < 0.69


@XGBOOST
def test_predict_all_rows(measure, size, library):
    data = bench._binary(size(small=2_000, full=500_000), 28, size(small=10, full=100))
    assert bench._log_loss(data, measure(bench._predict(library)(data))) < 0.69


@LIGHTGBM
def test_predict_one_row(measure, size, library):
    data = bench._binary(size(small=2_000, full=500_000), 28, size(small=10, full=100))
    assert bench._log_loss(data, measure(bench._predict(library, one_row=True)(data))) < 0.69
