"""A user's function as a transformer."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metaestimators import available_if

from fastml._sklearn import (
    StrOptions,
    VisualBlock,
    check_feature_names_in,
    fit_context,
    get_output_config,
)
from fastml._validation import check_array, validate_data

CLOSE, CLOSE_TO_ZERO = 1e-7, 1e-9
ROWS_OF_CHECK = 100
"""Rows that the way there and back is tried on, at least, where there are so many."""


class FunctionTransformer(TransformerMixin, BaseEstimator):
    """Calls a function with the rows.

    .. math:: x \\mapsto f(x)

    Nothing is learned. A function that is written with ``def`` in a module can be pickled, a lambda
    cannot.

    Parameters
    ----------
    func : callable, default=None
        Takes the rows, and ``kw_args``, and returns the new ones. None: they stay as they are.
    inverse_func : callable, default=None
        The way back.
    validate : bool, default=False
        Check that X is a table of finite numbers first. False: the function gets what is given.
    accept_sparse : bool, default=False
        Let sparse matrices through the check.
    check_inverse : bool, default=True
        Warn in `fit` if there and back is another place, by about a hundred of the rows.
    feature_names_out : callable or 'one-to-one', default=None
        Names of the new columns: those of X, or what the callable makes of the transformer and
        those. None: there are none.
    kw_args, inv_kw_args : dict, default=None
        More arguments for the functions.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If X had names.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.preprocessing import FunctionTransformer
    >>> FunctionTransformer(np.log1p).transform(np.array([[0.0, np.e - 1.0]]))
    array([[0., 1.]])
    """

    _parameter_constraints = {
        "func": [callable, None],
        "inverse_func": [callable, None],
        "validate": ["boolean"],
        "accept_sparse": ["boolean"],
        "check_inverse": ["boolean"],
        "feature_names_out": [callable, StrOptions({"one-to-one"}), None],
        "kw_args": [dict, None],
        "inv_kw_args": [dict, None],
    }

    def __init__(
        self,
        func=None,
        inverse_func=None,
        *,
        validate=False,
        accept_sparse=False,
        check_inverse=True,
        feature_names_out=None,
        kw_args=None,
        inv_kw_args=None,
    ):
        self.func = func
        self.inverse_func = inverse_func
        self.validate = validate
        self.accept_sparse = accept_sparse
        self.check_inverse = check_inverse
        self.feature_names_out = feature_names_out
        self.kw_args = kw_args
        self.inv_kw_args = inv_kw_args

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Check X, and the way back.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Without ``validate`` anything that the function takes.
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        X = validate_data(
            self,
            X,
            reset=True,
            accept_sparse=self.accept_sparse,
            skip_check_array=not self.validate,
        )
        if self.check_inverse and self.func is not None and self.inverse_func is not None:
            self._try_both_ways(X)
        return self

    def _try_both_ways(self, X):
        dtypes = [X.dtype] if hasattr(X, "dtype") else getattr(X, "dtypes", [])
        some = X[:: max(1, X.shape[0] // ROWS_OF_CHECK)]
        back = self.inverse_transform(self.transform(some))
        if not all(isinstance(t, np.dtype) and np.issubdtype(t, np.number) for t in dtypes):
            raise ValueError(
                "'check_inverse' is only supported when all the elements in `X` is numerical."
            )
        if not _close(some, back):
            warnings.warn(
                "The provided functions are not strictly inverse of each other. If you are sure "
                "you want to proceed regardless, set 'check_inverse=False'.",
                UserWarning,
                stacklevel=2,
            )

    def transform(self, X):
        """Call ``func``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Without ``validate`` anything that the function takes.

        Returns
        -------
        X_out : what the function returns
        """
        if self.validate:
            X = validate_data(self, X, reset=False, accept_sparse=self.accept_sparse)
        out = _call(self.func, X, self.kw_args)
        if self.feature_names_out is not None:
            return self._named(X, out) if hasattr(out, "columns") else out
        wanted = get_output_config("transform", self)["dense"]
        if wanted in ("pandas", "polars") and not _is_frame_of(out, wanted):
            warnings.warn(
                f"When `set_output` is configured to be '{wanted}', `func` should return a "
                f"{wanted} DataFrame to follow the `set_output` API  or `feature_names_out` should "
                "be defined.",
                stacklevel=2,
            )
        return out

    def _named(self, X, out):
        """The dataframe with the columns' new names, where it has none of its own."""
        names, found = list(self.get_feature_names_out()), list(out.columns)
        if found == names:
            return out
        kept = hasattr(X, "columns") and list(X.columns) == found
        if not kept and all(isinstance(name, str) for name in found):
            raise ValueError(
                "The output generated by `func` have different column names than the ones provided "
                f"by `get_feature_names_out`. Got output with columns names: {found} and "
                f"`get_feature_names_out` returned: {names}. The column names can be overridden by "
                "setting `set_output(transform='pandas')` or `set_output(transform='polars')` such "
                "that the column names are set to the names provided by `get_feature_names_out`."
            )
        if _is_frame_of(out, "polars"):
            return out.rename(dict(zip(found, names)))
        return out.set_axis(names, axis=1)

    def inverse_transform(self, X):
        """Call ``inverse_func``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Without ``validate`` anything that the function takes.

        Returns
        -------
        X_original : what the function returns
        """
        if self.validate:
            X = check_array(X, accept_sparse=self.accept_sparse)
        return _call(self.inverse_func, X, self.inv_kw_args)

    @available_if(lambda self: self.feature_names_out is not None)
    def get_feature_names_out(self, input_features=None):
        """Names of the new columns; there only with ``feature_names_out``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; by default those that `fit` met, else x0, x1, ...

        Returns
        -------
        names : ndarray of object
        """
        if hasattr(self, "n_features_in_") or input_features is not None:
            input_features = check_feature_names_in(self, input_features)
        names = input_features
        if callable(self.feature_names_out):
            names = self.feature_names_out(self, input_features)
        elif self.feature_names_out != "one-to-one":
            raise ValueError(
                f"feature_names_out={self.feature_names_out!r} is invalid. It must either be "
                '"one-to-one" or a callable with two arguments: the function transformer and an '
                "array-like of input feature names. The callable must return an array-like of "
                "output feature names."
            )
        return np.asarray(names, dtype=object)

    def set_output(self, *, transform=None):
        """Say which container `transform` is to return.

        Parameters
        ----------
        transform : {'default', 'pandas', 'polars'}, default=None
            None: as before.

        Returns
        -------
        self : object
        """
        config = self.__dict__.setdefault("_sklearn_output_config", {})
        if transform is not None:
            config["transform"] = transform
        return self

    def __sklearn_is_fitted__(self):
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.no_validation = not self.validate
        tags.requires_fit = False
        tags.input_tags.sparse = not self.validate or self.accept_sparse
        return tags

    def _sk_visual_block_(self):
        named = self.func.func if isinstance(self.func, partial) else self.func
        return VisualBlock(
            "single",
            self,
            names=getattr(named, "__name__", f"{type(named).__name__}(...)"),
            name_details=str(self),
            name_caption="FunctionTransformer",
            doc_link_label="FunctionTransformer",
        )


def _call(function, X, more):
    return X if function is None else function(X, **(more or {}))


def _close(first, second) -> bool:
    if sp.issparse(first) and sp.issparse(second):
        return first.shape == second.shape and (
            (abs(first - second) - CLOSE * abs(second)).max() <= CLOSE_TO_ZERO
        )
    if sp.issparse(first) or sp.issparse(second):
        raise ValueError("Can only compare two sparse matrices, not a sparse matrix and an array")
    return np.allclose(first, second, rtol=CLOSE, atol=CLOSE_TO_ZERO)


def _is_frame_of(out, library: str) -> bool:
    return hasattr(out, "columns") and type(out).__module__.partition(".")[0] == library
