"""What a summary remarks: columns that do not vary or depend on others, weights off the optimum."""

from __future__ import annotations

import numpy as np

from fastml.linear_model._summary._design import Design

NOT_THE_OPTIMUM = 1e-3
"""Distance from the maximum of the likelihood, in standard errors, that a note tells of."""


def too_far(away: float) -> str:
    return (
        f"The coefficients are {away:.2g} standard errors from the maximum of the likelihood "
        "(a penalty, or not converged): errors and tests are as if they were there."
    )


def flat_directions(design: Design, names: list[str]):
    """Notes, combinations of columns without variance by name, which coefficients they blur."""
    notes, combinations = [], []
    undetermined = np.zeros(design.n_columns, dtype=bool)
    first = int(design.intercept)
    for direction in design.flat:
        largest = np.abs(direction).max()
        used = np.abs(direction) > 1e-6 * largest
        undetermined[first:] |= used
        weights = np.where(used, direction, 0.0) / design.scale
        if first and abs(design.center @ weights) > 1e-9 * np.abs(design.center * weights).sum():
            undetermined[0] = True
        weights = weights / weights[np.argmax(np.abs(direction))]
        found = {names[j]: float(weights[j]) for j in np.flatnonzero(used)}
        combinations.append(found)
        if len(found) == 1:
            what = "constant" if first else "zero"
            notes.append(
                f"Column {next(iter(found))} is {what}: its coefficient is not determined."
            )
        else:
            listed = " ".join(f"{w:+.4g} {name}" for name, w in found.items())
            notes.append(
                f"Columns are collinear: {listed} {'does not vary' if first else 'is zero'}; "
                "their coefficients are not determined, only what they predict together."
            )
    return notes, combinations, undetermined
