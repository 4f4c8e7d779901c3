"""Classes whose private attributes differ in a few names."""

from __future__ import annotations

import numpy as np

from fastml.convert._counterparts._rules import Rule

# ---------------------------------------------------------------------------- clusters

KMEANS_THEIRS = ("_algorithm", "_n_threads", "_tol", "_X_mean")


def kmeans_forth(converter, model, made) -> None:
    from fastml._sklearn import openmp_threads

    made._n_threads = openmp_threads()
    made._tol = float(model.tol)
    if hasattr(model, "algorithm"):
        made._algorithm = "lloyd" if model.algorithm == "auto" else model.algorithm


def kmeans_back(converter, model, made) -> None:
    made._X_mean = None


KMEANS = Rule(("_X_mean",), KMEANS_THEIRS, (), kmeans_forth, kmeans_back)


def bisecting_forth(converter, model, made) -> None:
    from sklearn.utils import check_random_state

    from fastml._sklearn import BisectingTree, kmeans_single_elkan, kmeans_single_lloyd

    def theirs(node):
        found = BisectingTree(np.array(node.center), None, node.score)
        if node.left is None:
            found.label = node.label
        else:
            found.left, found.right = theirs(node.left), theirs(node.right)
        return found

    kmeans_forth(converter, model, made)
    made._kmeans_single = kmeans_single_lloyd if model.algorithm == "lloyd" else kmeans_single_elkan
    made._random_state = check_random_state(converter.value(model.random_state, "random_state"))
    made._bisecting_tree = theirs(model._bisecting_tree)
    if model._X_mean is not None:
        made._X_mean = model._X_mean.copy()


def bisecting_back(converter, model, made) -> None:
    made._X_mean = getattr(model, "_X_mean", None)
    made._take_tree(model._bisecting_tree)


BISECTING = Rule(
    ("_X_mean", "_bisecting_tree"),
    (*KMEANS_THEIRS, "_bisecting_tree", "_kmeans_single", "_random_state"),
    (),
    bisecting_forth,
    bisecting_back,
)

# ---------------------------------------------------------------------------- linear models


def link_forth(converter, model, made) -> None:
    made._base_loss = made._get_loss()


LINK = Rule((), ("_base_loss",), (), link_forth, None)


def binarizer_forth(converter, model, made) -> None:
    """Classes of a ridge classifier are its binarizer's."""
    from sklearn.preprocessing import LabelBinarizer

    several = bool(model._multilabel)
    found = LabelBinarizer.__new__(LabelBinarizer)
    LabelBinarizer.__init__(found, pos_label=1, neg_label=-1)
    found.classes_ = np.array(model.classes_)
    found.sparse_input_ = False
    found.y_type_ = "multilabel-indicator" if several else _kind(found.classes_)
    made._label_binarizer = found


def _kind(classes) -> str:
    return "binary" if len(classes) <= 2 else "multiclass"


def binarizer_back(converter, model, made) -> None:
    made._multilabel = model._label_binarizer.y_type_.startswith("multilabel")
    made.classes_ = np.array(model.classes_)  # a property in some versions


BINARIZER = Rule(("_multilabel",), ("_label_binarizer",), (), binarizer_forth, binarizer_back)


def penalty_back(converter, model, made) -> None:
    made.alpha_ = model.alpha


PENALTY = Rule(("alpha_",), (), ("constraint", "scaling"), None, penalty_back)


def solver_back(converter, model, made) -> None:
    made.solver_ = model.solver


LOGISTIC = Rule(("solver_",), (), ("firth", "reference_class"), None, solver_back)

SGD_THEIRS = ("_expanded_class_weight", "_loss_function_")


def descent_forth(converter, model, made) -> None:
    made._loss_function_ = made._get_loss_function(made.loss)
    if hasattr(model, "classes_"):
        made._expanded_class_weight = np.ones(len(model.classes_))


DESCENT = Rule(("mistakes_",), SGD_THEIRS, ("batch",), descent_forth, None)

# ---------------------------------------------------------------------------- support vectors

SVM_THEIRS = ("_effective_probability", "_num_iter", "_BaseLibSVM__Xfit", "_Xfit")


def machine_forth(converter, model, made) -> None:
    made._num_iter = np.atleast_1d(np.asarray(model.n_iter_, np.int32))
    made._effective_probability = len(model._probA) > 0
    if len(model._n_support) == 1:  # libsvm says two numbers for regression
        made._n_support = np.array([model._n_support[0], 0], np.int32)
    if callable(model.kernel):
        made._BaseLibSVM__Xfit = converter.value(model._gram_rows, "_gram_rows")


