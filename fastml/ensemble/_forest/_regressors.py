"""Forests that predict numbers."""

from __future__ import annotations

from numbers import Integral
from warnings import warn

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import Interval, StrOptions
from fastml.ensemble._forest._base import BaseForest
from fastml.ensemble._forest._blocks import fit_forest_of_blocks
from fastml.ensemble._forest._docs import BOOTSTRAP, FOREST_ENTRIES, RANDOM, REGRESSOR
from fastml.ensemble._forest._out_of_bag import permutation_importances
from fastml.ensemble._forest._quantiles import quantiles_of_leaves


class _ForestRegressor(RegressorMixin, BaseForest):
    _parameter_constraints: dict = {
        **BaseForest._parameter_constraints,
        "criterion": [StrOptions({"squared_error", "absolute_error", "friedman_mse", "poisson"})],
        "leaf_targets": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="squared_error",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=1.0,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=True,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
        splitter="auto",
        n_iter_no_change=None,
        tol=0.0,
        leaf_targets=2,
        replace=True,
        features_per_tree=None,
    ):
        if isinstance(criterion, str) and criterion == "friedman_mse":
            criterion = "squared_error"
            warn(
                'Value `"friedman_mse"` for `criterion` is deprecated and will be removed in 1.11. '
                'It maps to `"squared_error"` as both were always equivalent. Use '
                '`criterion="squared_error"` to remove this warning.',
                FutureWarning,
                stacklevel=2,
            )
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.splitter = splitter
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.leaf_targets = leaf_targets
        self.replace = replace
        self.features_per_tree = features_per_tree

    def _validate_y_class_weight(self, y, sample_weight):
        return np.asarray(y, dtype=np.float64), None

    def _n_leaf_targets(self) -> int:
        return self.leaf_targets if self.n_outputs_ == 1 and self.ccp_alpha == 0.0 else 0

    def predict(self, X):
        """Mean of the trees' predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        mean = self._mean(X)
        return mean[:, 0] if self.n_outputs_ == 1 else mean

    def predict_quantiles(self, X, quantiles=(0.05, 0.5, 0.95)):
        """Quantiles of the target given the row (quantile regression forest).

        The training targets are weighted by how often they share a leaf with the row:
        :math:`w_i = \\frac1T \\sum_t [i \\in L_t(x)]\\, c_{ti} / \\sum_{j \\in L_t(x)} c_{tj}`
        with :math:`c_{ti}` the draws of training row i for tree t; the quantile is the least target
        at which the summed weights reach it. Of a leaf of different targets a draw of
        ``leaf_targets`` is kept, by the chances :math:`c_{ti}`, and stands for all of them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        quantiles : float or sequence of float, default=(0.05, 0.5, 0.95)
            Between 0 and 1.

        Returns
        -------
        y : ndarray of shape (n_samples, n_quantiles), or (n_samples,) for a single float
        """
        check_is_fitted(self)
        wanted = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if wanted.ndim != 1 or np.any((wanted < 0.0) | (wanted > 1.0) | np.isnan(wanted)):
            raise ValueError(f"quantiles must be numbers between 0 and 1, got {quantiles!r}")
        if len(self._leaf_targets.counts) != len(self._trees.leaf_samples):
            raise ValueError("predict_quantiles needs one output and trees that are not pruned")
        out = quantiles_of_leaves(self, self._rows(X), wanted)
        return out[:, 0] if np.ndim(quantiles) == 0 else out

    def _oob_value(self, y, sums, seen):
        return _r2(y, sums / seen[:, None])

    def _set_oob_score_and_attributes(self, X, y, scoring_function=None):
        mean = self._oob.mean()
        self.oob_prediction_ = mean[:, 0] if self.n_outputs_ == 1 else mean
        self.oob_curve_ = np.array(self._oob.curve)
        if scoring_function is None:
            self.oob_score_ = _r2(y, mean)
        else:
            self.oob_score_ = scoring_function(y, self.oob_prediction_)

    def oob_permutation_importances(self, X, y, *, n_repeats=1, random_state=None):
        """Rise of out-of-bag squared error when a feature's values are shuffled.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of the fit.
        y : array-like of shape (n_samples,)
            Their targets.
        n_repeats : int, default=1
            Shuffles per tree and feature.
        random_state : int, RandomState instance or None, default=None
            Randomness of the shuffles.

        Returns
        -------
        importances : ndarray of shape (n_features,)
            Mean over the trees.
        """
        check_is_fitted(self)
        X, y = self._rows(X), np.asarray(y, dtype=np.float64).reshape(-1, self.n_outputs_)

        def gain(leaf_values, truth):
            return -np.mean((leaf_values - truth) ** 2)

        return permutation_importances(self, X, y, gain, n_repeats, random_state)

    def _compute_partial_dependence_recursion(self, grid, target_features):
        """What scikit-learn's `partial_dependence` calls: one mean per row of ``grid``."""
        mean = np.zeros(len(grid))
        for t in range(len(self._trees)):
            self._trees.tree(t).compute_partial_dependence(grid, target_features, mean)
        return mean / len(self._trees)


