"""Preparing columns: scaling, encoding, bins, new columns."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np

from fastml._cases._case import BOTH, SKLEARN, Case, Data, Quality, sizes


def skewed(n, d):
    """Columns of different place, size and skewness."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 50.0, d) + np.linspace(-20.0, 20.0, d)
    X[:, ::3] = np.exp(X[:, ::3] / np.linspace(5.0, 100.0, d)[::3])
    return SimpleNamespace(X=X)


def rows(n, d):
    return SimpleNamespace(X=np.random.default_rng(0).normal(size=(n, d)))


def rows_and_functions(n, d):
    """Rows, and a compiled function of a row."""
    from fastml.kernels.preprocessing.user_basis import sample_function

    return SimpleNamespace(**vars(rows(n, d)), functions=[sample_function])


def kernel_of_rows(n, d):
    X = rows(n, d).X
    return SimpleNamespace(X=X @ X.T)


def words(n, d, k):
    """Text of k values in every column, and a target that depends on the first."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, k, size=(n, d))
    names = np.array([f"value {code:04d}" for code in range(k)])
    y = codes[:, 0] / k + rng.normal(size=n)
    return SimpleNamespace(X=names[codes], y=y)


def labels(n, k):
    """Labels of classes alone."""
    rng = np.random.default_rng(0)
    names = np.array([f"class {code:03d}" for code in range(k)])
    return SimpleNamespace(X=names[rng.integers(0, k, size=n)])


def sets(n, k):
    """A few labels for every row."""
    rng = np.random.default_rng(0)
    return SimpleNamespace(X=[set(rng.integers(0, k, size=4).tolist()) for _ in range(n)])


def _dense(answer):
    return answer.toarray() if hasattr(answer, "toarray") else np.asarray(answer)


def _mean_square(data, answer) -> float:
    """Of a part of the result, each column with a weight of its own."""
    part = _dense(answer[:500]).astype(np.float64)
    part = part.reshape(len(part), -1)
    return float(np.mean((part * np.cos(np.arange(part.shape[1]))) ** 2))


SAME = Quality("mean square", _mean_square, "same", 1e-6)
LIKELY = Quality("mean square", _mean_square, "same", 1e-4)  # powers end at a tolerance


def fit_transform(make, data):
    return lambda: make().fit_transform(data.X)


def fit_transform_target(make, data):
    from sklearn.model_selection import KFold

    folds = KFold(5, shuffle=True, random_state=0)
    return lambda: make(cv=folds).fit_transform(data.X, data.y)


def _case(id, name, work, data, shape, quality=SAME, **more):
    more = {"step": fit_transform, "peers": SKLEARN, **more}
    return Case(
        id, f"preprocessing.{name}", f"{name}, {work}", data, sizes(**shape), quality, **more
    )


EDGES = (-np.inf, -1.0, 0.0, 1.0, np.inf)


def _digitised(data):
    return lambda: np.digitize(data.X, EDGES[1:-1]).astype(np.float64)


PAIRS = ("sum", "difference", "product", "ratio", "radius")


def _pairs(data):
    """The combinations of all pairs by NumPy."""

    def combine():
        i, j = np.triu_indices(data.X.shape[1], 1)
        a, b = data.X[:, i], data.X[:, j]
        return np.hstack([a + b, a - b, a * b, a / b, np.hypot(a, b)])

    return combine


def _with_product(data):
    return lambda: np.column_stack([data.X, data.X[:, 0] * data.X[:, -1]])


def _cumulative(data):
    """The cumulative columns by NumPy."""

    def encode():
        parts = []
        for column in data.X.T:
            values, codes = np.unique(column, return_inverse=True)
            parts.append((np.arange(len(values)) <= codes[:, None]).astype(np.float64))
        return np.hstack(parts)

    return encode


TABLE = {"n": (300, 100_000, 500_000), "d": (5, 50, 50)}
TEXT = {"n": (3000, 200_000, 1_000_000), "d": 2, "k": (20, 500, 500)}
LABELS = {"n": (3000, 200_000, 1_000_000), "k": (20, 100, 100)}
TALL = {"n": (300, 20_000, 100_000), "d": (4, 10, 10)}
WORK = "{n:,} × {d}"

CASES = (
    _case("standard-scaler", "StandardScaler", WORK, skewed, TABLE, dtypes=BOTH),
    _case("minmax-scaler", "MinMaxScaler", WORK, skewed, TABLE, dtypes=BOTH),
    _case("maxabs-scaler", "MaxAbsScaler", WORK, skewed, TABLE, dtypes=BOTH),
    _case("robust-scaler", "RobustScaler", WORK, skewed, TABLE, dtypes=BOTH),
    _case("normalizer", "Normalizer", WORK, rows, TABLE, dtypes=BOTH,
          variants=({"norm": "l1"}, {"norm": "max"})),
    _case("binarizer", "Binarizer", WORK, rows, TABLE, dtypes=BOTH),
    _case(
        "quantile-transformer", "QuantileTransformer", WORK, skewed, TABLE,
        params={"random_state": 0, "n_quantiles": 200}, settings={"n_quantiles": 50},
        variants=({"output_distribution": "normal"},), dtypes=BOTH,
    ),
    _case("power-transformer", "PowerTransformer", "{n:,} × {d}", skewed,
          {"n": (300, 20_000, 100_000), "d": (5, 10, 10)}, LIKELY, dtypes=BOTH,
          variants=({"standardize": False},)),
    _case(
        "kbins-discretizer", "KBinsDiscretizer", WORK, skewed, TABLE,
        params={"random_state": 0}, settings={"encode": "ordinal"}, dtypes=BOTH,
        variants=({"strategy": "uniform", "encode": "onehot"}, {"strategy": "kmeans"}),
    ),
    _case(
        "polynomial-features", "PolynomialFeatures", "degree 3, {n:,} × {d}", rows, TALL,
        params={"degree": 3}, variants=({"interaction_only": True, "degree": (2, 3)},), dtypes=BOTH,
    ),
    _case(
        "basis-functions", "BasisFunctions", "compiled, {n:,} × {d}", rows_and_functions, TALL,
        params={"functions": Data("functions")}, dtypes=BOTH, peers={"numpy": _with_product},
    ),
    _case(
        "combination-features", "CombinationFeatures", "pairs, {n:,} × {d}", rows, TALL,
        params={"combinations": PAIRS}, dtypes=BOTH, peers={"numpy": _pairs},
        variants=(
            {"combinations": ("sin", ("interval", {0: (-1, 1), 1: (0, 2)})), "closed": "both"},
            {"combinations": "contrast", "include_input": True, "zero_division": -1.0},
        ),
    ),
    _case(
        "spline-transformer", "SplineTransformer", WORK, rows, TALL, dtypes=BOTH,
        variants=({"extrapolation": "periodic"}, {"knots": "quantile", "sparse_output": True}),
    ),
    _case("one-hot-encoder", "OneHotEncoder", "text {n:,} × {d}", words, TEXT,
          settings={"handle_unknown": "ignore"}),
    _case("ordinal-encoder", "OrdinalEncoder", "text {n:,} × {d}", words, TEXT,
          settings={"handle_unknown": "use_encoded_value", "unknown_value": -1}),
    _case(
        "target-encoder", "TargetEncoder", "text {n:,} × {d}", words, TEXT,
        step=fit_transform_target,
    ),
    _case("thermometer-encoder", "ThermometerEncoder", "text {n:,} × {d}", words,
          {"n": (300, 20_000, 100_000), "d": 2, "k": (5, 20, 20)},
          settings={"handle_unknown": "ignore"}, peers={"numpy": _cumulative}),
    _case("edge-discretizer", "EdgeDiscretizer", WORK, rows, TABLE, dtypes=BOTH,
          params={"edges": EDGES}, peers={"numpy": _digitised}),
    _case("function-transformer", "FunctionTransformer", WORK, rows, TABLE,
          params={"func": np.sin}, settings={"validate": True}),
    _case("kernel-centerer", "KernelCenterer", "{n:,} rows", kernel_of_rows,
          {"n": (60, 1000, 4000), "d": 10}),
    _case("label-encoder", "LabelEncoder", "{n:,} of {k}", labels, LABELS),
    _case("label-binarizer", "LabelBinarizer", "{n:,} of {k}", labels,
          {"n": (300, 20_000, 100_000), "k": (5, 100, 100)}),
    _case("multilabel-binarizer", "MultiLabelBinarizer", "{n:,} sets of 4 of {k}", sets,
          {"n": (300, 20_000, 100_000), "k": (8, 50, 50)}),
)  # fmt: skip


def odd_branches():
    """Sparse rows, weights, the way back."""
    from scipy.sparse import csr_array

    import fastml.preprocessing as module

    X = np.abs(skewed(60, 4).X) + 0.1
    sparse = csr_array(np.where(np.median(X) < X, X, 0.0))

    def values(dtype):
        from fastml.kernels.preprocessing.user_basis import sample_value_function

        module.BasisFunctions(sample_value_function, of="value").fit_transform(X.astype(dtype))

    def back(name, **parameters):
        model = getattr(module, name)(**parameters).fit(X)
        model.inverse_transform(model.transform(X))

    for dtype in BOTH:
        yield (
            f"{dtype} sparse products",
            partial(module.PolynomialFeatures(2).fit_transform, sparse.astype(dtype)),
        )
        yield f"{dtype} functions of values", partial(values, dtype)
    yield "weights", partial(module.StandardScaler().fit, X, sample_weight=np.ones(60))
    yield "Box-Cox", partial(back, "PowerTransformer", method="box-cox")
    yield "quantiles back", partial(back, "QuantileTransformer", n_quantiles=20)
    yield "numbers as categories", partial(module.OneHotEncoder().fit_transform, X.round())
    own = np.array([str(k % 9) * 2 for k in range(2000)], dtype=object)[:, None]
    yield "strings of their own addresses", partial(module.OneHotEncoder().fit_transform, own)
