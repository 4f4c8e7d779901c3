"""What a fitted model goes by: columns shuffled or left out, the mean answer along a column."""

from fastml.inspection._drop_column import drop_column_importance
from fastml.inspection._partial_dependence import partial_dependence
from fastml.inspection._permutation import permutation_importance

__all__ = ["drop_column_importance", "partial_dependence", "permutation_importance"]
