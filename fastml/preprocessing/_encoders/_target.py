"""The mean of the target for each category, drawn towards the mean of all."""

from __future__ import annotations

import warnings
import zlib
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from fastml._docs import documented
from fastml._engines.categories import factorise, positions, sorted_factor
from fastml._sklearn import (
    Interval,
    StrOptions,
    check_feature_names_in,
    check_y,
    fit_context,
    manual_routing,
    raise_for_params,
    routing_enabled,
)
from fastml.preprocessing._encoders._base import ENTRIES, CategoryEncoder, Places

TARGETS = ("binary", "multiclass", "continuous")


def encodings_of(counts, sums, squares, mean, smooth, variance) -> NDArray:
    """Encoding of each category from its rows, sums and squares of y − ``mean``.

    ``smooth="auto"`` is the estimate of empirical Bayes: the weight of the category's mean is
    n σ² / (n σ² + σ_c²).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        own = sums / counts
        if smooth == "auto":
            within = np.maximum(squares / counts - own * own, 0.0)
            weight = variance * counts / (variance * counts + within)
            found = weight * own
        else:
            found = sums / (counts + smooth)
        return np.where(np.isnan(found), mean, mean + found)


def shuffled_folds(labels, n, n_folds, random_state) -> NDArray | None:
    """The folds of scikit-learn's KFold or, with labels, StratifiedKFold, without their passes.

    None where a label has too few rows for the folds.
    """
    rng = check_random_state(random_state)
    folds = np.empty(n, dtype=np.intp)
    ids = np.arange(n_folds)
    if labels is None:
        rows = np.arange(n)
        rng.shuffle(rows)
        folds[rows] = ids.repeat(n // n_folds + (ids < n % n_folds))
        return folds
    rows_of = [np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)]
    if min(map(len, rows_of)) < n_folds:
        return None
    start = 0
    for rows in sorted(rows_of, key=lambda rows: rows[0]):  # labels in the order in which they come
        end = start + len(rows)
        own = ids.repeat((end - ids - 1) // n_folds - (start - ids - 1) // n_folds)
        rng.shuffle(own)
        folds[rows] = own
        start = end
    return folds


def rows_and_digest(places: list[Places]) -> tuple[int, int]:
    """The number of rows, and a number that tells tables of categories apart."""
    digest = 0
    for place in places:
        digest = zlib.crc32(np.ascontiguousarray(place.rows).data, digest)
    return len(places[0].codes), digest


@documented(ENTRIES)
class TargetEncoder(OneToOneFeatureMixin, CategoryEncoder):
    """The mean of the target among the rows of a category, drawn towards the mean of all rows.

    z = (Σ_{rows of the category} y + m ȳ) / (n_c + m)

    `fit_transform` encodes each row by what the other folds say, so that the result may be learned
    from: it is not ``fit(X, y).transform(X)``, in which each row knows its own target, and which
    warns. Sums of all folds come from one pass.

    Parameters
    ----------
    {categories}
    target_type : {'auto', 'continuous', 'binary', 'multiclass'}, default='auto'
        A multiclass target gives a column for each feature and class.
    smooth : 'auto' or float, default='auto'
        The weight m of the mean of all rows; 'auto': by empirical Bayes.
    cv : int, cross-validation generator or iterable, default=5
        Folds of `fit_transform`; the test parts must hold every row once.
    shuffle : bool, default='deprecated'
        Deprecated by scikit-learn: give a generator as ``cv``.
    random_state : int, RandomState instance or None, default='deprecated'
        Deprecated by scikit-learn: give a generator as ``cv``.

    Attributes
    ----------
    encodings_ : list of ndarray
        Encoding of each category: of each feature, or of each feature and class.
    {categories_}
    target_type_ : str
    target_mean_ : float or ndarray of shape (n_classes,)
    {n_features_in_}
    {feature_names_in_}
    classes_ : ndarray of shape (n_classes,) or None
        Labels, unless the target is continuous.

    Examples
    --------
    >>> from fastml.preprocessing import TargetEncoder
    >>> encoder = TargetEncoder(smooth=0.0).fit([["a"], ["a"], ["b"], ["b"]], [0.5, 1.5, 4.0, 2.5])
    >>> encoder.transform([["b"]])
    array([[3.25]])
    """

    _parameter_constraints: dict = {
        "categories": [StrOptions({"auto"}), list],
        "target_type": [StrOptions({"auto", *TARGETS})],
        "smooth": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "cv": ["cv_object"],
        "shuffle": ["boolean", StrOptions({"deprecated"})],
        "random_state": ["random_state", StrOptions({"deprecated"})],
    }

    def __init__(
        self,
        categories="auto",
        target_type="auto",
        smooth="auto",
        cv=5,
        shuffle="deprecated",
        random_state="deprecated",
    ):
        self.categories = categories
        self.smooth = smooth
        self.target_type = target_type
        self.cv = cv
        self.shuffle = shuffle
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Learn the encodings.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_samples,)
            Target.

        Returns
        -------
        self : object
        """
        places, _ = self._learn(X, y)
        self._rows_of_fit = rows_and_digest(places)
        return self

    def _learn(self, X, y):
        """Set the attributes; return places of the rows and the target, (n × outputs)."""
        check_consistent_length(X, y)
        factors = self._learn_categories(X, handle_unknown="ignore")
        places = [
            Places(factor.values, positions(factor.values, categories), factor.codes)
            for factor, categories in zip(factors, self.categories_)
        ]
        Y = self._target(y)
        self.target_mean_ = Y.mean(axis=0) if self.target_type_ == "multiclass" else np.mean(Y)
        ones = np.zeros(len(Y), dtype=np.intp)
        self.encodings_ = [
            encodings[0] for place, categories in zip(places, self.categories_)
            for encodings in self._by_fold(place, len(categories), Y, ones, 1, keep=True)
        ]  # fmt: skip
        return places, Y

    def _target(self, y):
        kind = self.target_type
        if kind == "auto":
            kind = type_of_target(y, input_name="y")
            if kind not in TARGETS:
                raise ValueError(
                    f"Unknown label type: Target type was inferred to be {kind!r}. Only "
                    f"{('binary', 'multiclass', 'continuous')} are supported."
                )
        self.target_type_ = kind
        self.classes_ = None
        if kind == "continuous":
            return np.asarray(check_y(y, y_numeric=True, estimator=self), dtype=np.float64)[:, None]
        from sklearn.utils import column_or_1d

        labels = sorted_factor(factorise(np.asarray(column_or_1d(y, warn=True))))
        self.classes_ = labels.values
        if kind == "binary":
            return labels.codes.astype(np.float64)[:, None]
        Y = np.zeros((len(labels.codes), len(labels.values)))
        Y[np.arange(len(Y)), labels.codes] = 1.0
        return Y

    def _by_fold(self, place, n_categories, Y, folds, n_folds, *, keep):
        """(folds × categories) encodings of one feature for each output.

        Each fold's are of the rows of all other folds or, with ``keep``, of its own.
        """
        rows = place.rows
        known = rows >= 0
        slots = folds * (n_categories + 1) + np.where(known, rows, n_categories)
        shape = (n_folds, n_categories + 1)
        size = n_folds * (n_categories + 1)
        counts = np.bincount(slots, minlength=size).reshape(shape).astype(np.float64)
        per_fold = np.bincount(folds, minlength=n_folds).astype(np.float64)
        for k in range(Y.shape[1]):
            centre = Y[:, k].mean()
            off = Y[:, k] - centre
            sums = np.bincount(slots, weights=off, minlength=size).reshape(shape)
            squares = np.bincount(slots, weights=off * off, minlength=size).reshape(shape)
            mine = (counts, sums, squares, per_fold, sums.sum(axis=1), squares.sum(axis=1))
            if not keep:
                mine = tuple(part.sum(axis=0) - part for part in mine)
            n, s, q, total, all_sums, all_squares = mine
            shift = (all_sums / total)[:, None]  # mean of the rows used, beside the centre
            variance = all_squares[:, None] / total[:, None] - shift * shift
            moved = s - n * shift
            moved_squares = q - 2.0 * shift * s + n * shift * shift
            found = encodings_of(n, moved, moved_squares, centre + shift, self.smooth, variance)
            if keep and n_folds == 1:
                found = found[:, :n_categories]
            else:
                found[:, n_categories] = centre + shift[:, 0]
            yield found

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y, **params):
        """Learn the encodings, and encode each row by what the rows of other folds say.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_samples,)
            Target.
        **params : dict
            ``groups`` for the splitter, with metadata routing.

        Returns
        -------
        X_trans : ndarray of shape (n_samples, n_features) or (n_samples, n_features * n_classes)
        """
        raise_for_params(params, self, "fit_transform")
        places, Y = self._learn(X, y)
        self._rows_of_fit = None
        folds, n_folds = self._folds(X, y, Y, params)
        columns = []
        for place, categories in zip(places, self.categories_):
            k = len(categories)
            slots = folds * (k + 1) + np.where(place.rows < 0, k, place.rows)
            for found in self._by_fold(place, k, Y, folds, n_folds, keep=False):
                columns.append(found.ravel()[slots])
        return np.column_stack(columns)

    def _folds(self, X, y, Y, params):
        """(number of the fold in which each row is tested, how many there are)."""
        n = len(Y)
        from sklearn.model_selection import check_cv
        from sklearn.utils import indexable
        from sklearn.utils.metadata_routing import process_routing

        options = {"shuffle": True if self.shuffle == "deprecated" else self.shuffle}
        if self.shuffle != "deprecated" or self.random_state != "deprecated":
            warnings.warn(
                "`TargetEncoder.shuffle` and `TargetEncoder.random_state` are deprecated in "
                "version 1.9 and will be removed in version 1.11. Pass a cross-validation "
                "generator as `cv` argument to specify the shuffling behaviour instead.",
                FutureWarning,
                stacklevel=4,
            )
        if self.random_state != "deprecated":
            options["random_state"] = self.random_state
        usual = options["shuffle"] and isinstance(self.cv, Integral) and not routing_enabled()
        labelled = self.target_type_ != "continuous"
        if usual and 2 <= self.cv <= n and not (labelled and self.target_type != "auto"):
            labels = (Y.argmax(axis=1) if Y.shape[1] > 1 else Y[:, 0]) if labelled else None
            folds = shuffled_folds(labels, n, self.cv, options.get("random_state"))
            if folds is not None:
                return folds, self.cv
        cv = check_cv(self.cv, y, classifier=self.target_type_ != "continuous", **options)
        if routing_enabled():
            if params.get("groups") is not None:
                X, y, params["groups"] = indexable(X, y, params["groups"])
            routed = process_routing(self, "fit_transform", **params)
        else:
            routed = manual_routing({"splitter": {}})
        folds, seen = np.zeros(n, dtype=np.intp), np.zeros(n, dtype=np.intp)
        n_folds = 0
        for _, test in cv.split(X, y, **routed.splitter.split):
            folds[test] = n_folds
            seen[test] += 1
            n_folds += 1
        if not (seen == 1).all():
            raise ValueError(
                "Validation indices from `cv` must cover each sample index exactly once with no "
                "overlap. Pass a splitter with non-overlapping validation folds as `cv` or refer "
                "to the docs for other options."
            )
        return folds, n_folds

    def transform(self, X):
        """Encode rows by what all training rows say.

        Parameters
        ----------
        {X}

        Returns
        -------
        X_trans : ndarray of shape (n_samples, n_features) or (n_samples, n_features * n_classes)
        """
        check_is_fitted(self)
        found = self._find(X, handle_unknown="ignore")
        self._warn_of_training_rows(found)
        means = np.atleast_1d(self.target_mean_)
        columns = []
        for k, encodings in enumerate(self.encodings_):
            place = found[k // len(means)]
            of_place = np.append(encodings, means[k % len(means)])  # the last for unknown ones
            columns.append(of_place[place.places][place.codes])
        return np.column_stack(columns)

    def _warn_of_training_rows(self, places):
        """After `fit_transform` they may be predicted for; after `fit` they are learned from."""
        seen = getattr(self, "_rows_of_fit", None)
        if seen is None or seen[0] != len(places[0].codes) or seen != rows_and_digest(places):
            return
        warnings.warn(
            "TargetEncoder.transform was given the rows of fit: their encodings know their own "
            "targets, and a model that learns from them overfits. Use fit_transform(X, y) for "
            "rows to learn from.",
            UserWarning,
            stacklevel=4,
        )

    def get_feature_names_out(self, input_features=None):
        """Names of the columns: those of the features, with the class where there are several.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features, instead of those seen by fit.

        Returns
        -------
        feature_names_out : ndarray of str objects
        """
        check_is_fitted(self, "n_features_in_")
        names = check_feature_names_in(self, input_features)
        if self.target_type_ != "multiclass":
            return names
        joined = [f"{name}_{label}" for name in names for label in self.classes_]
        return np.asarray(joined, dtype=object)

    def get_metadata_routing(self):
        """What metadata goes where (scikit-learn's metadata routing).

        Returns
        -------
        routing : MetadataRouter
        """
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        mapping = MethodMapping().add(caller="fit_transform", callee="split")
        return MetadataRouter(owner=self).add(splitter=self.cv, method_mapping=mapping)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
