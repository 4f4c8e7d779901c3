"""`describe` beside pandas, NumPy, SciPy and statsmodels; bad tables; every kind of table."""

import datetime
import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from fastml.explore import describe, one_factor, two_factor
from fastml.explore._summary import METHODS, level_quantiles
from fastml.outliers import BoxPlotRule, MedianRule, PercentileRule, ZScoreRule

pd = pytest.importorskip("pandas")

RULES = {"box_plot": BoxPlotRule, "percentile": PercentileRule, "z_score": ZScoreRule,
         "median": MedianRule}  # fmt: skip


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n), "skewed": rng.lognormal(size=n).round(1),
            "count": rng.poisson(20, n), "stars": rng.integers(1, 6, n),
            "city": rng.choice(["Ulm", "Bern", "Oslo"], n), "flag": rng.random(n) < 0.3,
            "size": pd.Categorical(
                rng.choice(list("SML"), n), categories=list("SML"), ordered=True
            ),
            "day": np.datetime64("2024-01-01") + rng.integers(0, 300, n).astype("timedelta64[D]"),
            "lat": rng.uniform(40, 50, n), "lon": rng.uniform(5, 15, n),
            "id": [f"row {i}" for i in range(n)],
        }
    )  # fmt: skip
    frame["y"] = frame.x + frame["count"] + 2.0 * frame.flag + rng.normal(size=n)
    frame.loc[::9, "x"] = np.nan
    frame.loc[::11, "city"] = None
    frame.loc[::13, "skewed"] = np.nan
    return frame


@pytest.fixture(scope="module")
def found(table):
    return describe(table, "y")


def test_types(found):
    kinds = {column["name"]: column["type"] for column in found.columns}
    assert kinds == {
        "x": "numeric", "skewed": "numeric", "count": "numeric", "stars": "ordinal",
        "city": "nominal", "flag": "binary", "size": "ordinal", "day": "datetime",
        "lat": "geographic", "lon": "geographic", "id": "nominal", "y": "numeric",
    }  # fmt: skip
    assert found["id"]["notes"] == ["every value is different"]


@pytest.mark.parametrize("name", ["x", "skewed", "count", "stars", "lat"])
def test_one_column_as_pandas(table, found, name):
    series, column = table[name], found[name]
    assert (column["count"], column["missing"]) == (series.count(), series.isna().sum())
    assert column["missing_share"] == series.isna().mean()
    assert column["distinct"] == series.nunique()
    expected = [
        series.mean(),
        series.std(),
        series.min(),
        series.max(),
        series.skew(),
        series.kurt(),
    ]
    keys = ("mean", "std", "min", "max", "skewness", "kurtosis")
    assert_allclose([column[key] for key in keys], expected, rtol=1e-10, atol=1e-12)
    assert_allclose(
        list(column["quantiles"].values()), series.quantile([0.05, 0.25, 0.5, 0.75, 0.95])
    )
    values = series.dropna().to_numpy(dtype=float)
    statistic, p = stats.jarque_bera(values)
    assert_allclose([column["normality"]["statistic"], column["normality"]["p"]], [statistic, p])
    assert sum(column["histogram"]["counts"]) == len(values)
    counts = series.value_counts()
    assert [item["count"] for item in column["top"]] == counts.iloc[:10].tolist()
    for rule, cls in RULES.items():
        fitted = cls().fit(values[:, None])
        bounds = column["outliers"][rule]
        assert_allclose([bounds["lower"], bounds["upper"]], [fitted.lower_[0], fitted.upper_[0]])
        assert bounds["count"] == fitted.is_outlier(values[:, None]).sum()


def test_density_is_one(found):
    x, y = (np.array(found["y"]["density"][key]) for key in "xy")
    assert_allclose(y.sum() * (x[1] - x[0]), 1.0, atol=0.01)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2, 7, 10])
