"""What LinearSVC and LinearSVR share."""

from __future__ import annotations

import warnings
from contextlib import contextmanager

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_random_state

from fastml._progress import CallbackSupport, current_steps, fit_steps, telling
from fastml._validation import check_weights, validate_data

SOLVERS = {
    ("l2", "hinge"): {True},
    ("l2", "squared_hinge"): {True, False},
    ("l1", "squared_hinge"): {False},
    ("l2", "epsilon_insensitive"): {True},
    ("l2", "squared_epsilon_insensitive"): {True, False},
}
"""(penalty, loss) → values of ``dual`` for which there is a solver."""

TOO_FEW_EPOCHS = "Liblinear failed to converge, increase the number of iterations."
"""In scikit-learn's words: code that filters its warning keeps working."""


def choose_dual(dual, penalty: str, loss: str, shape) -> bool:
    """``dual`` as a bool; a ValueError if no solver has the combination."""
    possible = SOLVERS.get((penalty, loss), set())
    if dual == "auto" and possible:
        preferred = shape[0] < shape[1]
        return preferred if preferred in possible else not preferred
    if bool(dual) not in possible:
        detail = "is not supported" if not possible else f"are not supported when dual={dual}"
        raise ValueError(
            f"Unsupported set of arguments: The combination of penalty='{penalty}' and "
            f"loss='{loss}' {detail}, Parameters: penalty={penalty!r}, loss={loss!r}, dual={dual!r}"
        )
    return bool(dual)


class LinearMachine(CallbackSupport, BaseEstimator):
    """Checks of input, the constant, the end of a fit, scores."""

    _ended = False  # whether a callback has ended the fit that is under way

    @contextmanager
    def _telling(self, X, y):
        """Have callbacks told of what `_watch` sees."""
        with fit_steps(self, None, X, y) as steps, telling(steps):
            yield

    def _check_fit_input(self, X, y, sample_weight, *, numeric: bool):
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, order="C",
            accept_large_sparse=False, y_numeric=numeric,
        )  # fmt: skip
        weights = check_weights(sample_weight, X, dtype=np.float64)
        if not weights.all():  # rows of weight zero are left out
            kept = np.flatnonzero(weights)
            return X[kept], y[kept], weights[kept]
        return X, y, weights

    def _design(self, X):
        from fastml._engines.rows import DesignMatrix

        return DesignMatrix(X, self.intercept_scaling if self.fit_intercept else 0.0, self.n_jobs)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _watch(self, *progress) -> bool:
        """Between rounds of a solver: epochs of descents, or a Newton step and its objective.
        Returns whether a callback ends the fit."""
        if len(progress) == 1:
            active, epochs = progress[0][:, 0].sum(), progress[0][:, 1].max()
            text = f"epoch {epochs}, {active} active coordinates"
        else:
            text = f"step {progress[0]}, objective {progress[1]:.6g}"
        if self.verbose:
            print(f"[{type(self).__name__}] {text}")  # noqa: T201
        if current_steps().begin(text).end():
            self._ended = True
        return self._ended

    def _finish(self, w, n_iter) -> None:
        self.n_iter_ = int(n_iter.max())
        if self.__dict__.pop("_ended", False) or self.n_iter_ >= self.max_iter:
            from sklearn.exceptions import ConvergenceWarning

            warnings.warn(TOO_FEW_EPOCHS, ConvergenceWarning, stacklevel=4)
        self.coef_ = np.ascontiguousarray(w[:, :-1])
        self.intercept_ = self.intercept_scaling * w[:, -1] if self.fit_intercept else 0.0

    def _scores(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", order="C", reset=False)
        scores = X @ self.coef_.T
        if hasattr(scores, "toarray"):
            scores = scores.toarray()
        scores += self.intercept_
        return scores

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
