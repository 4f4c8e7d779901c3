"""Fitted models as scikit-learn's, and back: every estimator, the same predictions."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import specimens
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from fastml import cluster, ensemble, linear_model, mixture, neighbors, preprocessing, svm, tree
from fastml._cases import _case
from fastml.convert import NotConvertible, from_sklearn, to_sklearn

CHOSEN = [
    chosen
    for chosen in specimens.specimens()
    if specimens.counterpart(chosen[0].partition("(")[0]) is not None
]
REFUSED = {
    "decomposition.PCA(n_components=2,missing=em)": "missing",
    "ensemble.HistGradientBoostingRegressor(max_iter=10,loss=quantile,quantiles=[0.1, 0.9])": (
        "quantiles"
    ),
    "manifold.Isomap(n_landmarks=30)": "n_landmarks",
    "mixture.GaussianMixture(n_components=3,covariance_type=tied_spherical)": "covariance_type",
    "neighbors.KNeighborsClassifier(weights=gaussian)": "weights",
    "neighbors.KNeighborsRegressor(weights=linear)": "weights",
    "svm.NuSVC(kernel=cosine,nu=0.1)": "kernel",
    "svm.NuSVR(kernel=laplacian)": "kernel",
    "svm.SVC(kernel=laplacian,break_ties=True)": "kernel",
    "svm.SVR(kernel=cosine,C=10.0)": "kernel",
}
"""Specimens that scikit-learn cannot say, and the parameter that is named."""
OTHERWISE = {
    ("decomposition.PCA(svd_solver=full,whiten=True)", "score"): "forgets the whitening",
    ("decomposition.PCA(svd_solver=full,whiten=True)", "score_samples"): "forgets the whitening",
}
"""Methods of scikit-learn that say something else of the same attributes, wrongly."""
LOST = {("TSNE", "transform")}
"""Methods that need what scikit-learn's model does not keep: they say so."""
ONE_TYPE = {"KMeans", "MiniBatchKMeans", "BisectingKMeans"}
"""Classes of scikit-learn that predict for rows of the type of fit only."""


