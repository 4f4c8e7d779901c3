"""Boosted trees as text, as JSON and as importances.

The JSON object of `to_json`::

    format, version     "fastml-boosting", 2 (1 is read, too: there, parameters are plain values)
    estimator           class name
    parameters          constructor parameters; numbers, strings, lists and null as they are, others
                        as an object: {"tuple": [...]}, also "set", "frozenset" and "range" (start,
                        stop, step), {"dict": [[key, value], ...]}, {"array": [...], "dtype":
                        "..."}. Functions, such as a compiled loss, and generators of random numbers
                        are left out
    seeds               of the draws, for a warm start
    n_features, feature_names, classes
    baseline            raw prediction before the first tree, one per output
    max_bins, thresholds
                        per feature, ascending; x is in bin #{t : t < x}, NaN in bin max_bins
    n_categories, categories
                        per feature, 0 and null if it is a number
    trees               per iteration, per output, an object of lists with one entry per node:
                        left (right is left + 1; -1: leaf), feature, bin (goes left if the row's bin
                        is not above it), missing_left, value, gain, count, depth, and categories:
                        the codes that go left, or null
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from fastml._engines.boosted.bins import BinMapper
from fastml._engines.boosted.trees import NODE, BoostedTree, check_trees
from fastml.ensemble._hist_gradient_boosting._input import (
    check_number_of_features,
    make_preprocessor,
)

FORMAT, VERSION = "fastml-boosting", 2


class BoostingExport:
    """What can be read out of a fitted model."""

    _predictors: list[list[BoostedTree]]
    _bin_mapper: Any
    _baseline_prediction: Any
    _random_seed: int
    _feature_seed: int
    n_features_in_: int

    # ------------------------------------------------------------------ importances

    @property
    def feature_importances_(self):
        """Total gain of the splits on each feature, as shares of one."""
        return self.importances("gain")

    def importances(self, kind="gain", X=None, y=None, *, n_repeats=5, random_state=None):
        """How much each feature matters.

        Parameters
        ----------
        kind : {'gain', 'count', 'permutation'}, default='gain'
            Share of the total gain, share of the splits, or the mean fall of the score when the
            feature's values in ``X`` are shuffled.
        X, y : array-like, default=None
            Rows and targets, for 'permutation'.
        n_repeats : int, default=5
            Shuffles per feature.
        random_state : int, RandomState instance or None, default=None
            Randomness of the shuffles.

        Returns
        -------
        importances : ndarray of shape (n_features_in_,)
        """
        check_is_fitted(self)
        if kind == "permutation":
            if X is None or y is None:
                raise ValueError("kind='permutation' needs X and y")
            from sklearn.inspection import permutation_importance

            found = permutation_importance(
                self, X, y, n_repeats=n_repeats, random_state=random_state
            )
            return found.importances_mean
        if kind not in ("gain", "count"):
            raise ValueError(f"kind must be 'gain', 'count' or 'permutation'; got {kind!r}")
        total = np.zeros(self.n_features_in_)
        for trees in self._predictors:
            for tree in trees:
                split = tree.nodes[tree.nodes["left"] >= 0]
                amounts = split["gain"].astype(np.float64) if kind == "gain" else None
                total += np.bincount(
                    split["feature_idx"], weights=amounts, minlength=self.n_features_in_
                )
        return total / total.sum() if total.any() else total

    # ------------------------------------------------------------------ text

    def dump_text(self, iteration=None):
        """The trees as indented text.

        Parameters
        ----------
        iteration : int, default=None
            Only the trees of this iteration; None means all.

        Returns
        -------
        text : str
        """
        check_is_fitted(self)
        chosen = range(len(self._predictors)) if iteration is None else [iteration]
        lines = []
        for i in chosen:
            for k, tree in enumerate(self._predictors[i]):
                lines.append(f"iteration {i}, output {k}")
                self._tree_lines(tree, 0, 1, lines)
        return "\n".join(lines)

    def _tree_lines(self, tree, node, indent, lines):
        entry = tree.nodes[node]
        pad = "  " * indent
        if entry["left"] < 0:
            lines.append(f"{pad}{entry['value']:.6g} ({entry['count']} rows)")
            return
        missing = "left" if entry["missing_go_to_left"] else "right"
        gain = f"gain {entry['gain']:.6g}, missing {missing}"
        lines.append(f"{pad}{self._condition(tree, node)} ({gain})")
        self._tree_lines(tree, entry["left"], indent + 1, lines)
        self._tree_lines(tree, entry["left"] + 1, indent + 1, lines)

    def _condition(self, tree, node):
        entry = tree.nodes[node]
        f = entry["feature_idx"]
        names = getattr(self, "feature_names_in_", None)
        name = f"x[{f}]" if names is None else str(names[f])
        if entry["is_categorical"]:
            return f"{name} in {_codes(tree, node)}"
        thresholds = self._bin_mapper.bin_thresholds_[f]
        b = entry["bin_threshold"]
        return f"{name} <= {thresholds[b]:.6g}" if b < len(thresholds) else f"{name} is known"

    # ------------------------------------------------------------------ JSON

    def to_json(self):
        """The fitted model as a JSON string; the schema heads the file ``_export.py``.

        Returns
        -------
        text : str
        """
        check_is_fitted(self)
        mapper = self._bin_mapper
        classes = getattr(self, "classes_", None)
        names = getattr(self, "feature_names_in_", None)
        return json.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                "estimator": type(self).__name__,
                "parameters": _written_parameters(self.get_params(deep=False)),
                "seeds": [self._random_seed, self._feature_seed],
                "n_features": self.n_features_in_,
                "feature_names": None if names is None else list(names),
                "classes": None if classes is None else classes.tolist(),
                "baseline": self._baseline_prediction[0].tolist(),
                "max_bins": mapper.max_bins,
                "thresholds": [t.tolist() for t in mapper.bin_thresholds_],
                "n_categories": mapper.n_categories_.tolist(),
                "categories": self._category_values(),
                "trees": [[_tree_fields(tree) for tree in trees] for trees in self._predictors],
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text):
        """A model that predicts as the one that `to_json` was called on.

        Parameters
        ----------
        text : str
            What `to_json` returned.

        Returns
        -------
        model : estimator of this class
        """
        try:
            stored = json.loads(text)
            if stored["format"] != FORMAT:
                raise ValueError(f"text is not a model of format {FORMAT!r}")
            if stored["version"] not in (1, VERSION) or stored["estimator"] != cls.__name__:
                raise ValueError(
                    f"text holds {stored['estimator']} of version {stored['version']}; "
                    f"{cls.__name__} of version {VERSION} was expected"
                )
            return cls._from_stored(stored)
        except (AttributeError, IndexError, KeyError, OverflowError, TypeError) as error:
            raise ValueError(f"text is not a model of format {FORMAT!r}: {error!r}") from error

    @classmethod
    def _from_stored(cls, stored):
        model = cls(**{name: _read(value) for name, value in stored["parameters"].items()})
        if stored["version"] > 1:
            model._random_seed, model._feature_seed = map(_whole, stored["seeds"])
        model.n_features_in_ = n_features = _whole(stored["n_features"])
        check_number_of_features(n_features)
        lists = [stored[name] for name in ("thresholds", "n_categories", "feature_names")]
        if any(given is not None and len(given) != n_features for given in lists):
            raise ValueError(f"text does not describe each of its {n_features} features")
        if stored["feature_names"] is not None:
            model.feature_names_in_ = np.array(stored["feature_names"], dtype=object)
        model._baseline_prediction = np.array([stored["baseline"]], dtype=np.float64)
        model.n_trees_per_iteration_ = n_trees = len(stored["baseline"])
        if (stored["classes"] is not None) != is_classifier(model):
            raise ValueError(f"text has the classes {stored['classes']} of a {cls.__name__}")
        if stored["classes"] is not None:
            model.classes_ = np.array(stored["classes"])
            if model.classes_.ndim != 1 or not 0 < len(model.classes_) == len(
                set(stored["classes"])
            ):
                raise ValueError(f"text must have different classes, got {stored['classes']}")
            if n_trees != (1 if len(model.classes_) <= 2 else len(model.classes_)):
                raise ValueError(f"text has {len(model.classes_)} classes, but {n_trees} outputs")
        counts = np.array([_whole(count) for count in stored["n_categories"]], dtype=np.intp)
        mapper = BinMapper(_whole(stored["max_bins"]), n_categories=counts)
        mapper.n_categories_ = counts
        mapper.is_categorical_ = (counts > 0).astype(np.uint8)
        mapper.missing_values_bin_idx_ = stored["max_bins"]
        mapper.bin_thresholds_ = [np.array(t, dtype=np.float64) for t in stored["thresholds"]]
        mapper.check_tables()
        mapper.n_bins_non_missing_ = np.array(
            [len(t) + (not c) for t, c in zip(mapper.bin_thresholds_, counts)], dtype=np.uint32
        )
        model._bin_mapper = mapper
        model.is_categorical_ = counts > 0 if counts.any() else None
        model._preprocessor = None
        if counts.any():
            model._preprocessor = _refit_preprocessor(model, stored["categories"])
        model._predictors = [[_tree_from(fields) for fields in trees] for trees in stored["trees"]]
        if any(len(trees) != n_trees for trees in model._predictors):
            raise ValueError(
                f"text has an iteration without one tree for each of {n_trees} outputs"
            )
        check_trees(model._predictors, mapper)
        _check_numbers(model)
        model._loss = model._get_loss(None)
        model.do_early_stopping_ = False
        model.train_score_ = model.validation_score_ = np.empty(0)
        return model

    def _category_values(self):
        if getattr(self, "_preprocessor", None) is None:
            return None
        encoder = self._preprocessor.named_transformers_["encoder"]
        values: list = [None] * self.n_features_in_
        for f, categories in zip(np.flatnonzero(self.is_categorical_), encoder.categories_):
            known = [c for c in np.asarray(categories).tolist() if c == c and c is not None]
            values[f] = known
        return values


def _written_parameters(parameters: dict) -> dict:
    """What JSON can hold of them."""
    written = {}
    for name, value in parameters.items():
        with contextlib.suppress(TypeError):
            written[name] = _written(value)
    return written


def _written(value):
    """A parameter as plain lists and objects; TypeError if it is of no kind that can be."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return _written(value.item())
    if isinstance(value, list):
        return [_written(item) for item in value]
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    for kind in (tuple, set, frozenset):
        if isinstance(value, kind):
            items = value if kind is tuple else sorted(value, key=repr)
            return {kind.__name__: [_written(item) for item in items]}
    if isinstance(value, dict):
        return {"dict": [[_written(key), _written(item)] for key, item in value.items()]}
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        return {"array": [_written(item) for item in array.tolist()], "dtype": array.dtype.str}
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _read(value):
    """The inverse of `_written`."""
    if isinstance(value, list):
        return [_read(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array(_read(value["array"]), dtype=value["dtype"])
    ((kind, items),) = value.items()
    if kind == "dict":
        return {_read(key): _read(item) for key, item in items}
    if kind == "range":
        return range(*items)
    return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](_read(items))


def _codes(tree, node):
    """Codes that go left at a categorical split."""
    place = int(tree.nodes["is_categorical"][:node].sum())
    words = tree.sets[place]
    return [b for b in range(256) if (int(words[b >> 6]) >> (b & 63)) & 1]


def _tree_fields(tree):
    nodes = tree.nodes
    categorical = nodes["is_categorical"].astype(bool)
    return {
        "left": nodes["left"].tolist(),
        "feature": nodes["feature_idx"].tolist(),
        "bin": nodes["bin_threshold"].tolist(),
        "missing_left": nodes["missing_go_to_left"].tolist(),
        "value": nodes["value"].tolist(),
        "gain": nodes["gain"].astype(np.float64).tolist(),
        "count": nodes["count"].tolist(),
        "depth": nodes["depth"].tolist(),
        "categories": [_codes(tree, i) if c else None for i, c in enumerate(categorical)],
    }


def _whole(number) -> int:
    """A number of the text that must be whole, such as a count."""
    if number != int(number):
        raise ValueError(f"text has {number} where a whole number was expected")
    return int(number)


def _tree_from(fields):
    nodes = np.zeros(len(fields["left"]), dtype=NODE)
    stored = {
        "left": "left",
        "feature_idx": "feature",
        "bin_threshold": "bin",
        "missing_go_to_left": "missing_left",
        "value": "value",
        "gain": "gain",
        "count": "count",
        "depth": "depth",
    }
    for name, key in stored.items():
        if len(fields[key]) != len(nodes):
            raise ValueError(f"a tree has {len(nodes)} nodes, but {len(fields[key])} of {key!r}")
        nodes[name] = fields[key]
        exact = np.array(fields[key], dtype=np.float64)
        if NODE[name].kind in "iu" and not np.array_equal(nodes[name], exact):
            raise ValueError(f"a tree has a number among {key!r} that is not whole or too large")
    codes = [c for c in fields["categories"] if c is not None]
    nodes["is_categorical"] = [c is not None for c in fields["categories"]]
    sets = np.zeros((len(codes), 4), dtype=np.uint64)
    for words, chosen in zip(sets, codes):
        for b in chosen:
            if not 0 <= b <= 255:
                raise ValueError(f"a split names category {b}; codes are from 0 to 255")
            words[b >> 6] |= np.uint64(1 << (b & 63))
    return BoostedTree(nodes, sets)


def _check_numbers(model) -> None:
    """Whether nothing is null that must be a number, and every split has its threshold."""
    mapper = model._bin_mapper
    trees = [tree.nodes for trees in model._predictors for tree in trees]
    numbers = [model._baseline_prediction, *mapper.bin_thresholds_, *(t["value"] for t in trees)]
    if not all(np.isfinite(values).all() for values in numbers):
        raise ValueError("text has a baseline, a threshold or a value of a node that is no number")
    if len(getattr(model, "classes_", ())) == 1:  # the score of a second may not win
        highest = model._baseline_prediction[0, 0] + sum(nodes["value"].max() for nodes in trees)
        if highest > 0.0:
            raise ValueError("text has one class, but scores of another")
    split = np.concatenate([nodes[nodes["left"] >= 0] for nodes in trees])
    most = mapper.n_bins_non_missing_[split["feature_idx"]]
    if np.any((split["bin_threshold"] >= most) & (split["is_categorical"] == 0)):
        raise ValueError("a split has a bin that its feature has not")


def _refit_preprocessor(model, categories):
    """An encoder that knows these categories, by fitting it to a table of them."""
    length = max(len(c) for c in categories if c)
    numeric = all(isinstance(v, int | float) for c in categories if c for v in c)
    columns = []
    for known in categories:
        known = list(known) if known else [0.0]
        columns.append(known + known[:1] * (length - len(known)))
    names = getattr(model, "feature_names_in_", None)
    preprocessor = make_preprocessor(model.is_categorical_)
    if names is not None:
        import pandas as pd

        return preprocessor.fit(pd.DataFrame(dict(zip(names, columns))))
    table = np.array(columns, dtype=np.float64 if numeric else object).T
    return preprocessor.fit(table)
