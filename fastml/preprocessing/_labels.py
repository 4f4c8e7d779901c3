"""Labels of classes: numbers for them, columns of zeros and ones."""

from __future__ import annotations

import itertools
import warnings
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import type_of_target, unique_labels
from sklearn.utils.validation import check_is_fitted, column_or_1d

from fastml._docs import documented
from fastml._engines.categories import factorise, positions, sorted_factor
from fastml._sklearn import (
    Interval,
    align_api_if_sparse,
    fit_context,
    num_samples,
    validate_params,
)
from fastml._validation import check_array

OWN = {
    "y": """
        y : array-like of shape (n_samples,)
            Labels.
    """,
    "neg_label": """
        neg_label : int, default=0
            Stands for "not of the class".
    """,
    "pos_label": """
        pos_label : int, default=1
            Stands for "of the class".
    """,
    "sparse_output": """
        sparse_output : bool, default=False
            Return a CSR matrix.
    """,
    "y_labels": """
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_classes)
            Labels, or an indicator of several labels.
    """,
    "y_sets": """
        y : iterable of iterables
            A set of labels for each row.
    """,
}


class LabelTransformer(TransformerMixin, BaseEstimator):
    """Of labels alone: the result stays an array, whatever `set_output` says elsewhere."""

    def __init_subclass__(cls):
        super().__init_subclass__(auto_wrap_output_keys=None)


