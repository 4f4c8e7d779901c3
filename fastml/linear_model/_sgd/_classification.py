"""Linear classification by stochastic gradient descent, one class against the others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if

from fastml._docs import documented
from fastml._engines.labels import classes_and_codes
from fastml._engines.passes import RowBlock, codes_of
from fastml._progress import current_steps, fit_steps, telling
from fastml._sklearn import (
    StrOptions,
    check_partial_fit_first_call,
    fit_context,
)
from fastml._threads import effective_n_threads
from fastml._validation import check_fitted, check_is_fitted, check_sample_weight, validate_data
from fastml.linear_model._sgd._settings import (
    ENTRIES,
    LOSSES,
    MARGIN_LOSSES,
    MOST_SEED,
    RATES,
    Beginning,
    StochasticGradient,
    allowed,
    first_weights,
    held_back,
)

PASSIVE_LOSS = "hinge"


@documented(ENTRIES)
class StochasticClassifier(ClassifierMixin, StochasticGradient):
    """Two classes: one problem; more: one a class, each against the others, on threads."""

    def decision_function(self, X):
        """w · x + b: of the second of two classes, or of each class.

        Parameters
        ----------
        {rows}

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", order="C", reset=False)
        if not sp.issparse(self.coef_):
            n_problems = 1 if len(self.classes_) == 2 else len(self.classes_)
            check_fitted(self, "coef_", self.coef_, (n_problems, X.shape[1]))
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X):
        """The class of the largest score.

        Parameters
        ----------
        {rows}

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[places]

    # ------------------------------------------------------------------------ steps of a fit

    def _fit(self, X, y, sample_weight, coef_init, intercept_init):
        own = self._settings()
        self._check_parameters(own, PASSIVE_LOSS, partial=False)
        X, y = self._read(X, y, reset=True)
        classes, codes = classes_and_codes(y)
        if len(classes) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; got 1 class: every label is "
                f"{classes[0]!r}"
            )
        if self.warm_start and getattr(self, "coef_", None) is not None:
            coef_init = self.coef_ if coef_init is None else coef_init
            intercept_init = self.intercept_ if intercept_init is None else intercept_init
        begin = self._from_given(own, len(classes), X.shape[1], coef_init, intercept_init)
        with fit_steps(self, None, X, y) as steps, telling(steps):
            self._run(own, X, codes, classes, sample_weight, begin, self.max_iter)
        self._warn_of_the_end(own)
        return self

    def _partial_fit(self, X, y, classes, sample_weight):
        own = self._settings()
        first = not hasattr(self, "classes_")
        if first:
            self._check_parameters(own, PASSIVE_LOSS, partial=True)
            if self.class_weight == "balanced":
                raise ValueError(
                    "class_weight 'balanced' is not supported for partial_fit. In order to use "
                    "'balanced' weights, use compute_class_weight('balanced', classes=classes, "
                    "y=y). In place of y you can use a large enough sample of the full training "
                    "set target to properly estimate the class frequency distributions. Pass the "
                    "resulting weights as the class_weight parameter."
                )
        X, y = self._read(X, y, reset=first)
        check_partial_fit_first_call(self, classes)
        known = self.classes_
        if len(known) < 2:
            raise ValueError("The number of classes has to be greater than one; got 1 class")
        strange = ~np.isin(y, known)
        if strange.any():
            raise ValueError(
                f"The target label(s) {np.unique(y[strange])} in y do not exist in the initial "
                f"classes {known}"
            )
        codes = np.searchsorted(known, y).astype(np.intp, copy=False)
        if getattr(self, "coef_", None) is None:
            begin = self._from_given(own, len(known), X.shape[1], None, None)
        else:
            begin = self._from_last(own)
        return self._run(own, X, codes, known, sample_weight, begin, 1)

    def _run(self, own, X, codes, classes, sample_weight, begin, max_iter: int):
        """Epochs of every problem; ``begin`` is one `Beginning` a problem."""
        from sklearn.utils.class_weight import compute_class_weight

        factors = np.ones(len(classes))
        if self.class_weight is not None:
            y = classes[codes]
            factors = compute_class_weight(self.class_weight, classes=classes, y=y)
        weights = check_sample_weight(sample_weight, X, dtype=X.dtype)
        two = len(classes) == 2
        left_out = self._left_out(own, codes, weights)
        seeds = self._seeds(len(begin))

        def solve(k: int):
            mine = codes == (1 if two else k)
            signs = np.where(mine, 1.0, 0.0 if own.loss == "log_loss" else -1.0)
            steps = np.where(mine, factors[1 if two else k], factors[0] if two else 1.0) * weights
            score = None
            if own.early_stopping:
                score = _accuracy_of(X[left_out], mine[left_out], weights[left_out])
            rows = X, signs, steps
            return self._solve(own, rows, begin[k], seeds[k], (left_out, score), max_iter)

        size = X.nnz if sp.issparse(X) else X.size
        threads = effective_n_threads(self.n_jobs, 4.0 * size * len(begin))
        if min(threads, len(begin)) == 1 or self.verbose or current_steps().told:
            found = [solve(k) for k in range(len(begin))]
        else:
            with ThreadPoolExecutor(min(threads, len(begin))) as pool:
                found = list(pool.map(solve, range(len(begin))))
        self.classes_ = classes
        self._set(own, found, begin[0].t, X)
        return self

    def _solve(self, own, rows, begin, seed, held, max_iter):
        return self._descend(own, rows, begin, seed, held, max_iter)

    def _left_out(self, own, codes, weights):
        """Which rows are held back: as many of each class as its share."""
        if not own.early_stopping:
            return np.zeros(len(codes), dtype=bool)
        from sklearn.model_selection import StratifiedShuffleSplit

        splitter = StratifiedShuffleSplit(
            test_size=self.validation_fraction, random_state=self.random_state
        )
        return held_back(codes, weights, splitter)

    def _seeds(self, n_problems: int) -> list[int]:
        """One seed a problem, by scikit-learn's draws."""
        random_state = check_random_state(self.random_state)
        if n_problems == 1:
            streams = [random_state]
        else:
            drawn = random_state.randint(MOST_SEED, size=n_problems)
            streams = [np.random.RandomState(seed) for seed in drawn]
        for stream in streams:
            stream.randint(1, MOST_SEED)
        return [int(stream.randint(MOST_SEED)) for stream in streams]

    def _from_given(self, own, n_classes, d, coef, intercept) -> list[Beginning]:
        k = 1 if n_classes == 2 else n_classes
        if coef is not None and k == 1 and not sp.issparse(coef):
            coef = np.reshape(coef, (1, -1))
        coef = first_weights(coef, (k, d), "coef_init")
        intercept = first_weights(intercept, (k,), "intercept_init")
        average = np.zeros((k, d if own.average else 0))
        return [Beginning(w, b, a, 0.0, 1.0) for w, b, a in zip(coef, intercept, average)]

    def _from_last(self, own) -> list[Beginning]:
        if sp.issparse(self.coef_):
            self.densify()
        coef, intercept = self.coef_, self.intercept_
        average, average_intercept = np.zeros((len(coef), 0)), np.zeros(len(coef))
        if own.average:
            average = np.zeros(coef.shape)
            if hasattr(self, "_average_coef"):
                coef, intercept = self._standard_coef, self._standard_intercept
                average, average_intercept = self._average_coef, self._average_intercept
        parts = zip(*(np.array(a, dtype=np.float64)
                      for a in (coef, intercept, average, average_intercept)))  # fmt: skip
        t = float(getattr(self, "t_", 1.0))
        return [Beginning(w, b, a, c, t) for w, b, a, c in parts]

    def _set(self, own, found, t: float, X) -> None:
        dtype = X.dtype
        self._note(found)
        self.n_iter_ = max(f.n_iter for f in found)
        self.t_ = t + self.n_iter_ * X.shape[0]
        self.coef_ = np.array([f.w for f in found], dtype=dtype)
        self.intercept_ = np.array([f.intercept for f in found], dtype=dtype)
        if own.average:
            self._standard_coef, self._standard_intercept = self.coef_, self.intercept_
            self._average_coef = np.array([f.average for f in found], dtype=dtype)
            self._average_intercept = np.array([f.average_intercept for f in found], dtype=dtype)
            if own.average <= self.t_ - 1.0:  # enough steps
                self.coef_ = self._average_coef.copy()
                self.intercept_ = self._average_intercept.copy()


