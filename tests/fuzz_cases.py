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
from fuzz_calls import callable_functions, draw_call
from fuzz_draws import Data, Targets, draw_data, draw_parameters
from fuzz_objects import call, draw_object, draw_path, objects
from fuzz_objects import estimators as known_estimators
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils._param_validation import InvalidParameterError

from fastml import _threads

REFUSALS = (ValueError, TypeError, NotFittedError, NotImplementedError, MemoryError)
"""What bad input may raise."""

FUNCTIONS = 0.2
"""Share of the cases that call a function."""

OBJECTS = 10
"""Every so manieth case makes a class that is no estimator of rows."""

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

    def by_class(self) -> bool:
        """Whether the step is taken with the class, of which nothing is made."""
        return self.steps[-1][0] in (".from_predictions", ".of blocks")


def targets_of(rng, model) -> Targets:
    """What the model learns from, or most of the time."""
    tags, cls = get_tags(model), type(model)
    wanted = rng.random() < 0.8
    return Targets(
        classes=not is_regressor(getattr(model, "estimator", None) or model),
        positive=bool(wanted and tags.target_tags.positive_only),
        several=bool(wanted and tags.target_tags.multi_output and not tags.target_tags.single_output
                     and cls.__name__.startswith("MultiTask")),
        positive_rows=bool(wanted and tags.input_tags.positive_only),
    )  # fmt: skip


def required(rng, cls) -> dict:
    """What the class cannot do without: models in it, columns."""
    from fastml import linear_model, neighbors, tree

    models = [
        tree.DecisionTreeClassifier(max_depth=2, random_state=0), linear_model.Ridge(),
        neighbors.KNeighborsClassifier(2), linear_model.LogisticRegression(),
    ]  # fmt: skip
    drawn = {"estimator": models[rng.integers(4)], "categorical_features": [int(rng.integers(3))]}
    given = inspect.signature(cls).parameters.items()
    return {name: drawn[name] for name, p in given if p.default is p.empty and name in drawn}


def draw_case(seed: int, only: str = "") -> Case:
    rng = np.random.default_rng(seed)
    functions = callable_functions(only)
    estimators = {p: c for p, c in known_estimators().items() if only in p}
    others = objects(only)
    if others and (seed % OBJECTS == 0 or not (estimators or functions)):
        path = draw_path(rng, others)
        return Case(seed, path, *draw_object(rng, path))
    if functions and (not estimators or rng.random() < FUNCTIONS):
        path = str(rng.choice(list(functions)))
        given, data = draw_call(rng, path)
        return Case(seed, path, functions[path][0], given, [("call", data)])
    path = str(rng.choice(list(estimators)))
    cls = estimators[path]
    parameters = draw_parameters(rng, cls) | (needed := required(rng, cls))
    if "warm_start" in inspect.signature(cls).parameters and rng.random() < 0.3:
        parameters["warm_start"] = True
    draw = functools.partial(draw_data, rng, targets_of(rng, cls(**needed)))
    first = draw()
    steps: list[tuple[str, object]] = [("fit", first)]
    kinds = ["fit", "fit same columns", "pickle", "n_estimators", "damaged pickle", "new columns"]
    kinds += ["altered"]
    kinds += ["damaged JSON"] * hasattr(cls, "to_json")
    kinds += ["partial_fit", "partial_fit"] * hasattr(cls, "partial_fit")
    for _ in range(int(rng.integers(0, 4))):
        kind = str(rng.choice(kinds))
        width = np.shape(first.X)[1] if np.ndim(first.X) == 2 else None
        if kind in ("fit", "new columns"):
            steps.append((kind, draw()))
        elif kind == "fit same columns":
            steps.append(("fit", draw(width)))
        elif kind == "partial_fit":
            steps.append((kind, draw(width if rng.random() < 0.7 else None)))
        elif kind == "n_estimators" and "n_estimators" in parameters:
            steps.append((kind, int(rng.integers(1, 9))))
        else:
            steps.append((kind, int(rng.integers(2**31))))
    return Case(seed, path, cls, parameters, steps)


