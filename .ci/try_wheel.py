"""One piece of work of every family, with the installed wheel and what it depends on alone."""

import importlib
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import fastml

y = np.arange(90) % 3
X = np.random.default_rng(0).normal(6.0 * y[:, None], 1.0, (90, 4))


def labels_of(model):
    return model.fit(X, y).predict(X)


def agreement(labels):
    """1 where the labels are the three groups, whatever their numbers."""
    return fastml.metrics.adjusted_rand_score(y, labels)


def mass(density):
    """1, if a bandwidth can be chosen and the histogram integrates to one."""
    histogram = density.histogram_density(X[:, 0])
    chosen = density.bandwidth_lscv(X[:, 0]) > 0
    return chosen * (histogram.density * np.diff(histogram.edges)).sum()


def useless_column(inspection):
    """1, less what a column that never varies is said to be worth."""
    tree = fastml.tree.DecisionTreeClassifier(random_state=0)
    rows = np.c_[X[:, 0], np.zeros(90)]
    found = inspection.permutation_importance(tree.fit(rows, y), rows, y, random_state=0)
    return 1.0 - found.importances_mean[1]


def from_a_file(convert):
    """1, if a forest comes back from its file."""
    forest = fastml.ensemble.RandomForestClassifier(5, random_state=0)
    convert.save(forest.fit(X, y), file := io.BytesIO())
    return agreement(convert.load(file).predict(X))


def served(accelerate):
    """1, if scikit-learn's class runs on fastml, here and by the variable of the environment."""
    code = "import sys; assert 'fastml.accelerate' in sys.modules and 'sklearn' not in sys.modules"
    on = {**os.environ, "FASTML_ACCELERATE": "1"}
    subprocess.run([sys.executable, "-c", code], env=on, check=True)
    with accelerate.enabled(on_fallback="raise"):
        from sklearn.cluster import KMeans

        return agreement(KMeans(3, random_state=0).fit(X).predict(X))


def from_blocks(blocks):
    """1, if a model of blocks finds the three groups."""
    rows = blocks.Blocks.from_npy(X, y, block_rows=40)
    return blocks.score(blocks.fit(fastml.naive_bayes.GaussianNB(), rows), rows)


FAMILIES = {
    "accelerate": served,
    "blocks": from_blocks,
    "cluster": lambda m: agreement(labels_of(m.KMeans(3, random_state=0))),
    "convert": from_a_file,
    "decomposition": lambda m: m.PCA(4).fit(X).explained_variance_ratio_.sum(),
    "density": mass,
    "discriminant_analysis": lambda m: agreement(labels_of(m.LinearDiscriminantAnalysis())),
    "ensemble": lambda m: agreement(labels_of(m.RandomForestClassifier(5, random_state=0))),
    "explore": lambda m: m.describe(X).correlations["pearson"][0, 0],
    "feature_selection": lambda m: m.SelectKBest(k=1).fit(X, y).get_support().sum(),
    "imbalance": lambda m: m.imbalance_ratio(m.SMOTE().fit_resample(X[20:], y[20:])[1]),
    "impute": lambda m: m.SimpleImputer().fit_transform([[1.0], [float("nan")]])[1, 0],
    "information": lambda m: m.entropy([0.5, 0.5], base=2),
    "inspection": useless_column,
    "kernel_ridge": lambda m: m.KernelRidge(kernel="rbf", alpha=0.01).fit(X, y).score(X, y),
    "linear_model": lambda m: m.LinearRegression().fit(X, y).score(X, y),
    "penalties": lambda m: float(m.L1Penalty(1.0).prox([3.0], 1.0)[0]),
    "losses": lambda m: float(np.mean(m.Hinge().value(np.array([1.0]), np.array([0.0])))),
    "manifold": lambda m: m.TSNE(perplexity=5).fit(X).embedding_.shape[1] / 2,
    "mapreduce": lambda m: m.word_count(["a b", "a"]).pairs_mapped / 3,
    "metrics": lambda m: 1.0 - m.pairwise_distances(X, X).diagonal().max(),
    "mixture": lambda m: agreement(labels_of(m.GaussianMixture(3, random_state=0))),
    "model_selection": lambda m: len(m.train_validation_test_split(X, random_state=0)) / 3,
    "naive_bayes": lambda m: agreement(labels_of(m.GaussianNB())),
    "neighbors": lambda m: agreement(labels_of(m.KNeighborsClassifier())),
    "optimize": lambda m: m.gradient_descent(lambda w: (w - 1.0) @ (w - 1.0), np.zeros(2)).point[0],
    "preprocessing": lambda m: float(m.StandardScaler().fit_transform(X).std()),
    "outliers": lambda m: float(m.BoxPlotRule().fit(X).is_outlier([[1e9] * 4]).mean()),
    "svm": lambda m: agreement(labels_of(m.SVC())),
    "tree": lambda m: agreement(labels_of(m.DecisionTreeClassifier(random_state=0))),
}
"""Family → its module → a figure that is 1, or nearly, if it works."""

NO_FIT = {"plot"}  # needs matplotlib, which the wheel does not bring


def main():
    where = Path(fastml.__file__)
    assert "site-packages" in where.parts, f"{where} is not the installed wheel"
    missing = set(fastml._SUBMODULES) - FAMILIES.keys() - NO_FIT
    assert not missing, f"no work for {sorted(missing)}"
    for name, work in FAMILIES.items():
        figure = work(importlib.import_module(f"fastml.{name}"))
        sys.stdout.write(f"{name}: {figure:.3f}\n")
        assert figure > 0.9, name


if __name__ == "__main__":
    main()
