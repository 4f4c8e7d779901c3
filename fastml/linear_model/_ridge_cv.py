"""Ridge regression that chooses its penalty by leaving rows out."""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from fastml._docs import documented
from fastml._engines.linear.leave_one_out import leave_one_out
from fastml._sklearn import (
    Interval,
    StrOptions,
    fit_context,
    manual_routing,
    raise_for_params,
    routing_enabled,
)
from fastml._validation import FLOATS, validate_data
from fastml.linear_model._base import LinearPredictor, settled
from fastml.linear_model._ridge import Ridge
from fastml.linear_model._summarised import KEEP, KEEP_ENTRY


@documented({"keep_summary": KEEP_ENTRY})
class RidgeCV(MultiOutputMixin, RegressorMixin, LinearPredictor):
    """Ridge regression with a penalty chosen by cross-validation.

    By default rows are left out one at a time, exactly and for all penalties from one
    decomposition: with the smoother H of `Ridge`, the error of row i without it is

        (y_i − ŷ_i) / (1 − H_ii)

    and the penalty with the smallest mean of its squares (times u_i, if there are weights) is
    taken, or with the best ``scoring`` of these predictions.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
        Penalties to choose from.
    fit_intercept : bool, default=True
        Whether there is a w₀.
    scoring : str or callable, default=None
        A score of predictions, higher for better; None is the negative mean squared error, or R²
        with ``cv``.
    cv : int, cross-validation generator or iterable, default=None
        None leaves rows out one at a time; anything else is a grid search.
    gcv_mode : {'auto', 'svd', 'eigen'}, default=None
        How rows are left out: by singular values of X, or by eigenvalues of the smaller of X'X and
        X X', which is faster. 'auto' and None mean 'eigen', and 'svd' where a penalty is so small
        that eigenvalues would not tell.
    store_cv_results : bool, default=False
        Whether to keep ``cv_results_``.
    alpha_per_target : bool, default=False
        Whether each target has a penalty of its own.
    {keep_summary}

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_targets,)
        The penalty chosen.
    best_score_ : float or ndarray of shape (n_targets,)
        Its score.
    cv_results_ : ndarray of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        Squared leave-one-out errors, or predictions if there is a ``scoring``.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        The weights w.
    intercept_ : float or ndarray of shape (n_targets,)
        The constant w₀; 0.0 without one.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import RidgeCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 3))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=30)
    >>> RidgeCV(alphas=[0.1, 10.0, 1000.0]).fit(X, y).alpha_
    0.1
    """

    _parameter_constraints: dict = {
        **KEEP,
        "alphas": ["array-like", Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "scoring": [str, callable, None],
        "cv": ["cv_object"],
        "gcv_mode": [StrOptions({"auto", "svd", "eigen"}), None],
        "store_cv_results": ["boolean"],
        "alpha_per_target": ["boolean"],
    }

    def __init__(
        self,
        alphas=(0.1, 1.0, 10.0),
        *,
        fit_intercept=True,
        scoring=None,
        cv=None,
        gcv_mode=None,
        store_cv_results=False,
        alpha_per_target=False,
        keep_summary=False,
    ):
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target
        self.keep_summary = keep_summary

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, **params):
        """Choose the penalty and fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights u_i of the squared errors.
        **params : dict, default=None
            What metadata routing hands to the scorer or splitter.

        Returns
        -------
        self : object
        """
        raise_for_params(params, self, "fit")
        alphas = self._check_alphas()
        if hasattr(self, "cv_results_"):
            del self.cv_results_
        if self.cv is not None:
            return self._search(X, y, alphas, sample_weight, params)
        return self._leave_one_out(X, y, alphas, sample_weight, params)

    def _check_alphas(self):
        from sklearn.utils import check_scalar

        edge = "neither" if self.cv is None else "left"
        given = np.ravel(np.asarray(self.alphas, dtype=object))
        if not len(given):
            raise ValueError("alphas must hold at least one penalty, got none")
        checks = {"target_type": Real, "min_val": 0.0, "include_boundaries": edge}
        for i, alpha in enumerate(given):
            check_scalar(alpha, "alphas" if len(given) == 1 else f"alphas[{i}]", **checks)
        return given.astype(np.float64)

    # ------------------------------------------------------------------ rows left out one by one

    def _leave_one_out(self, X, y, alphas, sample_weight, params):
        X, y = validate_data(
            self, X, y, accept_sparse=("csr", "csc"), dtype=FLOATS, multi_output=True,
            y_numeric=True,
        )  # fmt: skip
        dtype, weights = X.dtype, self._weights(sample_weight, X)
        X = settled(X)
        if dtype == np.float32 and X.shape[0] <= X.shape[1]:  # tall rows become double in blocks
            X = X.astype(np.float64)
        scorer, score_params = self._scorer_and_its_params(sample_weight, params)
        mode = self._mode(sp.issparse(X))
        Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        every = scorer is not None or self.store_cv_results
        found = leave_one_out(X, Y, alphas, weights, self.fit_intercept, mode, every)
        per_target = self.alpha_per_target and Y.shape[1] > 1
        if scorer is None:
            results = np.square(found.errors) if every else None
            scores = -found.mean_squares
            if not self.alpha_per_target:
                scores = scores.mean(axis=0, keepdims=True)
        else:
            errors = found.errors
            if weights is not None:
                errors = errors / np.sqrt(weights)[:, None, None]
            results = Y[:, :, None] - errors
            scores = self._scores(results, y, scorer, score_params)
        scores = np.where(np.isfinite(scores), scores, -np.inf)
        best = scores.argmax(axis=1)  # (targets,) or one
        if per_target:
            self.alpha_ = alphas[best]
            self.best_score_ = scores[np.arange(len(best)), best]
            coef = np.stack([found.coefs[b, :, t] for t, b in enumerate(best)], axis=1)
        else:
            self.alpha_ = float(alphas[best[0]])
            self.best_score_ = scores[0, best[0]]
            if self.alpha_per_target and np.ndim(y) == 2:
                self.best_score_ = scores[:, best[0]]
            coef = found.coefs[best[0]]
        if self.store_cv_results:
            self.cv_results_ = (results[:, 0] if np.ndim(y) == 1 else results).astype(dtype)
        self._set(coef, found.x_means, found.y_means, dtype, np.ndim(y), flat=True)
        self._keep(X, y, sample_weight=weights)
        return self

    def _mode(self, sparse: bool) -> str:
        if self.gcv_mode != "svd":
            return "eigen"
        if sparse:
            warnings.warn(
                "The 'svd' mode is not supported for sparse X, we fallback to `gcv_mode='eigen'`. "
                "Passing `gcv_mode='svd'` on sparse X will raise an error in 1.11, use the "
                "default or pass `gcv_mode='eigen'` to suppress this warning.",
                FutureWarning,
                stacklevel=4,
            )
            return "eigen"
        return "svd"

    def _scorer_and_its_params(self, sample_weight, params):
        if sample_weight is not None:
            params = {**params, "sample_weight": sample_weight}
        if routing_enabled():
            from sklearn.utils.metadata_routing import process_routing

            routed = process_routing(self, "fit", **params).scorer.score
        else:
            weight = {} if sample_weight is None else {"sample_weight": sample_weight}
            routed = manual_routing({"scorer": {"score": weight}}).scorer.score
        return (None if self.scoring is None else self._get_scorer()), routed

    def _scores(self, predictions, y, scorer, score_params):
        """(targets or 1, penalties)."""
        n_alphas = predictions.shape[2]
        judge = _Identity()
        if self.alpha_per_target:
            targets = np.reshape(y, (len(y), -1))
            return np.array(
                [
                    [
                        scorer(judge, predictions[:, t, a], targets[:, t], **score_params)
                        for a in range(n_alphas)
                    ]
                    for t in range(targets.shape[1])
                ]
            )
        single = np.ndim(y) == 1
        return np.array(
            [
                [
                    scorer(
                        judge,
                        predictions[:, 0, a] if single else predictions[:, :, a],
                        y,
                        **score_params,
                    )
                    for a in range(n_alphas)
                ]
            ]
        )

    # ------------------------------------------------------------------ folds

    def _search(self, X, y, alphas, sample_weight, params):
        from sklearn.model_selection import GridSearchCV

        for name in ("store_cv_results", "alpha_per_target"):
            if getattr(self, name):
                raise ValueError(f"cv!=None and {name}=True are incompatible")
        model = self._model()
        if routing_enabled():
            model.set_fit_request(sample_weight=True)
        if sample_weight is not None:
            params = {**params, "sample_weight": sample_weight}
        search = GridSearchCV(model, {"alpha": alphas}, cv=self.cv, scoring=self._get_scorer())
        best = search.fit(X, y, **params).best_estimator_
        self.alpha_, self.best_score_ = best.alpha, search.best_score_
        self.coef_, self.intercept_ = best.coef_, best.intercept_
        self.n_features_in_ = best.n_features_in_
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_
        self._keep(X, y, sample_weight=sample_weight)
        return self

    def _model(self):
        """What the grid search fits."""
        return Ridge(fit_intercept=self.fit_intercept)

    def _get_scorer(self):
        from sklearn.metrics import check_scoring, get_scorer

        if routing_enabled() and self.scoring is None:
            return get_scorer("r2").set_score_request(sample_weight=True)
        return check_scoring(estimator=self, scoring=self.scoring, allow_none=True)

    def get_metadata_routing(self):
        """What the scorer and the splitter ask for.

        Returns
        -------
        routing : MetadataRouter
        """
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                scorer=self._get_scorer(),
                method_mapping=MethodMapping().add(caller="fit", callee="score"),
            )
            .add(
                splitter=self.cv,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )


class _Identity(RegressorMixin, BaseEstimator):
    """A model whose rows are its predictions already: what scorers are handed."""

    def decision_function(self, X):
        return X

    def predict(self, X):
        return X