# ---------------------------------------------------------------------------- running


ATTRIBUTES = ("labels_", "inertia_", "feature_importances_", "coef_", "intercept_", "embedding_")
"""Compared beside what the methods return."""


def _learns(model) -> bool:
    """Whether it needs targets, as selectors of columns and samplers of rows do too."""
    return is_classifier(model) or is_regressor(model) or get_tags(model).target_tags.required


def _fit(model, data: Data, name: str = "fit"):
    fit, given = getattr(model, name), {}
    accepted = inspect.signature(fit).parameters
    if data.weights is not None and "sample_weight" in accepted:
        given["sample_weight"] = data.weights
    if name == "partial_fit" and "classes" in accepted and not hasattr(model, "classes_"):
        given["classes"] = np.unique(data.y)
    fit(data.X, data.y, **given) if _learns(model) else fit(data.X, **given)


def _alter(model, rng):
    """Cut, widen, empty or spoil one of the fitted arrays."""
    arrays = {k: v for k, v in vars(model).items() if isinstance(v, np.ndarray) and v.size}
    if not arrays:
        return
    name = str(rng.choice(list(arrays)))
    value = arrays[name]
    odd = [
        value[:-1], value[..., :-1], value[:0], np.concatenate([value, value]) if value.ndim else 0,
        None, value.astype(object), value[None], np.zeros_like(value), value.T,
    ]  # fmt: skip
    if value.dtype.kind in "fiu":
        with np.errstate(all="ignore"):
            odd += [-value - 1, value * 1000 + 7, (value * np.nan).astype(value.dtype)]
    setattr(model, name, odd[rng.integers(len(odd))])


METHODS = (
    "predict", "predict_proba", "decision_function", "score_samples", "transform", "kneighbors",
    "radius_neighbors", "apply", "staged_predict", "predict_log_proba",
)  # fmt: skip


def _outputs(model, data: Data, other=None) -> dict:
    """What methods return, those that ``other`` has too, and some attributes."""
    found = {}
    for name in METHODS:
        if hasattr(model, name) and (other is None or hasattr(other, name)):
            found[name] = specimens.plain(getattr(model, name)(data.new))
    if hasattr(model, "inverse_transform") and "transform" in found:
        found["inverse"] = specimens.plain(model.inverse_transform(model.transform(data.new)))
    if hasattr(model, "fit_resample"):
        found["resampled"] = specimens.plain(model.fit_resample(data.X, data.y))
    for name in ATTRIBUTES:
        if hasattr(model, name):
            found[name] = specimens.plain(getattr(model, name))
    scores = (is_classifier(model) or is_regressor(model)) and not is_outlier_detector(model)
    if "predict" in found and scores and np.ndim(data.y) == 1 and len(data.y) > 1:
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

    def __init__(self, case: Case, cls: type, ours: bool, other: type | None):
        self.case, self.ours, self.other = case, ours, other
        accepted = _arguments(cls, case.cls)
        self.given = {k: v for k, v in case.parameters.items() if k in accepted}
        later = case.steps[0][0] == "make" or not inspect.isclass(cls)
        self.model = cls if later else cls(**self.given)
        self.data: Data | None = None

    def step(self, name: str, value) -> Outcome:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return Outcome(found=self._take(name, value) or {})
            except Exception as error:
                return Outcome(error)

    def _take(self, name: str, value):
        if name == "make":
            rows = [self.given.pop("X")] if "X" in self.given else []  # trees take no name
            self.model = self.model if self.case.by_class() else self.model(*rows, **self.given)
            return {}
        if name == "call" or name.startswith("."):
            result = (
                self.model(**self.given) if name == "call" else call(self.model, name[1:], value.X)
            )
            parts = result if isinstance(result, tuple) else (result,)
            return {f"result {i}": specimens.plain(part) for i, part in enumerate(parts)}
        if name in ("fit", "partial_fit"):
            self.data = None
            _fit(self.model, value, name)
            self.data = value
        elif name == "n_estimators":
            self.model.set_params(n_estimators=value)
            if self.data is not None:
                _fit(self.model, self.data)
        elif name == "pickle":
            self.model = pickle.loads(pickle.dumps(self.model))
        elif name == "new columns":
            return _outputs(self.model, value, self.other)
        elif name.startswith("damaged") or name == "altered":
            if self.ours and self.data is not None:
                self._damage(name, np.random.default_rng(value))
            return {}
        return _outputs(self.model, self.data, self.other) if self.data is not None else {}

    def _damage(self, name, rng):
        """A damaged copy: any answer will do, but no crash."""
        try:
            if name == "damaged JSON":
                other = type(self.model).from_json(_changed_json(self.model.to_json(), rng))
            elif name == "altered":
                other = pickle.loads(pickle.dumps(self.model))
                _alter(other, rng)
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

