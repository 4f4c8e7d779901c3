"""What a fitted model goes by: columns shuffled or left out, the mean answer along a column, what
each column adds to the answer for a row."""

from fastml.inspection._drop_column import drop_column_importance
from fastml.inspection._explanation import Explanation
from fastml.inspection._partial_dependence import partial_dependence
from fastml.inspection._permutation import permutation_importance
from fastml.inspection._shapley import shapley_values, weight_importance

__all__ = [
    "Explanation",
    "drop_column_importance",
    "partial_dependence",
    "permutation_importance",
    "shapley_values",
    "weight_importance",
]
