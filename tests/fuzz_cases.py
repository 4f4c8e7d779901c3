"""One case of the fuzzer: a sequence of calls on our object and on scikit-learn's, compared."""

from __future__ import annotations

import functools
import inspect
import io
import json
import pickle
import pickletools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import specimens
from fuzz_draws import Data, draw_data, draw_parameters
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

from fastml import _threads

REFUSALS = (ValueError, TypeError, NotFittedError, NotImplementedError, MemoryError)
"""What bad input may raise."""

FUNCTIONS = 0.2
"""Share of the cases that call a function."""

FEW_OPERATIONS = 256
"""A thread for so little work, so that small data run on two."""


@dataclass
class Outcome:
    """What a step came to."""

    error: BaseException | None = None
    found: dict = field(default_factory=dict)

    def says(self) -> str:
        if self.error is None:
            return f"works: {', '.join(self.found)}"
        return f"raises {type(self.error).__name__}: {str(self.error)[:150]}"


@dataclass
class Case:
    """Drawn calls: the same for both libraries."""

    seed: int
    path: str
    cls: type
    parameters: dict
    steps: list[tuple[str, object]]

    def says(self) -> str:
        plain = (str, int, float, type(None))
        given = ", ".join(f"{k}={v!r}" for k, v in self.parameters.items() if isinstance(v, plain))
        steps = "; ".join(
            f"{name} [{value.what}]" if isinstance(value, Data) else f"{name} {value}"
            for name, value in self.steps
        )
        return f"{self.path}({given}): {steps}"


def draw_function(rng, seed: int, path: str, function) -> Case:
    """A call of a function on random data."""
    first = draw_data(rng, True)
    width = np.shape(first.X)[1] if np.ndim(first.X) == 2 else None
    second = draw_data(rng, True, width)
    n = np.shape(first.X)[0]
    other = rng.integers(0, 4, n)
    labels = first.y if np.ndim(first.y) == 1 else other
    known = {
        "X": first.X, "Y": second.X, "labels": labels, "labels_true": labels, "labels_pred": other,
        "n_clusters": int(rng.integers(1, 5)), "n_neighbors": int(rng.integers(1, 6)),
        "radius": float(rng.choice([0.5, 2.0])), "random_state": 0,
    }  # fmt: skip
    given = {}
    for name, parameter in inspect.signature(function).parameters.items():
        required = parameter.default is parameter.empty
        wanted = name == "random_state" or (name == "Y" and rng.random() < 0.5)
        if name in known and (required or wanted):
            given[name] = known[name]
        elif name == "metric" and isinstance(parameter.default, str) and "kernels" not in path:
            given[name] = str(
                rng.choice(["euclidean", "manhattan", "cosine", "hamming", "jaccard"])
            )
        elif name in ("squared", "sparse", "mean_n_ij") and rng.random() < 0.5:
            given[name] = True
    what = f"X [{first.what}], Y [{second.what}]"
    return Case(seed, path, function, given, [("call", Data(0, 0, 0, 0, what, first.ordinary))])


DRAWN = {"X", "Y", "labels", "labels_true", "labels_pred", "n_clusters", "n_neighbors", "radius"}
SOME_METRICS = ("euclidean", "manhattan", "cosine", "hamming", "jaccard")


@functools.cache
def functions_beside(only: str) -> dict:
    """Functions that scikit-learn has too, whose arguments can be drawn."""
    found = {}
    for path, function in specimens.functions().items():
        required = {
            name
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        }
        drawn = {
            "X",
            "Y",
            "labels",
            "labels_true",
            "labels_pred",
            "n_clusters",
            "n_neighbors",
            "radius",
        }
        if only in path and specimens.counterpart(path) is not None and required <= drawn:
            found[path] = function
    return found


