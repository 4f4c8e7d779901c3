"""Trees that classify."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import metadata_routing

from fastml._docs import documented
from fastml._sklearn import StrOptions, fit_context
from fastml.tree._base import BaseDecisionTree
from fastml.tree._docs import TREE_ENTRIES


@documented(TREE_ENTRIES)
class DecisionTreeClassifier(ClassifierMixin, BaseDecisionTree):
    """A decision tree that classifies.

    Every node takes the split :math:`x_j \\le t` that lowers the impurity most,
    :math:`H(V) - \\frac{|L|}{|V|} H(L) - \\frac{|R|}{|V|} H(R)`; a leaf predicts the shares of its
    classes. Columns are sorted once and partitioned from node to node.

    Missing values (NaN) go to the side that suits the training rows better; where a node saw none,
    to the side with more rows. A column of missing values only is never split. Rows are compared in
    float32, as in scikit-learn.

    Parameters
    ----------
    criterion : {'gini', 'entropy', 'log_loss', 'error'}, default='gini'
        The impurity: :math:`1 - \\sum p_k^2`, :math:`-\\sum p_k \\log_2 p_k` (two names), or the
        misclassification rate :math:`1 - \\max p_k` (not in scikit-learn).
    {splitter}
    {max_depth}
    {min_samples_split}
    {min_samples_leaf}
    {min_weight_fraction_leaf}
    {max_features}
    {random_state}
    {max_leaf_nodes}
    {min_impurity_decrease}
    {class_weight}
    {ccp_alpha}
    {monotonic_cst}
    {categorical_features}
    {n_jobs}

    Attributes
    ----------
    {classes_}
    {n_classes_}
    {feature_importances_}
    {max_features_}
    {n_features_in_}
    {feature_names_in_}
    {n_outputs_}
    {tree_}

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees" (1984).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fastml.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> tree.get_n_leaves(), round(tree.score(X, y), 2)
    (3, 0.96)
    """

    __metadata_request__predict_proba = {"check_input": metadata_routing.UNUSED}

    _parameter_constraints: dict = {
        **BaseDecisionTree._parameter_constraints,
        "criterion": [StrOptions({"gini", "entropy", "log_loss", "error"})],
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        *,
        criterion="gini",
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=None,
        random_state=None,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        class_weight=None,
        ccp_alpha=0.0,
        monotonic_cst=None,
        categorical_features=None,
        n_jobs=None,
    ):
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, check_input=True):
        """Grow the tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32, sparse ones to dense.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; rows of weight zero take no part.
        check_input : bool, default=True
            Whether to check the input.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight, check_input)

    def predict(self, X, check_input=True):
        """Predict the most frequent class of every row's leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.
        check_input : bool, default=True
            Whether to check the rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Labels.
        """
        winners = self._values(X, check_input).argmax(axis=2)
        if self.n_outputs_ == 1:
            return self.classes_.take(winners[:, 0], axis=0)
        columns = [found.take(winners[:, o]) for o, found in enumerate(self.classes_)]
        return np.stack(columns, axis=1).astype(self.classes_[0].dtype, copy=False)

    def predict_proba(self, X, check_input=True):
        """Predict the share of every class in each row's leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.
        check_input : bool, default=True
            Whether to check the rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or a list of such arrays
            Shares in the order of ``classes_``, per output.
        """
        values = self._values(X, check_input)
        if self.n_outputs_ == 1:
            return values[:, 0, : self.n_classes_]
        return [values[:, o, :count] for o, count in enumerate(self.n_classes_)]

    def predict_log_proba(self, X):
        """Predict the logarithm of the share of every class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; converted to float32.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes), or a list of such arrays
            Logarithms of `predict_proba`; -inf for classes that the leaf does not have.
        """
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(shares) if self.n_outputs_ == 1 else [np.log(part) for part in shares]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@documented(TREE_ENTRIES)
class ExtraTreeClassifier(DecisionTreeClassifier):
    """An extremely randomised tree that classifies: the best of one random threshold per column.

    Meant as a part of an ensemble.

    Parameters
    ----------
    criterion : {'gini', 'entropy', 'log_loss', 'error'}, default='gini'
        The impurity: :math:`1 - \\sum p_k^2`, :math:`-\\sum p_k \\log_2 p_k` (two names), or the
        misclassification rate :math:`1 - \\max p_k` (not in scikit-learn).
    splitter : {'best', 'random'}, default='random'
        The best threshold of every column, or one at random between its smallest and largest value.
    {max_depth}
    {min_samples_split}
    {min_samples_leaf}
    {min_weight_fraction_leaf}
    max_features : int, float, {'sqrt', 'log2'} or None, default='sqrt'
        Columns drawn at every node; a float is a share of them, None and more than there are mean
        all. Further columns are drawn until one is not constant.
    {random_state}
    {max_leaf_nodes}
    {min_impurity_decrease}
    {class_weight}
    {ccp_alpha}
    {monotonic_cst}
    {categorical_features}
    {n_jobs}

    Attributes
    ----------
    {classes_}
    {n_classes_}
    {feature_importances_}
    {max_features_}
    {n_features_in_}
    {feature_names_in_}
    {n_outputs_}
    {tree_}

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63 (2006).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fastml.tree import ExtraTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreeClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    # Random thresholds are no matter of histograms.
    _fit_blocks = None  # type: ignore[assignment]

    def __init__(
        self,
        *,
        criterion="gini",
        splitter="random",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features="sqrt",
        random_state=None,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        class_weight=None,
        ccp_alpha=0.0,
        monotonic_cst=None,
        categorical_features=None,
        n_jobs=None,
    ):
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
