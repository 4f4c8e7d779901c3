"""Odds ratios of logistic regression, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from fastml.linear_model._summary._result import LinearSummary
from fastml.linear_model._summary._softmax import SoftmaxSummary
from fastml.linear_model._summary._summary import summary
from fastml.linear_model._summary._table import columns_of_text, number


@dataclass(frozen=True, repr=False)
class OddsRatios:
    """By what a unit more of a column multiplies the odds of a class; prints as a table.

    Of several classes there is one entry for each class but the reference and each column.
    """

    names: list[str]  # of the columns
    classes: list  # whose odds they are
    reference: Any  # against which class
    ratio: NDArray
    lower: NDArray
    upper: NDArray
    p_value: NDArray  # of the ratio 1
    confidence: float

    def __str__(self) -> str:
        share = f"{100 * self.confidence:g} %"
        several = len(set(self.classes)) > 1
        head = (f"against {self.reference}", "odds ratio", f"{share} from", "to", "p")
        rows = [
            (
                f"{label}: {name}" if several else name, number(self.ratio[i]),
                number(self.lower[i]), number(self.upper[i]), f"{self.p_value[i]:.4f}",
            )
            for i, (name, label) in enumerate(zip(self.names, self.classes))
        ]  # fmt: skip
        return "\n".join(columns_of_text(head, rows))

    __repr__ = __str__

    def to_dict(self) -> dict[str, list]:
        """Columns name, class, ratio, lower, upper, p_value, ready for ``pandas.DataFrame``."""
        columns: dict[str, Any] = {
            "name": self.names, "class": self.classes, "ratio": self.ratio, "lower": self.lower,
            "upper": self.upper, "p_value": self.p_value,
        }  # fmt: skip
        return {name: list(values) for name, values in columns.items()}


def odds_ratios(model, X=None, y=None, *, confidence=0.95, reference=None, **options):
    """Odds ratios e^w of logistic regression, with intervals.

    A unit more of column j multiplies the odds p / (1 − p) by e^{w_j}, whatever the other columns
    are; of several classes, the odds p_k / p_reference by e^{w_kj − w_reference,j}. The interval is
    e^{w ± z s} with the standard error s.

    Parameters
    ----------
    model : LogisticRegression, LinearSummary or SoftmaxSummary
        A fitted model, of fastml or scikit-learn, or its summary.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        The rows that the model learned from; not needed for a summary or with ``keep_summary``.
    y : array-like of shape (n_samples,), default=None
        Their classes.
    confidence : float, default=0.95
        Of the intervals.
    reference : label, default=None
        The class that the others are compared with; None: the model's ``reference_class``, or the
        first.
    **options : dict
        Of :func:`fastml.linear_model.summary`, for given rows.

    Returns
    -------
    ratios : OddsRatios
        ``names``, ``classes``, ``ratio``, ``lower``, ``upper``, ``p_value`` without intercepts;
        prints as a table, and :func:`fastml.plot.odds_ratios` draws it.

    Examples
    --------
    Of 20 who were exposed 10 fell ill, of 20 others 4:

    >>> import numpy as np
    >>> from fastml.linear_model import LogisticRegression, odds_ratios
    >>> X = np.repeat([[1.0], [0.0]], 20, axis=0)
    >>> y = np.r_[np.arange(20) < 10, np.arange(20) < 4].astype(int)
    >>> model = LogisticRegression(C=np.inf, tol=1e-9, keep_summary=True).fit(X, y)
    >>> odds_ratios(model)
    against 0  odds ratio  95 % from      to       p
    ------------------------------------------------
    x0                  4    0.98331  16.271  0.0528
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}")
    found = _summary_of(model, X, y, options)
    if isinstance(found, SoftmaxSummary):
        return _of_several(found, found.reference if reference is None else reference, confidence)
    if found.family.name != "binomial" or found.family.link != "logit":
        raise ValueError(f"odds ratios are of logistic regression, got {found.title}")
    classes = list(getattr(model, "classes_", (0, 1)))
    flipped = reference is not None and reference == classes[1]
    if reference is not None and reference not in classes:
        raise ValueError(f"reference={reference!r} is not one of the classes {classes}")
    first = int(found.design.intercept)
    coef, error = found.coef[first:], found.std_error[first:]
    if flipped:
        coef = -coef
    around = found._quantile(confidence) * error
    return _ratios(
        found.names[first:], [classes[0 if flipped else 1]] * len(coef),
        classes[1 if flipped else 0], coef, around, found.p_value[first:], confidence,
    )  # fmt: skip


def _summary_of(model, X, y, options) -> LinearSummary | SoftmaxSummary:
    if isinstance(model, LinearSummary | SoftmaxSummary):
        if X is not None or y is not None or options:
            raise ValueError("a summary has its rows in it: X, y and options go with a model")
        return model
    check_is_fitted(model)
    if X is not None and y is not None:
        return summary(model, X, y, **options)
    if not hasattr(model, "_kept_summary"):
        raise ValueError(
            "intervals need the rows: hand X and y to odds_ratios, or fit a LogisticRegression "
            "with keep_summary=True"
        )
    return model.summary(X, y, **options)


def _of_several(found: SoftmaxSummary, reference, confidence: float) -> OddsRatios:
    found = found.against(reference)
    first = int(found.intercept)
    names = found.names[first:]
    coef = found.coef[:, first:].ravel()
    around = float(ndtri(0.5 + confidence / 2.0)) * found.std_error[:, first:].ravel()
    return _ratios(
        names * len(found.classes), [label for label in found.classes for _ in names],
        reference, coef, around, found.p_value[:, first:].ravel(), confidence,
    )  # fmt: skip


def _ratios(names, classes, reference, coef, around, p_value, confidence) -> OddsRatios:
    with np.errstate(over="ignore"):
        return OddsRatios(
            list(names), classes, reference, np.exp(coef), np.exp(coef - around),
            np.exp(coef + around), np.asarray(p_value), float(confidence),
        )  # fmt: skip
