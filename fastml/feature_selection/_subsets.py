"""Scores of subsets of columns."""

from __future__ import annotations

import numpy as np


def mean_score(estimator, X, y, mask, cv, scoring, params=None) -> float:
    """Mean score of clones fitted on folds and these columns; cv=None: on the rows it learned."""
    from sklearn.base import clone
    from sklearn.metrics import check_scoring
    from sklearn.model_selection import cross_val_score

    chosen = X[:, mask]
    if cv is None:
        model = clone(estimator)
        model.fit(chosen, y)
        return float(check_scoring(model, scoring)(model, chosen, y))
    found = cross_val_score(estimator, chosen, y, cv=cv, scoring=scoring, params=params)
    return float(np.mean(found))
