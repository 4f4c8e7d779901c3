"""The stages of gradient boosting: start values, trees and their leaves, scores, progress."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from fastml._engines.trees.grow import grow, presort
from fastml._engines.trees.grow_levels import Columns, by_levels, grow_levels
from fastml._engines.trees.pruning import pruned
from fastml._engines.trees.tree import Tree
from fastml._validation import kernel_view
from fastml.ensemble._gradient_boosting._loss import StageLoss
from fastml.kernels.boosting.stage import add_leaf_values, draw_mask
from fastml.kernels.losses import pointwise as codes


def split_off_validation(model, X, y, weights):
    """Rows to learn from, and the part kept aside that decides when to stop."""
    from sklearn.model_selection import train_test_split

    rows = train_test_split(
        np.arange(len(X)),
        random_state=model.random_state,
        test_size=model.validation_fraction,
        stratify=y if is_classifier(model) else None,
    )
    if is_classifier(model) and len(np.unique(y[rows[0]])) != model.n_classes_:
        raise ValueError(
            "The training data after the early stopping split is missing some classes. Try "
            "another random_state or a smaller validation_fraction."
        )
    learn, kept = ((X[i], y[i], None if weights is None else weights[i]) for i in rows)
    return *learn, kept


def default_init(model):
    """The estimator of the best constant."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    if is_classifier(model):
        return DummyClassifier(strategy="prior")
    if model._loss.code == codes.SQUARED:
        return DummyRegressor(strategy="mean")
    level = model.alpha if model._loss.code == codes.PINBALL else 0.5
    return DummyRegressor(strategy="quantile", quantile=level)


def start_values(model, X, y=None, weights=None, fit: bool = False) -> NDArray:
    """Raw predictions of ``init_``, one row per tree of a stage; ``fit`` fits it first."""
    if fit:
        model.init_ = default_init(model) if model.init is None else model.init
    if isinstance(model.init_, str):  # 'zero'
        return np.zeros((model.n_trees_per_iteration_, len(X)))
    if fit:
        fit_init(model.init_, X, y, weights)
    if is_classifier(model):
        predictions = model.init_.predict_proba(X)
    else:
        predictions = model.init_.predict(X)
    return np.ascontiguousarray(model._loss.link(predictions).T)


def fit_init(init, X, y, weights) -> None:
    if weights is None:
        init.fit(X, y)
        return
    try:
        init.fit(X, y, sample_weight=weights)
    except (TypeError, ValueError) as error:
        refused = ("unexpected keyword argument 'sample_weight'", "stepname__parameter")
        if any(part in str(error) for part in refused):
            raise ValueError(
                f"The initial estimator {type(init).__name__} does not support sample weights."
            ) from error
        raise


def with_leaf_values(tree: Tree, values: NDArray) -> Tree:
    """The tree with other leaf values; inner values and impurities stay those of the residuals."""
    tree.stored_impurity = tree.impurity.copy()
    is_leaf = tree.is_leaf
    tree.inner_values = tree.value[~is_leaf, 0]
    tree.leaf_impurity = None
    tree.nodes["threshold"][is_leaf] = values[is_leaf]
    tree._made.clear()
    return tree