def machine_back(converter, model, made) -> None:
    if not hasattr(made, "classes_"):
        made._n_support = np.asarray(model._n_support[:1], np.int32)
    if callable(model.kernel):
        made._gram_rows = converter.value(model._BaseLibSVM__Xfit, "_gram_rows")


MACHINE = Rule(("_gram_rows",), SVM_THEIRS, (), machine_forth, machine_back)

# ---------------------------------------------------------------------------- statistics


def moments_back(converter, model, made) -> None:
    made._restore_moments()


NORMAL = Rule(("_moments", "_all_rows"), (), (), None, moments_back)


def axes_back(converter, model, made) -> None:
    if hasattr(model, "covariance_"):
        values, vectors = np.linalg.eigh(model.covariance_)
        made._spread = vectors * np.sqrt(np.maximum(values, 0.0))


DISCRIMINANT = Rule(("_spread",), (), ("unbiased",), None, axes_back)


def batches_back(converter, model, made) -> None:
    made.n_samples_seen_ = int(np.max(model.n_samples_seen_))
    made._restore_state()


BATCHES = Rule(("_mean", "_products", "_rows", "_squares"), (), (), None, batches_back)

# ---------------------------------------------------------------------------- columns


def boost_forth(converter, model, made) -> None:
    made.estimator_params = ()


PACKED = Rule(("_packed",), ("estimator_params",), (), boost_forth, None)


def imputer_forth(converter, model, made) -> None:
    from sklearn.linear_model import BayesianRidge

    from fastml._sklearn import ImputerTriplet

    made._estimator = BayesianRidge() if made.estimator is None else made.estimator
    made.imputation_sequence_ = [
        ImputerTriplet(*(converter.value(part, "imputation_sequence_") for part in step))
        for step in model.imputation_sequence_
    ]


def imputer_back(converter, model, made) -> None:
    made._take_sequence(
        [
            tuple(converter.value(part, "imputation_sequence_") for part in step)
            for step in model.imputation_sequence_
        ]
    )


IMPUTER = Rule(
    ("imputation_sequence_",),
    ("imputation_sequence_", "_estimator"),
    (),
    imputer_forth,
    imputer_back,
)


def one_hot_forth(converter, model, made) -> None:
    dropped = model._dropped_codes
    made._drop_idx_after_grouping = None if dropped is None else np.array(dropped, dtype=object)
    made._n_features_outs = made._compute_n_features_outs()


def one_hot_back(converter, model, made) -> None:
    groups_back(converter, model, made)
    dropped = model._drop_idx_after_grouping
    made._dropped_codes = None if dropped is None else list(dropped)


def groups_back(converter, model, made) -> None:
    """Codes of rare categories, which scikit-learn has only where they were asked for."""
    for name in ("_infrequent_indices", "_default_to_infrequent_mappings"):
        if not hasattr(made, name):
            setattr(made, name, [None] * len(model.categories_))


ONE_HOT = Rule(
    ("_dropped_codes",),
    ("_drop_idx_after_grouping", "_n_features_outs"),
    (),
    one_hot_forth,
    one_hot_back,
)
ORDINAL = Rule((), (), (), None, groups_back)


def target_forth(converter, model, made) -> None:
    made._infrequent_enabled = False


def target_back(converter, model, made) -> None:
    made._rows_of_fit = None


TARGET = Rule(("_rows_of_fit",), ("_infrequent_enabled",), (), target_forth, target_back)


def powers_forth(converter, model, made) -> None:
    made._n_out_full = made._num_combinations(
        n_features=model.n_features_in_,
        min_degree=0,
        max_degree=model._max_degree,
        interaction_only=model.interaction_only,
        include_bias=model.include_bias,
    )


POWERS = Rule((), ("_n_out_full",), (), powers_forth, None)


def stress_forth(converter, model, made) -> None:
    def known(name, default):
        value = getattr(made, name, default)
        return default if isinstance(value, str) and value == "warn" else value

    made._metric, made._init = known("metric", "euclidean"), known("init", "random")
    made._metric_mds = bool(known("metric_mds", True))


STRESS = Rule((), ("_init", "_metric", "_metric_mds"), (), stress_forth, None)


def labels_forth(converter, model, made) -> None:
    made._cached_dict = None


LABELS = Rule((), ("_cached_dict",), (), labels_forth, None)