@documented(OWN)
class LabelEncoder(LabelTransformer):
    """Numbers 0, 1, … for labels, in their order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from fastml.preprocessing import LabelEncoder
    >>> LabelEncoder().fit_transform(["b", "a", "b"])
    array([1, 0, 1])
    """

    def fit(self, y):
        """Learn the labels.

        Parameters
        ----------
        {y}

        Returns
        -------
        self : object
        """
        self.classes_ = sorted_factor(factorise(column_or_1d(y, warn=True))).values
        return self

    def fit_transform(self, y):
        """Learn the labels and return their numbers.

        Parameters
        ----------
        {y}

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        self.classes_, codes = sorted_factor(factorise(column_or_1d(y, warn=True)))
        return codes

    def transform(self, y):
        """Numbers of labels.

        Parameters
        ----------
        {y}

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        dtype = self.classes_.dtype
        # Text as long as it is: 'aa' is not the class 'a'.
        y = column_or_1d(y, dtype=dtype.type if dtype.kind in "US" else dtype, warn=True)
        if num_samples(y) == 0:
            return np.asarray([])
        values, codes = factorise(y)
        places = positions(values, self.classes_)
        if (places < 0).any():
            raise ValueError(f"y contains previously unseen labels: {values[places < 0].tolist()}")
        return places[codes]

    def inverse_transform(self, y):
        """Labels of numbers.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Numbers.

        Returns
        -------
        y_original : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        y = column_or_1d(y, warn=True)
        if num_samples(y) == 0:
            return np.asarray([])
        unseen = np.setdiff1d(y, np.arange(len(self.classes_)))
        if len(unseen):
            raise ValueError(f"y contains previously unseen labels: {unseen}")
        return self.classes_[y]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.one_d_labels = True
        return tags


def _check_values(neg_label, pos_label, sparse_output):
    if neg_label >= pos_label:
        raise ValueError(f"neg_label={neg_label} must be strictly less than pos_label={pos_label}.")
    if sparse_output and (pos_label == 0 or neg_label != 0):
        raise ValueError(
            "Sparse binarization is only supported with non zero pos_label and zero neg_label, got "
            f"pos_label={pos_label} and neg_label={neg_label}"
        )


@documented(OWN)
class LabelBinarizer(LabelTransformer):
    """A column for each class; one column for two classes.

    Parameters
    ----------
    {neg_label}
    {pos_label}
    {sparse_output}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    y_type_ : str
        Kind of the target, as `sklearn.utils.multiclass.type_of_target` has it.
    sparse_input_ : bool
        Whether fit saw a sparse matrix.

    Examples
    --------
    >>> from fastml.preprocessing import LabelBinarizer
    >>> LabelBinarizer().fit_transform(["a", "c", "b"])
    array([[1, 0, 0],
           [0, 0, 1],
           [0, 1, 0]])
    """

    _parameter_constraints: dict = {
        "neg_label": [Integral],
        "pos_label": [Integral],
        "sparse_output": ["boolean"],
    }

    def __init__(self, *, neg_label=0, pos_label=1, sparse_output=False):
        self.neg_label = neg_label
        self.pos_label = pos_label
        self.sparse_output = sparse_output

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, y):
        """Learn the labels.

        Parameters
        ----------
        {y_labels}

        Returns
        -------
        self : object
        """
        _check_values(self.neg_label, self.pos_label, self.sparse_output)
        kind = type_of_target(y, input_name="y")
        if "multioutput" in kind:
            raise ValueError("Multioutput target data is not supported with label binarization")
        if num_samples(y) == 0:
            raise ValueError(f"y has 0 samples: {y!r}")
        self.y_type_ = kind
        self.sparse_input_ = sp.issparse(y)
        self.classes_ = unique_labels(y)
        return self

    def fit_transform(self, y):
        """Learn the labels and return their columns.

        Parameters
        ----------
        {y_labels}

        Returns
        -------
        Y : {ndarray, sparse matrix} of shape (n_samples, n_classes)
        """
        return self.fit(y).transform(y)

    def transform(self, y):
        """Columns of labels.

        Parameters
        ----------
        {y_labels}

        Returns
        -------
        Y : {ndarray, sparse matrix} of shape (n_samples, n_classes)
            One column for two classes.
        """
        check_is_fitted(self)
        several = type_of_target(y).startswith("multilabel")
        if several and not self.y_type_.startswith("multilabel"):
            raise ValueError("The object was not fitted with multilabel input.")
        return label_binarize(
            y, classes=self.classes_, pos_label=self.pos_label, neg_label=self.neg_label,
            sparse_output=self.sparse_output,
        )  # fmt: skip

    def inverse_transform(self, Y, threshold=None):
        """Labels of columns, or of scores.

        Parameters
        ----------
        Y : {ndarray, sparse matrix} of shape (n_samples, n_classes)
            Several classes: the largest value decides.
        threshold : float, default=None
            For one column and for several labels; None: the middle of the two values.

        Returns
        -------
        y_original : {ndarray, sparse matrix} of shape (n_samples,)
        """
        check_is_fitted(self)
        if threshold is None:
            threshold = (self.pos_label + self.neg_label) / 2.0
        if self.y_type_ == "multiclass":
            y = _largest(Y, self.classes_)
        else:
            y = _above(Y, self.y_type_, self.classes_, threshold)
        if self.sparse_input_:
            return align_api_if_sparse(sp.csr_array(y))
        return y.toarray() if sp.issparse(y) else y

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.one_d_labels = True
        return tags


def _largest(Y, classes):
    """The class of each row's largest value."""
    best = np.asarray(Y.tocsr().argmax(axis=1) if sp.issparse(Y) else np.asarray(Y).argmax(axis=1))
    return classes[np.clip(best.ravel(), 0, len(classes) - 1)]


def _above(Y, kind, classes, threshold):
    """Labels of what is above the threshold."""
    if kind == "binary" and Y.ndim == 2 and Y.shape[1] > 2:
        raise ValueError(f"output_type='binary', but y.shape = {Y.shape}")
    if kind != "binary" and (Y.ndim != 2 or Y.shape[1] != len(classes)):
        raise ValueError("The number of class is not equal to the number of dimension of y.")
    if kind not in ("binary", "multilabel-indicator"):
        raise ValueError(f"{kind} format is not supported")
    if sp.issparse(Y) and threshold > 0 and kind != "binary":
        Y = Y.tocsr() if Y.format not in ("csr", "csc") else Y
        Y.data = (Y.data > threshold).astype(int)
        Y.eliminate_zeros()
        return Y
    dense = Y.toarray() if sp.issparse(Y) else np.asarray(Y)
    above = (dense > threshold).astype(dense.dtype if dense.dtype.kind == "i" else np.int64)
    if kind == "multilabel-indicator":
        return above
    if above.ndim == 2 and above.shape[1] == 2:
        return classes[above[:, 1]]
    if len(classes) == 1:
        return np.repeat(classes[0], len(above))
    return classes[above.ravel()]


