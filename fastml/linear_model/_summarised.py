"""`summary` as a method, of rows or of what was kept when they were there."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from fastml._sklearn import StrOptions
from fastml.linear_model._summary._result import LinearSummary
from fastml.linear_model._summary._sandwich import ROBUST
from fastml.linear_model._summary._summary import summary

KEEP_ENTRY = """
keep_summary : bool or {'classic', 'HC0', 'HC1', 'HC2', 'HC3'}, default=False
    Whether ``fit`` makes the summary of the model, so that `summary` needs no rows any more, and
    which errors it has; True means 'classic'. It holds p × p numbers, never the rows. One target.
"""
KEEP = {"keep_summary": ["boolean", StrOptions({"classic", *ROBUST})]}


class Summarised:
    """A model with a `summary`, which ``fit`` may make and keep."""

    keep_summary: bool | str = False
    _kept_summary: LinearSummary

    def _keep(self, X, y, **options) -> None:
        """Make the summary if asked to, and forget an older one."""
        if hasattr(self, "_kept_summary"):
            del self._kept_summary
        if self.keep_summary:
            kind = "classic" if self.keep_summary is True else self.keep_summary
            self._kept_summary = summary(self, X, y, covariance=kind, **options)

    def summary(self, X=None, y=None, **options):
        """Standard errors, tests, information criteria and checks.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            The rows that the model learned from; None: what ``keep_summary`` has kept of them.
        y : array-like of shape (n_samples,), default=None
            Their targets.
        **options : dict
            Of `fastml.linear_model.summary`, for given rows.

        Returns
        -------
        summary : LinearSummary
        """
        check_is_fitted(self)
        if (X is None) != (y is None):
            raise ValueError("summary takes X and y, or neither")
        if X is not None:
            return summary(self, X, y, **options)
        if options:
            raise ValueError("options of the summary go with X and y")
        if not hasattr(self, "_kept_summary"):
            raise ValueError(
                f"this {type(self).__name__} kept no summary: hand X and y to summary, or fit a "
                "model that has keep_summary=True"
            )
        return self._kept_summary
