"""What scikit-learn and fastml both have, and under which conditions fastml serves it.

A class or function is served if fastml has it under the same path, unless it is named in
`NOT_SERVED`. Conditions name what fastml would accept but do otherwise; what fastml refuses goes to
scikit-learn anyway, call by call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

_CLASSES = {
    "cluster": """
        AgglomerativeClustering BisectingKMeans DBSCAN KMeans MiniBatchKMeans
    """,
    "decomposition": """
        FactorAnalysis IncrementalPCA KernelPCA PCA TruncatedSVD
    """,
    "discriminant_analysis": """
        LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis
    """,
    "ensemble": """
        AdaBoostClassifier AdaBoostRegressor BaggingClassifier BaggingRegressor
        ExtraTreesClassifier ExtraTreesRegressor GradientBoostingClassifier
        GradientBoostingRegressor HistGradientBoostingClassifier HistGradientBoostingRegressor
        IsolationForest RandomForestClassifier RandomForestRegressor RandomTreesEmbedding
    """,
    "feature_selection": """
        GenericUnivariateSelect RFE RFECV SelectFdr SelectFpr SelectFromModel SelectFwe
        SelectKBest SelectPercentile SequentialFeatureSelector VarianceThreshold
    """,
    "impute": """
        IterativeImputer KNNImputer MissingIndicator SimpleImputer
    """,
    "kernel_ridge": """
        KernelRidge
    """,
    "linear_model": """
        ARDRegression BayesianRidge ElasticNet ElasticNetCV GammaRegressor HuberRegressor Lars
        LarsCV Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC LinearRegression LogisticRegression
        LogisticRegressionCV MultiTaskElasticNet MultiTaskElasticNetCV MultiTaskLasso
        MultiTaskLassoCV OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV
        PassiveAggressiveClassifier PassiveAggressiveRegressor Perceptron PoissonRegressor
        QuantileRegressor Ridge RidgeCV RidgeClassifier RidgeClassifierCV SGDClassifier
        SGDOneClassSVM SGDRegressor TweedieRegressor
    """,
    "manifold": """
        ClassicalMDS Isomap LocallyLinearEmbedding MDS SpectralEmbedding TSNE
    """,
    "mixture": """
        GaussianMixture
    """,
    "naive_bayes": """
        BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB
    """,
    "neighbors": """
        BallTree KDTree KNeighborsClassifier KNeighborsRegressor KNeighborsTransformer
        KernelDensity LocalOutlierFactor NearestCentroid NearestNeighbors
        RadiusNeighborsClassifier RadiusNeighborsRegressor RadiusNeighborsTransformer
    """,
    "preprocessing": """
        Binarizer FunctionTransformer KBinsDiscretizer KernelCenterer LabelBinarizer
        LabelEncoder MaxAbsScaler MinMaxScaler MultiLabelBinarizer Normalizer OneHotEncoder
        OrdinalEncoder PolynomialFeatures PowerTransformer QuantileTransformer RobustScaler
        SplineTransformer StandardScaler TargetEncoder
    """,
    "svm": """
        LinearSVC LinearSVR NuSVC NuSVR OneClassSVM SVC SVR
    """,
    "tree": """
        DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor
    """,
}
_FUNCTIONS = {
    "cluster": """
        dbscan k_means kmeans_plusplus linkage_tree ward_tree
    """,
    "feature_selection": """
        chi2 f_classif f_oneway f_regression mutual_info_classif mutual_info_regression
        r_regression
    """,
    "inspection": """
        partial_dependence permutation_importance
    """,
    "linear_model": """
        enet_path lars_path lars_path_gram lasso_path orthogonal_mp orthogonal_mp_gram
        ridge_regression
    """,
    "manifold": """
        locally_linear_embedding smacof spectral_embedding trustworthiness
    """,
    "metrics": """
        accuracy_score adjusted_mutual_info_score adjusted_rand_score auc average_precision_score
        balanced_accuracy_score brier_score_loss calinski_harabasz_score check_scoring
        class_likelihood_ratios classification_report cohen_kappa_score completeness_score
        confusion_matrix confusion_matrix_at_thresholds coverage_error d2_absolute_error_score
        d2_brier_score d2_log_loss_score d2_pinball_score d2_tweedie_score davies_bouldin_score
        dcg_score det_curve euclidean_distances explained_variance_score f1_score fbeta_score
        fowlkes_mallows_score get_scorer get_scorer_names hamming_loss hinge_loss
        homogeneity_completeness_v_measure homogeneity_score jaccard_score
        label_ranking_average_precision_score label_ranking_loss log_loss make_scorer
        matthews_corrcoef max_error mean_absolute_error mean_absolute_percentage_error
        mean_gamma_deviance mean_pinball_loss mean_poisson_deviance mean_squared_error
        mean_squared_log_error mean_tweedie_deviance median_absolute_error metric_at_thresholds
        multilabel_confusion_matrix mutual_info_score nan_euclidean_distances ndcg_score
        normalized_mutual_info_score pair_confusion_matrix pairwise_distances
        pairwise_distances_argmin pairwise_distances_argmin_min pairwise_distances_chunked
        pairwise_kernels precision_recall_curve precision_recall_fscore_support precision_score
        r2_score rand_score recall_score roc_auc_score roc_curve root_mean_squared_error
        root_mean_squared_log_error silhouette_samples silhouette_score top_k_accuracy_score
        v_measure_score zero_one_loss
    """,
    "metrics.cluster": """
        adjusted_mutual_info_score adjusted_rand_score calinski_harabasz_score completeness_score
        contingency_matrix davies_bouldin_score expected_mutual_information fowlkes_mallows_score
        homogeneity_completeness_v_measure homogeneity_score mutual_info_score
        normalized_mutual_info_score pair_confusion_matrix rand_score silhouette_samples
        silhouette_score v_measure_score
    """,
    "metrics.pairwise": """
        additive_chi2_kernel check_paired_arrays check_pairwise_arrays chi2_kernel
        cosine_distances cosine_similarity distance_metrics euclidean_distances
        haversine_distances kernel_metrics laplacian_kernel linear_kernel manhattan_distances
        nan_euclidean_distances paired_cosine_distances paired_distances
        paired_euclidean_distances paired_manhattan_distances pairwise_distances
        pairwise_distances_argmin pairwise_distances_argmin_min pairwise_distances_chunked
        pairwise_kernels polynomial_kernel rbf_kernel sigmoid_kernel
    """,
    "neighbors": """
        kneighbors_graph radius_neighbors_graph sort_graph_by_row_values
    """,
    "preprocessing": """
        add_dummy_feature binarize label_binarize maxabs_scale minmax_scale normalize
        power_transform quantile_transform robust_scale scale
    """,
    "tree": """
        export_text
    """,
}

CLASSES = {module: tuple(names.split()) for module, names in _CLASSES.items()}
"""Module below ``sklearn`` → its classes that fastml has too."""

FUNCTIONS = {module: tuple(names.split()) for module, names in _FUNCTIONS.items()}
"""Module below ``sklearn`` → its functions that fastml has too."""

TRIGGERS = {
    f"sklearn.{module}": module for module in (*CLASSES, *(set(FUNCTIONS) - set(CLASSES)))
} | {"sklearn.experimental.enable_iterative_imputer": "impute"}
"""Module of scikit-learn → the module of the table whose names are there once it is imported."""

_NO_WORK = "there is nothing to compute"
_NOT_PYTHON = "a function without scikit-learn's check of parameters, where acceleration enters"

NOT_SERVED = {
    "neighbors.BallTree": "a class written in C, whose methods cannot be replaced",
    "neighbors.KDTree": "a class written in C, whose methods cannot be replaced",
    "cluster.linkage_tree": _NOT_PYTHON,
    "feature_selection.f_oneway": _NOT_PYTHON,
    "metrics.cluster.expected_mutual_information": _NOT_PYTHON,
    "inspection.partial_dependence": "how it works depends on the class of the model",
    "preprocessing.FunctionTransformer": "the work is the user's function",
    "preprocessing.KernelCenterer": "it takes array-API arrays, and is three sums",
    "tree.export_text": "it reads the tree of scikit-learn's model",
    "metrics.check_scoring": _NO_WORK,
    "metrics.get_scorer": _NO_WORK,
    "metrics.get_scorer_names": _NO_WORK,
    "metrics.make_scorer": _NO_WORK,
    "metrics.pairwise_distances_chunked": "it gives blocks one by one, and calls served functions",
    "metrics.pairwise.pairwise_distances_chunked": (
        "it gives blocks one by one, and calls served functions"
    ),
    "metrics.pairwise.check_paired_arrays": _NO_WORK,
    "metrics.pairwise.check_pairwise_arrays": _NO_WORK,
    "metrics.pairwise.distance_metrics": _NO_WORK,
    "metrics.pairwise.kernel_metrics": _NO_WORK,
}
"""Names of both libraries that scikit-learn keeps, and why."""


class Condition(NamedTuple):
    """When scikit-learn must do it: ``test`` gets the model and the first argument of the call."""

    text: str
    test: Callable[[Any, Any], bool]


def _is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr")


FEW_ROWS = 250
"""Fewer rows than these are a tree of scikit-learn's in the same time."""