def draw_case(seed: int, only: str = "") -> Case:
    rng = np.random.default_rng(seed)
    functions = functions_beside(only)
    if functions and rng.random() < FUNCTIONS:
        path = str(rng.choice(list(functions)))
        return draw_function(rng, seed, path, functions[path])
    estimators = {p: c for p, c in specimens.estimators().items() if only in p}
    path = str(rng.choice(list(estimators)))
    cls = estimators[path]
    parameters = draw_parameters(rng, cls)
    if "warm_start" in inspect.signature(cls).parameters and rng.random() < 0.3:
        parameters["warm_start"] = True
    classes = not is_regressor(cls())
    first = draw_data(rng, classes)
    steps: list[tuple[str, object]] = [("fit", first)]
    kinds = ["fit", "fit same columns", "pickle", "n_estimators", "damaged pickle", "new columns"]
    for _ in range(int(rng.integers(0, 4))):
        kind = str(rng.choice([*kinds, "damaged JSON"] if hasattr(cls, "to_json") else kinds))
        if kind == "fit":
            steps.append((kind, draw_data(rng, classes)))
        elif kind == "fit same columns":
            width = np.shape(first.X)[1] if np.ndim(first.X) == 2 else None
            steps.append(("fit", draw_data(rng, classes, width)))
        elif kind == "new columns":
            steps.append((kind, draw_data(rng, classes)))
        elif kind == "n_estimators" and "n_estimators" in parameters:
            steps.append((kind, int(rng.integers(1, 9))))
        else:
            steps.append((kind, int(rng.integers(2**31))))
    return Case(seed, path, cls, parameters, steps)


# ---------------------------------------------------------------------------- running


def _fit(model, data: Data):
    given = {}
    if data.weights is not None and "sample_weight" in inspect.signature(model.fit).parameters:
        given["sample_weight"] = data.weights
    learns = is_classifier(model) or is_regressor(model)
    model.fit(data.X, data.y, **given) if learns else model.fit(data.X, **given)


def _outputs(model, data: Data) -> dict:
    found = {}
    names = ["predict", "predict_proba", "decision_function", "score_samples", "transform"]
    names += ["kneighbors", "radius_neighbors", "apply", "staged_predict"]
    for name in names:
        if hasattr(model, name):
            found[name] = specimens.plain(getattr(model, name)(data.new))
    for name in ("labels_", "inertia_", "feature_importances_"):
        if hasattr(model, name):
            found[name] = specimens.plain(getattr(model, name))
    if "predict" in found and not is_outlier_detector(model) and np.ndim(data.y) == 1:
        learns = is_classifier(model) or is_regressor(model)
        if learns and len(data.y) > 1:
            found["score"] = model.score(data.X, data.y)
    return found


def damaged(stored: bytes, rng) -> bytes:
    """A pickle with a few changed bytes inside of its arrays."""
    spans = [
        (position, len(argument))
        for operation, argument, position in pickletools.genops(io.BytesIO(stored))
        if isinstance(argument, bytes) and len(argument) > 3
    ]
    if not spans:
        return stored
    changed = bytearray(stored)
    for _ in range(int(rng.integers(1, 4))):
        position, length = spans[rng.integers(len(spans))]
        head = {True: 2, False: 5}[length < 256]
        at = position + head + int(rng.integers(max(1, length - 4)))
        for k in range(int(rng.choice([1, 4]))):
            changed[min(at + k, position + head + length - 1)] = int(rng.choice([0, 1, 127, 255]))
    return bytes(changed)


def _changed_json(text: str, rng) -> str:
    """A JSON text with one number changed."""
    found = json.loads(text)
    places: list[tuple] = []

    def visit(value):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, below in items:
            if isinstance(below, dict | list):
                visit(below)
            else:
                places.append((value, key))

    visit(found)
    holder, key = places[rng.integers(len(places))]
    odd = [-1, 2**31 - 1, 10**6, 0, 1e300, None, "x", -5.5, 7]
    holder[key] = odd[rng.integers(len(odd))]
    return json.dumps(found)


class Runner:
    """Takes the steps of a case with one library's class."""

    def __init__(self, case: Case, cls: type, ours: bool):
        self.case, self.ours = case, ours
        accepted = inspect.signature(cls).parameters
        self.given = {k: v for k, v in case.parameters.items() if k in accepted}
        self.model = cls(**self.given) if inspect.isclass(cls) else cls
        self.data: Data | None = None

    def step(self, name: str, value) -> Outcome:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return Outcome(found=self._take(name, value) or {})
            except Exception as error:
                return Outcome(error)

    def _take(self, name: str, value):
        if name == "call":
            result = self.model(**self.given)
            parts = result if isinstance(result, tuple) else (result,)
            return {f"result {i}": specimens.plain(part) for i, part in enumerate(parts)}
        if name == "fit":
            self.data = None
            _fit(self.model, value)
            self.data = value
        elif name == "n_estimators":
            self.model.set_params(n_estimators=value)
            if self.data is not None:
                _fit(self.model, self.data)
        elif name == "pickle":
            self.model = pickle.loads(pickle.dumps(self.model))
        elif name == "new columns":
            return _outputs(self.model, value)
        elif name.startswith("damaged"):
            if self.ours and self.data is not None:
                self._damage(name, np.random.default_rng(value))
            return {}
        return _outputs(self.model, self.data) if self.data is not None else {}

    def _damage(self, name, rng):
        """A damaged copy: any answer will do, but no crash."""
        try:
            if name == "damaged JSON":
                other = type(self.model).from_json(_changed_json(self.model.to_json(), rng))
            else:
                other = pickle.loads(damaged(pickle.dumps(self.model), rng))
            _outputs(other, self.data)
        except Exception:
            return