def fitted(cls, parameters, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return specimens.fitted(specimens.make(cls, **parameters), X, X.shape[0])


def answers(model, X, methods=None):
    """What the model says of the rows; None where it refuses them."""
    found = {}
    for name in _case.METHODS if methods is None else methods:
        if name.startswith("fit") or not hasattr(model, name):
            continue
        y = specimens.target(model, X.shape[0]) if name == "score" else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[name] = getattr(model, name)(X, *([] if y is None else [y]))
            except (TypeError, ValueError, AttributeError) as error:
                if methods is not None:
                    raise AssertionError(f"{name}: {error!r}") from error
    return found


def numbers(name, value):
    """As arrays of numbers that have one order."""
    if sp.issparse(value):
        return [value.toarray()]
    if name == "radius_neighbors":
        return [np.sort(part) for part in (*value[0], *value[1])]
    if isinstance(value, tuple | list):
        return [number for part in value for number in numbers(name, part)]
    return [np.asarray(value)]


def assert_same_answers(model, other, X, id_=""):
    expected = answers(model, X)
    left_out = {name for which, name in OTHERWISE if which == id_}
    left_out |= {name for which, name in LOST if which == type(model).__name__}
    shared = [name for name in expected if hasattr(other, name) and name not in left_out]
    found = answers(other, X, shared)
    for name in shared:
        for one, two in zip(numbers(name, expected[name]), numbers(name, found[name]), strict=True):
            if one.dtype.kind in "OUSb":
                np.testing.assert_array_equal(two, one, err_msg=name)
            else:
                single = np.float32 in (one.dtype, two.dtype, X.dtype)
                scale = np.abs(one[np.isfinite(one)]).max(initial=1e-30)
                tolerance = (1e-3 if single else 1e-7) * scale
                np.testing.assert_allclose(two, one, 1e-6, tolerance, err_msg=name)


@pytest.mark.parametrize(("id_", "cls", "parameters"), CHOSEN, ids=[chosen[0] for chosen in CHOSEN])
def test_there_and_back(id_, cls, parameters):
    X = specimens.rows(60)
    model = fitted(cls, parameters, X)
    if id_ in REFUSED:
        with pytest.raises(NotConvertible, match=REFUSED[id_]):
            to_sklearn(model)
        return
    theirs = to_sklearn(model)
    assert type(theirs) is specimens.counterpart(id_.partition("(")[0])
    stored = pickle.dumps(theirs)
    assert b"fastml" not in stored
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert type(clone(theirs)) is type(theirs)
        ours = from_sklearn(pickle.loads(stored))
    assert type(ours) is cls
    for rows in (X, X.astype(np.float32), sp.csr_array(X)):
        if rows.dtype == X.dtype or cls.__name__ not in ONE_TYPE:
            assert_same_answers(model, theirs, rows, id_)
        assert_same_answers(model, ours, rows)


@pytest.mark.parametrize("path", sorted({chosen[0].partition("(")[0] for chosen in CHOSEN}))
def test_sparse_rows_of_single_precision_and_what_scikit_learn_fits(path):
    """Every attribute that scikit-learn's own fit leaves is there, private ones too, and no public
    one that it does not know."""
    cls, theirs = specimens.estimators()[path], specimens.counterpart(path)
    parameters = specimens.variants(cls)[0]
    X = specimens.rows(60, dtype=np.float32)
    model = fitted(cls, parameters, X)
    made = to_sklearn(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = specimens.fitted(theirs(**made.get_params(deep=False)), X)
    assert vars(own).keys() <= vars(made).keys()
    more = [name for name in vars(made).keys() - vars(own).keys() if not name.startswith("_")]
    assert [name for name in more if name not in (theirs.__doc__ or "")] == []
    assert_same_answers(own, from_sklearn(own), X)

    rows = sp.csr_matrix(X)
    try:
        model = fitted(cls, parameters, rows)
    except (TypeError, ValueError):
        return  # takes no sparse rows
    made = to_sklearn(model)
    assert_same_answers(model, made, rows)
    assert_same_answers(model, from_sklearn(made), rows)


def test_label_transformers_come_back():
    for path, cls in specimens.label_transformers().items():
        y = [["a", "b"], ["b"]] if "Multi" in path else ["b", "a", "b", "c"]
        model = cls().fit(y)
        made = to_sklearn(model)
        assert type(made) is specimens.counterpart(path)
        np.testing.assert_array_equal(made.transform(y), model.transform(y))
        np.testing.assert_array_equal(from_sklearn(made).transform(y), model.transform(y))


def test_pickles_load_without_fastml(tmp_path):
    X, y = specimens.rows(60), np.arange(60) % 3
    models = [
        make_pipeline(preprocessing.StandardScaler(), svm.SVC()).fit(X, y),
        ensemble.RandomForestClassifier(5, random_state=0).fit(X, y),
        ensemble.HistGradientBoostingClassifier(max_iter=5).fit(X, y),
        ensemble.BaggingClassifier(neighbors.KNeighborsClassifier(algorithm="kd_tree")).fit(X, y),
        cluster.KMeans(3, random_state=0).fit(X),
        mixture.GaussianMixture(2, random_state=0).fit(X),
    ]
    path = tmp_path / "models.pickle"
    path.write_bytes(pickle.dumps([(to_sklearn(model), X, model.predict(X)) for model in models]))
    code = (
        "import sys; sys.modules['fastml'] = None\n"
        "import pickle, numpy as np\n"
        f"for model, X, expected in pickle.load(open({str(path)!r}, 'rb')):\n"
        "    assert np.array_equal(model.predict(X), expected), model\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_categories_of_boosted_trees_in_any_column():
    import pandas as pd

    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "number": rng.normal(size=120),
            "word": pd.Categorical(rng.choice(list("abcd"), 120)),
            "other": rng.normal(size=120),
        }
    )
    table.loc[::7, "other"] = np.nan
    y = table.number + 3.0 * (table.word == "b") + table.other.fillna(2.0)
    model = ensemble.HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=3).fit(table, y)
    made = to_sklearn(model)
    np.testing.assert_allclose(made.predict(table), model.predict(table), rtol=1e-12)
    np.testing.assert_allclose(from_sklearn(made).predict(table), model.predict(table), rtol=1e-12)
    own = type(made)(max_iter=20, min_samples_leaf=3).fit(table, y)
    np.testing.assert_allclose(from_sklearn(own).predict(table), own.predict(table), rtol=1e-12)


