"""Naive Bayes with a model of its own per column."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fastml._engines.labels import classes_and_codes
from fastml._sklearn import (
    Interval,
    StrOptions,
    check_partial_fit_first_call,
    fit_context,
)
from fastml._validation import check_sample_weight, validate_data
from fastml.naive_bayes._base import NaiveBayesBase, check_priors, class_codes
from fastml.naive_bayes._mixed._columns import (
    BernoulliColumn,
    CategoricalColumn,
    ColumnModel,
    CountColumn,
    DensityColumn,
    GaussianColumn,
)
from fastml.naive_bayes._mixed._reading import checked, chosen_models, column_of, suited


class NaiveBayes(NaiveBayesBase):
    """Naive Bayes of mixed columns: each has a model of its own.

    log P(y = k ∣ x) = log π_k + Σ_j log p_j(x_j ∣ k) + constant, where p_j is one of

    * 'gaussian': N(θ_kj, σ²_kj);
    * 'categorical': (count of x_j in class k + alpha) / (n_k + alpha · categories), of numbers or
      text; a category that was never seen says nothing;
    * 'bernoulli': the same for 0 and above 0;
    * 'counts': Poisson with the rate (Σ x + alpha m) / (n_k + alpha), m the mean of all rows;
    * 'kde': a kernel density of the class's values.

    Missing values (NaN or None) are left out of the sum, when learning as when predicting.

    Parameters
    ----------
    columns : str, dict or list of str, default='auto'
        The model of all columns, of some by name or number (the others are 'auto'), or of each.
        'auto' takes text for categories, zeros and ones for Bernoulli, whole numbers from 0 for
        categories (up to 20 values) or counts, and all else for Gaussian.
    alpha : float, default=1.0
        Smoothing: rows that every category is given (Laplace at 1, Lidstone at others).
    var_smoothing : float, default=1e-9
        This share of the largest variance of a Gaussian column is added to all of theirs.
    bandwidth : 'silverman' or float, default='silverman'
        Standard deviation of the bumps of 'kde'.
    priors : array-like of shape (n_classes,), default=None
        Probabilities of the classes; None: their shares.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of shape (n_classes,)
        Rows, or the sum of their weights, of every class.
    class_prior_ : ndarray of shape (n_classes,)
        Probabilities of the classes.
    columns_ : list of str
        The model of each column.
    models_ : list of objects
        What was learned of each: ``theta`` and ``var``, ``rates``, ``categories`` and
        ``log_shares``, or ``points`` and ``widths``.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.naive_bayes import NaiveBayes
    >>> X = np.array([[1.7, "red"], [1.6, "red"], [0.2, "blue"], [np.nan, "blue"]], dtype=object)
    >>> model = NaiveBayes().fit(X, [1, 1, 0, 0])
    >>> model.columns_
    ['gaussian', 'categorical']
    >>> model.predict(np.array([[1.5, None], [np.nan, "blue"]], dtype=object))
    array([1, 0])
    """

    _parameter_constraints: dict = {
        "columns": [str, dict, "array-like"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "bandwidth": [StrOptions({"silverman"}), Interval(Real, 0, None, closed="neither")],
        "priors": ["array-like", None],
    }

    def __init__(
        self,
        *,
        columns="auto",
        alpha=1.0,
        var_smoothing=1e-9,
        bandwidth="silverman",
        priors=None,
    ):
        self.columns = columns
        self.alpha = alpha
        self.var_smoothing = var_smoothing
        self.bandwidth = bandwidth
        self.priors = priors

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn the model of each column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers or text; NaN and None are missing values.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
        """
        X, y = self._read(X, y, reset=True)
        classes, codes = classes_and_codes(y)
        return self._learn(X, classes, codes, sample_weight, None, np.zeros(len(classes)))

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from further rows: the same model as from all rows at once, but that 'auto' goes
        by the first rows. Not with 'kde', which would have to keep all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers or text; NaN and None are missing values.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that may come; needed at the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
        """
        first = not hasattr(self, "classes_")
        check_partial_fit_first_call(self, classes)
        X, y = self._read(X, y, reset=first)
        codes = class_codes(y, self.classes_)
        if not hasattr(self, "models_"):
            before, counts = None, np.zeros(len(self.classes_))
        else:
            before, counts = self.models_, self.class_count_
        if before is not None and not all(model.in_parts for model in before):
            raise ValueError("columns with the model 'kde' cannot be learned in parts: use fit")
        return self._learn(X, self.classes_, codes, sample_weight, before, counts)

    def sample(self, n_samples=1, *, random_state=None):
        """Rows that the model holds to be likely: it is a generative one.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=None

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Of objects if a column holds text.
        y : ndarray of shape (n_samples,)
            Their classes.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, got {n_samples}")
        rng = check_random_state(random_state)
        shares = self.class_prior_ / self.class_prior_.sum()
        codes = rng.choice(len(self.classes_), size=n_samples, p=shares)
        drawn = [model.draw(codes, rng) for model in self.models_]
        text = any(
            isinstance(value, str) for column in drawn if column.dtype == object for value in column
        )
        table = np.empty((n_samples, len(drawn)), dtype=object if text else np.float64)
        for j, column in enumerate(drawn):
            table[:, j] = column
        return table, self.classes_[codes]

    # ------------------------------------------------------------------------ steps

    def _read(self, X, *y, reset: bool):
        return validate_data(self, X, *y, dtype=None, ensure_all_finite="allow-nan", reset=reset)

    def _check_rows(self, X):
        return self._read(X, reset=False)

    def _model(self, name: str, n_classes: int) -> ColumnModel:
        alpha = float(self.alpha)
        if name == "gaussian":
            return GaussianColumn(n_classes)
        if name == "kde":
            return DensityColumn(n_classes, self.bandwidth)
        kinds = {
            "categorical": CategoricalColumn,
            "bernoulli": BernoulliColumn,
            "counts": CountColumn,
        }
        return kinds[name](n_classes, alpha)

    def _learn(self, X, classes, codes, sample_weight, before, counts):
        if X.dtype.kind == "c":
            raise ValueError("Complex data not supported")
        n_classes, d = len(classes), X.shape[1]
        priors = None if self.priors is None else check_priors(self.priors, n_classes)
        weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        names = getattr(self, "feature_names_in_", None)
        table = [column_of(X, j) for j in range(d)]
        if before is None:
            kinds = chosen_models(self.columns, names, d)
            kinds = [
                suited(*column) if kind == "auto" else kind for kind, column in zip(kinds, table)
            ]
            models = [self._model(kind, n_classes) for kind in kinds]
        else:
            kinds, models = self.columns_, before
        for j, (kind, column) in enumerate(zip(kinds, table)):
            checked(*column, kind, j if names is None else names[j])
        for model, column in zip(models, table):
            model.learn(*column, codes, weights)
        normal = [model.together()[1] for model in models if isinstance(model, GaussianColumn)]
        spread = self.var_smoothing * max(normal, default=0.0)
        for model in models:
            model.finish(spread)
        self.classes_ = classes
        self.columns_, self.models_ = list(kinds), models
        self.class_count_ = counts + np.bincount(codes, weights=weights, minlength=n_classes)
        self.class_prior_ = priors
        if priors is None:
            self.class_prior_ = self.class_count_ / (self.class_count_.sum() or 1.0)
        return self

    def _joint_log_likelihood(self, X):
        names = getattr(self, "feature_names_in_", None)
        with np.errstate(divide="ignore"):
            scores = np.tile(np.log(self.class_prior_), (len(X), 1))
        for j, (kind, model) in enumerate(zip(self.columns_, self.models_)):
            column = column_of(X, j)
            checked(*column, kind, j if names is None else names[j])
            scores += model.scores(*column)
        return scores
