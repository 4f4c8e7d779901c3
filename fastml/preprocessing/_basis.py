"""Columns f_1(x), ..., f_m(x) of functions that the user writes."""

from __future__ import annotations

from collections import Counter

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._jit import jit_enabled
from fastml._sklearn import StrOptions, check_feature_names_in, fit_context
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import FLOATS, validate_data
from fastml.kernels.preprocessing.user_basis import call_on_rows, call_on_values

OPERATIONS = 50.0
"""Of a call of a function that is not known."""


@documented()
class BasisFunctions(TransformerMixin, BaseEstimator):
    """Columns of any functions of a row: what makes linear models curved.

    A row x becomes (x, f_1(x), ..., f_m(x)), and a linear model of that is
    w · x + v_1 f_1(x) + ... + v_m f_m(x): linear in its weights, not in x. Functions under Numba's
    ``njit`` run compiled and on all cores; plain Python functions are called one row after the
    other.

    Parameters
    ----------
    functions : callable, sequence of callables or dict of name: callable, default=()
        Each takes a row, an array of shape (n_features,), and returns a number; or, with
        ``of='value'``, one value. They must not change the row.
    of : {'row', 'value'}, default='row'
        A function makes one column out of every row, or, of single values, one column out of
        each column.
    include_input : bool, default=True
        The columns themselves first.
    {n_jobs}

    Attributes
    ----------
    n_output_features_ : int
        Number of columns.
    {n_features_in_}
    {feature_names_in_}

    Notes
    -----
    Functions under ``njit`` are pickled with their code (and that of closures), so that a model can
    be loaded where they are not defined, by the same version of Python and Numba. Plain functions
    are pickled by name: they must be found under it, in a module, when the model is loaded; lambdas
    cannot be pickled.

    The first call compiles each function for the type of X, about a second; that is not kept on
    disk.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import njit
    >>> from fastml.linear_model import LinearRegression
    >>> from fastml.preprocessing import BasisFunctions
    >>> from sklearn.pipeline import make_pipeline
    >>> @njit
    ... def wave(x):
    ...     return np.sin(x[0])
    >>> X = np.linspace(0.0, 6.0, 20)[:, None]
    >>> model = make_pipeline(BasisFunctions([wave]), LinearRegression())
    >>> model.fit(X, 3.0 * np.sin(X[:, 0]) - X[:, 0])[-1].coef_.round(6)
    array([-1.,  3.])
    >>> model[0].get_feature_names_out()
    array(['x0', 'wave'], dtype=object)
    """

    _parameter_constraints: dict = {
        "functions": [callable, list, tuple, dict],
        "of": [StrOptions({"row", "value"})],
        "include_input": ["boolean"],
        "n_jobs": [int, None],
    }

    def __init__(self, functions=(), *, of="row", include_input=True, n_jobs=None):
        self.functions = functions
        self.of = of
        self.include_input = include_input
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Count the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        X = validate_data(self, X, dtype=FLOATS)
        names = [name for name, _ in self._named()]
        if not names and not self.include_input:
            raise ValueError("no functions and include_input=False: no column is left")
        per_function = 1 if self.of == "row" else X.shape[1]
        self.n_output_features_ = per_function * len(names) + X.shape[1] * self.include_input
        return self

    def _named(self) -> list[tuple[str, object]]:
        """(name, function); functions of one name get numbers."""
        if isinstance(self.functions, dict):
            named = [(str(name), function) for name, function in self.functions.items()]
        else:
            given = [self.functions] if callable(self.functions) else list(self.functions)
            named = [(getattr(f, "__name__", type(f).__name__), f) for f in given]
            often = Counter(name for name, _ in named)
            seen: Counter = Counter()
            for k, (name, function) in enumerate(named):
                if often[name] > 1:
                    seen[name] += 1
                    named[k] = (f"{name}_{seen[name]}", function)
        for name, function in named:
            if not callable(function):
                raise TypeError(f"functions must be callable, got {function!r} ({name!r})")
        return named

    def transform(self, X):
        """The functions of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        XB : ndarray of shape (n_samples, n_output_features_)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        # A function may have been compiled for arrays that it may write to only.
        X = np.require(X, requirements=["C", "W"])
        n, d = X.shape
        out = np.empty((n, self.n_output_features_), dtype=X.dtype)
        column = 0
        if self.include_input:
            out[:, :d], column = X, d
        wide = 1 if self.of == "row" else d
        for name, function in self._named():
            self._fill(function, X, column, out)
            made = out[:, column : column + wide]
            if not np.isfinite(made).all():
                row = int(np.flatnonzero(~np.isfinite(made).all(axis=1))[0])
                raise ValueError(
                    f"function {name!r} is {made[row][~np.isfinite(made[row])][0]} "
                    f"in row {row}: {X[row]!r}"
                )
            column += wide
        return out

    def _fill(self, function, X, column: int, out) -> None:
        n, d = X.shape
        if _is_compiled(function):
            work = OPERATIONS * (1 if self.of == "row" else d)
            call = call_on_rows if self.of == "row" else call_on_values
            call(
                chunk_rows(n, work), function, X, column, out,
                n_threads=effective_n_threads(self.n_jobs, work=work * n),
            )  # fmt: skip
        elif self.of == "row":
            for i in range(n):
                out[i, column] = function(X[i])
        else:
            for i in range(n):
                for j in range(d):
                    out[i, column + j] = function(X[i, j])

    def get_feature_names_out(self, input_features=None):
        """Names: those of the columns, and of the functions.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features, instead of those seen by fit.

        Returns
        -------
        feature_names_out : ndarray of str objects
        """
        check_is_fitted(self)
        inputs = check_feature_names_in(self, input_features)
        found = list(inputs) if self.include_input else []
        for name, _ in self._named():
            found += [name] if self.of == "row" else [f"{name}({one})" for one in inputs]
        return np.asarray(found, dtype=object)


def _is_compiled(function) -> bool:
    """Whether it is a function under Numba's ``njit``."""
    return jit_enabled() and hasattr(function, "py_func")