def _r2(y, predicted):
    """R², averaged over outputs; a constant target scores 1 if met, else 0, as does one row."""
    left = ((y - predicted) ** 2).sum(axis=0)
    total = ((y - y.mean(axis=0)) ** 2).sum(axis=0)
    if len(y) < 2:
        return 0.0
    scores = np.where(left == 0.0, 1.0, 0.0)
    varies = total > 0.0
    scores[varies] = 1.0 - left[varies] / total[varies]
    return float(scores.mean())


@documented(FOREST_ENTRIES, **REGRESSOR, **BOOTSTRAP, tree="DecisionTreeRegressor")
class RandomForestRegressor(_ForestRegressor):
    """A forest of regression trees on bootstrap samples.

    The prediction is the mean over the trees, :math:`f(x) = \\frac1T \\sum_t f_t(x)`.

    Parameters
    ----------
    {growth}
    {further_growth}
    {leaf_targets}
    {draws}

    Attributes
    ----------
    {trees}
    {n_features_in_}
    {feature_names_in_}
    {out_of_bag}

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45 (2001).
    N. Meinshausen, "Quantile regression forests", JMLR 7 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.ensemble import RandomForestRegressor
    >>> X = np.repeat([[0.0], [1.0]], 10, axis=0)
    >>> forest = RandomForestRegressor(20, random_state=0).fit(X, 3.0 * X[:, 0])
    >>> forest.predict([[0.2], [0.8]])
    array([0., 3.])
    >>> forest.predict_quantiles([[0.8]], [0.1, 0.9])
    array([[3., 3.]])
    """

    def _tree_estimator(self):
        from fastml.tree import DecisionTreeRegressor

        return DecisionTreeRegressor(**self._tree_parameters())

    def _fit_blocks(self, passes):
        fit_forest_of_blocks(self, passes)


@documented(FOREST_ENTRIES, **REGRESSOR, **RANDOM, tree="ExtraTreeRegressor")
class ExtraTreesRegressor(_ForestRegressor):
    """Extremely randomised regression trees.

    Each node tries one random threshold for each of a few features drawn at random and keeps the
    best. The prediction is the mean over the trees.

    Parameters
    ----------
    {growth}
    {further_growth}
    {leaf_targets}
    {draws}

    Attributes
    ----------
    {trees}
    {n_features_in_}
    {feature_names_in_}
    {out_of_bag}

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.ensemble import ExtraTreesRegressor
    >>> X = np.repeat([[0.0], [1.0]], 10, axis=0)
    >>> forest = ExtraTreesRegressor(20, random_state=0).fit(X, 3.0 * X[:, 0])
    >>> forest.predict([[0.0], [1.0]])
    array([0., 3.])
    """

    _random_thresholds = True

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="squared_error",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=1.0,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=False,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
        splitter="auto",
        n_iter_no_change=None,
        tol=0.0,
        leaf_targets=2,
        replace=True,
        features_per_tree=None,
    ):
        super().__init__(
            n_estimators=n_estimators,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            bootstrap=bootstrap,
            oob_score=oob_score,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            ccp_alpha=ccp_alpha,
            max_samples=max_samples,
            monotonic_cst=monotonic_cst,
            splitter=splitter,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            leaf_targets=leaf_targets,
            replace=replace,
            features_per_tree=features_per_tree,
        )

    def _tree_estimator(self):
        from fastml.tree import ExtraTreeRegressor

        return ExtraTreeRegressor(**self._tree_parameters())
