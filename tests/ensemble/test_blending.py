"""Blending: what the last model learns on, classes, weights; scikit-learn's own composites."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_backend
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression

from fastml.ensemble import (
    BlendingClassifier,
    BlendingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from fastml.ensemble._blending import held_out_rows
from fastml.linear_model import LogisticRegression
from fastml.neighbors import KNeighborsClassifier, KNeighborsRegressor
from fastml.svm import SVC, SVR

X, LABELS = make_classification(400, 6, n_informative=4, n_classes=3, random_state=0)
VALUES = X[:, 0] + 0.5 * X[:, 1] ** 2
CLASSIFIERS = [
    ("forest", RandomForestClassifier(10, random_state=0)),
    ("boosting", HistGradientBoostingClassifier(max_iter=10, random_state=0)),
    ("neighbours", KNeighborsClassifier()),
    ("machine", SVC()),
]
REGRESSORS = [
    ("forest", RandomForestRegressor(10, random_state=0)),
    ("boosting", HistGradientBoostingRegressor(max_iter=10, random_state=0)),
    ("neighbours", KNeighborsRegressor()),
    ("machine", SVR()),
]


def test_by_hand():
    members = [("forest", CLASSIFIERS[0][1]), ("machine", CLASSIFIERS[3][1])]
    model = BlendingClassifier(members, holdout=0.3, random_state=4).fit(X, LABELS)
    out = model.holdout_
    first = np.setdiff1d(np.arange(len(X)), out)
    assert len(out) == 120
    forest, machine = (clone(m).fit(X[first], LABELS[first]) for _, m in members)
    seen = np.hstack([forest.predict_proba(X), machine.decision_function(X)])
    np.testing.assert_array_equal(model.transform(X), seen)
    last = LogisticRegression().fit(seen[out], LABELS[out])
    np.testing.assert_allclose(model.predict_proba(X), last.predict_proba(seen))
    np.testing.assert_array_equal(model.predict(X), last.predict(seen))
    np.testing.assert_array_equal(model.decision_function(X), last.decision_function(seen))
    names = [*(f"blendingclassifier_forest{i}" for i in range(3)),
             *(f"blendingclassifier_machine{i}" for i in range(3))]  # fmt: skip
    assert model.get_feature_names_out().tolist() == names


def test_regression_by_hand_with_weights_and_columns():
    weights = np.arange(1.0, 401.0)
    members = [REGRESSORS[0], REGRESSORS[3]]
    model = BlendingRegressor(
        members, LinearRegression(), holdout=100, passthrough=True, refit=True, random_state=0
    ).fit(X, VALUES, sample_weight=weights)
    out = model.holdout_
    first = np.setdiff1d(np.arange(len(X)), out)
    assert len(out) == 100
    parts = [
        clone(m).fit(X[first], VALUES[first], sample_weight=weights[first]) for _, m in members
    ]
    seen = np.column_stack([*(part.predict(X) for part in parts), X])
    last = LinearRegression().fit(seen[out], VALUES[out], sample_weight=weights[out])
    whole = [clone(m).fit(X, VALUES, sample_weight=weights) for _, m in members]
    seen = np.column_stack([*(part.predict(X) for part in whole), X])
    np.testing.assert_allclose(model.predict(X), last.predict(seen), rtol=1e-9)
    with pytest.raises(TypeError, match="KNeighborsRegressor does not support sample weights"):
        BlendingRegressor([REGRESSORS[2]]).fit(X, VALUES, sample_weight=weights)


@pytest.mark.parametrize("sizes", [(50, 30, 20), (97, 2, 1), (5, 5, 5, 5), (60, 1)])
@pytest.mark.parametrize("holdout", [0.05, 0.2, 0.5, 3])
def test_every_class_keeps_a_row(sizes, holdout):
    y = np.repeat(np.arange(len(sizes)), sizes)
    out = held_out_rows(y, holdout, np.random.RandomState(0), True)
    wanted = holdout if isinstance(holdout, int) else max(1, round(holdout * len(y)))
    assert len(np.unique(out)) == len(out) == wanted
    left = np.bincount(np.delete(y, out), minlength=len(sizes))
    assert (left >= 1).all()
    share = np.array(sizes) * wanted / len(y)
    taken = np.array(sizes) - left
    assert (np.abs(taken - share)[np.array(sizes) > 2] <= 2).all()


def test_refusals():
    with pytest.raises(ValueError, match="leaves no row to the members"):
        BlendingRegressor(REGRESSORS[:1], holdout=400).fit(X, VALUES)
    with pytest.raises(ValueError, match="must be a classifier"):
        BlendingClassifier(REGRESSORS).fit(X, LABELS)
    with pytest.raises(ValueError, match="all members are dropped"):
        BlendingClassifier([("a", "drop")]).fit(X, LABELS)
    with pytest.raises(ValueError, match="does not implement the method predict_proba"):
        BlendingClassifier(CLASSIFIERS, stack_method="predict_proba").fit(X, LABELS)
    model = BlendingClassifier(CLASSIFIERS, random_state=0).set_params(machine="drop")
    assert list(model.fit(X, LABELS).named_estimators_) == ["forest", "boosting", "neighbours"]
    with pytest.raises(ValueError, match="5 features"):
        model.predict(X[:, :5])


def test_a_class_that_the_last_model_does_not_see():
    y = np.where(np.arange(400) == 7, 9, LABELS % 2)
    model = BlendingClassifier(CLASSIFIERS[:1], random_state=0).fit(X, y)
    shares = model.predict_proba(X)
    assert shares.shape == (400, 3)
    assert not shares[:, 2].any()


@pytest.mark.parametrize("n_jobs", [1, 2, 8])
def test_same_bits_for_any_number_of_threads(n_jobs):
    for cls, members, y in (
        (BlendingClassifier, CLASSIFIERS, LABELS),
        (BlendingRegressor, REGRESSORS, VALUES),
    ):
        model = cls(members, random_state=0, n_jobs=n_jobs).fit(X, y)
        alone = cls(members, random_state=0).fit(X, y)
        np.testing.assert_array_equal(model.transform(X), alone.transform(X))


def test_sparse_rows():
    rows = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    members = [CLASSIFIERS[0], CLASSIFIERS[3]]
    for passthrough in (False, True):
        given = {"passthrough": passthrough, "random_state": 0}
        model = BlendingClassifier(members, **given).fit(rows, LABELS)
        dense = BlendingClassifier(members, **given).fit(rows.toarray(), LABELS)
        np.testing.assert_allclose(
            model.predict_proba(rows), dense.predict_proba(rows.toarray()), rtol=1e-4
        )


# ---------------------------------------------------------------------------- scikit-learn's own

COMPOSITES = {
    "voting": (VotingClassifier, CLASSIFIERS[:3], LABELS, {"voting": "soft"}),
    "voting of regressors": (VotingRegressor, REGRESSORS, VALUES, {}),
    "stacking": (StackingClassifier, CLASSIFIERS, LABELS, {"cv": 3}),
    "stacking of regressors": (StackingRegressor, REGRESSORS, VALUES, {"cv": 3}),
}


class WhereAmI(KNeighborsClassifier):
    """Notes the threads that it is fitted on."""

    threads: set = set()

    def fit(self, X, y):
        WhereAmI.threads.add(threading.get_ident())
        return super().fit(X, y)


@pytest.mark.parametrize("kind", COMPOSITES)
def test_scikit_learns_composites_run_our_members_on_threads(kind):
    cls, members, y, given = COMPOSITES[kind]
    serial = cls(members, n_jobs=1, **given).fit(X, y)
    with parallel_backend("threading", n_jobs=2):
        side_by_side = cls(members, n_jobs=2, **given).fit(X, y)
    np.testing.assert_array_equal(side_by_side.predict(X), serial.predict(X))
    assert serial.score(X, y) > 0.8


def test_the_threads_are_real():
    WhereAmI.threads.clear()
    with parallel_backend("threading", n_jobs=2):
        members = [(f"m{i}", WhereAmI(i + 1)) for i in range(6)]
        VotingClassifier(members, n_jobs=2).fit(X, LABELS)
    assert threading.get_ident() not in WhereAmI.threads
