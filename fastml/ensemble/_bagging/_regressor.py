"""Bagging of regressors."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin

from fastml._docs import documented
from fastml._sklearn import raise_for_params
from fastml.ensemble._bagging._base import BaseBagging
from fastml.ensemble._bagging._docs import BAGGING_ENTRIES
from fastml.tree import DecisionTreeRegressor


@documented(BAGGING_ENTRIES, tree="DecisionTreeRegressor", score="R²", oob="oob_prediction_")
class BaggingRegressor(RegressorMixin, BaseBagging):
    """Regressors on random draws of rows and columns; their predictions are averaged.

    :math:`f(x) = \\frac1T \\sum_t f_t(x)`. Rows with replacement are bagging, without are pasting;
    draws of columns are random subspaces, of both random patches.

    Parameters
    ----------
    {bagging}

    Attributes
    ----------
    {members}
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    L. Breiman, "Bagging predictors", Machine Learning 24 (1996).
    G. Louppe, P. Geurts, "Ensembles on random patches", ECML PKDD (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.ensemble import BaggingRegressor
    >>> from fastml.neighbors import KNeighborsRegressor
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> model = BaggingRegressor(KNeighborsRegressor(2), max_samples=0.8, random_state=0)
    >>> model.fit(X, 3.0 * X.ravel()).predict([[10.0]]).round(1).tolist()
    [29.7]
    """

    def _get_estimator(self):
        return DecisionTreeRegressor() if self.estimator is None else self.estimator

    def _set_oob_score(self, X, y):
        from sklearn.metrics import r2_score

        sums, seen = np.zeros(y.shape), np.zeros(len(y))
        for member, columns, out in self._rows_out():
            rows = np.flatnonzero(out)
            sums[rows] += member.predict(X[rows][:, columns])
            seen[rows] += 1
        if (seen == 0).any():
            self._warn_of_rows_always_seen()
        seen = np.maximum(seen, 1).reshape(-1, *[1] * (sums.ndim - 1))
        self.oob_prediction_ = sums / seen
        self.oob_score_ = r2_score(y, self.oob_prediction_)

    def predict(self, X, **params):
        """Mean of the members' predictions.

        Parameters
        ----------
        {routed}

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        raise_for_params(params, self, "predict")
        X = self._check_X(X)
        more = self._routed("predict", params).estimator.get("predict") or {}
        packed = self._once_packed()
        if packed is not None:
            total = self._sum_of_trees(X, packed.n_columns)
            return (total[:, 0] if packed.scalar else total) / len(self.estimators_)
        total = 0.0
        for each in self._of_members(lambda m, X: m.predict(X, **more), X):
            total = total + each
        return total / len(self.estimators_)
