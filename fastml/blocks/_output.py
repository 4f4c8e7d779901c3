"""Predictions, transformed rows and scores of blocks."""

from __future__ import annotations

import contextlib
import copy
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from fastml._engines.passes import RowBlock
from fastml.blocks._blocks import Blocks
from fastml.blocks._run import Runner


def is_pipeline(model) -> bool:
    """Whether it is scikit-learn's Pipeline, which nobody has if its module is not loaded."""
    module = sys.modules.get("sklearn.pipeline")
    return module is not None and isinstance(model, module.Pipeline)


def for_arrays(model, blocks: Blocks):
    """The model without names of features, which rows of blocks do not carry, once they agree."""
    if is_pipeline(model):
        model = copy.copy(model)
        model.steps = list(model.steps)
        for place, (name, step) in enumerate(model.steps):
            if step is not None and step != "passthrough":  # the first that learnt names
                model.steps[place] = name, for_arrays(step, blocks)
                break
        return model
    known = getattr(model, "__dict__", {}).get("feature_names_in_")
    if known is None:
        return model
    if blocks.feature_names is not None and list(known) != blocks.feature_names:
        raise ValueError(
            f"the model was fitted to the features {list(known)}, and these blocks have "
            f"{blocks.feature_names}"
        )
    model = copy.copy(model)
    del model.feature_names_in_
    return model


def block_output(block: RowBlock, model, method: str):
    return np.asarray(getattr(model, method)(block.X))


def predict(model, blocks: Blocks, executor=None, *, method="predict", to=None, progress=False):
    """What a fitted model says of every row.

    Parameters
    ----------
    model : estimator
        Fitted, of any kind.
    blocks : Blocks
    executor : ThreadsExecutor, default=None
    method : str, default='predict'
        Or 'predict_proba', 'decision_function', 'score_samples' ...
    to : path, default=None
        A Parquet file to write, if it ends in ``.parquet``, or a new folder of blocks whose X is
        what is predicted; None: an array is returned.
    progress : bool, default=False

    Returns
    -------
    predictions : ndarray, or Blocks of what was written

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.blocks import Blocks, fit, predict
    >>> from fastml.naive_bayes import GaussianNB
    >>> X, y = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 0, 1, 1])
    >>> blocks = Blocks.from_npy(X, y, block_rows=3)
    >>> predict(fit(GaussianNB(), blocks), blocks)
    array([0, 0, 1, 1])
    """
    if not callable(getattr(model, method, None)):
        raise AttributeError(f"{type(model).__name__} has no method {method!r}")
    found = Runner(blocks, executor, progress).results(
        block_output, (for_arrays(model, blocks), method), method
    )
    if to is None:
        return np.concatenate(list(found))
    batches = (_as_columns(part) for part in found)
    names = _names_of(model, method)
    if _is_parquet(to):
        return _write_parquet(to, ((X, None, None) for X in batches), names)
    return Blocks._from_batches(_named(batches, names), to, blocks.block_rows)


def _as_columns(part):
    part = part.reshape(len(part), -1)
    if part.dtype in (np.float32, np.float64) or part.dtype.kind not in "biuf":
        return part
    return part.astype(np.float64)


def _named(batches, names) -> Iterator[Any]:
    yield names
    for X in batches:
        if X.dtype.kind not in "f":
            raise ValueError(
                "predictions that are not numbers are written as Parquet: let `to` end in .parquet"
            )
        yield X, None, None


def _names_of(model, method: str) -> list[str] | None:
    if method == "predict_proba" and hasattr(model, "classes_"):
        return [str(label) for label in model.classes_]
    return None


def block_transformed(block: RowBlock, model):
    X = np.asarray(model.transform(block.X))
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    return X, block.y, block.weights