def test_quantiles_as_numpy(method, n):
    values = np.sort(np.random.default_rng(n).integers(0, 6, n).astype(float))
    levels, counts = np.unique(values, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(counts)])
    shares = np.array([0.0, 0.05, 0.1, 0.25, 0.3, 0.5, 0.7, 0.75, 0.95, 1.0])
    expected = np.quantile(values, shares, method=method)
    assert_allclose(level_quantiles(levels, starts, shares, method), expected, atol=1e-12)


def test_pearson_and_spearman_as_pandas(table, found):
    names = ["x", "skewed", "count", "stars", "flag", "lat", "y"]
    places = [found.names.index(name) for name in names]
    plain = table[names].astype(float)
    for kind in ("pearson", "spearman"):
        ours = found.correlations[kind][np.ix_(places, places)]
        assert_allclose(ours, plain.corr(kind).to_numpy(), atol=1e-12)
    only = describe(table, "y", pairs=False)
    for kind in found.correlations:
        assert_allclose(
            list(only.with_target(kind).values()), list(found.with_target(kind).values())
        )


def test_groups(table, found):
    i, j = found.names.index("city"), found.names.index("size")
    counts = pd.crosstab(table.city, table["size"]).to_numpy()
    expected = stats.contingency.association(counts, method="cramer")
    assert_allclose(found.correlations["cramers_v"][i, j], expected)
    p = counts / counts.sum()
    q = np.outer(p.sum(axis=1), p.sum(axis=0))
    assert_allclose(found.correlations["mutual_information"][i, j], (p * np.log(p / q)).sum())
    both = table[["x", "city"]].dropna()
    means = both.groupby("city").x.transform("mean")
    eta = math.sqrt(means.var(ddof=0) / both.x.var(ddof=0))
    assert_allclose(found.correlations["correlation_ratio"][0, i], eta)
    matrix = found.correlations["mutual_information"]
    present = ~np.isnan(matrix)
    assert (matrix[present] >= 0).all(), "and never above an entropy"
    assert (matrix <= matrix.diagonal() + 1e-12)[present].all()


def test_one_factor_as_scipy(table):
    tests = {t["test"]: t for t in one_factor(table, "city", "x")["tests"]}
    both = table[["x", "city"]].dropna()
    groups = [g.x.to_numpy() for _, g in both.groupby("city")]
    for name, expected in (("analysis of variance, F", stats.f_oneway(*groups)),
                           ("Kruskal-Wallis, H", stats.kruskal(*groups))):  # fmt: skip
        assert_allclose([tests[name]["statistic"], tests[name]["p"]], expected)
    tests = {t["test"]: t for t in one_factor(table, "flag", "skewed")["tests"]}
    both = table[["flag", "skewed"]].dropna()
    no, yes = (both.skewed[both.flag == v].to_numpy() for v in (False, True))
    for name, expected in (
        ("Welch's t", stats.ttest_ind(no, yes, equal_var=False)),
        ("Mann-Whitney, U", stats.mannwhitneyu(no, yes, method="asymptotic")),
    ):
        assert_allclose([tests[name]["statistic"], tests[name]["p"]], list(expected)[:2])
    found = one_factor(table, "x", "y")
    both = table[["x", "y"]].dropna()
    for test, expected in zip(found["tests"], (stats.pearsonr, stats.spearmanr)):
        assert_allclose(test["p"], expected(both.x, both.y)[1])
    line = stats.linregress(both.x, both.y)
    effect = found["effect"]
    assert_allclose([effect["slope"], effect["intercept"]], [line.slope, line.intercept])
    found = one_factor(table, "flag", table.x > 0)
    counts = pd.crosstab(table.flag, table.x > 0).to_numpy()
    expected = [
        stats.chi2_contingency(counts, correction=False)[1],
        stats.chi2_contingency(counts, correction=False, lambda_="log-likelihood")[1],
        stats.fisher_exact(counts)[1],
    ]
    assert_allclose([test["p"] for test in found["tests"]], expected)