THEY_REFUSE: tuple = (
    # text that holds numbers: some of its classes convert it, others do not; ours do
    ("", "arrays of bytes/strings"),
    # types that its libraries do not take: float16, booleans
    ("discriminant_analysis.", "float16 is unsupported in linalg"),
    ("linear_model.QuantileRegressor", "scipy.sparse does not support dtype"),
    ("linear_model.QuantileRegressor", "negating a boolean sparse array"),
    # a programme that HiGHS does not solve
    ("linear_model.QuantileRegressor", "'NoneType' object is not subscriptable"),
    ("linear_model.orthogonal_mp", "not inexact"),
    # one class: it takes the transpose of one number
    ("discriminant_analysis.Linear", "axis 1 is out of bounds"),
    # rows of another float type than those of the fit, 64-bit indices
    ("cluster.", "Buffer dtype mismatch"),
    ("metrics.", "Buffer dtype mismatch"),
    ("linear_model.", "expected sklearn.utils._seq_dataset"),
    # booleans as numbers
    ("metrics.", "numpy boolean subtract"),
    # squares of values far from 0 cancel, and the variance is negative
    ("mixture.", "ill-defined empirical covariance"),
    ("tree.", "np.int64 index based sparse"),
    ("ensemble.", "np.int64 index based sparse"),
    # several targets are moved by the noise of one
    ("linear_model.La", "could not be broadcast"),
    # folds of constant targets: a path without steps
    ("linear_model.La", "argmin of an empty sequence"),
    # a report on no labels at all
    ("metrics.classification_report", "empty sequence"),
    # the only COO matrix that its validation lets through, and bytes in the other order
    ("", "'coo_matrix' object is not subscriptable"),
    ("linear_model.", "Big-endian buffer not supported"),
    # several constant targets: its weights lose a dimension
    ("linear_model.Orthogonal", "mismatch in its core dimension"),
    # the precision of constants, which we do not need
    ("decomposition.PCA", "singular matrix"),
    # targets or weights of 1e200: its steps overflow
    ("linear_model.HuberRegressor", "convergence failed"),
    # its answer overflows where rows are far from 0 and weights tiny; ours is finite
    ("svm.", "dual coefficients or intercepts are not finite"),
    # words were learnt, numbers are asked for: no class that is known
    ("preprocessing.LabelBinarizer", "invalid literal for int"),
    # as many components as rows: its solver wants fewer
    ("manifold.SpectralEmbedding", "for sparse A with k >= N"),
)
"""What scikit-learn refuses and we take, on purpose: path, part of its message."""