class TransformedSource:
    """Rows of blocks as a fitted transformer makes them, anew each time they are read."""

    def __init__(self, model, blocks: Blocks):
        self.model, self.blocks = for_arrays(model, blocks), blocks
        self.n_rows = blocks.n_rows

    def read(self, first: int, last: int):
        """(X, y, weights) of these rows, which are of one block."""
        block = self.blocks.block(first // self.blocks.block_rows)
        X, y, weights = block_transformed(block, self.model)
        here = slice(first - block.first, last - block.first)
        return X[here], None if y is None else y[here], None if weights is None else weights[here]


def transform(model, blocks: Blocks, executor=None, *, to=None, progress=False) -> Blocks:
    """Blocks of transformed rows, with the targets and weights of the given ones.

    Parameters
    ----------
    model : transformer
        Fitted.
    blocks : Blocks
    executor : ThreadsExecutor, default=None
    to : path, default=None
        A Parquet file to write, if it ends in ``.parquet``, or a new folder; None: a folder among
        the temporary files, which is removed when the blocks are no longer used.
    progress : bool, default=False

    Returns
    -------
    blocks : Blocks

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.blocks import Blocks, fit, transform
    >>> from fastml.preprocessing import MinMaxScaler
    >>> blocks = Blocks.from_npy(np.array([[1.0], [2.0], [3.0]]), block_rows=2)
    >>> [block.X.ravel().tolist() for block in transform(fit(MinMaxScaler(), blocks), blocks)]
    [[0.0, 0.5], [1.0]]
    """
    found = Runner(blocks, executor, progress).results(
        block_transformed, (for_arrays(model, blocks),), "transform"
    )
    names = None
    with contextlib.suppress(AttributeError, ValueError):
        names = [str(name) for name in model.get_feature_names_out()]
    if _is_parquet(to):
        return _write_parquet(to, found, names)
    return Blocks._from_batches(_begun(names, found), to, blocks.block_rows)


def _begun(names, batches) -> Iterator[Any]:
    yield names
    yield from batches


def _is_parquet(to) -> bool:
    return to is not None and str(to).endswith(".parquet")


def _write_parquet(to, batches, names) -> Blocks:
    """One file, a row group a block; complete, or not there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    unfinished = f"{to}.{os.getpid()}.unfinished"
    writer, target, weight = None, None, None
    features: list[str] = []
    try:
        for X, y, weights in batches:
            features = names or [f"x{j}" for j in range(X.shape[1])]
            columns = {name: np.ascontiguousarray(X[:, j]) for j, name in enumerate(features)}
            if y is not None:
                several = y.ndim > 1
                target = [f"y{t}" for t in range(y.shape[1])] if several else "y"
                columns.update(
                    {f"y{t}": np.ascontiguousarray(y[:, t]) for t in range(y.shape[1])}
                    if several
                    else {"y": y}
                )
            if weights is not None:
                columns["weight"], weight = weights, "weight"
            table = pa.table(columns)
            if writer is None:
                writer = pq.ParquetWriter(unfinished, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
        os.replace(unfinished, to)
    except BaseException:
        if writer is not None:
            writer.close()
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise
    if pq.read_schema(to).field(features[0]).type not in (pa.float32(), pa.float64()):
        return to
    return Blocks.from_parquet(to, features=features, target=target, weight=weight, cache=False)


# ---------------------------------------------------------------------------- scores


def block_report(block: RowBlock, model, task: str):
    """The state of `fastml.metrics.RunningReport` after this block."""
    from fastml.metrics import RunningReport

    predicted, scored = model.predict(block.X), {}
    if task == "classification" and hasattr(model, "predict_proba"):
        scored = {"y_score": model.predict_proba(block.X), "labels": model.classes_}
    return RunningReport(task).update(block.y, predicted, sample_weight=block.weights, **scored)


def report(model, blocks: Blocks, executor=None, *, progress=False):
    """All measures of a classifier or regressor that merge: `fastml.metrics.report` of the rows.

    Parameters
    ----------
    model : classifier or regressor
        Fitted.
    blocks : Blocks
        With a target.
    executor : ThreadsExecutor, default=None
    progress : bool, default=False

    Returns
    -------
    report : fastml.metrics.MetricReport
        Measures that need all rows at once (medians, areas) are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.blocks import Blocks, fit, report
    >>> from fastml.naive_bayes import GaussianNB
    >>> X, y = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 0, 1, 1])
    >>> blocks = Blocks.from_npy(X, y, block_rows=3)
    >>> float(report(fit(GaussianNB(), blocks), blocks).values["accuracy"])
    1.0
    """
    from sklearn.base import is_classifier, is_regressor

    if not (is_classifier(model) or is_regressor(model)):
        raise TypeError(f"{type(model).__name__} is neither a classifier nor a regressor")
    if not blocks.has_target:
        raise ValueError("these blocks have no target: name it when they are made")
    task = "classification" if is_classifier(model) else "regression"
    whole: Any = None
    model = for_arrays(model, blocks)
    for part in Runner(blocks, executor, progress).results(block_report, (model, task), "report"):
        whole = part if whole is None else whole.merge(part)
    return whole.compute()


def block_score(block: RowBlock, model):
    """(score of the block's rows, their number)."""
    return model.score(block.X), len(block.X)


def score(model, blocks: Blocks, executor=None, *, progress=False) -> float:
    """``model.score`` of all rows: accuracy, R², mean log-likelihood or minus the inertia.

    Parameters
    ----------
    model : estimator
        Fitted: a classifier, a regressor (R²), a mixture or density, or of the k-means family.
    blocks : Blocks
        With a target for classifiers and regressors.
    executor : ThreadsExecutor, default=None
    progress : bool, default=False

    Returns
    -------
    score : float

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.blocks import Blocks, fit, score
    >>> from fastml.linear_model import LinearRegression
    >>> X = np.arange(5.0)[:, None]
    >>> blocks = Blocks.from_npy(X, 2.0 * X[:, 0], block_rows=3)
    >>> round(score(fit(LinearRegression(), blocks), blocks), 6)
    1.0
    """
    from sklearn.base import is_classifier, is_regressor

    if is_classifier(model):
        return float(report(model, blocks, executor, progress=progress).values["accuracy"])
    if is_regressor(model):
        return float(report(model, blocks, executor, progress=progress).values["r2"])
    state = (for_arrays(model, blocks),)
    parts = list(Runner(blocks, executor, progress).results(block_score, state, "score"))
    values, sizes = np.array(parts, dtype=np.float64).T
    if hasattr(model, "cluster_centers_"):  # sums, not means
        return float(values.sum())
    return float((values * sizes).sum() / sizes.sum())
