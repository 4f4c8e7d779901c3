"""A column for each category, set up to the row's own."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import StrOptions, check_feature_names_in, fit_context
from fastml.preprocessing._encoders._base import ENTRIES, CategoryEncoder


@documented(ENTRIES)
class ThermometerEncoder(CategoryEncoder):
    """Columns of an ordered category: those up to the row's own are 1.

    z_s = [s ≤ x]: the lowest category is (1, 0, …, 0), the highest all ones. The order is kept,
    which one-hot columns lose.

    Parameters
    ----------
    {categories}
    {dtype}
    handle_unknown : {'error', 'ignore'}, default='error'
        What a category is that was not seen: an error, or zeros only.

    Attributes
    ----------
    {categories_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.preprocessing import ThermometerEncoder
    >>> encoder = ThermometerEncoder(categories=[["low", "middle", "high"]])
    >>> encoder.fit_transform([["low"], ["high"], ["middle"]])
    array([[1., 0., 0.],
           [1., 1., 1.],
           [1., 1., 0.]])
    """

    _parameter_constraints: dict = {
        "categories": [StrOptions({"auto"}), list],
        "dtype": "no_validation",
        "handle_unknown": [StrOptions({"error", "ignore"})],
    }

    def __init__(self, *, categories="auto", dtype=np.float64, handle_unknown="error"):
        self.categories = categories
        self.dtype = dtype
        self.handle_unknown = handle_unknown

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the categories.

        Parameters
        ----------
        {X}
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        self._learn_categories(X, handle_unknown=self.handle_unknown)
        return self

    def transform(self, X):
        """Encode rows.

        Parameters
        ----------
        {X}

        Returns
        -------
        X_out : ndarray of shape (n_samples, n_encoded_features)
        """
        check_is_fitted(self)
        found = self._find(X, handle_unknown=self.handle_unknown)
        parts = [
            (np.arange(len(categories)) <= place.places[:, None]).astype(self.dtype)[place.codes]
            for place, categories in zip(found, self.categories_)
        ]
        return np.hstack(parts)

    def get_feature_names_out(self, input_features=None):
        """Names of the columns: feature>=category.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features, instead of those seen by fit.

        Returns
        -------
        feature_names_out : ndarray of str objects
        """
        check_is_fitted(self)
        names = check_feature_names_in(self, input_features)
        joined = [f"{n}>={c}" for n, cs in zip(names, self.categories_) for c in cs]
        return np.asarray(joined, dtype=object)
