"""The one door to scikit-learn's private names.

scikit-learn may change these names without notice. They are imported here and nowhere else, so that
only this file has to follow a new release. A name is looked up when it is first used: importing
this file loads nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

HOMES = {
    "AvailableIfDescriptor": "sklearn.utils._available_if._AvailableIfDescriptor",
    "BinMapper": "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "BinaryTree": "sklearn.tree._tree.Tree",
    "BisectingTree": "sklearn.cluster._bisect_k_means._BisectingTree",
    "ImputerTriplet": "sklearn.impute._iterative._ImputerTriplet",
    "PREDICTOR_RECORD_DTYPE": (
        "sklearn.ensemble._hist_gradient_boosting.common.PREDICTOR_RECORD_DTYPE"
    ),
    "TREE_NODE_DTYPE": "sklearn.tree._tree.NODE_DTYPE",
    "TreePredictor": "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "average_path_length": "sklearn.ensemble._iforest._average_path_length",
    "kmeans_single_elkan": "sklearn.cluster._kmeans._kmeans_single_elkan",
    "kmeans_single_lloyd": "sklearn.cluster._kmeans._kmeans_single_lloyd",
    "openmp_threads": "sklearn.utils._openmp_helpers._openmp_effective_n_threads",
    "BaseComposition": "sklearn.utils.metaestimators._BaseComposition",
    "BaseScorer": "sklearn.metrics._scorer._BaseScorer",
    "CallbackSupportMixin": "sklearn.callback._callback_support.CallbackSupportMixin",
    "HasMethods": "sklearn.utils._param_validation.HasMethods",
    "Hidden": "sklearn.utils._param_validation.Hidden",
    "Interval": "sklearn.utils._param_validation.Interval",
    "MetricScorer": "sklearn.metrics._scorer._Scorer",
    "MissingValues": "sklearn.utils._param_validation.MissingValues",
    "MultimetricScorer": "sklearn.metrics._scorer._MultimetricScorer",
    "Options": "sklearn.utils._param_validation.Options",
    "PassthroughScorer": "sklearn.metrics._scorer._PassthroughScorer",
    "RealNotInt": "sklearn.utils._param_validation.RealNotInt",
    "RoutingNotSupportedMixin": "sklearn.utils.metadata_routing._RoutingNotSupportedMixin",
    "StrOptions": "sklearn.utils._param_validation.StrOptions",
    "align_api_if_sparse": "sklearn.utils._align_api_if_sparse",
    "assert_all_finite_element_wise": "sklearn.utils.validation._assert_all_finite_element_wise",
    "check_categorical_features": "sklearn.utils.validation._check_categorical_features",
    "check_feature_names_in": "sklearn.utils.validation._check_feature_names_in",
    "check_feature_names": "sklearn.utils.validation._check_feature_names",
    "check_method_params": "sklearn.utils.validation._check_method_params",
    "check_monotonic_cst": "sklearn.utils.validation._check_monotonic_cst",
    "check_n_features": "sklearn.utils.validation._check_n_features",
    "check_pos_label_consistency": "sklearn.utils.validation._check_pos_label_consistency",
    "check_partial_fit_first_call": "sklearn.utils.multiclass._check_partial_fit_first_call",
    "check_sample_weight": "sklearn.utils.validation._check_sample_weight",
    "check_y": "sklearn.utils.validation._check_y",
    "deprecate_positional_args": "sklearn.utils.validation._deprecate_positional_args",
    "estimator_has": "sklearn.utils.validation._estimator_has",
    "fit_context": "sklearn.base._fit_context",
    "fix_connected_components": "sklearn.utils.graph._fix_connected_components",
    "get_column_indices": "sklearn.utils._indexing._get_column_indices",
    "get_output_config": "sklearn.utils._set_output._get_output_config",
    "get_mask": "sklearn.utils._mask._get_mask",
    "get_response_values": "sklearn.utils._response._get_response_values",
    "is_arraylike_not_scalar": "sklearn.utils.validation._is_arraylike_not_scalar",
    "is_scalar_nan": "sklearn.utils._missing.is_scalar_nan",
    "manual_routing": "sklearn.utils.metadata_routing._manual_routing",
    "num_samples": "sklearn.utils.validation._num_samples",
    "ovr_decision_function": "sklearn.utils.multiclass._ovr_decision_function",
    "raise_for_params": "sklearn.utils.metadata_routing._raise_for_params",
    "raise_for_unsupported_routing": (
        "sklearn.utils.metadata_routing._raise_for_unsupported_routing"
    ),
    "routing_enabled": "sklearn.utils.metadata_routing._routing_enabled",
    "safe_assign": "sklearn.utils._indexing._safe_assign",
    "safe_indexing": "sklearn.utils._safe_indexing",
    "safe_split": "sklearn.utils.metaestimators._safe_split",
    "set_random_states": "sklearn.ensemble._base._set_random_states",
    "VisualBlock": "sklearn.utils._repr_html.estimator._VisualBlock",
    "validate_parameter_constraints": (
        "sklearn.utils._param_validation.validate_parameter_constraints"
    ),
    "validate_params": "sklearn.utils._param_validation.validate_params",
    "weighted_percentile": "sklearn.utils.stats._weighted_percentile",
}
"""The name used in fastml → where scikit-learn keeps it."""


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'fastml._sklearn' has no attribute {name!r}")
    module, _, private = HOMES[name].rpartition(".")
    value = getattr(importlib.import_module(module), private)
    globals()[name] = value
    return value
