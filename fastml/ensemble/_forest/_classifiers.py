"""Forests that classify."""

from __future__ import annotations

from warnings import warn

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import StrOptions
from fastml.ensemble._forest._base import BaseForest
from fastml.ensemble._forest._blocks import fit_forest_of_blocks
from fastml.ensemble._forest._docs import BOOTSTRAP, CLASSIFIER, FOREST_ENTRIES, RANDOM
from fastml.ensemble._forest._out_of_bag import permutation_importances
from fastml.ensemble._refit import check_same_classes


class _ForestClassifier(ClassifierMixin, BaseForest):
    _parameter_constraints: dict = {
        **BaseForest._parameter_constraints,
        "criterion": [StrOptions({"gini", "entropy", "log_loss", "error"})],
        "class_weight": [StrOptions({"balanced_subsample", "balanced"}), dict, list, None],
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="gini",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features="sqrt",
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=True,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        class_weight=None,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
        splitter="auto",
        n_iter_no_change=None,
        tol=0.0,
        replace=True,
        features_per_tree=None,
    ):
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
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.splitter = splitter
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.replace = replace
        self.features_per_tree = features_per_tree

    def _validate_y_class_weight(self, y, sample_weight):
        """Class codes, and weights by class or None."""
        check_classification_targets(y)
        codes, classes = np.empty(y.shape, np.float64), []
        for k in range(self.n_outputs_):
            found, codes[:, k] = np.unique(y[:, k], return_inverse=True)
            classes.append(found)
        if self._goes_on():
            before = [self.classes_] if self.n_outputs_ == 1 else self.classes_
            for known, found in zip(before, classes):
                check_same_classes(known, found)
        self.classes_, self.n_classes_ = classes, [len(found) for found in classes]
        kind = self.class_weight
        if kind is None:
            return codes, None
        if isinstance(kind, str):
            if self.warm_start:
                warn(
                    'class_weight presets "balanced" or "balanced_subsample" are not recommended '
                    "for warm_start if the fitted data differs from the full dataset. In order to "
                    'use "balanced" weights, use compute_class_weight ("balanced", classes, y). In '
                    "place of y you can use a large enough sample of the full training set target "
                    "to properly estimate the class frequency distributions. Pass the resulting "
                    "weights as the class_weight parameter.",
                    stacklevel=3,
                )
            if kind == "balanced_subsample" and self.bootstrap:
                return codes, None
            weights = np.ones(len(y))
            for k in range(self.n_outputs_):
                of_class = np.bincount(codes[:, k].astype(np.intp), weights=sample_weight)
                factors = of_class.sum() / (len(of_class) * of_class)
                weights *= factors[codes[:, k].astype(np.intp)]
            return codes, weights
        return codes, compute_sample_weight(kind, y)

    def predict_proba(self, X):
        """Mean of the trees' class shares.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes), or a list of such arrays
            Probabilities in the order of ``classes_``.
        """
        mean = self._mean(X)
        if self.n_outputs_ == 1:
            return mean
        most = max(self.n_classes_)
        return [mean[:, k * most : k * most + c] for k, c in enumerate(self.n_classes_)]

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes), or a list of such arrays
        """
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            if self.n_outputs_ == 1:
                return np.log(shares)
            return [np.log(share) for share in shares]

    def predict(self, X):
        """The class of the greatest mean share.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        shares = self.predict_proba(X)
        if self.n_outputs_ == 1:
            return self.classes_.take(np.argmax(shares, axis=1), axis=0)
        found = np.empty((len(shares[0]), self.n_outputs_), dtype=self.classes_[0].dtype)
        for k in range(self.n_outputs_):
            found[:, k] = self.classes_[k].take(np.argmax(shares[k], axis=1), axis=0)
        return found

    def _oob_value(self, y, sums, seen):
        """Accuracy; a row counts if all its outputs are right."""
        by_output = sums.reshape(len(sums), y.shape[1], -1)
        return float(np.mean(np.all(by_output.argmax(axis=2) == y, axis=1)))

    def _set_oob_score_and_attributes(self, X, y, scoring_function=None):
        mean = self._oob.mean().reshape(len(y), self.n_outputs_, -1).swapaxes(1, 2)
        self.oob_decision_function_ = mean[..., 0] if self.n_outputs_ == 1 else mean
        self.oob_curve_ = np.array(self._oob.curve)
        if scoring_function is None:
            right = np.argmax(mean, axis=1) == y
            self.oob_score_ = float(np.mean(np.all(right, axis=1)))
        else:
            predicted = np.argmax(self.oob_decision_function_, axis=1)
            self.oob_score_ = scoring_function(y, predicted)

    def oob_permutation_importances(self, X, y, *, n_repeats=1, random_state=None):
        """Fall of out-of-bag accuracy when a feature's values are shuffled (Breiman, 2001).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of the fit.
        y : array-like of shape (n_samples,)
            Their labels.
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
        if self.n_outputs_ > 1:
            raise ValueError("oob_permutation_importances needs a single output")
        codes = np.searchsorted(self.classes_, np.asarray(y))
        codes = np.minimum(codes, len(self.classes_) - 1)
        codes[self.classes_[codes] != np.asarray(y)] = -1

        def accuracy(leaf_values, truth):
            return np.mean(leaf_values.argmax(axis=1) == truth)

        X = self._rows(X)
        return permutation_importances(self, X, codes, accuracy, n_repeats, random_state)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@documented(FOREST_ENTRIES, **CLASSIFIER, **BOOTSTRAP, tree="DecisionTreeClassifier")
class RandomForestClassifier(_ForestClassifier):
    """A forest of classification trees on bootstrap samples.

    Every node is split at the best cut of a few features drawn at random; the forest's probability
    is the mean of the class shares in the leaves, :math:`p_k(x) = \\frac1T \\sum_t p_{tk}(x)`.

    Parameters
    ----------
    {growth}
    {class_weight}
    {further_growth}
    {draws}

    Attributes
    ----------
    {trees}
    {classes}
    {n_features_in_}
    {feature_names_in_}
    {out_of_bag}

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.ensemble import RandomForestClassifier
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [2.0], [2.1], [2.2], [2.3]])
    >>> y = ["low"] * 4 + ["high"] * 4
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    >>> forest.predict([[0.05], [2.05]]).tolist()
    ['low', 'high']
    """

    def _tree_estimator(self):
        from fastml.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(**self._tree_parameters())

    def _fit_blocks(self, passes):
        fit_forest_of_blocks(self, passes)


@documented(FOREST_ENTRIES, **CLASSIFIER, **RANDOM, tree="ExtraTreeClassifier")
class ExtraTreesClassifier(_ForestClassifier):
    """Extremely randomised classification trees.

    Each node tries one random threshold for each of a few features drawn at random and keeps the
    best. The probability is the mean of the class shares in the leaves.

    Parameters
    ----------
    {growth}
    {class_weight}
    {further_growth}
    {draws}

    Attributes
    ----------
    {trees}
    {classes}
    {n_features_in_}
    {feature_names_in_}
    {out_of_bag}

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.ensemble import ExtraTreesClassifier
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [2.0], [2.1], [2.2], [2.3]])
    >>> forest = ExtraTreesClassifier(20, random_state=0).fit(X, [0, 0, 0, 0, 1, 1, 1, 1])
    >>> forest.predict([[0.05], [2.25]]).tolist()
    [0, 1]
    """

    _random_thresholds = True

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="gini",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features="sqrt",
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=False,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        class_weight=None,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
        splitter="auto",
        n_iter_no_change=None,
        tol=0.0,
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
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            max_samples=max_samples,
            monotonic_cst=monotonic_cst,
            splitter=splitter,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            replace=replace,
            features_per_tree=features_per_tree,
        )

    def _tree_estimator(self):
        from fastml.tree import ExtraTreeClassifier

        return ExtraTreeClassifier(**self._tree_parameters())