@documented(OWN)
@validate_params(
    {
        "y": ["array-like", "sparse matrix"],
        "classes": ["array-like"],
        "neg_label": [Interval(Integral, None, None, closed="neither")],
        "pos_label": [Interval(Integral, None, None, closed="neither")],
        "sparse_output": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def label_binarize(y, *, classes, neg_label=0, pos_label=1, sparse_output=False):
    """A column for each of the given classes; one column for two.

    Parameters
    ----------
    {y_labels}
    classes : array-like of shape (n_classes,)
        In the order of the columns. Other labels have no column.
    {neg_label}
    {pos_label}
    {sparse_output}

    Returns
    -------
    Y : {ndarray, sparse matrix} of shape (n_samples, n_classes)

    Examples
    --------
    >>> from fastml.preprocessing import label_binarize
    >>> label_binarize([3, 1], classes=[1, 2, 3])
    array([[0, 0, 1],
           [1, 0, 0]])
    """
    if not isinstance(y, list):
        y = check_array(y, input_name="y", accept_sparse="csr", ensure_2d=False, dtype=None)
    elif num_samples(y) == 0:
        raise ValueError(f"y has 0 samples: {y!r}")
    _check_values(neg_label, pos_label, sparse_output)
    kind = type_of_target(y)
    if "multioutput" in kind:
        raise ValueError("Multioutput target data is not supported with label binarization")
    if kind == "unknown":
        raise ValueError("The type of target data is not known")
    classes = np.asarray(classes)
    dtype = y.dtype if getattr(getattr(y, "dtype", None), "kind", "") == "i" else np.int64
    if kind == "binary" and len(classes) == 1:
        if sparse_output:
            return align_api_if_sparse(sp.csr_array((num_samples(y), 1), dtype=int))
        return np.full((num_samples(y), 1), neg_label, dtype=dtype)
    if kind == "multilabel-indicator":
        width = y.shape[1] if hasattr(y, "shape") else len(y[0])
        if len(classes) != width:
            raise ValueError(
                f"classes {classes} mismatch with the labels {unique_labels(y)} found in the data"
            )
        there = sp.csr_array(y) if sparse_output else (y.toarray() if sp.issparse(y) else y)
        if not sparse_output:
            there = np.asarray(there) != 0
        if (np.sort(classes) != classes).any():  # columns of an indicator are in order
            there = there[:, np.searchsorted(np.sort(classes), classes)]
    elif kind in ("binary", "multiclass"):
        there = _one_column_each(column_or_1d(y), classes, sparse_output)
        if kind == "binary" and len(classes) == 2:
            there = there[:, [-1]]
    else:
        raise ValueError(f"{kind} target data is not supported with label binarization")
    if sparse_output:
        there.data = np.full(len(there.data), pos_label, dtype=int)
        return align_api_if_sparse(there)
    return np.where(there, pos_label, neg_label).astype(dtype)


def _one_column_each(y, classes, sparse):
    """Where each label's column is: a CSR matrix or an array of booleans."""
    values, codes = factorise(y)
    columns = positions(values, classes)[codes]
    known = columns >= 0
    if sparse:
        starts = np.concatenate([[0], np.cumsum(known)])
        ones = np.ones(int(known.sum()), dtype=int)
        return sp.csr_array((ones, columns[known], starts), shape=(len(y), len(classes)))
    there = np.zeros((len(y), len(classes)), dtype=bool)
    there[np.flatnonzero(known), columns[known]] = True
    return there


@documented(OWN)
class MultiLabelBinarizer(LabelTransformer):
    """A column for each label that rows may have several of.

    Parameters
    ----------
    classes : array-like of shape (n_classes,), default=None
        In the order of the columns; None: those seen, sorted.
    {sparse_output}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from fastml.preprocessing import MultiLabelBinarizer
    >>> MultiLabelBinarizer().fit_transform([("a", "b"), ("b",)])
    array([[1, 1],
           [0, 1]])
    """

    _parameter_constraints: dict = {
        "classes": ["array-like", None],
        "sparse_output": ["boolean"],
    }

    def __init__(self, *, classes=None, sparse_output=False):
        self.classes = classes
        self.sparse_output = sparse_output

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, y):
        """Learn the labels.

        Parameters
        ----------
        {y_sets}

        Returns
        -------
        self : object
        """
        if self.classes is None:
            self._set_classes(sorted(set(itertools.chain.from_iterable(y))))
        elif len(set(self.classes)) < len(self.classes):
            raise ValueError(
                "The classes argument contains duplicate classes. Remove these duplicates before "
                "passing them to MultiLabelBinarizer."
            )
        else:
            self._set_classes(self.classes)
        return self

    def _set_classes(self, classes):
        whole = all(isinstance(label, int) for label in classes)
        self.classes_ = np.empty(len(classes), dtype=int if whole else object)
        self.classes_[:] = classes
        self._column_of = None

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, y):
        """Learn the labels and return their columns.

        Parameters
        ----------
        {y_sets}

        Returns
        -------
        y_indicator : {ndarray, sparse matrix} of shape (n_samples, n_classes)
        """
        if self.classes is not None:
            return self.fit(y).transform(y)
        y = [list(labels) for labels in y]
        return self.fit(y).transform(y)

    def transform(self, y):
        """Columns of sets of labels; a label without a column is left out, with a warning.

        Parameters
        ----------
        {y_sets}

        Returns
        -------
        y_indicator : {ndarray, sparse matrix} of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        if self._column_of is None:
            self._column_of = {label: k for k, label in enumerate(self.classes_.tolist())}
        columns, starts, unknown = [], [0], set()
        column_of = self._column_of
        for labels in y:
            row = set()
            for label in labels:
                if label in column_of:
                    row.add(column_of[label])
                else:
                    unknown.add(label)
            columns.extend(sorted(row))
            starts.append(len(columns))
        if unknown:
            warnings.warn(
                f"unknown class(es) {sorted(unknown, key=str)} will be ignored", stacklevel=2
            )
        out = sp.csr_array(
            (np.ones(len(columns), dtype=int), np.array(columns, dtype=np.int32),
             np.array(starts, dtype=np.int32)), shape=(len(starts) - 1, len(column_of)),
        )  # fmt: skip
        return align_api_if_sparse(out) if self.sparse_output else out.toarray()

    def inverse_transform(self, yt):
        """Sets of labels of rows of zeros and ones.

        Parameters
        ----------
        yt : {ndarray, sparse matrix} of shape (n_samples, n_classes)

        Returns
        -------
        y_original : list of tuples
        """
        check_is_fitted(self)
        yt = yt if sp.issparse(yt) else np.asarray(yt)
        if yt.ndim != 2:
            raise ValueError(f"Expected an indicator of two axes, got the shape {yt.shape}.")
        if yt.shape[1] != len(self.classes_):
            raise ValueError(
                f"Expected indicator for {len(self.classes_)} classes, but got {yt.shape[1]}"
            )
        if sp.issparse(yt):
            yt = yt.tocsr()
            if len(np.setdiff1d(yt.data, [0, 1])):
                raise ValueError("Expected only 0s and 1s in label indicator.")
            return [
                tuple(self.classes_.take(yt.indices[first:last]))
                for first, last in zip(yt.indptr[:-1], yt.indptr[1:])
            ]
        unexpected = np.setdiff1d(yt, [0, 1])
        if len(unexpected):
            raise ValueError(f"Expected only 0s and 1s in label indicator. Also got {unexpected}")
        return [tuple(self.classes_.compress(row)) for row in yt]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.two_d_labels = True
        return tags