def test_two_factors_as_statsmodels(table):
    formula = pytest.importorskip("statsmodels.formula.api")
    from statsmodels.stats.anova import anova_lm

    rows = table.dropna()[["y", "city", "stars"]]
    found = two_factor(rows, ["city", "stars"], "y")
    expected = anova_lm(formula.ols("y ~ C(city) * C(stars)", data=rows).fit(), typ=2)
    ours = found["rows"]
    assert_allclose([row["sum_of_squares"] for row in ours], expected["sum_sq"], rtol=1e-8)
    assert [row["df"] for row in ours] == expected["df"].tolist()
    assert_allclose([row["p"] for row in ours[:3]], expected["PR(>F)"][:3], rtol=1e-7)
    means = rows.groupby(["city", "stars"]).y.mean().unstack().to_numpy()
    levels = found["levels"][0]
    assert_allclose(np.array(found["means"])[np.argsort(levels)], means)


def test_two_factors_of_classes(table):
    found = two_factor(table, ["city", "x"], "flag")
    known = sum(row["statistic"] for row in found["rows"][:1])
    city = one_factor(table[table.x.notna()], "city", "flag")["tests"][1]["statistic"]
    both = found["rows"][2]["statistic"]
    alone = two_factor(table[table.city.notna()], ["x", "flag"], "flag")  # a perfect factor
    assert alone["rows"][2]["p"] < 1e-10
    assert both >= known >= 0, "the chain rule: I(t; a, b) = I(t; b) + I(t; a | b)"
    assert both >= city - 1e-9
    assert found["rows"][2]["df"] >= 5


def test_as_data_and_text(found, table):
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(text)["n_rows"] == 400
    assert str(found).startswith("400 rows, 12 columns")
    assert "analysis of variance" in str(found)
    one, two = (describe(table, "y", n_jobs=n).to_dict() for n in (1, 2))
    assert one == two, "the same for any number of threads"


def test_every_kind_of_table(table):
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    plain = table.drop(columns=["size"]).astype({"city": object})
    expected = describe(plain, "y").to_dict()
    for other in (pl.from_pandas(plain), pa.Table.from_pandas(plain), plain.to_dict("series"),
                  {name: plain[name].to_numpy() for name in plain}):  # fmt: skip
        got = describe(other, "y").to_dict()
        for mine, theirs in zip(got["columns"], expected["columns"]):
            assert {**mine, "dtype": ""} == {**theirs, "dtype": ""}
        assert got["tests"] == expected["tests"]
        assert got["correlations"] == expected["correlations"]
    ordered = pl.DataFrame({"s": pl.Series(["M", "S", None], dtype=pl.Enum(["S", "M", "L"]))})
    assert describe(ordered)["s"]["type"] == "binary"
    assert [item["value"] for item in describe(ordered)["s"]["top"]] == ["S", "M"]
    numbers = np.arange(12.0).reshape(6, 2)
    assert describe(numbers, 1).names == ["x0", "x1"]
    assert describe(numbers, numbers[:, 0]).target == "target"
    record = np.array([(1, 2.5)], dtype=[("a", int), ("b", float)])
    assert describe(record).names == ["a", "b"]


