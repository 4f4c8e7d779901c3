"""scikit-learn's names of penalties and solvers, in both spellings, and its refusals."""

from __future__ import annotations

import warnings

import numpy as np

SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")

OLD_PENALTY = (
    "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, "
    "leave 'penalty' set to its default value and use '{ratio}' {joint} '{C}' instead. "
)
MANY_CLASSES = (
    "The 'liblinear' solver does not support multiclass classification (n_classes >= 3). Either "
    "use another solver or wrap the estimator in a OneVsRestClassifier to keep applying a "
    "one-versus-rest scheme."
)
FIRTH_ALONE = "firth=True takes the place of every other penalty: C and l1_ratio are not used"


def check_solver(solver: str, penalty: str | None, dual: bool) -> None:
    """scikit-learn's refusals of a solver for a penalty."""
    if solver not in ("liblinear", "saga") and penalty not in ("l2", None):
        raise ValueError(
            f"Solver {solver} supports only 'l2' or None penalties, got {penalty} penalty."
        )
    if solver != "liblinear" and dual:
        raise ValueError(f"Solver {solver} supports only dual=False, got dual={dual}")
    if penalty == "elasticnet" and solver != "saga":
        raise ValueError(f"Only 'saga' solver supports elasticnet penalty, got solver={solver}.")
    if solver == "liblinear" and penalty is None:
        raise ValueError(
            "C=np.inf as well as penalty=None is not supported for the liblinear solver"
        )


def penalty_and_strength(model) -> tuple[str | None, float, float]:
    """(name, C, share of l1) of a LogisticRegression, with scikit-learn's warnings."""
    l1_ratio = model.l1_ratio
    if model.penalty == "deprecated":
        if l1_ratio is None:
            warnings.warn(
                "'l1_ratio=None' was deprecated in version 1.8 and will trigger an error in 1.10. "
                "Use 0<=l1_ratio<=1 instead.",
                FutureWarning,
                stacklevel=4,
            )
        named = {0: "l2", None: "l2", 1: "l1"}.get(l1_ratio, "elasticnet")
        penalty = None if np.isinf(model.C) else named
    else:
        penalty = model.penalty
        warnings.warn(
            OLD_PENALTY.format(ratio="l1_ratio", joint="or", C="C")
            + "Use l1_ratio=0 instead of penalty='l2', l1_ratio=1 instead of penalty='l1', "
            "l1_ratio set to a float between 0 and 1 instead of penalty='elasticnet', and "
            "C=np.inf instead of penalty=None.",
            FutureWarning,
            stacklevel=4,
        )
    check_solver(model.solver, penalty, model.dual)
    if penalty != "elasticnet" and l1_ratio is not None and 0 < l1_ratio < 1:
        warnings.warn(
            "l1_ratio parameter is only used when penalty is 'elasticnet'. Got "
            f"(penalty={penalty})",
            stacklevel=4,
        )
    if (model.penalty == "l2" and l1_ratio != 0) or (model.penalty == "l1" and l1_ratio != 1):
        warnings.warn(
            f"Inconsistent values: penalty={model.penalty} with l1_ratio={l1_ratio}. penalty is "
            "deprecated. Please use l1_ratio only.",
            stacklevel=4,
        )
    if penalty == "elasticnet" and l1_ratio is None:
        raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
    if model.penalty is None and model.C != 1.0:
        warnings.warn(
            "Setting penalty=None will ignore the C and l1_ratio parameters", stacklevel=4
        )
    C = np.inf if penalty is None else float(model.C)
    return penalty, C, share_of_l1(penalty, l1_ratio)


def share_of_l1(penalty: str | None, l1_ratio) -> float:
    return {"l1": 1.0, "elasticnet": 0.0 if l1_ratio is None else float(l1_ratio)}.get(
        str(penalty), 0.0
    )
