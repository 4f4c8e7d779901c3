"""`summary`: a fitted linear model and its rows, as a statistician sees them."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from fastml._validation import check_choice
from fastml.linear_model._summary import _checks
from fastml.linear_model._summary._design import Design, learn_design, scores, weighted_sums
from fastml.linear_model._summary._family import FAMILIES, LINKS, LOGISTIC, Family, family_of
from fastml.linear_model._summary._notes import NOT_THE_OPTIMUM, flat_directions, too_far
from fastml.linear_model._summary._result import LinearSummary
from fastml.linear_model._summary._rows import checked_rows
from fastml.linear_model._summary._sandwich import ROBUST, clustered_covariance, robust_covariance
from fastml.linear_model._summary._softmax import softmax_summary

COVARIANCES = ("classic", *ROBUST, "cluster")
WEIGHTS = ("variance", "frequency")


def summary(
    model,
    X,
    y,
    *,
    sample_weight=None,
    weight_kind="variance",
    offset=None,
    covariance="classic",
    groups=None,
    family="auto",
    link="auto",
    use_t=None,
    confidence=0.95,
    n_lags=10,
    feature_names=None,
    reference=None,
):
    """Standard errors, tests, information criteria and checks of a fitted linear model.

    The coefficients are the model's; least squares with errors of variance σ² has

        V = σ² (X'X)⁻¹,  σ² = Σ e² / (n − rank),  t_j = w_j / √V_jj

    and a generalised linear model V = φ (X'WX)⁻¹ with W = (dμ/dη)² / V(μ). Errors without the
    assumption of equal variance are (X'X)⁻¹ (Σ e_i² d_i x_i x_i') (X'X)⁻¹ with d_i = 1 (HC0),
    n / (n − rank) (HC1), 1 / (1 − h_i) (HC2) or 1 / (1 − h_i)² (HC3), h_i the leverage.

    Rows are read in blocks and not kept: the result holds p × p numbers.

    Parameters
    ----------
    model : estimator
        Fitted, of fastml or scikit-learn, with ``coef_`` of one target and ``intercept_``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows that the model learned from.
    y : array-like of shape (n_samples,)
        Targets, or the two classes.
    sample_weight : array-like of shape (n_samples,), default=None
        See ``weight_kind``. Rows of weight zero are left out.
    weight_kind : {'variance', 'frequency'}, default='variance'
        Weights divide the variance of a row, or say how often it was seen.
    offset : array-like of shape (n_samples,), default=None
        Added to the linear score.
    covariance : {'classic', 'HC0', 'HC1', 'HC2', 'HC3', 'cluster'}, default='classic'
        What the errors assume.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group may depend on each other (``covariance='cluster'``).
    family : {'auto', 'gaussian', 'poisson', 'gamma', 'inverse_gaussian', 'tweedie', 'binomial'}, \
default='auto'
        Distribution of the targets; 'auto' goes by the model's class.
    link : {'auto', 'identity', 'log', 'logit'}, default='auto'
        Between the mean and the linear score.
    use_t : bool, default=None
        Student's distribution instead of the normal one; None: for the Gaussian family.
    confidence : float, default=0.95
        Of the intervals.
    n_lags : int, default=10
        Of the Ljung-Box test.
    feature_names : sequence of str, default=None
        None: those of the model, or of X, or x0, x1, ...
    reference : label, default=None
        The class that several others are compared with; None: the model's ``reference_class``, or
        the first. There are no offsets then.

    Returns
    -------
    summary : LinearSummary or SoftmaxSummary
        ``coef``, ``std_error``, ``statistic``, ``p_value``, ``interval``, ``r2``, ``aic``,
        ``checks``, ... as data; prints as a table; ``predict``, ``influence`` and ``white`` take
        rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from fastml.linear_model import summary
    >>> X = np.array([[1.0], [2.0], [3.0]])
    >>> y = np.array([1.0, 1.5, 2.5])
    >>> found = summary(LinearRegression().fit(X, y), X, y)
    >>> found.std_error.round(4)
    array([0.3118, 0.1443])
    >>> found.predict([[2.0]]).std_error.round(4)
    array([0.1179])
    """
    check_choice("weight_kind", weight_kind, WEIGHTS)
    check_choice("covariance", covariance, COVARIANCES)
    check_choice("family", family, ("auto", *FAMILIES))
    check_choice("link", link, ("auto", *LINKS))
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}")
    if (groups is None) == (covariance == "cluster"):
        raise ValueError("groups and covariance='cluster' go together")

    if _is_softmax(model):
        if offset is not None:
            raise ValueError("the summary of several classes has no offset")
        n_columns = model.coef_.shape[1]
        names = _names(model, X, feature_names, n_columns)
        X = checked_rows(X, n_columns)
        weights = _weights_of(sample_weight, X.shape[0])
        found = softmax_summary(
            model, X, y, names, weights, weight_kind, reference, confidence, covariance,
            None if groups is None else _codes(groups, X.shape[0]),
        )  # fmt: skip
        if found.flat_directions:
            warnings.warn(" ".join(found.notes[: len(found.flat_directions)]), stacklevel=2)
        return found
    if reference is not None:
        raise ValueError("reference is for a softmax of several classes")
    coef, constant, intercept = _coefficients(model)
    names = _names(model, X, feature_names, len(coef))
    X = checked_rows(X, len(coef))
    kind = family_of(model, family, link)
    y = _targets(model, y, X.shape[0], kind)
    weights = _weights_of(sample_weight, X.shape[0])
    shift = _vector("offset", offset, X.shape[0])
    codes = None if groups is None else _codes(groups, X.shape[0])
    if weights is not None and not weights.all():
        kept = np.flatnonzero(weights)
        X, y, weights = X[kept], y[kept], weights[kept]
        shift = None if shift is None else shift[kept]
        codes = None if codes is None else _codes(codes[kept], len(kept))
    kind.check_targets(y)

    precision, repeats = (weights, None) if weight_kind == "variance" else (None, weights)
    score = scores(X, coef, constant)
    if shift is not None:
        score += shift
    mean = kind.mean(score)
    if kind.name in ("poisson", "gamma", "inverse_gaussian", "tweedie") and (mean <= 0.0).any():
        raise ValueError(f"the model predicts means that are not positive: not {kind.name}")
    residual = y - mean
    rows = _RowTerms(kind, y, mean, residual, precision, repeats)
    design = learn_design(X, rows.gram_weights, intercept)
    n = float(len(y)) if repeats is None else float(repeats.sum())
    df_residual = max(n - design.rank, 0.0)  # small frequency weights leave none, never fewer
    notes, flat, undetermined = flat_directions(design, names)

    with np.errstate(divide="ignore", invalid="ignore"):
        pearson = float(rows.total(rows.pearson**2))
        variance = pearson / df_residual if df_residual > 0 else np.nan
        dispersion = variance if kind.has_free_dispersion else 1.0
        df_inference = df_residual
        per_freedom = 1.0 / df_residual if df_residual > 0 else np.nan
        if covariance == "classic":
            middle = dispersion * np.eye(design.rank)
        elif covariance == "cluster":
            n_groups = int(codes.max()) + 1
            if n_groups < 2:
                raise ValueError("groups must be at least two")
            middle = clustered_covariance(X, design, codes, n_groups, rows.pulls, repeats)
            middle *= n_groups / (n_groups - 1.0) * (n - 1.0) * per_freedom
            df_inference = n_groups - 1.0
        else:
            middle = robust_covariance(X, design, covariance, rows.pulls, rows.curvature, repeats)
            if covariance == "HC1":
                middle *= n * per_freedom

        root = design.to_columns() @ design.root
        found = root @ middle @ root.T
        error = np.sqrt(np.maximum(np.diag(found), 0.0))
        error[undetermined] = np.nan
        estimates = np.r_[constant, coef] if intercept else coef
        uses_t = kind.is_least_squares if use_t is None else bool(use_t)
        statistic = estimates / error
        p_value = _two_sided(statistic, df_inference if uses_t else None)

    if df_residual <= 0:
        notes.append(f"{n:g} rows for {design.rank} coefficients: no degree of freedom is left")
    deviance = float(rows.total(rows.precise(kind.deviances(y, mean))))
    null_mean = _null_mean(kind, y, shift, rows, design.contains_constant)
    null_deviance = float(rows.total(rows.precise(kind.deviances(y, null_mean))))
    df_model = design.rank - int(design.contains_constant)
    log_likelihood = _log_likelihood(kind, y, mean, rows, dispersion, deviance / n)
    likelihood_ratio, ratio_p = np.nan, np.nan
    f_value, f_p = np.nan, np.nan
    if df_model > 0 and kind.is_least_squares:
        f_value, f_p = _f_test(
            design, covariance, middle, estimates, df_model, df_inference,
            null_deviance - deviance, dispersion,
        )  # fmt: skip
    elif df_model > 0:
        from scipy.special import chdtrc

        likelihood_ratio = (null_deviance - deviance) / dispersion
        ratio_p = float(chdtrc(df_model, likelihood_ratio))
    r2 = 1.0 - deviance / null_deviance if null_deviance > 0.0 else np.nan
    free = n - float(design.contains_constant)
    adjusted = 1.0 - (1.0 - r2) * free / df_residual if df_residual > 0 else np.nan
    singular = np.linalg.svd(design.triangle, compute_uv=False)
    full = design.rank == design.n_columns
    inverse = np.linalg.svd(design.root, compute_uv=False)

    away = _steps_from_the_optimum(X, design, rows, dispersion)
    if away > NOT_THE_OPTIMUM:
        notes.append(too_far(away))
    title = f"{type(model).__name__}: {_described(kind)}, {covariance} errors, {n:g} rows"
    result = LinearSummary(
        title=title,
        names=(["intercept"] if intercept else []) + names,
        coef=estimates,
        std_error=error,
        statistic=statistic,
        p_value=p_value,
        interval=np.empty((len(estimates), 2)),
        covariance=found,
        covariance_kind=covariance,
        confidence=float(confidence),
        uses_t=uses_t,
        n_samples=n,
        rank=design.rank,
        df_model=df_model,
        df_residual=df_residual,
        df_inference=df_inference,
        r2=r2,
        adjusted_r2=adjusted,
        dispersion=dispersion,
        residual_standard_error=float(np.sqrt(variance)),
        f_value=f_value,
        f_p_value=f_p,
        likelihood_ratio=likelihood_ratio,
        likelihood_ratio_p_value=ratio_p,
        log_likelihood=log_likelihood,
        aic=2.0 * design.rank - 2.0 * log_likelihood,
        bic=float(np.log(n)) * design.rank - 2.0 * log_likelihood,
        deviance=deviance,
        null_deviance=null_deviance,
        pearson_chi2=pearson,
        condition_number=float(singular[0] / singular[-1]) if full and len(singular) else np.inf,
        scaled_condition_number=float(inverse[0] / inverse[-1]) if full else np.inf,
        flat_directions=flat,
        checks=_checked(X, kind, design, rows, n_lags) if kind.is_least_squares else {},
        notes=notes,
        family=kind,
        design=design,
        middle=middle,
    )
    around = result._quantile(confidence) * error
    result.interval[:] = np.c_[estimates - around, estimates + around]
    if flat:
        warnings.warn(" ".join(notes[: len(flat)]), UserWarning, stacklevel=2)
    return result


# ---------------------------------------------------------------------------- input


def _coefficients(model) -> tuple[NDArray, float, bool]:
    if not hasattr(model, "coef_"):
        if hasattr(model, "fit"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(model)
        raise TypeError(f"{type(model).__name__} has no coef_: it is not a linear model")
    coef = model.coef_
    coef = np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef, dtype=np.float64)
    if coef.ndim == 2 and len(coef) > 1:
        raise ValueError(
            f"summary is of one target; coef_ has {len(coef)} rows: fit the targets one by one"
        )
    constant = np.asarray(getattr(model, "intercept_", 0.0), dtype=np.float64).ravel()
    value = float(constant[0]) if len(constant) else 0.0
    return coef.ravel(), value, bool(getattr(model, "fit_intercept", value != 0.0))


def _names(model, X, given, n: int) -> list[str]:
    if given is None:
        given = getattr(model, "feature_names_in_", getattr(X, "columns", None))
    names = [f"x{j}" for j in range(n)] if given is None else [str(name) for name in given]
    if len(names) != n:
        raise ValueError(f"{len(names)} names were given for {n} coefficients")
    return names


def _targets(model, y, n: int, kind: Family) -> NDArray:
    y = np.asarray(y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    classes = getattr(model, "classes_", None)
    if kind.name == "binomial" and classes is not None:
        if len(classes) != 2:
            raise ValueError(f"summary of a classifier is of two classes, got {len(classes)}")
        unknown = ~np.isin(y, classes)
        if unknown.any():
            raise ValueError(f"y holds {y[unknown][0]!r}, which is not a class of the model")
        y = y == classes[1]
    found = _vector("y", y, n)
    assert found is not None
    return found


def _vector(name: str, values, n: int) -> NDArray | None:
    if values is None:
        return None
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinity")
    return values


def _weights_of(sample_weight, n: int) -> NDArray | None:
    weights = _vector("sample_weight", sample_weight, n)
    if weights is not None and ((weights < 0.0).any() or not weights.any()):
        raise ValueError("sample_weight must not be negative, and not all zero")
    return weights


def _is_softmax(model) -> bool:
    classes = getattr(model, "classes_", ())
    named = {cls.__name__ for cls in type(model).__mro__} & LOGISTIC
    return bool(named) and len(classes) > 2 and np.shape(model.coef_)[0] == len(classes)


def _codes(groups, n: int) -> NDArray:
    codes = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
    if len(codes) != n:
        raise ValueError(f"groups must have shape ({n},), got ({len(codes)},)")
    return codes


# ---------------------------------------------------------------------------- rows


class _RowTerms:
    """What every row adds, for a family and both kinds of weights."""

    def __init__(self, kind: Family, y, mean, residual, precision, repeats):
        self.residual, self.precision, self.repeats = residual, precision, repeats
        if kind.is_least_squares:
            self.curvature = np.ones_like(mean) if precision is None else precision
            self.pulls = self.precise(residual)
            self.pearson = residual if precision is None else residual * np.sqrt(precision)
        else:
            slope, variance = kind.slope(mean), kind.variance(mean)
            self.curvature = self.precise(slope**2 / variance)
            self.pulls = self.precise(residual * slope / variance)
            self.pearson = residual * np.sqrt(self.precise(1.0 / variance))
        is_plain = kind.is_least_squares and precision is None and repeats is None
        self.gram_weights = None if is_plain else self.repeated(self.curvature)

    def precise(self, values: NDArray) -> NDArray:
        return values if self.precision is None else values * self.precision

    def repeated(self, values: NDArray) -> NDArray:
        return values if self.repeats is None else values * self.repeats

    def total(self, values: NDArray) -> float:
        return float(values.sum() if self.repeats is None else values @ self.repeats)


def _null_mean(kind: Family, y, offset, rows: _RowTerms, constant: bool) -> NDArray:
    """Means of the model of a constant alone, or of nothing."""
    n = len(y)
    start = np.zeros(n) if offset is None else offset
    if not constant:
        return kind.mean(start)
    weight = rows.repeated(rows.precise(np.ones(n)))
    mean = float(np.average(y, weights=weight))
    if offset is None:
        return np.full(n, mean)
    level = kind.score_of(mean) - float(np.average(offset, weights=weight))
    for _ in range(100):
        means = kind.mean(start + level)
        slope, variance = kind.slope(means), kind.variance(means)
        step = (weight * (y - means) * slope / variance).sum() / (
            weight * slope**2 / variance
        ).sum()
        level += step
        if abs(step) <= 1e-14 * (1.0 + abs(level)):
            break
    return kind.mean(start + level)


def _log_likelihood(kind: Family, y, mean, rows: _RowTerms, dispersion, mean_deviance) -> float:
    spread = mean_deviance if kind.is_least_squares else dispersion
    if not spread > 0.0:
        return np.inf if spread == 0.0 else np.nan
    per_row = spread if rows.precision is None else spread / rows.precision
    return rows.total(kind.log_likelihoods(y, mean, np.broadcast_to(per_row, y.shape)))


# ---------------------------------------------------------------------------- tests


def _two_sided(statistic: NDArray, df: float | None) -> NDArray:
    from scipy.special import ndtr, stdtr

    tail = -np.abs(statistic)
    return 2.0 * (ndtr(tail) if df is None else stdtr(df, tail))


def _f_test(design, covariance, middle, estimates, df_model, df, explained, dispersion):
    """All but the constant are zero: by sums of squares, or by Wald's form of other errors."""
    from scipy.special import fdtrc

    if covariance == "classic":
        value = explained / df_model / dispersion if dispersion > 0.0 else np.inf
    else:
        columns = slice(int(design.intercept), None)
        slopes = estimates[columns] * design.scale
        spread = design.root[columns]
        value = slopes @ np.linalg.pinv(spread @ middle @ spread.T, hermitian=True) @ slopes
        value /= design.rank - design.intercept
    return float(value), float(fdtrc(df_model, df, value))


def _steps_from_the_optimum(X, design: Design, rows: _RowTerms, dispersion: float) -> float:
    """Length of Newton's step to it, in standard errors."""
    pulls = rows.repeated(rows.pulls)
    total = pulls.sum()
    gradient = (weighted_sums(X, pulls) - total * design.center) / design.scale
    if design.intercept:
        gradient = np.r_[total, gradient]
    if not dispersion > 0.0:
        return 0.0
    return float(np.linalg.norm(design.root.T @ gradient) / np.sqrt(dispersion))


def _checked(X, kind, design: Design, rows: _RowTerms, n_lags: int) -> dict:
    errors = rows.pearson
    shape = _checks.moments(errors, rows.repeats)
    found = {"jarque_bera": _checks.jarque_bera(shape), "omnibus": _checks.omnibus(shape)}
    if rows.repeats is None:
        plain = rows.precision is None and design.intercept
        unweighted = design if plain else learn_design(X, None, True)
        found["breusch_pagan"] = _checks.breusch_pagan(X, unweighted, errors)
        found["durbin_watson"] = _checks.durbin_watson(errors)
        found["ljung_box"] = _checks.ljung_box(errors, n_lags)
    return found


def _described(kind: Family) -> str:
    if kind.is_least_squares:
        return "least squares"
    name = kind.name.replace("_", " ")
    return f"{name} with {kind.link} link"