def block_class_counts(block: RowBlock, classes) -> np.ndarray:
    """How many rows every class has."""
    return np.bincount(codes_of(block, classes), minlength=len(classes)).astype(float)


def _accuracy_of(X, mine, weights):
    """Share of the rows held back that weights and an intercept put on the right side."""

    def score(w, intercept) -> float:
        right = (X @ w + intercept > 0.0) == mine
        return float(np.average(right, weights=weights))

    return score


def _has_probabilities(model) -> bool:
    if model.loss not in ("log_loss", "modified_huber"):
        raise AttributeError(f"probability estimates are not available for loss={model.loss!r}")
    return True


@documented(ENTRIES, state="None", penalty="'l2'", targets="Labels")
class SGDClassifier(StochasticClassifier):
    """Linear classification by stochastic gradient descent: a step after each row.

    Minimises mean loss(y, w · x + b) + alpha R(w), with R = ½ \\|w\\|₂² (l2), \\|w\\|₁ (l1) or
    (1 − l1_ratio) ½ \\|w\\|₂² + l1_ratio \\|w\\|₁ (elasticnet), by

        w ← w − eta (∂loss x + alpha ∂R)

    where y is 1 for the class and −1 for the others. With more than two classes there is one
    such problem for each, and the largest score wins. The rows come in scikit-learn's order, so
    that the weights are scikit-learn's.

    Parameters
    ----------
    loss : {'hinge', 'log_loss', 'modified_huber', 'squared_hinge', 'perceptron', \
'squared_error', 'huber', 'epsilon_insensitive', 'squared_epsilon_insensitive'}, default='hinge'
        The loss: 'hinge' makes a linear support vector machine, 'log_loss' a logistic regression.
    {penalties}
    {fit_intercept}
    {epochs}
    {shuffle}
    epsilon : float, default=0.1
        Width of the last three losses.
    {n_jobs}
    {random_state}
    learning_rate : {'constant', 'optimal', 'invscaling', 'adaptive', 'pa1', 'pa2'}, \
default='optimal'
        eta0; 1 / (alpha (t₀ + t)); eta0 / t^power_t; eta0, divided by 5 whenever nothing improves;
        the two passive-aggressive rules, for hinge loss.
    eta0 : float, default=0.01
        First step length, or the aggressiveness of the last two rules.
    power_t : float, default=0.5
        Exponent of 'invscaling'.
    {holding_back}
    {class_weight}
    {warm_start}
    {average}

    Attributes
    ----------
    {classes_}
    {counters}
    {n_features_in_}
    {feature_names_in_}

    Notes
    -----
    With ``early_stopping`` scikit-learn 1.9 scores 'log_loss' against labels of which it never
    predicts one, and after `partial_fit` with ``average`` it takes the intercept from the
    beginning. Here the score is the accuracy, and the intercept goes on.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import SGDClassifier
    >>> X, y = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]]), [1, 1, 2, 2]
    >>> SGDClassifier(random_state=0).fit(X, y).predict([[-0.8, -1.0]])
    array([1])
    """

    loss_functions = {name: (code, 0.1) for name, code in {**MARGIN_LOSSES, **LOSSES}.items()}
    """Names of losses, their codes among the kernels and the default of ``epsilon``."""

    _parameter_constraints: dict = {
        "loss": [StrOptions({*LOSSES, *MARGIN_LOSSES})],
        "learning_rate": [StrOptions(set(RATES))],
        **allowed("penalty", "alpha", "l1_ratio", "epsilon", "n_jobs", "eta0", "power_t",
                  "early_stopping", "validation_fraction", "n_iter_no_change", "class_weight",
                  "average"),
    }  # fmt: skip

    def __init__(
        self,
        loss="hinge",
        *,
        penalty="l2",
        alpha=0.0001,
        l1_ratio=0.15,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-3,
        shuffle=True,
        verbose=0,
        epsilon=0.1,
        n_jobs=None,
        random_state=None,
        learning_rate="optimal",
        eta0=0.01,
        power_t=0.5,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        class_weight=None,
        warm_start=False,
        average=False,
    ):
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.epsilon = epsilon
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.average = average

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
        return self._partial_fit(X, y, classes, sample_weight)

    _blocks_in_order = True  # one after the other: a single worker may as well do all

    def _fit_blocks(self, passes):
        """An epoch is a pass over the blocks in their order, rows shuffled within each."""
        classes = passes.classes()
        if len(classes) < 2:
            raise ValueError("The number of classes has to be greater than one; got 1 class")
        if self.class_weight == "balanced":
            counts = passes.reduced(block_class_counts, np.add, classes, name="classes")
            self.class_weight = dict(zip(classes.tolist(), passes.n_rows / (len(counts) * counts)))
        n_problems = 1 if len(classes) == 2 else len(classes)
        self._epochs(passes, n_problems, lambda b: self._partial_fit(b.X, b.y, classes, b.weights))

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Probabilities of the classes, for 'log_loss' and 'modified_huber'.

        Those of several classes are each class's own, divided by their sum.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        scores = self.decision_function(X)
        own = expit(scores) if self.loss == "log_loss" else (np.clip(scores, -1, 1) + 1.0) / 2.0
        if own.ndim == 1:
            return np.stack([1.0 - own, own], axis=1)
        total = own.sum(axis=1, keepdims=True)
        own[total[:, 0] == 0.0] = 1.0
        return own / np.where(total == 0.0, own.shape[1], total)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X):
        """Their logarithms.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
        """
        return np.log(self.predict_proba(X))
