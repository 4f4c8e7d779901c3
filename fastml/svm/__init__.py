"""Support vector machines and kernel machines."""

from fastml.svm._kernel_logistic import KernelLogisticRegression
from fastml.svm._kernel_perceptron import KernelPerceptron
from fastml.svm._linear._estimators import LinearSVC, LinearSVR
from fastml.svm._margins import (
    KKTGroups,
    Margins,
    geometric_margins,
    kkt_groups,
    margins,
    signed_distances,
)
from fastml.svm._one_class import OneClassSVM
from fastml.svm._svc import SVC, NuSVC
from fastml.svm._svr import SVR, NuSVR

__all__ = [
    "SVC",
    "SVR",
    "KKTGroups",
    "KernelLogisticRegression",
    "KernelPerceptron",
    "LinearSVC",
    "LinearSVR",
    "Margins",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "geometric_margins",
    "kkt_groups",
    "margins",
    "signed_distances",
]
