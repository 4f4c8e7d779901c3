"""Validation by resampling, and tests whether one model is better than another.

Fold iterators, `cross_validate` and searches are scikit-learn's: they work with fastml's models.
"""

from fastml.model_selection._bias_variance import BiasVariance, bias_variance
from fastml.model_selection._bootstrap import BootstrapValidation, bootstrap_validate
from fastml.model_selection._nested import NestedScores, nested_cv
from fastml.model_selection._several_models import (
    RankTest,
    cochrans_q_test,
    friedman_test,
    nemenyi_critical_difference,
)
from fastml.model_selection._splits import (
    BootstrapSplit,
    RandomLeavePOut,
    train_validation_test_split,
)
from fastml.model_selection._test_result import ModelTest
from fastml.model_selection._two_models import (
    combined_5x2cv_f_test,
    mcnemar_test,
    paired_5x2cv_t_test,
    resampled_t_test,
)

__all__ = [
    "BiasVariance",
    "BootstrapSplit",
    "BootstrapValidation",
    "ModelTest",
    "NestedScores",
    "RandomLeavePOut",
    "RankTest",
    "bias_variance",
    "bootstrap_validate",
    "cochrans_q_test",
    "combined_5x2cv_f_test",
    "friedman_test",
    "mcnemar_test",
    "nemenyi_critical_difference",
    "nested_cv",
    "paired_5x2cv_t_test",
    "resampled_t_test",
    "train_validation_test_split",
]