WE_REFUSE: tuple = (
    # a sum of squares or losses that is not bounded below
    ("", "Negative values in data passed to `sample_weight`"),
    # thresholds are drawn between values, and there is none beside infinity
    ("ensemble.IsolationForest", "infinity or a value too large"),
    # trees of other classes or columns cannot be added to
    ("ensemble.", "warm_start goes on with"),
    ("ensemble.Hist", "features as input"),
    ("ensemble.Bagging", "features as input"),
    # scikit-learn's gradients overflow, and it predicts one number
    ("ensemble.Hist", "beyond float32"),
    # NaN as a weight: LIBSVM's answer is one number
    ("svm.", "sample_weight must be finite"),
    # weights that leave one class
    ("svm.Linear", "rows of zero weight do not count"),
    # squares are infinite: scikit-learn's components are NaN
    ("decomposition.", "squares overflow"),
    # a number of rows that is not the table's
    ("metrics.cluster.expected_mutual_information", "contingency sums up to"),
    # weights of one output: as mean_squared_error, of both libraries
    ("metrics.root_mean", "useful only in multi-output"),
    # rows of other classes than at first: scikit-learn counts them for none
    ("naive_bayes.", "do not exist in the initial classes"),
    # with X'X and X'y given, scikit-learn does not look at the rows
    ("linear_model.lars_path", "Expected 2D array"),
    # scikit-learn looks at the number of columns of dense rows only
    ("metrics.pairwise.haversine", "only valid in 2 dimensions"),
    # classes of one row: rounding decides whether the matrix within them is singular
    ("discriminant_analysis.Linear", "not positive definite"),
    # no neighbours, and a bandwidth of zero: scikit-learn's answers are empty, or NaN
    ("neighbors.", "and at least 1, got 0"),
    ("neighbors.", "The 'bandwidth' parameter"),
)
"""What we refuse and scikit-learn takes, on purpose: path, part of our message."""

OWN_OVERFLOW = ("NaN", "infinity", "infs", "not finite", "did not converge")
"""How scikit-learn refuses numbers of its own that overflowed."""

SAME_ERRORS = (("naive_bayes.CategoricalNB", IndexError),)  # a category that fit did not see
"""Errors beside `REFUSALS` that scikit-learn promises."""

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


def _listed(table, path, message) -> bool:
    return any(path.startswith(start) and part in message for start, part in table)


def _all_finite(found) -> bool:
    """But for scores: squares of huge numbers are infinite."""
    arrays = [_numbers(value) for name, value in found.items() if "score" not in name]
    return all(np.isfinite(array).all() for array in arrays if array is not None)


def differences(case: Case, step: str, ours: Outcome, theirs: Outcome, data: Data | None) -> str:
    """What is wrong beside scikit-learn's outcome, or ''."""
    if isinstance(theirs.error, InvalidParameterError):
        return ""  # an option that scikit-learn does not have
    if theirs.error is not None and not isinstance(theirs.error, REFUSALS):
        return ""  # a fault of scikit-learn's
    if ours.error is None and theirs.error is not None:
        message = str(theirs.error)
        if _listed(THEY_REFUSE, case.path, message):
            return ""
        huge = data is not None and "huge" in data.what
        if huge and any(part in message for part in OWN_OVERFLOW) and _all_finite(ours.found):
            return ""
    if theirs.error is None and _listed(WE_REFUSE, case.path, str(ours.error or "")):
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
        if name == "result 3" and "path" in case.path:
            continue  # the number of iterations
        if mine.shape != other.shape:
            if "path" in case.path and not (data and data.ordinary):
                continue  # where rounding decides how long a path is
            if case.path.startswith("linear_model.La") and mine.size == other.size:
                continue  # with fit_path=False scikit-learn's coef_ of one target has two axes
            if name in ("transform", "staged_predict", "radius_neighbors") or "paired" in case.path:
                continue  # scikit-learn's paired distances of dense and sparse rows are a matrix
            return f"{name} has shape {mine.shape}, scikit-learn's {other.shape}"
        lost = data is None or any(kind in data.what for kind in INACCURATE)
        if not lost and np.isfinite(other).all() and not np.isfinite(mine).all():
            return f"{name} is not finite, scikit-learn's is"
        if data is None or not data.ordinary or np.isnan(np.sum(other)):
            continue  # nothing to compare: odd data, or distances that scikit-learn has not
        lucky = any(word in case.path for word in LUCKY)
        if (
            name == "score"
            and step == "fit"
            and not lucky
            and mine < other - AS_GOOD * max(1.0, abs(other))
        ):
            return f"score {mine:.3f}, scikit-learn's {other:.3f}"
        same = case.path in SAME_VALUES or (
            (step == "call" or step[0] == ".") and case.path not in BY_CHANCE
        )
        if max(case.parameters.get("atol", 0), case.parameters.get("rtol", 0)) > 1e-6:
            same = False  # sums that may be off
        if same and not np.allclose(mine, other, 1e-3, 1e-3, equal_nan=True):
            return f"{name} differs by {np.abs(mine - other).max():.3g}"
    return ""