# ---------------------------------------------------------------------------- judging

SAME_VALUES = {
    "neighbors.KNeighborsRegressor", "neighbors.RadiusNeighborsRegressor",
    "neighbors.NearestNeighbors", "neighbors.NearestCentroid", "neighbors.KernelDensity",
    "neighbors.LocalOutlierFactor", "kernel_ridge.KernelRidge", "cluster.DBSCAN",
    "neighbors.KNeighborsTransformer", "neighbors.RadiusNeighborsTransformer",
    "neighbors.KNeighborsClassifier", "neighbors.RadiusNeighborsClassifier",
}  # fmt: skip
"""Where ordinary data have one answer."""

BY_CHANCE = {"cluster.k_means", "cluster.kmeans_plusplus"}
"""Functions whose answers depend on random numbers."""

STRICTER = (
    # scikit-learn draws thresholds between infinite float32 values: NaN
    ("ensemble.IsolationForest", "infinity or a value too large"),
    # a share of the rows that is less than one of them: we take one
    ("ensemble.IsolationForest", "at least one non-zero number"),
    # LIBSVM overflows where our solver ends
    ("svm.", "dual coefficients or intercepts are not finite"),
    ("svm.", "sample_weight must be finite"),
    # rows of zero weight are no rows
    ("svm.Linear", "rows of zero weight do not count"),
    # some of scikit-learn's take them for what they are
    ("", "Negative values in data passed to `sample_weight`"),
    # CSR with 64-bit indices, COO, and sparse data for metrics of sets
    ("", "Buffer dtype mismatch"),
    ("", "32-bit integer indices"),
    ("", "np.int64 index based sparse"),
    ("cluster.", "not subscriptable"),
    ("cluster.", "Cannot cast ufunc"),
    ("cluster.", "invalid data type for einsum"),
    # scikit-learn's default p=None of one row
    ("cluster.DBSCAN", "between instances of 'NoneType' and 'int'"),
    ("metrics.", "scipy distance metrics do not support sparse"),
    # scikit-learn checks text and complex numbers here and not there; so do we, elsewhere
    ("metrics.", "arrays of bytes/strings"),
    ("mixture.", "arrays of bytes/strings"),
    ("linear_model.", "arrays of bytes/strings"),
    ("metrics.", "Complex data not supported"),
    ("metrics.", "takes real numbers or booleans"),
    # beyond the sphere
    ("metrics.pairwise.haversine", "2 dimensions"),
    # scikit-learn finds itself twice or not at all where squares overflow
    ("neighbors.", "cannot reshape array"),
    # trees of other classes or columns cannot be added to
    ("ensemble.", "warm_start goes on with"),
    ("ensemble.", "y contains classes that the model does not"),
    # we work the scales out, as pairwise_distances does
    ("neighbors.", "__init__() takes exactly"),
    ("neighbors.", "Must provide either V or VI"),
    # scikit-learn stumbles: folds of constant targets, a programme that HiGHS does not solve
    ("linear_model.", "argmin of an empty sequence"),
    ("linear_model.QuantileRegressor", "'NoneType' object is not subscriptable"),
    # Not mended yet: sums with weights near the largest number overflow in both; scikit-learn
    # then refuses its own NaN, our centres stay NaN.
    ("cluster.KMeans", "Input contains NaN"),
    # scikit-learn's gradients overflow, and it predicts one number
    ("ensemble.HistGradientBoosting", "beyond float32"),
)
"""Where one library refuses what the other takes, on purpose: path, part of the message."""

AS_GOOD = 0.25
"""How much lower a training score may be,"""

LUCKY = ("Forest", "ExtraTree", "AdaBoost", "MiniBatch", "Bagging")
"""but for models of these names, where chance decides."""