def test_trees_of_other_orders_missing_values_and_clipped_values():
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    X, y = specimens.rows(90), np.arange(90) % 3
    X[::5, 0] = np.nan
    best_first = DecisionTreeClassifier(max_leaf_nodes=9, random_state=0).fit(X, y)
    ours = from_sklearn(best_first)
    np.testing.assert_allclose(ours.predict_proba(X), best_first.predict_proba(X))
    assert np.sort(ours.tree_.impurity) == pytest.approx(np.sort(best_first.tree_.impurity))

    X = np.nan_to_num(X)
    for parameters in (
        {"criterion": "absolute_error"},
        {"monotonic_cst": [1, -1, 0, 0]},
        {"criterion": "poisson"},
    ):
        model = DecisionTreeRegressor(max_depth=4, random_state=0, **parameters).fit(X, y)
        ours = from_sklearn(model)
        np.testing.assert_allclose(ours.predict(X), model.predict(X))
        np.testing.assert_allclose(ours.tree_.value, model.tree_.value)
        np.testing.assert_allclose(ours.tree_.impurity, model.tree_.impurity, atol=1e-12)


def test_weights_of_densities_and_columns_of_isolation():
    from sklearn.ensemble import IsolationForest
    from sklearn.neighbors import KernelDensity

    X = specimens.rows(60)
    weights = np.arange(60.0) + 1.0
    model = KernelDensity(bandwidth=0.7).fit(X, sample_weight=weights)
    ours = from_sklearn(model)
    np.testing.assert_allclose(ours.score_samples(X), model.score_samples(X), rtol=1e-6)
    again = to_sklearn(neighbors.KernelDensity(bandwidth=0.7).fit(X, sample_weight=weights))
    np.testing.assert_allclose(again.score_samples(X), model.score_samples(X), rtol=1e-6)
    forest = IsolationForest(n_estimators=7, max_features=2, random_state=0).fit(X)
    ours = from_sklearn(forest)
    np.testing.assert_allclose(ours.score_samples(X), forest.score_samples(X), rtol=1e-9)
    mine = ensemble.IsolationForest(n_estimators=7, max_features=2, random_state=0).fit(X)
    np.testing.assert_allclose(to_sklearn(mine).score_samples(X), mine.score_samples(X), rtol=1e-9)


def test_parts_that_the_other_library_does_not_have():
    from sklearn.neural_network import MLPClassifier

    X, y = specimens.rows(60), np.arange(60) % 3
    mixed = make_pipeline(preprocessing.StandardScaler(), MLPClassifier((3,), max_iter=5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixed.fit(X, y)
    theirs = to_sklearn(mixed)
    assert type(theirs[0]).__module__.startswith("sklearn.")
    np.testing.assert_allclose(theirs.predict_proba(X), mixed.predict_proba(X))
    ours = from_sklearn(theirs)
    assert type(ours[0]) is preprocessing.StandardScaler
    np.testing.assert_allclose(ours.predict_proba(X), mixed.predict_proba(X))

    with pytest.raises(NotConvertible, match="fastml has no MLPClassifier"):
        from_sklearn(MLPClassifier())
    with pytest.raises(NotConvertible, match=r"scikit-learn has no cluster\.KMedoids"):
        to_sklearn(cluster.KMedoids(2).fit(X))
    with pytest.raises(NotConvertible, match=r"\[0\]\.tree_|splits by categories|categorical"):
        to_sklearn(tree.DecisionTreeClassifier(categorical_features=[0]).fit(np.floor(X), y))
    with pytest.raises(TypeError, match="must be an estimator"):
        to_sklearn("model")
    plain = MLPClassifier()
    assert to_sklearn(plain) is plain


def test_subclasses_are_refused_or_left():
    class Mine(linear_model.Ridge):
        pass

    with pytest.raises(NotConvertible, match="subclass of fastml's"):
        to_sklearn(Mine())
    from sklearn.linear_model import Ridge

    class Theirs(Ridge):
        pass

    with pytest.raises(NotConvertible, match="fastml has no Theirs"):
        from_sklearn(Theirs())


def test_nothing_is_shared_and_learning_goes_on():
    X, y = specimens.rows(60), np.arange(60) % 3
    model = linear_model.SGDClassifier(random_state=0).fit(X, y)
    before = model.coef_.copy()
    made = to_sklearn(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.partial_fit(X + 5.0, y)
        from_sklearn(made).partial_fit(X, y)
    np.testing.assert_array_equal(model.coef_, before)


def test_functions_become_those_of_the_other_library():
    import sklearn.feature_selection as theirs

    from fastml import feature_selection as ours

    X, y = specimens.rows(60), np.arange(60) % 3
    model = to_sklearn(ours.SelectKBest(ours.f_classif, k=2).fit(X, y))
    assert model.score_func is theirs.f_classif
    assert from_sklearn(model).score_func is ours.f_classif
