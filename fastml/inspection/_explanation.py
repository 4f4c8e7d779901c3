"""What Shapley values are handed over in: the layout of the shap package's ``Explanation``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Explanation:
    """Shapley values of rows.

    Its attributes are those of ``shap.Explanation``, so that
    ``shap.Explanation(e.values, e.base_values, e.data, feature_names=e.feature_names)`` is one.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features[, n_features][, n_outputs])
        What each column adds to the answer for a row; interactions have pairs of columns.
    base_values : ndarray of shape (n_samples[, n_outputs])
        The answer without any column: base + sum over columns = the model's answer.
    data : ndarray of shape (n_samples, n_features)
        The rows.
    feature_names : list of str, default=None
        Names of the columns.
    output_names : list, default=None
        Names of the outputs, if there are several.

    Examples
    --------
    >>> from fastml.inspection import shapley_values
    >>> from fastml.linear_model import LinearRegression
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    >>> e = shapley_values(LinearRegression().fit(X, [0.0, 2.0, 4.0, 6.0]), X)
    >>> e[0].values.round(6) + 0.0
    array([-3.,  0.])
    """

    values: Any
    base_values: Any
    data: Any
    feature_names: Any = None
    output_names: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows) -> Explanation:
        """Of some rows; ``e[..., k]`` is of output k."""
        if isinstance(rows, tuple) and len(rows) == 2 and rows[0] is Ellipsis:
            name = None if self.output_names is None else self.output_names[rows[1]]
            base = np.asarray(self.base_values)[..., rows[1]]
            return Explanation(self.values[rows], base, self.data, self.feature_names, name)
        return Explanation(
            self.values[rows],
            np.asarray(self.base_values)[rows],
            self.data[rows],
            self.feature_names,
            self.output_names,
        )