def _numbers(value):
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        return None
    return array if array.dtype.kind in "fiub" else None


INACCURATE = ("huge", "tiny", "far away")
"""Values whose squares scikit-learn loses."""


def differences(case: Case, step: str, ours: Outcome, theirs: Outcome, data: Data | None) -> str:
    """What is wrong beside scikit-learn's outcome, or ''."""
    if isinstance(theirs.error, InvalidParameterError):
        return ""  # an option that scikit-learn does not have
    if theirs.error is not None and not isinstance(theirs.error, REFUSALS):
        return ""  # a fault of scikit-learn's
    message = str(ours.error or "") + str(theirs.error or "")
    if any(case.path.startswith(path) and part in message for path, part in STRICTER):
        return ""
    if (ours.error is None) != (theirs.error is None):
        return f"{ours.says()}, scikit-learn {theirs.says()}"
    if ours.error is not None:
        return ""
    for name, value in theirs.found.items():
        if name not in ours.found:
            return f"no {name}"
        mine, other = _numbers(ours.found[name]), _numbers(value)
        if mine is None or other is None:
            continue
        if name in ("apply", "feature_importances_"):
            continue
        if mine.shape != other.shape:
            if name in ("transform", "staged_predict", "radius_neighbors") or "paired" in case.path:
                continue  # scikit-learn's paired distances of dense and sparse rows are a matrix
            return f"{name} has shape {mine.shape}, scikit-learn's {other.shape}"
        lost = data is None or any(kind in data.what for kind in INACCURATE)
        if not lost and np.isfinite(other).all() and not np.isfinite(mine).all():
            return f"{name} is not finite, scikit-learn's is"
        if data is None or not data.ordinary:
            continue
        lucky = any(word in case.path for word in LUCKY)
        if name == "score" and step == "fit" and not lucky and mine < other - AS_GOOD:
            return f"score {mine:.3f}, scikit-learn's {other:.3f}"
        same = case.path in SAME_VALUES or (step == "call" and case.path not in BY_CHANCE)
        if same and not np.allclose(mine, other, 1e-3, 1e-3, equal_nan=True):
            return f"{name} differs by {np.abs(mine - other).max():.3g}"
    return ""


def own_faults(ours: Outcome) -> str:
    """What is wrong whatever scikit-learn does, or ''."""
    error = ours.error
    if error is not None and not isinstance(error, REFUSALS):
        return ours.says()
    shares = _numbers(ours.found.get("predict_proba"))
    if shares is not None and shares.ndim == 2 and np.isfinite(shares).all() and (
        abs(shares.sum(axis=1) - 1.0).max() > 1e-5 or shares.min() < -1e-12
    ):  # fmt: skip
        return "predict_proba is no distribution"
    return ""


def run_case(case: Case, note: Callable[[str], None]) -> tuple[str, str]:
    """(what happened, fault or ''); ``note`` is told which library runs."""
    theirs = specimens.counterpart(case.path)
    accepted = inspect.signature(theirs).parameters if theirs is not None else {}
    beside = theirs is not None and case.parameters.keys() <= accepted.keys()
    usual = _threads.OPERATIONS_PER_THREAD
    _threads.OPERATIONS_PER_THREAD = FEW_OPERATIONS if case.seed % 2 else usual
    outcomes = []
    try:
        note("fastml")
        runner = Runner(case, case.cls, ours=True)
        for name, value in case.steps:
            outcomes.append(runner.step(name, value))
            half_fitted = runner.data is None and isinstance(outcomes[-1].error, AttributeError)
            if not half_fitted and (fault := own_faults(outcomes[-1])):
                return "fault", f"{name}: {fault}"
    finally:
        _threads.OPERATIONS_PER_THREAD = usual
    worked = "works" if any(each.error is None for each in outcomes) else "refuses"
    if not beside:
        return f"{worked} alone", ""
    note("scikit-learn")
    runner = Runner(case, theirs, ours=False)
    data: Data | None = None
    for (name, value), mine in zip(case.steps, outcomes):
        data = value if isinstance(value, Data) and name != "new columns" else data
        other = runner.step(name, value)
        if fault := differences(case, name, mine, other, data):
            return "differs", f"{name}: {fault}"
        if mine.error is not None or other.error is not None:
            break  # what is left of a model after a failed fit is nobody's promise
    return f"{worked} as scikit-learn", ""
