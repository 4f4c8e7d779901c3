"""LinearSVC and LinearSVR."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fastml._sklearn import Interval, StrOptions, fit_context
from fastml.svm._linear._base import LinearMachine, choose_dual
from fastml.svm._scores import class_of_largest

__all__ = ["LinearSVC", "LinearSVR"]


class LinearSVC(ClassifierMixin, LinearMachine):
    """Linear support vector classification, one class against the rest.

    Minimises, for each class with targets y = ±1,

        ½ \\|w\\|² + Σ C_i max(0, 1 − y_i w · x_i)^q    (penalty l2; q = 1: hinge, 2: squared hinge)

    or the same with \\|w\\|₁ (penalty l1, squared hinge), over rows with the constant
    ``intercept_scaling`` appended, whose weight is penalised like the others.

    Solvers: coordinate descent with shrinking on the dual (``dual=True``), Newton's method on the
    weights (``dual=False``, l2) and coordinate descent on the weights (l1). Classes run in parallel
    under coordinate descent, rows under Newton's method.

    Parameters
    ----------
    penalty : {'l1', 'l2'}, default='l2'
        Norm of the weights.
    loss : {'hinge', 'squared_hinge'}, default='squared_hinge'
        Loss of a row.
    dual : 'auto' or bool, default='auto'
        Solve the dual problem; 'auto' does so if there are fewer rows than features, where both
        solvers exist.
    tol : float, default=1e-4
        Dual: spread of the projected gradient. Primal: norm of the gradient relative to that of
        zero weights, times the share of the rarer class.
    C : float, default=1.0
        Cost of the losses.
    multi_class : {'ovr', 'crammer_singer'}, default='ovr'
        One class against the rest, or all at once after Crammer and Singer, where ``loss``,
        ``penalty`` and ``dual`` have no meaning.
    fit_intercept : bool, default=True
        Whether rows get the constant.
    intercept_scaling : float, default=1
        The constant; the larger, the less the intercept is penalised.
    class_weight : dict or 'balanced', default=None
        Factors of C by class.
    verbose : int, default=0
        Print the progress.
    random_state : int, RandomState or None, default=None
        Order of coordinates.
    max_iter : int, default=1000
        Most epochs or Newton steps.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,), or 0.0
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.
    n_iter_ : int
        Most iterations over the classes.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for large-scale
    linear SVM", ICML 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.svm import LinearSVC
    >>> X = np.array([[-2.0, 0.0], [-1.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
    >>> model = LinearSVC(random_state=0).fit(X, ["left", "left", "right", "right"])
    >>> model.predict([[-1.5, 0.5], [1.5, 0.5]])
    array(['left', 'right'], dtype='<U5')
    """

    _parameter_constraints: dict = {
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "dual": ["boolean", StrOptions({"auto"})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        penalty="l2",
        loss="squared_hinge",
        *,
        dual="auto",
        tol=1e-4,
        C=1.0,
        multi_class="ovr",
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        verbose=0,
        random_state=None,
        max_iter=1000,
        n_jobs=None,
    ):
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.penalty = penalty
        self.loss = loss
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C by row.

        Returns
        -------
        self : object
        """
        from sklearn.utils.class_weight import compute_class_weight
        from sklearn.utils.multiclass import check_classification_targets

        X, y, weights = self._check_fit_input(X, y, sample_weight, numeric=False)
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data (rows of zero weight "
                f"do not count), but the data contains only one class: {classes[0]!r}"
            )
        factors = compute_class_weight(
            self.class_weight, classes=classes, y=y, sample_weight=weights
        )
        if not (factors > 0.0).all():
            raise ValueError(f"class_weight must be positive, got {self.class_weight!r}")
        design, costs = self._design(X), self.C * weights

        with self._telling(X, y):
            w, n_iter = self._solve(design, labels, costs, factors, X.shape)
        self.classes_ = classes
        self._finish(w, n_iter)
        return self

    def _solve(self, design, labels, costs, factors, shape):
        """Weights of the classes, and passes over the rows."""
        from fastml.svm._linear import _solvers as solvers
        from fastml.svm._linear._newton import newton

        n_classes = len(factors)
        if self.multi_class == "crammer_singer":
            w, n_iter = solvers.joint(
                design, labels, costs * factors[labels], n_classes, float(self.tol),
                self.max_iter, self._seed(), self._watch,
            )  # fmt: skip
            return (w[1:] - w[:1] if n_classes == 2 else w), n_iter
        dual = choose_dual(self.dual, self.penalty, self.loss, shape)
        problems = self._against_the_rest(labels, costs, factors)
        if self.penalty == "l1":
            return solvers.lasso(design, problems, self._seed(), self._watch)
        if dual:
            squared = self.loss == "squared_hinge"
            return solvers.dual(design, problems, self._seed(), squared, self._watch)
        return newton(design, problems, self._watch)

    def _against_the_rest(self, labels, costs, factors):
        """One problem for two classes, else one a class; only its own class has a weight then."""
        from fastml.kernels.linear.dual_descent import CLASSIFY
        from fastml.svm._linear._solvers import Problems

        n_classes = len(factors)
        if n_classes == 2:
            targets, costs = (2.0 * labels - 1.0)[None], (costs * factors[labels])[None]
        else:
            own = labels == np.arange(n_classes)[:, None]
            targets = np.where(own, 1.0, -1.0)
            costs = np.where(own, factors[:, None] * costs, costs)
        return Problems(CLASSIFY, targets, costs, 0.0, float(self.tol), self.max_iter)

    def decision_function(self, X):
        """Signed distances to the separating planes, times \\|w\\|.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive for ``classes_[1]``.
        """
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X):
        """The class of the largest score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return class_of_largest(self.decision_function(X), self.classes_)

    def sparsify(self):
        """Keep ``coef_`` as a CSR matrix.

        Returns
        -------
        self : object
        """
        import scipy.sparse as sp

        check_is_fitted(self, msg="Estimator, %(name)s, must be fitted before sparsifying.")
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self):
        """Keep ``coef_`` as an array.

        Returns
        -------
        self : object
        """
        check_is_fitted(self, msg="Estimator, %(name)s, must be fitted before densifying.")
        if hasattr(self.coef_, "toarray"):
            self.coef_ = self.coef_.toarray()
        return self


class LinearSVR(RegressorMixin, LinearMachine):
    """Linear support vector regression.

    Minimises, over rows with the constant ``intercept_scaling`` appended,

        ½ \\|w\\|² + Σ C_i max(0, |y_i − w · x_i| − epsilon)^q

    with q = 1 (epsilon_insensitive: coordinate descent with shrinking on the dual) or q = 2
    (squared_epsilon_insensitive: that, or Newton's method on the weights).

    Parameters
    ----------
    epsilon : float, default=0.0
        Errors up to it cost nothing.
    tol : float, default=1e-4
        Dual: sum of violations of optimality relative to the first epoch's. Primal: norm of the
        gradient relative to that of zero weights.
    C : float, default=1.0
        Cost of the losses.
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive'}, default='epsilon_insensitive'
        Loss of a row.
    fit_intercept : bool, default=True
        Whether rows get the constant.
    intercept_scaling : float, default=1.0
        The constant; the larger, the less the intercept is penalised.
    dual : 'auto' or bool, default='auto'
        Solve the dual problem; 'auto' does so if there are fewer rows than features or no other
        solver.
    verbose : int, default=0
        Print the progress.
    random_state : int, RandomState or None, default=None
        Order of coordinates.
    max_iter : int, default=1000
        Most epochs or Newton steps.
    n_jobs : int, default=None
        Threads of Newton's method; coordinate descent on one target is serial.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : ndarray of shape (1,), or 0.0
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.
    n_iter_ : int

    References
    ----------
    Ho and Lin, "Large-scale linear support vector regression", JMLR 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.svm import LinearSVR
    >>> X = np.arange(6.0)[:, None]
    >>> model = LinearSVR(C=100.0, tol=1e-8, max_iter=100_000, random_state=0).fit(X, 2 * X[:, 0])
    >>> model.predict([[10.0]]).round(2)
    array([20.])
    """

    _parameter_constraints: dict = {
        "epsilon": [Real],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "dual": ["boolean", StrOptions({"auto"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        epsilon=0.0,
        tol=1e-4,
        C=1.0,
        loss="epsilon_insensitive",
        fit_intercept=True,
        intercept_scaling=1.0,
        dual="auto",
        verbose=0,
        random_state=None,
        max_iter=1000,
        n_jobs=None,
    ):
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.dual = dual
        self.loss = loss
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C by row.

        Returns
        -------
        self : object
        """
        from fastml.kernels.linear.dual_descent import REGRESS
        from fastml.svm._linear import _solvers as solvers
        from fastml.svm._linear._newton import newton

        X, y, weights = self._check_fit_input(X, y, sample_weight, numeric=True)
        if self.epsilon < 0:
            raise ValueError(f"epsilon must not be negative, got {self.epsilon}")
        dual = choose_dual(self.dual, "l2", self.loss, X.shape)
        problems = solvers.Problems(
            REGRESS, np.asarray(y, dtype=np.float64)[None], (self.C * weights)[None],
            float(self.epsilon), float(self.tol), self.max_iter,
        )  # fmt: skip
        design = self._design(X)
        with self._telling(X, y):
            if dual:
                squared = self.loss == "squared_epsilon_insensitive"
                w, n_iter = solvers.dual(design, problems, self._seed(), squared, self._watch)
            else:
                w, n_iter = newton(design, problems, self._watch)
        self._finish(w, n_iter)
        self.coef_ = self.coef_.ravel()
        return self

    def predict(self, X):
        """w · x + b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._scores(X)