def _is_small(X: Any) -> bool:
    shape = getattr(X, "shape", None)
    return (shape[0] if shape else len(X)) < FEW_ROWS


_COPY = Condition("`copy_X=False` asks to write into X", lambda model, X: not model.copy_X)

_CONDITIONS = {
    ("linear_model.LogisticRegression", "linear_model.LogisticRegressionCV"): (
        Condition(
            "`solver='liblinear'` penalises the intercept, unless there is none",
            lambda model, X: model.solver == "liblinear" and model.fit_intercept,
        ),
        Condition(
            "`n_jobs` is deprecated and warned of", lambda model, X: model.n_jobs is not None
        ),
    ),
    (
        "linear_model.LinearRegression",
        "linear_model.Ridge",
        "linear_model.RidgeClassifier",
        "linear_model.Lasso",
        "linear_model.ElasticNet",
        "linear_model.LassoCV",
        "linear_model.ElasticNetCV",
        "linear_model.Lars",
        "linear_model.LassoLars",
        "linear_model.LarsCV",
        "linear_model.LassoLarsCV",
        "linear_model.LassoLarsIC",
        "linear_model.MultiTaskLasso",
        "linear_model.MultiTaskElasticNet",
        "linear_model.BayesianRidge",
        "linear_model.ARDRegression",
    ): (_COPY,),
    ("decomposition.PCA",): (
        Condition(
            "sparse X with `svd_solver='full'` or `'randomized'` is refused",
            lambda model, X: _is_sparse(X) and model.svd_solver in ("full", "randomized"),
        ),
    ),
    ("tree.DecisionTreeClassifier", "tree.DecisionTreeRegressor"): (
        Condition(
            f"fewer than {FEW_ROWS} rows: nothing to gain, and splits that are equally good are "
            "drawn otherwise",
            lambda model, X: hasattr(X, "__len__") and _is_small(X),
        ),
    ),
    (
        "manifold.TSNE",
        "neighbors.KNeighborsClassifier",
        "neighbors.KNeighborsRegressor",
        "neighbors.KNeighborsTransformer",
        "neighbors.LocalOutlierFactor",
        "neighbors.NearestNeighbors",
        "neighbors.RadiusNeighborsClassifier",
        "neighbors.RadiusNeighborsRegressor",
        "neighbors.RadiusNeighborsTransformer",
    ): (
        Condition(
            "`metric='mahalanobis'` or `'seuclidean'` without `metric_params` is refused, unless "
            "all rows are compared",
            lambda model, X: (
                isinstance(model.metric, str)
                and model.metric in ("mahalanobis", "seuclidean")
                and not model.metric_params
                and getattr(model, "algorithm", "auto") != "brute"
            ),
        ),
    ),
    ("manifold.SpectralEmbedding",): (
        Condition("`eigen_solver='amg'` is pyamg's", lambda model, X: model.eigen_solver == "amg"),
    ),
}

CONDITIONS: dict[str, tuple[Condition, ...]] = {
    name: conditions for names, conditions in _CONDITIONS.items() for name in names
}
"""Class → conditions of its methods that fit, beside those for all classes."""

FOR_ALL = (
    "an argument or a parameter that fastml refuses",
    "`array_api_dispatch=True` in scikit-learn's configuration",
    "callbacks set on the model",
    "a subclass that overrides what the method calls, or a method replaced in the model",
    "`partial_fit` or a warm start of a model that scikit-learn fitted",
    "fitted attributes that were changed by hand, or inner estimators that were handed out",
)
"""When every class goes to scikit-learn."""


def names() -> list[str]:
    """Every name in the table, sorted."""
    return sorted(
        f"{module}.{name}"
        for table in (CLASSES, FUNCTIONS)
        for module, listed in table.items()
        for name in listed
    )