def own_faults(case: Case, ours: Outcome) -> str:
    """What is wrong whatever scikit-learn does, or ''."""
    error = ours.error
    if any(case.path == path and type(error) is kind for path, kind in SAME_ERRORS):
        return ""
    if error is not None and not isinstance(error, REFUSALS):
        return ours.says()
    shares = _numbers(ours.found.get("predict_proba"))
    if shares is not None and shares.ndim == 2 and np.isfinite(shares).all() and (
        abs(shares.sum(axis=1) - 1.0).max() > 1e-5 or shares.min() < -1e-12
    ):  # fmt: skip
        return "predict_proba is no distribution"
    return ""


def _weighs_alone(case: Case, theirs) -> bool:
    """Whether weights are given that only our class takes."""
    if not inspect.isclass(theirs) or not hasattr(theirs, "fit"):
        return False
    weighted = any(isinstance(v, Data) and v.weights is not None for _, v in case.steps)
    ours, other = (inspect.signature(c.fit).parameters for c in (case.cls, theirs))
    return weighted and ("sample_weight" in ours) != ("sample_weight" in other)


def _arguments(function, ours) -> dict:
    """Parameters by name; those of our class where scikit-learn's is written in C."""
    try:
        return dict(inspect.signature(function).parameters)
    except ValueError:
        return dict(inspect.signature(ours).parameters)


def run_case(case: Case, note: Callable[[str], None]) -> tuple[str, str]:
    """(what happened, fault or ''); ``note`` is told which library runs."""
    theirs = specimens.counterpart(case.path)
    accepted = _arguments(theirs, case.cls) if theirs is not None else {}
    beside = theirs is not None and case.parameters.keys() <= accepted.keys()
    beside = beside and not _weighs_alone(case, theirs)
    usual = _threads.OPERATIONS_PER_THREAD
    _threads.OPERATIONS_PER_THREAD = FEW_OPERATIONS if case.seed % 2 else usual
    outcomes = []
    try:
        note("fastml")
        runner = Runner(case, case.cls, True, theirs if beside else None)
        for name, value in case.steps:
            outcomes.append(runner.step(name, value))
            half_fitted = runner.data is None and isinstance(outcomes[-1].error, AttributeError)
            if not half_fitted and (fault := own_faults(case, outcomes[-1])):
                return "fault", f"{name}: {fault}"
    finally:
        _threads.OPERATIONS_PER_THREAD = usual
    worked = "works" if any(each.error is None for each in outcomes) else "refuses"
    if not beside:
        return f"{worked} alone", ""
    note("scikit-learn")
    runner = Runner(case, theirs, False, case.cls)
    data: Data | None = None
    for (name, value), mine in zip(case.steps, outcomes):
        data = value if isinstance(value, Data) and name != "new columns" else data
        other = runner.step(name, value)
        if fault := differences(case, name, mine, other, data):
            return "differs", f"{name}: {fault}"
        if mine.error is not None or other.error is not None:
            break  # what is left of a model after a failed fit is nobody's promise
    return f"{worked} as scikit-learn", ""