class Stages:
    """What one fit holds on to between stages."""

    def __init__(self, X, y, weights, template, loss: StageLoss, n_threads: int, n_jobs):
        self.columns = Columns(kernel_view(X), presort(X, n_threads))
        self.y, self.weights, self.loss = y, weights, loss
        self.n_threads, self.n_jobs = n_threads, n_jobs
        self.rules = template._growth_rules(X, weights)
        self.share = template.min_weight_fraction_leaf
        self.ccp_alpha = template.ccp_alpha
        self.mask: NDArray | None = None
        self.residuals = np.empty((loss.n_trees, len(X)))

    def draw(self, rng, n_inside: int) -> None:
        """Choose the rows of the next stage, as scikit-learn does."""
        self.mask = np.empty(len(self.y), np.bool_)
        draw_mask(rng.uniform(size=len(self.y)), n_inside, self.mask)

    def trees(self, raw: NDArray, rng, model) -> Iterator[tuple[Tree, int]]:
        """Grow the trees of a stage and add them to ``raw``."""
        y, loss = self.y, self.loss
        loss.residuals(y, raw, self.weights, self.residuals, self.n_jobs)
        weights = self.weights
        if self.mask is not None:
            weights = self.mask * (1.0 if weights is None else weights)
        rules = self.rules
        if self.share > 0.0 and weights is not None:
            rules = rules._replace(min_weight=self.share * float(weights.sum()))
        n_chunks = -(-len(y) // codes.ROWS)
        before = raw.copy() if loss.n_trees > 1 else raw  # as the residuals saw it
        for k in range(loss.n_trees):
            seed = int(rng.randint(0, 2**31 - 1))
            tree, leaves = self._grown(k, rules, weights, seed)
            if loss.code == codes.SQUARED:  # the means of the leaves are the best steps, both ways
                values = tree.value.reshape(-1)
            elif model.line_search == "tree":
                means = np.where(tree.is_leaf, tree.value.reshape(-1), 0.0)
                length = loss.step(k, y, before, weights, means[leaves], self.n_jobs)
                values = length * means
                tree = with_leaf_values(tree, values)
            else:
                values = loss.leaf_values(
                    k, y, raw[k], self.residuals[k], weights, leaves, tree.is_leaf
                )
                tree = with_leaf_values(tree, values)
            add_leaf_values(
                n_chunks, float(model.learning_rate), np.array(values), leaves, raw[k],
                n_threads=self.n_threads,
            )  # fmt: skip
            yield tree, seed

    def _grown(self, k, rules, weights, seed) -> tuple[Tree, NDArray]:
        values, columns = self.residuals[k], self.columns
        if by_levels(rules, columns.X.shape[1]):
            tree, leaves = grow_levels(
                columns, rules, values, weights, seed=seed, n_threads=self.n_threads
            )
        else:
            tree, leaves = grow(
                columns.orders, rules, values=values[None], weights=weights, seed=seed,
                n_threads=self.n_threads,
            )  # fmt: skip
        if self.ccp_alpha > 0.0:
            tree = pruned(tree, self.ccp_alpha)
        if self.ccp_alpha > 0.0 or leaves.min() < 0:  # rows that took no part
            leaves = tree.apply(columns.X, self.n_threads)
        return tree, leaves

    def inside(self, raw: NDArray) -> float:
        """Score on the rows of the stage."""
        return self._score(raw, self.mask)

    def outside(self, raw: NDArray) -> float:
        """Score on the rows that the stage left out."""
        assert self.mask is not None
        return self._score(raw, ~self.mask)

    def _score(self, raw, mask) -> float:
        y, weights = self.y, self.weights
        if mask is not None:
            y, raw = y[mask], np.ascontiguousarray(raw[:, mask])
            weights = None if weights is None else weights[mask]
        return self.loss.score(y, raw, weights, self.n_jobs)


class Reporter:
    """Prints every stage; with ``verbose=1`` every tenth, hundredth, ... as the stages go on."""

    def __init__(self, model, begin_at_stage: int):
        self.model, self.first, self.every = model, begin_at_stage, 1
        self.start = perf_counter()
        heads = ["Iter", "Train Loss", "OOB Improve", "Remaining Time"]
        if model.subsample >= 1.0:
            heads.remove("OOB Improve")
        sys.stdout.write(f"{heads[0]:>10} " + "".join(f"{head:>16} " for head in heads[1:]) + "\n")

    def update(self, i: int) -> None:
        done, model = i + 1 - self.first, self.model
        if done % self.every:
            return
        seconds = (model.n_estimators - i - 1) * (perf_counter() - self.start) / done
        parts = [f"{i + 1:10d}", f"{model.train_score_[i]:16.4f}"]
        if model.subsample < 1.0:
            parts.append(f"{model.oob_improvement_[i]:16.4f}")
        parts.append(f"{seconds / 60:15.2f}m" if seconds > 60 else f"{seconds:15.2f}s")
        sys.stdout.write(" ".join(parts) + "\n")
        if model.verbose == 1 and done >= self.every * 10:
            self.every *= 10
