"""Folds of linear models, and what the training sets of folds have in common.

Tall data with few columns: the Gram matrix of each fold is made once, that of the other folds is
what is left of the whole. Other data: a path on the columns of each training set.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from fastml._engines.linear import moments
from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.elastic_net import (
    GRAM_FOR_PATHS,
    Found,
    Problem,
    Squares,
    path_on_gram,
    solve,
)
from fastml._sklearn import manual_routing, routing_enabled

ROWS = 256
"""Of a fold, whose residuals for all penalties are made at once."""


def fold_weights(weights, rows):
    """Of the rows of a fold, with the sum 1, or a ValueError if they have no weight."""
    if weights is None:
        return np.full(len(rows), 1.0 / len(rows))
    own = weights[rows]
    _refuse_no_weight(own)
    return own / own.sum()


def _refuse_no_weight(weights):
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number in every fold.")


def fold_average(values, weights):
    """The weighted average of the rows of a fold, or a ValueError if they have no weight."""
    if weights is not None:
        _refuse_no_weight(weights)
    return np.average(values, axis=0, weights=weights)


def rows_at(rows):
    """The index array ``rows``, as a slice where they follow each other: no copy of them."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


class ChosenByFolds:
    """A model that splits its rows by ``cv``, which metadata may be routed to."""

    def _folds(self, X, y, params, **more):
        """[(training rows, rows left out)]"""
        from sklearn.model_selection import check_cv
        from sklearn.utils.metadata_routing import process_routing

        if routing_enabled():
            routed = process_routing(self, "fit", **more, **params)
        else:
            routed = manual_routing({"splitter": {}})
        cv = check_cv(self.cv, classifier=False)
        return list(cv.split(X, y, **getattr(routed.splitter, "split", {})))

    def get_metadata_routing(self):
        """What the splitter asks for.

        Returns
        -------
        routing : MetadataRouter
        """
        from sklearn.model_selection import check_cv
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                splitter=check_cv(self.cv),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )


class FoldMoments:
    """Rows with their folds, and what of their moments folds have in common."""

    def __init__(self, X, Y, weights, centre, joint, folds):
        self.X, self.Y, self.weights, self.centre, self.joint = X, Y, weights, centre, joint
        self.folds = folds
        self.total = float(X.shape[0] if weights is None else weights.sum())
        d = X.shape[1]
        self.by_gram = d <= GRAM_FOR_PATHS and all(d <= len(train) for train, _ in folds)
        self.shift: tuple = (None, None)
        if self.by_gram:
            self.whole = self._moments(None)
            if centre and moments.cancels(self.whole):
                self.shift = self.whole.x / self.whole.total, self.whole.y / self.whole.total
                self.whole = self._moments(None)

    def training(self, fold):
        """Moments of a training set: those of all rows less those of the rows left out.

        Made when its turn comes, so that there are no more of them than threads.
        """
        train, test = self.folds[fold]
        if self._is_rest(train, test):
            return moments.without(self.whole, self._moments(test))
        return self._moments(train)

    def _is_rest(self, train, test) -> bool:
        """Whether the training rows are all those that are not tested, once each."""
        seen = np.zeros(self.X.shape[0], dtype=np.intp)
        np.add.at(seen, train, 1)
        np.add.at(seen, test, 1)
        return bool((seen == 1).all())

    def _moments(self, rows):
        at = slice(None) if rows is None else rows_at(rows)
        weights = None if self.weights is None else self.weights[at]
        X = self.X if rows is None else self.X[at]
        return moments.moments_of(X, self.Y[at], weights, *self.shift, alone=rows is not None)

    def cross(self):
        if self.by_gram:
            cross = moments.centred_cross(self.whole) if self.centre else self.whole.xy
        else:
            design = CentredDesign(self.X, self.weights, self.centre)
            cross = design.transposed(design.targets(self.Y)[0])
        return cross if self.joint else cross[:, 0]

    def error(self, fold, alphas, share, options):
        """(mean squared error on the fold for every penalty, gaps beyond the tolerance)."""
        train, test = self.folds[fold]
        weights = None if self.weights is None else self.weights[train]
        total = float(len(train) if weights is None else weights.sum())
        l1, l2 = alphas * share * total, alphas * (1.0 - share) * total
        if self.by_gram and not (share == 0.0 and not options["positive"]):
            centred = moments.Centred.of(self.training(fold), self.centre, spoiled=True)
            found = _on_moments(centred, self.joint, l1, l2, options)
        else:
            part = Problem(
                self.X[train], self.Y[train], weights, self.centre, self.joint,
                None if sp.issparse(self.X) else False,
            )  # fmt: skip
            found = solve(part, l1, l2, **options)
        n_targets = self.Y.shape[1]
        errors = np.zeros(len(alphas))
        left = fold_weights(self.weights, test)
        for first in range(0, len(test), ROWS):
            some = rows_at(test[first : first + ROWS])
            X, u = self.X[some], left[first : first + ROWS]
            for t in range(n_targets):
                coefs = found.coefs[:, :, t].T
                residuals = X @ coefs
                residuals += found.y_means[t] - found.x_means @ coefs
                residuals -= self.Y[some, t, None]
                errors += u @ np.square(residuals, out=residuals)
        tolerance = options["tol"] * found.squares[0]
        return errors / n_targets, found.gaps[:, 0] - tolerance

    def solve_all(self, l1, l2, options):
        if self.by_gram and not (l1[0] == 0.0 and not options["positive"]):
            centred = moments.Centred.of(self.whole, self.centre, spoiled=True)
            return _on_moments(centred, self.joint, l1, l2, options)
        problem = Problem(self.X, self.Y, self.weights, self.centre, self.joint)
        return solve(problem, l1, l2, **options)


def _on_moments(centred, joint, l1, l2, options):
    joint = joint and centred.cross.shape[1] > 1
    cross = centred.cross if joint else np.ascontiguousarray(centred.cross[:, 0])
    square = float(centred.squares.sum())
    found = path_on_gram(Squares(centred.gram, cross, square), l1, l2, **options)
    coefs = found.coefs if joint else found.coefs[:, :, None]
    return Found(
        coefs, found.gaps[:, None], found.passes[:, None], centred.x_means, centred.y_means,
        np.array([square]),
    )  # fmt: skip
