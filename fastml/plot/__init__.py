"""Plots of models. Matplotlib is loaded when a plot is drawn; functions return the axes, displays
keep them as ``ax_``, as scikit-learn's do."""

from fastml.plot._classifiers import decision_regions, validation_curve
from fastml.plot._clusters import choice_of_k, dendrogram, silhouette
from fastml.plot._components import (
    biplot,
    components_removed,
    explained_variance,
    reconstruction_error,
    scree,
)
from fastml.plot._confusion import ConfusionMatrixDisplay
from fastml.plot._curves import (
    BackgroundRejectionDisplay,
    CalibrationDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    f_score_levels,
)
from fastml.plot._densities import density_contours, density_curve
from fastml.plot._embeddings import (
    distance_matrix,
    embedding,
    embeddings_beside,
    neighbor_graph,
    shepard_diagram,
)
from fastml.plot._linear import class_ellipses, coefficient_path, sigmoid
from fastml.plot._losses import losses
from fastml.plot._machines import svm_boundary, svr_tube
from fastml.plot._odds import odds_ratios
from fastml.plot._residuals import residuals
from fastml.plot._shapley import shap_summary, shap_waterfall
from fastml.plot._traces import trace
from fastml.plot._trees import importance_bars, oob_curve, plot_tree
from fastml.plot._validation import (
    LearningCurveDisplay,
    ValidationCurveDisplay,
    bias_variance_curve,
    critical_difference,
)

__all__ = [
    "BackgroundRejectionDisplay",
    "CalibrationDisplay",
    "ConfusionMatrixDisplay",
    "LearningCurveDisplay",
    "PrecisionRecallDisplay",
    "RocCurveDisplay",
    "ValidationCurveDisplay",
    "bias_variance_curve",
    "biplot",
    "choice_of_k",
    "class_ellipses",
    "coefficient_path",
    "components_removed",
    "critical_difference",
    "decision_regions",
    "dendrogram",
    "density_contours",
    "density_curve",
    "distance_matrix",
    "embedding",
    "embeddings_beside",
    "explained_variance",
    "f_score_levels",
    "importance_bars",
    "losses",
    "neighbor_graph",
    "odds_ratios",
    "oob_curve",
    "plot_tree",
    "reconstruction_error",
    "residuals",
    "scree",
    "shap_summary",
    "shap_waterfall",
    "shepard_diagram",
    "sigmoid",
    "silhouette",
    "svm_boundary",
    "svr_tube",
    "trace",
    "validation_curve",
]
