"""Linear models, as in scikit-learn, and what statistics say about them.

Books and libraries multiply the squared errors by different factors, so that the same alpha means
different things. `Ridge`, `Lasso` and `ElasticNet` take any of them as ``scaling=``; n is the
number of rows, or the sum of weights:

===========  =================================  ==============  ==============
scaling      objective                          Ridge           Lasso, net
===========  =================================  ==============  ==============
'sum'        Σ (y − Xw)² + penalty              default         alpha · 2n
'half_sum'   ½ Σ (y − Xw)² + penalty            alpha / 2       alpha · n
'mean'       1/n Σ (y − Xw)² + penalty          alpha / n       alpha · 2
'half_mean'  1/(2n) Σ (y − Xw)² + penalty       alpha / (2n)    default
===========  =================================  ==============  ==============

The last columns tell what the alpha of the default becomes for the same solution. The penalty is
alpha \\|w\\|² for `Ridge`, alpha l1_ratio \\|w\\|₁ + alpha (1 − l1_ratio)/2 \\|w\\|² for the
others, in every scaling: `Ridge` has no ½ there.

>>> import numpy as np
>>> from fastml.linear_model import Lasso
>>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [4.0, 2.0]])
>>> y = np.array([0.0, 1.0, 2.0, 5.0])
>>> for scaling, factor in (("half_mean", 1), ("mean", 2), ("half_sum", 4), ("sum", 8)):
...     print(Lasso(alpha=0.1 * factor, scaling=scaling, tol=1e-10).fit(X, y).coef_.round(3))
[1.211 0.   ]
[1.211 0.   ]
[1.211 0.   ]
[1.211 0.   ]
"""

from fastml.linear_model._bayes import ARDRegression, BayesianRidge
from fastml.linear_model._coordinate import (
    ElasticNet,
    Lasso,
    MultiTaskElasticNet,
    MultiTaskLasso,
)
from fastml.linear_model._coordinate_cv import (
    ElasticNetCV,
    LassoCV,
    MultiTaskElasticNetCV,
    MultiTaskLassoCV,
)
from fastml.linear_model._glm import GammaRegressor, PoissonRegressor, TweedieRegressor
from fastml.linear_model._greedy import (
    lars_path,
    lars_path_gram,
    orthogonal_mp,
    orthogonal_mp_gram,
)
from fastml.linear_model._huber import HuberRegressor
from fastml.linear_model._l0 import L0Regressor
from fastml.linear_model._least_angle import Lars, LassoLars, LassoLarsIC
from fastml.linear_model._least_angle_cv import LarsCV, LassoLarsCV
from fastml.linear_model._least_squares import LinearRegression
from fastml.linear_model._logistic._cv import LogisticRegressionCV
from fastml.linear_model._logistic._estimator import LogisticRegression, SeparationWarning
from fastml.linear_model._path import enet_path, lasso_path
from fastml.linear_model._penalty_path import PenaltyPath, penalty_path
from fastml.linear_model._pursuit import (
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
)
from fastml.linear_model._quantile import LeastAbsoluteDeviations, QuantileRegressor
from fastml.linear_model._ridge import Ridge, ridge_regression
from fastml.linear_model._ridge_classifier import RidgeClassifier, RidgeClassifierCV
from fastml.linear_model._ridge_cv import RidgeCV
from fastml.linear_model._sgd._classification import SGDClassifier
from fastml.linear_model._sgd._one_class import SGDOneClassSVM
from fastml.linear_model._sgd._passive_aggressive import (
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
)
from fastml.linear_model._sgd._perceptron import Perceptron
from fastml.linear_model._sgd._regression import SGDRegressor
from fastml.linear_model._summary._checks import AssumptionCheck
from fastml.linear_model._summary._odds import OddsRatios, odds_ratios
from fastml.linear_model._summary._result import LinearSummary, Prediction, RowInfluence
from fastml.linear_model._summary._softmax import SoftmaxSummary
from fastml.linear_model._summary._summary import summary

__all__ = [
    "ARDRegression",
    "AssumptionCheck",
    "BayesianRidge",
    "ElasticNet",
    "ElasticNetCV",
    "GammaRegressor",
    "HuberRegressor",
    "L0Regressor",
    "Lars",
    "LarsCV",
    "Lasso",
    "LassoCV",
    "LassoLars",
    "LassoLarsCV",
    "LassoLarsIC",
    "LeastAbsoluteDeviations",
    "LinearRegression",
    "LinearSummary",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "OddsRatios",
    "OrthogonalMatchingPursuit",
    "OrthogonalMatchingPursuitCV",
    "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor",
    "PenaltyPath",
    "Perceptron",
    "PoissonRegressor",
    "Prediction",
    "QuantileRegressor",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "RowInfluence",
    "SGDClassifier",
    "SGDOneClassSVM",
    "SGDRegressor",
    "SeparationWarning",
    "SoftmaxSummary",
    "TweedieRegressor",
    "enet_path",
    "lars_path",
    "lars_path_gram",
    "lasso_path",
    "odds_ratios",
    "orthogonal_mp",
    "orthogonal_mp_gram",
    "penalty_path",
    "ridge_regression",
    "summary",
]
