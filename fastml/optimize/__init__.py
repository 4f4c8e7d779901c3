"""Descent methods that show what they do: steps and stopping rules are values, a run is a trace.

Functions are Python's or compiled ones (``@njit``); they take a vector and return a number, or the
gradient. Rules combine: ``GradientBelow(1e-6) & LossBelow(0.1) | Steps(500)``.
"""

from fastml.optimize._coordinate import coordinate_descent
from fastml.optimize._gradient import gradient_descent, subgradient
from fastml.optimize._newton import newton
from fastml.optimize._numeric import numeric_gradient, numeric_hessian
from fastml.optimize._power import Eigenpair, power_iteration
from fastml.optimize._proximal import proximal_gradient, soft_threshold
from fastml.optimize._restarts import Restarts, random_restarts
from fastml.optimize._run import Optimum, Trace
from fastml.optimize._steps import Backtracking, ConstantStep, DecreasingStep, NormalisedStep
from fastml.optimize._stochastic import stochastic_gradient
from fastml.optimize._stopping import (
    DifferenceBelow,
    GradientBelow,
    LossBelow,
    Seconds,
    Steps,
    ValidationRises,
)

__all__ = [
    "Backtracking",
    "ConstantStep",
    "DecreasingStep",
    "DifferenceBelow",
    "Eigenpair",
    "GradientBelow",
    "LossBelow",
    "NormalisedStep",
    "Optimum",
    "Restarts",
    "Seconds",
    "Steps",
    "Trace",
    "ValidationRises",
    "coordinate_descent",
    "gradient_descent",
    "newton",
    "numeric_gradient",
    "numeric_hessian",
    "power_iteration",
    "proximal_gradient",
    "random_restarts",
    "soft_threshold",
    "stochastic_gradient",
    "subgradient",
]
