"""A summary as text."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_text(s: Any) -> str:
    """Of a `LinearSummary`."""
    lines = [s.title, *_of_the_whole(s), "", *_coefficients(s)]
    if s.checks:
        lines += ["", *_assumptions(s)]
    if s.notes:
        lines += ["", *s.notes]
    return "\n".join(lines)


def number(value: float) -> str:
    return f"{value:.5g}"


def p_text(value: float) -> str:
    return "p < 0.0001" if value < 1e-4 else f"p = {value:.4f}"


def _of_the_whole(s: Any) -> list[str]:
    lines = [f"R² {s.r2:.5f}, adjusted {s.adjusted_r2:.5f}"]
    if s.family.is_least_squares:
        error = f"residual standard error {number(s.residual_standard_error)}"
        lines.append(f"{error} on {number(s.df_residual)} degrees of freedom")
        if s.df_model:
            degrees = f"F({s.df_model}, {number(s.df_inference)})"
            lines.append(f"{degrees} = {number(s.f_value)}, {p_text(s.f_p_value)}")
    else:
        fall = f"deviance {number(s.deviance)} of {number(s.null_deviance)}"
        lines.append(f"{fall}, dispersion {number(s.dispersion)}")
        if s.df_model:
            ratio = f"likelihood ratio χ²({s.df_model}) = {number(s.likelihood_ratio)}"
            lines.append(f"{ratio}, {p_text(s.likelihood_ratio_p_value)}")
    likelihood = f"log-likelihood {number(s.log_likelihood)}"
    lines.append(f"{likelihood}, AIC {number(s.aic)}, BIC {number(s.bic)}")
    lines.append(
        f"condition number {s.condition_number:.3g}, "
        f"of scaled columns {s.scaled_condition_number:.3g}"
    )
    return lines


def _coefficients(s: Any) -> list[str]:
    share = f"{100 * s.confidence:g} %"
    head = ("", "coef", "std error", "t" if s.uses_t else "z", "p", f"{share} from", "to")
    rows = [
        (
            name, number(s.coef[j]), number(s.std_error[j]), f"{s.statistic[j]:.3f}",
            f"{s.p_value[j]:.4f}", *map(number, s.interval[j]),
        )
        for j, name in enumerate(s.names)
    ]  # fmt: skip
    return columns_of_text(head, rows)


def columns_of_text(head: tuple, rows: list) -> list[str]:
    """A line of titles, a rule, and the rows: the first column to the left, others to the right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lined = [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths))
        )
        for row in (head, *rows)
    ]
    return [lined[0].rstrip(), "-" * len(lined[0]), *lined[1:]]


def _assumptions(s: Any) -> list[str]:
    found = []
    for name, check in s.checks.items():
        p = "" if np.isnan(check.p_value) else f", {p_text(check.p_value)}"
        found.append(f"{check.assumption}: {name.replace('_', ' ')} {number(check.statistic)}{p}")
    return found
