"""Rosenblatt's perceptron: row by row or in batches, and how many mistakes it can make."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from fastml._docs import documented
from fastml._engines.stochastic import Stopping, perceptron_batches
from fastml._sklearn import fit_context
from fastml._validation import check_is_fitted
from fastml.linear_model._sgd._classification import StochasticClassifier
from fastml.linear_model._sgd._settings import ENTRIES, Settings, allowed


@documented(ENTRIES, state="0", penalty="None", targets="Labels")
class Perceptron(StochasticClassifier):
    """Rosenblatt's perceptron: only rows on the wrong side move the weights.

        w ← w + eta0 y x  if  y (w · x + b) ≤ 0

    for y = ±1, which is a step on the loss max(0, −y (w · x + b)). If a plane through the origin
    of the rows (1, x) separates the classes with the margin ρ, and no such row is longer than R,
    there are at most R² / ρ² such steps (Novikoff, 1962): see `mistake_bound`. With more than two
    classes each is learned against the others.

    Parameters
    ----------
    {penalties}
    {fit_intercept}
    {epochs}
    {shuffle}
    eta0 : float, default=1.0
        Step length. Without a penalty it only scales the weights.
    {n_jobs}
    {random_state}
    {holding_back}
    {class_weight}
    {warm_start}
    batch : bool, default=False
        Whether an epoch makes one step, along the gradient of the batch criterion
        −Σ y (w · x + b) over the rows on the wrong side. It ends when there are none, or after
        ``max_iter`` steps with the weights that had the fewest; ``tol`` is not used.

    Attributes
    ----------
    {classes_}
    mistakes_ : ndarray of shape (1,) or (n_classes,)
        Rows that moved the weights, in all epochs of the last fit, or since the first
        `partial_fit`.
    {counters}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.linear_model import Perceptron
    >>> X, y = [[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]], [1, 1, 2, 2]
    >>> model = Perceptron().fit(X, y)
    >>> model.predict([[-0.8, -1.0]])
    array([1])
    >>> bool(model.mistakes_[0] <= model.mistake_bound(X, y)[0])
    True
    """

    _parameter_constraints: dict = {
        **allowed("penalty", "alpha", "l1_ratio", "eta0", "n_jobs", "early_stopping",
                  "validation_fraction", "n_iter_no_change", "class_weight"),
        "batch": ["boolean"],
    }  # fmt: skip

    def __init__(
        self,
        *,
        penalty=None,
        alpha=0.0001,
        l1_ratio=0.15,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-3,
        shuffle=True,
        verbose=0,
        eta0=1.0,
        n_jobs=None,
        random_state=0,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        class_weight=None,
        warm_start=False,
        batch=False,
    ):
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.batch = batch

    def _settings(self) -> Settings:
        return Settings(
            "perceptron", self.penalty, self.alpha, self.l1_ratio, eta0=self.eta0,
            early_stopping=self.early_stopping, n_iter_no_change=self.n_iter_no_change,
        )  # fmt: skip

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, coef_init=None, intercept_init=None, sample_weight=None):
        """Fit from the start, or with ``warm_start`` from the last solution.

        Parameters
        ----------
        {X_y}
        {init}
        {sample_weight}

        Returns
        -------
        self : object
        """
        if self.batch and self.penalty is not None:
            raise ValueError(f"batch=True needs penalty=None, got {self.penalty!r}")
        self._mistakes_before = 0
        return self._fit(X, y, sample_weight, coef_init, intercept_init)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """One epoch on these rows, from the last solution.

        Parameters
        ----------
        {X_y}
        classes : array-like of shape (n_classes,), default=None
            All labels that may come; needed at the first call.
        {sample_weight}

        Returns
        -------
        self : object
        """
        self._mistakes_before = getattr(self, "mistakes_", 0)
        return self._partial_fit(X, y, classes, sample_weight)

    def mistake_bound(self, X, y):
        """R² / ρ² of these rows: how many mistakes there can be at most, for any order of rows.

        ρ is the margin of the support vector machine without a bias on the rows (1, x), or
        (x) without an intercept, or that of these weights if it is larger.

        Parameters
        ----------
        {X_y}

        Returns
        -------
        bound : ndarray of shape (1,) or (n_classes,)
            Infinite where no plane was found that separates the class from the others.
        """
        from fastml.svm import SVC

        check_is_fitted(self)
        X, y = self._read(X, y, reset=False)
        X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        weights = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        if self.fit_intercept:
            X = np.concatenate([np.ones((len(X), 1)), X], axis=1)
            weights = np.concatenate([self.intercept_[:, None], weights], axis=1)
        longest = np.square(X).sum(axis=1).max()
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        bounds = np.full(len(positive), np.inf)
        for k, label in enumerate(positive):
            signs = np.where(y == label, 1.0, -1.0)
            own = signs[:, None] * X
            # Mirrored rows make the best bias zero.
            machine = SVC(kernel="linear", C=1e8, tol=1e-6, max_iter=100_000)
            mirrored = np.concatenate([own, -own]) / np.sqrt(longest or 1.0)
            candidates = [weights[k]]
            if (own != 0.0).any():
                targets = np.repeat([1, -1], len(own))
                candidates.append(machine.fit(mirrored, targets).coef_[0])
                support = np.unique(machine.support_ % len(own))
                exact = np.linalg.lstsq(own[support], np.ones(len(support)), rcond=None)[0]
                candidates.append(exact)
            for w in candidates:
                length = np.linalg.norm(w)
                margin = (own @ w).min() / length if length > 0.0 else 0.0
                if margin > 0.0:
                    bounds[k] = min(bounds[k], longest / margin**2)
        return bounds

    def _solve(self, own, rows, begin, seed, held, max_iter):
        if not self.batch:
            return super()._solve(own, rows, begin, seed, held, max_iter)
        stopping = Stopping(max_iter, self.tol, int(self.n_iter_no_change))
        return perceptron_batches(
            rows, begin, float(self.eta0), bool(self.fit_intercept), held, stopping, self.n_jobs
        )

    def _set(self, own, found, t, X) -> None:
        super()._set(own, found, t, X)
        self.mistakes_ = np.array([f.n_updates for f in found]) + self._mistakes_before
        del self._mistakes_before