def test_bad_tables():
    for table, message in (
        (np.empty((0, 3)), "rows and columns"), (np.empty((3, 0)), "rows and columns"),
        ({}, "rows and columns"), (np.arange(3.0), "two dimensions"),
        ({"a": [1], "b": [1, 2]}, "one length"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            describe(table)
    with pytest.raises(TypeError, match="sparse"):
        describe(__import__("scipy.sparse").sparse.eye(3, format="csr"))
    table = {"a": [1.0, 2.0, 3.5], "b": ["u", "v", "w"]}
    for options, message in (
        ({"target": "c"}, "no column"), ({"target": 7}, "number of a column"),
        ({"target": [1.0]}, "3 values"), ({"method": "best"}, "method"),
        ({"quantiles": [2]}, "0 to 1"),
        ({"top": 0}, "top"), ({"correlation": "kendall"}, "correlation"),
        ({"types": {"c": "numeric"}}, "no column"), ({"types": {"a": "text"}}, "one of"),
        ({"types": {"b": "numeric"}}, "cannot be numeric"), ({"types": {"b": ["u", "v"]}}, "lacks"),
        ({"types": {"a": "binary"}}, "cannot be binary"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            describe(table, **options)


def test_odd_columns():
    frame = pd.DataFrame(
        {
            "empty": [np.nan] * 6, "nothing": [None] * 6, "same": [3.5] * 6,
            "ends": [np.inf, 1.0, -np.inf, 2.0, 4.0, np.nan], "all infinite": [np.inf] * 6,
            "mixed": [1, "a", None, 2.5, (1, 2), "a"], "lists": [[1], [2], [1], None, [3], [1]],
            "objects": np.array([1, 2.5, None, 7, 7, 7], dtype=object),
            "huge": [1e300, -1e300, 1e300, 2e300, 0.0, 1.0],
            "texts": ["2024-01-01", "2024-02-30x", "a", "b", "c", "d"],
            "dates": [datetime.date(2024, 1, 1 + k) for k in range(6)],
            "iso": [f"2024-01-0{k}T10:00" for k in range(1, 7)],
            "complex": [1j, 2j, 1j, 1j, 1j, 1j],
            "wait": pd.to_timedelta(range(6), unit="min"),
        }
    )  # fmt: skip
    frame.insert(1, "same", range(6), allow_duplicates=True)
    for target in (None, "ends", "mixed", "empty", "same.1", "iso"):
        found = describe(frame, target)
        json.dumps(found.to_dict(), allow_nan=False)
        assert "<svg" in found.to_html()
        assert str(found)
    kinds = {column["name"]: column["type"] for column in found.columns}
    assert kinds["objects"] == "numeric"
    assert kinds["mixed"] == kinds["lists"] == kinds["texts"] == "nominal"
    assert kinds["dates"] == kinds["iso"] == "datetime"
    assert found["dates"]["min"] == "2024-01-01"
    assert found["iso"]["max"] == "2024-01-06T10:00:00"
    assert found["wait"]["max"] == 300.0
    assert found["ends"]["infinite"] == 2
    assert (found["ends"]["missing"], found["ends"]["mean"]) == (1, pytest.approx(7 / 3))
    assert found["same"]["distinct"] == 6
    assert found["same.1"]["notes"] == ["constant"]
    assert found["empty"]["notes"] == ["all missing"]
    assert "no finite value" in found["all infinite"]["notes"]
    one = describe(frame.iloc[:1], "ends")
    assert one.n_rows == 1
    assert one["same.1"]["std"] is None


def test_types_given(table):
    found = describe(
        table[["city", "stars", "x"]], types={"city": ["Oslo", "Bern", "Ulm"], "stars": "numeric"}
    )
    assert (found["city"]["type"], found["stars"]["type"]) == ("ordinal", "numeric")
    order = table.city.map({"Oslo": 0, "Bern": 1, "Ulm": 2})
    assert_allclose(found.correlations["spearman"][0, 2], table.x.corr(order, method="spearman"))


def test_many_levels_and_columns():
    rng = np.random.default_rng(0)
    wide = describe(rng.normal(size=(30, 80)), 0)
    assert not wide.facts.all_pairs
    assert len(wide.with_target("pearson")) == 79
    many = {"code": rng.integers(0, 700, 3000).astype(str), "y": rng.normal(size=3000)}
    found = describe(many, "y")
    assert found["code"]["distinct"] == len(set(many["code"]))
    expected = stats.f_oneway(*(many["y"][many["code"] == c] for c in set(many["code"])))
    assert_allclose(found.tests[0]["tests"][0]["p"], expected[1])
