"""scikit-learn's meta-estimators on fastml's linear and generative classifiers, on threads."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.calibration import CalibratedClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

from fastml import discriminant_analysis, linear_model, naive_bayes

MODELS = [
    linear_model.SGDClassifier("log_loss", random_state=0, max_iter=20, tol=None),
    linear_model.Perceptron(max_iter=20, tol=None),
    linear_model.PassiveAggressiveClassifier(random_state=0, max_iter=20, tol=None),
    naive_bayes.GaussianNB(),
    naive_bayes.MultinomialNB(),
    naive_bayes.ComplementNB(),
    naive_bayes.BernoulliNB(binarize=1.5),
    naive_bayes.CategoricalNB(min_categories=5),
    naive_bayes.NaiveBayes(),
    discriminant_analysis.LinearDiscriminantAnalysis(),
    discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=0.1),
]


def rows():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.integers(0, 3, size=(90, 4)).astype(float)
    X[np.arange(90), y] += 2.0
    return X, y


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_on_two_threads_as_on_one(model):
    X, y = rows()
    several = np.c_[y == 0, X[:, 0] > 1.0].astype(int)
    wrapped = [
        (OneVsRestClassifier(model, n_jobs=2), y),
        (OneVsOneClassifier(model, n_jobs=2), y),
        (OutputCodeClassifier(model, random_state=0, n_jobs=2), y),
        (CalibratedClassifierCV(model, cv=3, n_jobs=2), y),
        (MultiOutputClassifier(model, n_jobs=2), several),
        (ClassifierChain(model), several),
    ]
    for meta, target in wrapped:
        with parallel_config("threading"):
            found = meta.fit(X, target).predict(X)
            if "n_jobs" in meta.get_params():
                meta.set_params(n_jobs=1)
            alone = meta.fit(X, target).predict(X)
        assert np.array_equal(found, alone), type(meta).__name__
        assert np.mean(found == target) > 0.6, type(meta).__name__
