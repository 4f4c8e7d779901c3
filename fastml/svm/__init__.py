"""Support vector machines and kernel machines."""

from fastml.svm._kernel_logistic import KernelLogisticRegression
from fastml.svm._kernel_perceptron import KernelPerceptron
from fastml.svm._linear import LinearSVC, LinearSVR
from fastml.svm._margins import Margins, margins
from fastml.svm._one_class import OneClassSVM
from fastml.svm._svc import SVC, NuSVC
from fastml.svm._svr import SVR, NuSVR

__all__ = [
    "SVC",
    "SVR",
    "KernelLogisticRegression",
    "KernelPerceptron",
    "LinearSVC",
    "LinearSVR",
    "Margins",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "margins",
]
