"""Entries of docstrings that linear models share."""

from __future__ import annotations

from fastml.linear_model._summarised import KEEP_ENTRY

NET_ENTRIES = {
    "alpha": """
alpha : float, default=1.0
    Factor of the penalty. 0 is least squares: `LinearRegression` does that better.
""",
    "l1_ratio": """
l1_ratio : float, default=0.5
    Share of the l1 penalty, from 0 (ridge regression, in closed form) to 1 (the lasso).
""",
    "fit_intercept": """
fit_intercept : bool, default=True
    Whether there is a w₀. It is never penalised.
""",
    "copy_X": """
copy_X : bool, default=True
    For scikit-learn's sake: X is never written to.
""",
    "precompute": """
precompute : bool or array-like of shape (n_features, n_features), default=False
    The Gram matrix X'X of X that needs no centring, or whether to make it. False leaves that to
    the solver.
""",
    "max_iter": """
max_iter : int, default=1000
    Most passes over the weights.
""",
    "tol": """
tol : float, default=1e-4
    Descent ends when the duality gap is below tol times the sum of squares of the centred y.
""",
    "warm_start": """
warm_start : bool, default=False
    Whether to start from the weights of the last fit.
""",
    "positive": """
positive : bool, default=False
    Whether weights must be at least 0.
""",
    "random_state": """
random_state : int, RandomState instance or None, default=None
    For the order of ``selection='random'``.
""",
    "selection": """
selection : {'cyclic', 'random'}, default='cyclic'
    Order in which a pass visits the weights: as they are, or shuffled anew for each working set.
""",
    "scaling": """
scaling : {'sum', 'half_sum', 'mean', 'half_mean'}, default='half_mean'
    What multiplies the sum of squared errors in the objective: 1, ½, 1/n or 1/(2n), where n is the
    sum of weights. The penalty stays as it is.
""",
    "constraint": """
constraint : float, default=None
    The constrained form instead: the squared errors are minimised over the w whose penalty, with
    alpha = 1, is at most this. ``alpha`` is not used; ``alpha_`` is the factor of the penalty that
    has the same solution. For one target.
""",
    "keep_summary": KEEP_ENTRY,
    "fitted": """
coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    The weights w.
sparse_coef_ : sparse matrix of shape (n_targets, n_features)
    The same, without the zeros.
intercept_ : float or ndarray of shape (n_targets,)
    The constant w₀; 0.0 without one.
n_iter_ : int or list of int
    Passes over the weights.
dual_gap_ : float or ndarray of shape (n_targets,)
    How far the objective is from its minimum at most, with the scaling 1/(2n).
n_features_in_ : int
feature_names_in_ : ndarray of shape (n_features_in_,)
    If X has string column names.
""",
    "alpha_": """
alpha_ : float
    Factor of the penalty that was used, in the scaling 1/(2n).
""",
    "grid": """
eps : float, default=1e-3
    Smallest over largest penalty of a grid.
alphas : int or array-like, default=100
    Number of penalties of a grid that starts where all weights are 0, or the penalties.
""",
    "folds": """
cv : int, cross-validation generator or iterable, default=None
    Folds; None means five.
verbose : bool or int, default=False
    For scikit-learn's sake: nothing is printed.
n_jobs : int, default=None
    Threads over folds; None means all cores. The result does not depend on it.
""",
    "chosen": """
alpha_ : float
    The penalty chosen.
alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratio, n_alphas)
    The penalties tried.
mse_path_ : ndarray of shape (n_alphas, n_folds) or (n_l1_ratio, n_alphas, n_folds)
    Mean squared errors of the folds left out.
coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    The weights w for the penalty chosen, on all rows.
intercept_ : float or ndarray of shape (n_targets,)
    The constant w₀; 0.0 without one.
n_iter_ : int
    Passes over the weights in the last fit.
dual_gap_ : float
    Its duality gap.
n_features_in_ : int
feature_names_in_ : ndarray of shape (n_features_in_,)
    If X has string column names.
""",
}
