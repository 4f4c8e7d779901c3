"""Which classes of fastml and scikit-learn differ, and how; all others of one path are copied."""

from __future__ import annotations

from fastml.convert._counterparts._boosting import HIST, STAGES
from fastml.convert._counterparts._neighbours import (
    DENSITY,
    ISOMAP,
    KERNEL_PCA,
    SEARCH,
    VOTES,
)
from fastml.convert._counterparts._others import (
    BATCHES,
    BINARIZER,
    BISECTING,
    DESCENT,
    DISCRIMINANT,
    IMPUTER,
    KMEANS,
    LABELS,
    LINK,
    LOGISTIC,
    MACHINE,
    NORMAL,
    ONE_HOT,
    ORDINAL,
    PACKED,
    PENALTY,
    POWERS,
    STRESS,
    TARGET,
)
from fastml.convert._counterparts._rules import Rule
from fastml.convert._counterparts._trees import FOREST, ISOLATION, SINGLE


def _of(rule: Rule, module: str, names: str) -> dict[str, Rule]:
    return {f"{module}.{name}": rule for name in names.split()}


RULES: dict[str, Rule] = {
    **_of(KMEANS, "cluster", "KMeans MiniBatchKMeans"),
    **_of(BISECTING, "cluster", "BisectingKMeans"),
    **_of(Rule(ours=("n_iter_",), learning=("ddof", "max_iter")), "decomposition", "PCA"),
    **_of(BATCHES, "decomposition", "IncrementalPCA"),
    **_of(KERNEL_PCA, "decomposition", "KernelPCA"),
    **_of(DISCRIMINANT, "discriminant_analysis", "LinearDiscriminantAnalysis"),
    **_of(Rule(learning=("unbiased",)), "discriminant_analysis", "QuadraticDiscriminantAnalysis"),
    **_of(PACKED, "ensemble", "AdaBoostClassifier AdaBoostRegressor"),
    **_of(PACKED, "ensemble", "BaggingClassifier BaggingRegressor"),
    **_of(FOREST, "ensemble", "RandomForestClassifier RandomForestRegressor"),
    **_of(FOREST, "ensemble", "ExtraTreesClassifier ExtraTreesRegressor RandomTreesEmbedding"),
    **_of(ISOLATION, "ensemble", "IsolationForest"),
    **_of(STAGES, "ensemble", "GradientBoostingClassifier GradientBoostingRegressor"),
    **_of(HIST, "ensemble", "HistGradientBoostingClassifier HistGradientBoostingRegressor"),
    **_of(Rule(learning=("min_score",)), "feature_selection", "SequentialFeatureSelector"),
    **_of(IMPUTER, "impute", "IterativeImputer"),
    **_of(Rule(ours=("_levels",)), "impute", "KNNImputer"),
    **_of(Rule(learning=("alphas", "select_by")), "kernel_ridge", "KernelRidge"),
    **_of(Rule(learning=("scaling",)), "linear_model", "Ridge"),
    **_of(PENALTY, "linear_model", "ElasticNet Lasso MultiTaskElasticNet MultiTaskLasso"),
    **_of(LOGISTIC, "linear_model", "LogisticRegression"),
    **_of(LINK, "linear_model", "GammaRegressor PoissonRegressor TweedieRegressor"),
    **_of(BINARIZER, "linear_model", "RidgeClassifier RidgeClassifierCV"),
    **_of(DESCENT, "linear_model", "Perceptron PassiveAggressiveClassifier SGDClassifier"),
    **_of(DESCENT, "linear_model", "SGDOneClassSVM"),
    **_of(ISOMAP, "manifold", "Isomap"),
    **_of(STRESS, "manifold", "MDS"),
    **_of(
        Rule(ours=("_fit_X",), learning=("affinities", "degrees_of_freedom", "repulsion")),
        "manifold",
        "TSNE",
    ),
    **_of(Rule(learning=("assignment",)), "mixture", "GaussianMixture"),
    **_of(NORMAL, "naive_bayes", "GaussianNB"),
    **_of(VOTES, "neighbors", "KNeighborsClassifier"),
    **_of(
        SEARCH, "neighbors", "KNeighborsRegressor KNeighborsTransformer RadiusNeighborsTransformer"
    ),
    **_of(SEARCH, "neighbors", "RadiusNeighborsClassifier RadiusNeighborsRegressor"),
    **_of(SEARCH, "neighbors", "NearestNeighbors LocalOutlierFactor"),
    **_of(DENSITY, "neighbors", "KernelDensity"),
    **_of(LABELS, "preprocessing", "MultiLabelBinarizer"),
    **_of(ONE_HOT, "preprocessing", "OneHotEncoder"),
    **_of(ORDINAL, "preprocessing", "OrdinalEncoder"),
    **_of(TARGET, "preprocessing", "TargetEncoder"),
    **_of(POWERS, "preprocessing", "PolynomialFeatures"),
    **_of(MACHINE, "svm", "SVC NuSVC SVR NuSVR OneClassSVM"),
    **_of(SINGLE, "tree", "DecisionTreeClassifier DecisionTreeRegressor"),
    **_of(SINGLE, "tree", "ExtraTreeClassifier ExtraTreeRegressor"),
}
"""By public path."""
