"""New columns from pairs and named tuples of columns, beside plain NumPy; what is refused."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fastml
from fastml.preprocessing import CombinationFeatures
from fastml.preprocessing._combinations import BLOCK_ROWS

X = np.random.default_rng(0).normal(size=(2 * BLOCK_ROWS + 7, 4))
TABLE = pd.DataFrame({"area": [750.0, 700.0, 799.0, 800.0], "rooms": [2.0, 2.0, 3.0, 2.0]})

FORMULAS = {
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: a - b,
    "product": lambda a, b: a * b,
    "ratio": lambda a, b: a / b,
    "contrast": lambda a, b: (a - b) / (a + b),
    "radius": lambda a, b: np.sqrt(a**2 + b**2),
    "square_sum": lambda a, b: a**2 + b**2,
    "square_difference": lambda a, b: a**2 - b**2,
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FORMULAS)
def test_all_pairs(name, dtype):
    rows = X.astype(dtype)
    expected = [FORMULAS[name](rows[:, i], rows[:, j]) for i, j in combinations(range(4), 2)]
    found = CombinationFeatures(name).fit_transform(rows)
    assert found.dtype == dtype
    assert_allclose(found, np.column_stack(expected), rtol=8 * np.finfo(dtype).eps)


def test_angles_and_longer_tuples():
    model = CombinationFeatures(
        ["sin", ("cos", -1), ("sum", 0, 1, 2), ("product", 3, 1, 0), ("radius", 0, 1, 2),
         ("square_sum", 2, 1, 3), ("ratio", 2, 0)],
    ).fit(X)  # fmt: skip
    a, b, c, d = X.T
    expected = [np.sin(X), np.cos(d), a + b + c, a * b * d, np.linalg.norm(X[:, :3], axis=1)]
    expected += [b**2 + c**2 + d**2, c / a]
    assert_allclose(model.transform(X), np.column_stack(expected), rtol=1e-14)
    assert model.n_output_features_ == 10
    assert model.combinations_[4] == ("cos", (3,), ())
    assert list(model.get_feature_names_out(list("abcd")))[3:6] == [
        "sin(d)",
        "cos(d)",
        "sum(a b c)",
    ]


def test_the_same_for_any_number_of_threads():
    model = CombinationFeatures([*FORMULAS, "sin", "cos"]).fit(X)
    with fastml.thread_limit(1):
        expected = model.transform(np.asfortranarray(X))
    assert_array_equal(model.transform(X), expected)


def test_radius_neither_overflows_nor_vanishes():
    rows = np.array([[3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0], [3.0, 4.0]])
    found = CombinationFeatures(["radius", ("radius", 0, 1, 0)]).fit_transform(rows)
    assert_allclose(found[:, 0], [5e200, 5e-200, 0.0, 5.0], rtol=1e-15)
    assert_allclose(found[:, 1], np.sqrt(34) * np.array([1e200, 1e-200, 0.0, 1.0]), rtol=1e-15)


def test_division_by_zero():
    rows = np.array([[1.0, 0.0], [0.0, -0.0], [np.nan, 0.0], [2.0, -2.0], [3.0, 1.0]])
    both = ["ratio", "contrast"]
    nan = np.nan
    found = CombinationFeatures(both).fit_transform(rows)
    assert_array_equal(found, [[0.0, 1.0], [0.0, 0.0], [nan, nan], [-1.0, 0.0], [3.0, 0.5]])
    found = CombinationFeatures(both, zero_division=nan).fit_transform(rows)
    assert_array_equal(found, [[nan, 1.0], [nan, nan], [nan, nan], [-1.0, nan], [3.0, 0.5]])
    found = CombinationFeatures(both, zero_division=-7).fit_transform(rows)
    assert_array_equal(found, [[-7, 1], [-7, -7], [nan, nan], [-1, -7], [3, 0.5]])


@pytest.mark.parametrize(
    ("closed", "inside"),
    [
        ("left", [1, 1, 0, 0]),
        ("right", [1, 0, 1, 1]),
        ("both", [1, 1, 1, 1]),
        ("neither", [1, 0, 0, 0]),
    ],
)
def test_intervals(closed, inside):
    rule = ("interval", {"area": (700, 800.0), "rooms": (1, 3)})
    model = CombinationFeatures([rule], closed=closed).set_output(transform="pandas")
    found = model.fit_transform(TABLE)
    assert list(found.columns) == ["interval(area 700 800 rooms 1 3)"]
    assert found.iloc[:, 0].tolist() == inside


def test_missing_stays_missing():
    rows = np.array([[np.nan, 1.0], [1.0, 1.0]])
    names = [*FORMULAS, "sin", ("interval", {0: (0.0, np.inf)}), ("interval", {1: (0.0, np.inf)})]
    found = CombinationFeatures(names).fit_transform(rows)
    uses_first = np.array([*[True] * 9, False, True, False])
    assert_array_equal(np.isnan(found[0]), uses_first)
    assert not np.isnan(found[1]).any()


def test_names_and_input():
    model = CombinationFeatures([("ratio", "area", "rooms")], include_input=True)
    found = model.set_output(transform="pandas").fit_transform(TABLE)
    assert list(found.columns) == ["area", "rooms", "ratio(area rooms)"]
    assert_array_equal(found["area"], TABLE["area"])
    assert_array_equal(found["ratio(area rooms)"], TABLE["area"] / TABLE["rooms"])
    with pytest.raises(ValueError, match="feature names"):
        model.transform(TABLE[["rooms", "area"]])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "got none"),
        (["mean"], "unknown name 'mean'"),
        ([3], "begin with a name, got 3"),
        ([("ratio", 0)], "'ratio' in combinations takes 2 of the"),
        ([("sum", 0)], "'sum' in combinations takes 2 or more of the"),
        ([("sin", 0, 1)], "'sin' in combinations takes 1 of the"),
        ([("sum", 0, 2)], "column 2, but X has n_features = 2"),
        ([("sum", 0, -3)], "column -3, but X has n_features = 2"),
        ([("sum", "area", "height")], "column 'height', which is not in X"),
        ([("sum", 0, 1.0)], "1.0, neither a name nor a position"),
        (["sum", ("sum", 0, "rooms")], "twice"),
        (["interval"], "takes a dict"),
        ([("interval", {"area": (8, 7)})], r"low <= high, got \(8, 7\) for column 'area'"),
        ([("interval", {"area": (np.nan, 7)})], "low <= high"),
    ],
)
def test_what_is_wrong_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        CombinationFeatures(wrong).fit(TABLE)


def test_names_without_a_table_and_pairs_of_one_column():
    with pytest.raises(ValueError, match="X has no column names"):
        CombinationFeatures([("sin", "area")]).fit(TABLE.to_numpy())
    with pytest.raises(
        ValueError, match="'sum' in combinations takes 2 of the columns, got n_features = 1"
    ):
        CombinationFeatures().fit(X[:, :1])
