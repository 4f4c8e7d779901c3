"""HistGradientBoostingClassifier and HistGradientBoostingRegressor."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from fastml._docs import documented
from fastml._sklearn import HasMethods, Interval, StrOptions
from fastml.ensemble._hist_gradient_boosting import _input as given
from fastml.ensemble._hist_gradient_boosting._base import BaseHistGradientBoosting
from fastml.ensemble._hist_gradient_boosting._blocks import block_class_weights
from fastml.ensemble._hist_gradient_boosting._docs import HIST_ENTRIES
from fastml.ensemble._hist_gradient_boosting._loss import (
    ForeignLoss,
    HuberLoss,
    Loss,
    QuantilesLoss,
    UserLoss,
)
from fastml.kernels.losses import pointwise as codes

FOREIGN = HasMethods(["gradient_hessian", "fit_intercept_only"])
"""scikit-learn's loss objects, and others with their methods."""


@documented(HIST_ENTRIES)
class HistGradientBoostingClassifier(ClassifierMixin, BaseHistGradientBoosting):
    """Gradient boosting of trees on binned features, for classification.

    Every iteration fits a tree to the gradients g and hessians h of the loss: a split is chosen by
    the gain :math:`G_L^2/(H_L+\\lambda) + G_R^2/(H_R+\\lambda) - G^2/(H+\\lambda)`, a leaf adds
    :math:`-\\eta\\,G/(H+\\lambda)`. Values are binned; gradients are rounded to integers for the
    histograms, so that the model is the same for any number of threads, and leaf values come from
    the exact sums. Missing values go to the side with the higher gain.

    Parameters
    ----------
    loss : {'log_loss'}, loss object or compiled function, default='log_loss'
        Binomial or multinomial deviance. Also a loss object of scikit-learn, or, for two classes, a
        function ``(y, raw) -> (gradient, hessian)`` compiled with ``numba.njit``, y being 0 or 1
        and the probability 1 / (1 + exp(-raw)); see `HistGradientBoostingRegressor`.
    {learning_rate}
    {max_iter}
    {max_leaf_nodes}
    {max_depth}
    {min_samples_leaf}
    {l2_regularization}
    {max_features}
    {max_bins}
    categorical_features : array-like of {bool, int, str}, 'from_dtype' or None, \
            default='from_dtype'
        Mask, indices or names of the categorical features; 'from_dtype' takes the columns of a
        dataframe that are categorical.
    {monotonic_cst}
    {interaction_cst}
    {warm_start}
    {early_stopping}
    {scoring}
    {validation_fraction}
    {n_iter_no_change}
    {tol}
    {verbose}
    {random_state}
    class_weight : dict or 'balanced', default=None
        Weights of the classes, which multiply ``sample_weight``.
    subsample : float, default=1.0
        Share of the rows that are drawn, without replacement, for every iteration (stochastic
        boosting). Not in scikit-learn, as are all below.
    {l1_regularization}
    {gamma}
    {grow_policy}
    {keep_best}
    {init}
    {n_jobs}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    {do_early_stopping_}
    {n_iter_}
    {n_trees_per_iteration_}
    {train_score_}
    {validation_score_}
    {is_categorical_}
    {feature_importances_}
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
    Statistics 29 (2001). G. Ke et al., "LightGBM: a highly efficient gradient boosting decision
    tree", NeurIPS 2017. Y. Shi et al., "Quantized training of gradient boosting decision trees",
    NeurIPS 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.ensemble import HistGradientBoostingClassifier
    >>> X = np.arange(200.0).reshape(-1, 1)
    >>> y = (X[:, 0] % 100 > 50).astype(int)
    >>> model = HistGradientBoostingClassifier(max_iter=20).fit(X, y)
    >>> model.predict([[20.0], [80.0], [120.0], [190.0]])
    array([0, 1, 0, 1])
    """

    _parameter_constraints: dict = {
        **BaseHistGradientBoosting._parameter_constraints,
        "loss": [StrOptions({"log_loss"}), callable, FOREIGN],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        loss="log_loss",
        *,
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        l2_regularization=0.0,
        max_features=1.0,
        max_bins=255,
        categorical_features="from_dtype",
        monotonic_cst=None,
        interaction_cst=None,
        warm_start=False,
        early_stopping="auto",
        scoring="loss",
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-7,
        verbose=0,
        random_state=None,
        class_weight=None,
        subsample=1.0,
        l1_regularization=0.0,
        gamma=0.0,
        grow_policy="leaf-wise",
        keep_best=False,
        init=None,
        n_jobs=None,
    ):
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.class_weight = class_weight
        self.subsample = subsample
        self.l1_regularization = l1_regularization
        self.gamma = gamma
        self.grow_policy = grow_policy
        self.keep_best = keep_best
        self.init = init
        self.n_jobs = n_jobs

    def predict(self, X):
        """Classes of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._classes_of(self._raw_predict(X))

    def staged_predict(self, X):
        """Classes of the rows after every iteration.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        y : ndarray of shape (n_samples,)
        """
        for raw in self._staged_raw_predict(X):
            yield self._classes_of(raw)

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        raw = self._raw_predict(X)
        return self._loss.predict_proba(raw)

    def staged_predict_proba(self, X):
        """Probabilities of the classes after every iteration.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
        """
        for raw in self._staged_raw_predict(X):
            yield self._loss.predict_proba(raw)

    def decision_function(self, X):
        """Sums of the trees: log-odds of the second of two classes, else one column per class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        raw = self._raw_predict(X)
        return raw.ravel() if raw.shape[1] == 1 else raw

    def staged_decision_function(self, X):
        """Sums of the trees after every iteration.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        for raw in self._staged_raw_predict(X):
            yield raw.ravel() if raw.shape[1] == 1 else raw

    def _classes_of(self, raw):
        if raw.shape[1] == 1:
            return self.classes_[(raw[:, 0] > 0).astype(np.intp)]
        return self.classes_[np.argmax(raw, axis=1)]

    def _encode_y(self, y, more):
        check_classification_targets(y)
        if more:
            return self._encode_y_val(y, "y")
        self.classes_, encoded = np.unique(y, return_inverse=True)
        self.n_trees_per_iteration_ = 1 if len(self.classes_) <= 2 else len(self.classes_)
        return encoded.astype(np.float64)

    def _begin_blocks(self, passes):
        classes = passes.classes()
        check_classification_targets(classes)
        self.classes_ = classes
        self.n_trees_per_iteration_ = 1 if len(classes) <= 2 else len(classes)
        return classes

    def _weights_of_classes(self, passes, classes):
        if self.class_weight is None:
            return None
        counts = passes.reduced(block_class_weights, np.add, classes, name="classes")
        if isinstance(self.class_weight, str):
            return counts.sum() / (len(classes) * counts)
        given = self._encoded_class_weight()
        return np.array([float(given.get(float(k), 1.0)) for k in range(len(classes))])

    def _encode_y_val(self, y, name="y_val"):
        places = np.searchsorted(self.classes_, y)
        known = self.classes_[np.minimum(places, len(self.classes_) - 1)] == y
        if not np.all(known):
            unknown = np.unique(np.asarray(y)[~known])
            raise ValueError(f"{name} contains classes that the model does not: {unknown.tolist()}")
        return places.astype(np.float64)

    def _finalize_sample_weight(self, sample_weight, y):
        if self.class_weight is None:
            return sample_weight
        weights = compute_sample_weight(self._encoded_class_weight(), y)
        return weights if sample_weight is None else weights * sample_weight

    def _encoded_class_weight(self):
        if not isinstance(self.class_weight, dict):
            return self.class_weight
        places = {label: float(k) for k, label in enumerate(self.classes_.tolist())}
        return {places[c]: w for c, w in self.class_weight.items() if c in places}

    def _get_loss(self, sample_weight):
        n_trees = self.n_trees_per_iteration_
        if not isinstance(self.loss, str):
            return _own_loss(self.loss, n_trees, Loss(codes.BINOMIAL))
        return Loss(codes.BINOMIAL if n_trees == 1 else codes.MULTINOMIAL, n_trees=n_trees)


@documented(HIST_ENTRIES)
class HistGradientBoostingRegressor(RegressorMixin, BaseHistGradientBoosting):
    """Gradient boosting of trees on binned features, for regression.

    Every iteration fits a tree to the gradients g and hessians h of the loss: a split is chosen by
    the gain :math:`G_L^2/(H_L+\\lambda) + G_R^2/(H_R+\\lambda) - G^2/(H+\\lambda)`, a leaf adds
    :math:`-\\eta\\,G/(H+\\lambda)`. Values are binned; gradients are rounded to integers for the
    histograms, so that the model is the same for any number of threads, and leaf values come from
    the exact sums. Missing values go to the side with the higher gain.

    Parameters
    ----------
    loss : {'squared_error', 'absolute_error', 'gamma', 'poisson', 'quantile', 'huber'}, \
            loss object or compiled function, default='squared_error'
        'gamma' and 'poisson' are deviances with a log link; 'quantile' is the pinball loss and
        'absolute_error' that of the median, with leaf values that are quantiles of residuals;
        'huber' (not in scikit-learn) is quadratic up to a quantile of the absolute residuals. Also
        a loss object of scikit-learn or a function ``(y, raw) -> (gradient, hessian)`` compiled
        with ``numba.njit``. Boosting starts from the constant that is best for that loss. Scores
        are by the loss itself if the function returns it as a third value, else by the integral of
        the gradient.
    quantile : float, default=None
        The quantile of 'quantile'; for 'huber' that of the absolute residuals (None: 0.9).
    {learning_rate}
    {max_iter}
    {max_leaf_nodes}
    {max_depth}
    {min_samples_leaf}
    {l2_regularization}
    {max_features}
    {max_bins}
    categorical_features : array-like of {bool, int, str}, 'from_dtype' or None, \
            default='from_dtype'
        Mask, indices or names of the categorical features; 'from_dtype' takes the columns of a
        dataframe that are categorical.
    {monotonic_cst}
    {interaction_cst}
    {warm_start}
    {early_stopping}
    {scoring}
    {validation_fraction}
    {n_iter_no_change}
    {tol}
    {verbose}
    {random_state}
    quantiles : sequence of float, default=None
        With ``loss='quantile'``, several quantiles in one model, for `predict_quantiles`; `predict`
        then gives ``quantile``, or the middle one. Not in scikit-learn, as are all below.
    subsample : float, default=1.0
        Share of the rows that are drawn, without replacement, for every iteration (stochastic
        boosting).
    {l1_regularization}
    {gamma}
    {grow_policy}
    {keep_best}
    {init}
    {n_jobs}

    Attributes
    ----------
    {do_early_stopping_}
    {n_iter_}
    {n_trees_per_iteration_}
    {train_score_}
    {validation_score_}
    {is_categorical_}
    {feature_importances_}
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
    Statistics 29 (2001). G. Ke et al., "LightGBM: a highly efficient gradient boosting decision
    tree", NeurIPS 2017. Y. Shi et al., "Quantized training of gradient boosting decision trees",
    NeurIPS 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.ensemble import HistGradientBoostingRegressor
    >>> X = np.arange(200.0).reshape(-1, 1)
    >>> y = np.where(X[:, 0] < 100, 1.0, 3.0)
    >>> model = HistGradientBoostingRegressor(max_iter=200).fit(X, y)
    >>> model.predict([[10.0], [150.0]]).round(6)
    array([1., 3.])
    """

    _parameter_constraints: dict = {
        **BaseHistGradientBoosting._parameter_constraints,
        "loss": [
            StrOptions(
                {"squared_error", "absolute_error", "poisson", "gamma", "quantile", "huber"}
            ),
            callable,
            FOREIGN,
        ],
        "quantile": [Interval(Real, 0, 1, closed="both"), None],
        "quantiles": ["array-like", None],
    }

    def __init__(
        self,
        loss="squared_error",
        *,
        quantile=None,
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        l2_regularization=0.0,
        max_features=1.0,
        max_bins=255,
        categorical_features="from_dtype",
        monotonic_cst=None,
        interaction_cst=None,
        warm_start=False,
        early_stopping="auto",
        scoring="loss",
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-7,
        verbose=0,
        random_state=None,
        quantiles=None,
        subsample=1.0,
        l1_regularization=0.0,
        gamma=0.0,
        grow_policy="leaf-wise",
        keep_best=False,
        init=None,
        n_jobs=None,
    ):
        self.loss = loss
        self.quantile = quantile
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.quantiles = quantiles
        self.subsample = subsample
        self.l1_regularization = l1_regularization
        self.gamma = gamma
        self.grow_policy = grow_policy
        self.keep_best = keep_best
        self.init = init
        self.n_jobs = n_jobs

    def predict(self, X):
        """Predictions for the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        raw = self._raw_predict(X)
        return self._loss.predictions(raw[:, self._main_output])

    def staged_predict(self, X):
        """Predictions after every iteration.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        y : ndarray of shape (n_samples,)
        """
        for raw in self._staged_raw_predict(X):
            yield self._loss.predictions(raw[:, self._main_output])

    def predict_quantiles(self, X):
        """All quantiles, which do not cross: each row is sorted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        q : ndarray of shape (n_samples, n_quantiles)
            In the order of ``quantiles`` sorted.
        """
        if self.loss != "quantile":
            raise ValueError(f"predict_quantiles needs loss='quantile', got {self.loss!r}")
        return np.sort(self._raw_predict(X), axis=1)

    @property
    def _main_output(self):
        """The column of raw predictions that predict gives."""
        if self.quantiles is None or self.n_trees_per_iteration_ == 1:
            return 0
        levels = np.sort(self.quantiles)
        if self.quantile is None:
            return len(levels) // 2
        return int(np.argmin(np.abs(levels - self.quantile)))

    def _encode_y(self, y, more):
        y = np.array(y, dtype=np.float64)  # a copy: kernels see one kind of array
        n_trees = 1
        if self.loss == "gamma" and np.any(y <= 0):
            raise ValueError("loss='gamma' requires strictly positive y.")
        if self.loss == "poisson" and not (np.all(y >= 0) and np.sum(y) > 0):
            raise ValueError("loss='poisson' requires non-negative y and sum(y) > 0.")
        if self.loss == "quantile" and self.quantiles is not None:
            levels = np.asarray(self.quantiles, dtype=np.float64)
            if levels.ndim != 1 or not len(levels) or np.any((levels < 0) | (levels > 1)):
                raise ValueError(f"quantiles must be numbers from 0 to 1, got {self.quantiles!r}")
            n_trees = len(levels)
        if more and n_trees != self.n_trees_per_iteration_:
            raise ValueError(
                f"a warm start needs the number of quantiles of the first fit, "
                f"{self.n_trees_per_iteration_}; got {n_trees}"
            )
        self.n_trees_per_iteration_ = n_trees
        return y

    def _check_totals(self, totals):
        least, total, _ = totals
        if self.loss == "gamma" and least <= 0.0:
            raise ValueError("loss='gamma' requires strictly positive y.")
        if self.loss == "poisson" and not (least >= 0.0 and total > 0.0):
            raise ValueError("loss='poisson' requires non-negative y and sum(y) > 0.")

    def _encode_y_val(self, y):
        return np.array(y, dtype=np.float64)

    def _get_loss(self, sample_weight):
        if not isinstance(self.loss, str):
            return _own_loss(self.loss, 1, Loss(codes.SQUARED))
        if self.loss == "huber":
            return HuberLoss(0.9 if self.quantile is None else self.quantile)
        if self.loss == "quantile":
            if self.quantiles is not None:
                return QuantilesLoss(np.sort(np.asarray(self.quantiles, dtype=np.float64)))
            if self.quantile is None:
                raise ValueError("loss='quantile' needs quantile, a number from 0 to 1; got None")
            return Loss(codes.PINBALL, parameter=self.quantile)
        named = {
            "squared_error": codes.SQUARED,
            "absolute_error": codes.ABSOLUTE,
            "poisson": codes.POISSON,
            "gamma": codes.GAMMA,
        }
        return Loss(named[self.loss])

    def _leaf_value(self, k, residuals, weights):
        return self._loss.leaf_value(residuals, weights, k)


def _own_loss(loss, n_trees, link):
    """A loss object of scikit-learn's kind, or a compiled function."""
    if hasattr(loss, "gradient_hessian"):
        return ForeignLoss(loss, n_trees)
    if not given.is_compiled(loss):
        raise TypeError(f"loss must be a name or a function compiled with numba.njit, got {loss!r}")
    if n_trees != 1:
        raise ValueError("a compiled loss works for two classes only")
    return UserLoss(loss, link, given.check_user_loss(loss))
