"""The summary of logistic regression with several classes: log-odds against one of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, log_softmax, ndtr, ndtri, xlogy

from fastml.linear_model._summary._design import Design, learn_design, row_blocks
from fastml.linear_model._summary._notes import NOT_THE_OPTIMUM, flat_directions, too_far
from fastml.linear_model._summary._softmax_sandwich import softmax_middle
from fastml.linear_model._summary._table import columns_of_text, number, p_text


@dataclass(frozen=True, repr=False)
class SoftmaxSummary:
    """Standard errors and tests of the log-odds of classes against a reference; no rows.

    Arrays have one line for each class but the reference. ``print`` shows tables; ``to_dict`` gives
    the coefficients as columns; ``against`` has another reference.
    """

    title: str
    classes: list  # of the lines
    reference: Any
    names: list[str]  # of the coefficients, the intercept first
    intercept: bool  # whether there is one
    coef: NDArray  # (n_classes − 1, n_coef): log-odds against the reference
    std_error: NDArray  # NaN where the data do not determine the coefficient
    statistic: NDArray  # z
    p_value: NDArray
    interval: NDArray  # (n_classes − 1, n_coef, 2)
    covariance: NDArray  # of coef.ravel()
    confidence: float

    n_samples: float  # rows, or the sum of frequency weights
    df_model: int
    df_residual: float
    log_likelihood: float
    null_log_likelihood: float  # of the intercepts alone, or of equal classes
    r2: float  # 1 − deviance / null_deviance, McFadden's
    likelihood_ratio: float
    likelihood_ratio_p_value: float
    aic: float
    bic: float
    flat_directions: list[dict[str, float]]
    notes: list[str]
    undetermined: NDArray = field(repr=False)

    @property
    def deviance(self) -> float:
        return -2.0 * self.log_likelihood

    @property
    def null_deviance(self) -> float:
        return -2.0 * self.null_log_likelihood

    def __str__(self) -> str:
        fall = f"deviance {number(self.deviance)} of {number(self.null_deviance)}"
        ratio = f"likelihood ratio χ²({self.df_model}) = {number(self.likelihood_ratio)}"
        likelihood = f"log-likelihood {number(self.log_likelihood)}"
        lines = [
            self.title,
            f"R² {self.r2:.5f}, {fall}",
            f"{ratio}, {p_text(self.likelihood_ratio_p_value)}",
            f"{likelihood}, AIC {number(self.aic)}, BIC {number(self.bic)}",
        ]
        share = f"{100 * self.confidence:g} %"
        for k, label in enumerate(self.classes):
            head = f"{label} against {self.reference}"
            rows = [
                (
                    name, number(self.coef[k, j]), number(self.std_error[k, j]),
                    f"{self.statistic[k, j]:.3f}", f"{self.p_value[k, j]:.4f}",
                    *map(number, self.interval[k, j]),
                )
                for j, name in enumerate(self.names)
            ]  # fmt: skip
            titles = (head, "coef", "std error", "z", "p", f"{share} from", "to")
            lines += ["", *columns_of_text(titles, rows)]
        if self.notes:
            lines += ["", *self.notes]
        return "\n".join(lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, list]:
        """Columns class, name, coef, std_error, statistic, p_value, lower, upper."""
        n = len(self.names)
        columns: dict[str, Any] = {
            "class": [label for label in self.classes for _ in range(n)],
            "name": self.names * len(self.classes), "coef": self.coef.ravel(),
            "std_error": self.std_error.ravel(), "statistic": self.statistic.ravel(),
            "p_value": self.p_value.ravel(), "lower": self.interval[..., 0].ravel(),
            "upper": self.interval[..., 1].ravel(),
        }  # fmt: skip
        return {name: list(values) for name, values in columns.items()}

    def against(self, reference, confidence: float | None = None) -> SoftmaxSummary:
        """The same with another reference class or share of the intervals."""
        from dataclasses import replace

        share = self.confidence if confidence is None else float(confidence)
        labels = [*self.classes, self.reference]
        if reference not in labels:
            raise ValueError(f"reference={reference!r} is not one of the classes {sorted(labels)}")
        new = labels.index(reference)
        kept = sorted((k for k in range(len(labels)) if k != new), key=lambda k: labels[k])
        # Lines of the change: the log-odds of a class less those of the new reference.
        M = np.eye(len(labels))[kept][:, :-1] - np.eye(len(labels))[new, :-1]
        turn = np.kron(M, np.eye(len(self.names)))
        covariance = turn @ self.covariance @ turn.T
        found = tests_of(M @ self.coef, covariance, self.undetermined, share)
        title = self.title.replace(_against(self.reference), _against(reference))
        return replace(
            self, title=title, classes=[labels[k] for k in kept], reference=reference,
            covariance=covariance, confidence=share, **found,
        )  # fmt: skip


def _against(label) -> str:
    return f"log-odds against {label}"


def tests_of(coef: NDArray, covariance: NDArray, undetermined: NDArray, confidence: float) -> dict:
    """Errors, z, p and intervals of coefficients (classes, columns), by field."""
    error = np.sqrt(np.maximum(np.diag(covariance), 0.0)).reshape(coef.shape)
    error[:, undetermined] = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = coef / error
    around = ndtri(0.5 + confidence / 2.0) * error
    return {
        "coef": coef, "std_error": error, "statistic": statistic,
        "p_value": 2.0 * ndtr(-np.abs(statistic)),
        "interval": np.stack([coef - around, coef + around], axis=-1),
    }  # fmt: skip


def softmax_information(
    X, codes: NDArray, weights: NDArray | None, estimates: NDArray, design: Design
) -> tuple[NDArray, NDArray, float]:
    """(matrix, slope, log-likelihood) of coefficients (classes − 1, columns) of the design's z.

    The class without coefficients is the last; matrix and slope go class by class.
    """
    K, m = estimates.shape
    matrix, slope, likelihood = np.zeros((K, m, K, m)), np.zeros((K, m)), 0.0
    for rows, block in row_blocks(X):
        Z = design.standardised(block)
        scores = np.column_stack([Z @ estimates.T, np.zeros(len(Z))])
        logs = log_softmax(scores, axis=1)
        u = np.ones(len(Z)) if weights is None else weights[rows]
        P = np.exp(logs)
        own = codes[rows]
        likelihood += float(u @ logs[np.arange(len(Z)), own])
        residuals = -P[:, :K]
        inside = own < K
        residuals[inside, own[inside]] += 1.0
        slope += (u[:, None] * residuals).T @ Z
        for a in range(K):
            for b in range(a + 1):
                curved = u * P[:, a] * ((1.0 - P[:, a]) if a == b else -P[:, b])
                part = (Z * curved[:, None]).T @ Z
                matrix[a, :, b] += part
                if a != b:
                    matrix[b, :, a] += part
    return matrix.reshape(K * m, K * m), slope.ravel(), likelihood


def softmax_summary(
    model, X, y, names: list[str], weights, weight_kind: str, reference, confidence: float,
    kind: str = "classic", groups: NDArray | None = None,
) -> SoftmaxSummary:  # fmt: skip
    """Of a model of several classes with ``coef_`` (classes, columns); ``kind`` of errors."""
    labels = list(np.asarray(model.classes_))
    chosen = getattr(model, "reference_class", None) if reference is None else reference
    chosen = labels[0] if chosen is None else chosen
    if chosen not in labels:
        raise ValueError(f"reference={chosen!r} is not one of the classes {labels}")
    last = labels.index(chosen)
    order = [k for k in range(len(labels)) if k != last]
    codes = _codes_of(y, np.asarray(model.classes_), X.shape[0])
    codes = np.argsort(np.array([*order, last]))[codes]  # the reference becomes the last
    if weights is not None and not weights.all():
        kept = np.flatnonzero(weights)
        X, codes, weights = X[kept], codes[kept], weights[kept]
        if groups is not None:
            groups = np.unique(groups[kept], return_inverse=True)[1].ravel()
    intercept = bool(getattr(model, "fit_intercept", np.any(model.intercept_)))
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    coef = np.asarray(coef, dtype=np.float64)
    estimates = (coef - coef[last])[order]
    if intercept:
        level = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(labels))
        estimates = np.column_stack([(level - level[last])[order], estimates])

    design = learn_design(X, weights, intercept)
    notes, flat, undetermined = flat_directions(design, names)
    to_columns = design.to_columns()
    in_z = np.linalg.solve(to_columns, estimates.T).T
    matrix, slope, likelihood = softmax_information(X, codes, weights, in_z, design)
    span = np.kron(np.eye(len(order)), design.root)
    inside = span.T @ matrix @ span
    back = np.kron(np.eye(len(order)), to_columns) @ span
    inverse = np.linalg.pinv(inside, hermitian=True)
    n_weights = design.rank * len(order)
    n = float(weights.sum()) if _repeats(weights, weight_kind) else float(X.shape[0])
    if kind == "classic":
        covariance = back @ inverse @ back.T
    else:
        middle = softmax_middle(
            X, codes, in_z, design, span @ inverse @ span.T, kind, weights=weights,
            repeats=_repeats(weights, weight_kind), groups=groups,
        )  # fmt: skip
        with np.errstate(divide="ignore"):
            if kind == "HC1":
                middle *= n / (n - n_weights) if n > n_weights else np.nan
            if groups is not None:
                n_groups = int(groups.max()) + 1
                if n_groups < 2:
                    raise ValueError("groups must be at least two")
                free = n - n_weights if n > n_weights else np.nan
                middle *= n_groups / (n_groups - 1.0) * (n - 1.0) / free
        half = back @ inverse @ span.T
        covariance = half @ middle @ half.T
    pull = span.T @ slope
    away = float(np.sqrt(max(pull @ inverse @ pull, 0.0)))
    if away > NOT_THE_OPTIMUM:
        notes.append(too_far(away))

    u = np.ones(X.shape[0]) if weights is None else weights
    counts = np.bincount(codes, u, len(labels))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = counts / counts.sum() if intercept else np.full(len(labels), 1.0 / len(labels))
        null = float(xlogy(counts, shares).sum())
    df_model = n_weights - len(order) * int(intercept)
    ratio = 2.0 * (likelihood - null)
    return SoftmaxSummary(
        title=f"{type(model).__name__}: softmax of {len(labels)} classes, {_against(chosen)}, "
        + ("" if kind == "classic" else f"{kind} errors, ")
        + f"{n:g} rows",
        classes=[labels[k] for k in order],
        reference=chosen,
        names=(["intercept"] if intercept else []) + names,
        intercept=intercept,
        covariance=covariance,
        confidence=float(confidence),
        n_samples=n,
        df_model=df_model,
        df_residual=max(n - n_weights, 0.0),
        log_likelihood=likelihood,
        null_log_likelihood=null,
        r2=1.0 - likelihood / null if null < 0.0 else np.nan,
        likelihood_ratio=ratio,
        likelihood_ratio_p_value=float(chdtrc(df_model, ratio)) if df_model else np.nan,
        aic=2.0 * n_weights - 2.0 * likelihood,
        bic=float(np.log(n)) * n_weights - 2.0 * likelihood,
        flat_directions=flat,
        notes=notes,
        undetermined=undetermined,
        **tests_of(estimates, covariance, undetermined, float(confidence)),
    )


def _repeats(weights, weight_kind: str) -> bool:
    return weights is not None and weight_kind == "frequency"


def _codes_of(y, classes: NDArray, n: int) -> NDArray:
    y = np.asarray(y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.shape != (n,):
        raise ValueError(f"y must have shape ({n},), got {y.shape}")
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(f"y holds {y[unknown][0]!r}, which is not a class of the model")
    return np.searchsorted(classes, y)
