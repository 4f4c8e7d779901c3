"""Columns of what a model says, added to a DataFrame."""

from __future__ import annotations

import pickle
import uuid
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from fastml._engines.spark_jobs import column_for_arrow, need_session, quoted, sent
from fastml._engines.spark_scores import ModelAnswers, ScoreColumn, Scoring, kind_of, score_structs

TYPES: dict[str, DataType] = {
    "boolean": BooleanType(),
    "double": DoubleType(),
    "long": LongType(),
    "string": StringType(),
    "vector": VectorUDT(),
}


def transform(model, frame, features=None, *, columns=None):
    """A DataFrame with the predictions of any fitted model, made by Spark's workers.

    The model is sent to each worker once; rows go there through Arrow, and only the features do.
    Nothing is computed before Spark needs the columns.

    Parameters
    ----------
    model : estimator
        Fitted, of fastml or scikit-learn, or what `fastml.convert` made of another library's.
    frame : pyspark.sql.DataFrame
    features : str or list of str, default=None
        Columns of numbers, arrays or vectors. None: those that the model was fitted to, if it
        knows their names, else "features".
    columns : dict, default=None
        Names of new columns → methods of the model whose values they take, such as
        ``{"p": "predict_proba"}``. None: "prediction" by ``predict``, or "output" by
        ``transform`` where there is none.

    Returns
    -------
    frame : pyspark.sql.DataFrame
        With the new columns after the others: numbers, text, or vectors of pyspark.ml.

    Examples
    --------
    >>> from fastml.spark import transform
    >>> def scored(model, frame):  # with a session of Spark
    ...     return transform(model, frame, ["age", "income"], columns={"p": "predict_proba"})
    """
    if columns is None:
        predicts = callable(getattr(model, "predict", None))
        columns = {"prediction": "predict"} if predicts else {"output": "transform"}
    for method in columns.values():
        if not callable(getattr(model, method, None)):
            raise AttributeError(f"{type(model).__name__} has no method {method!r}")
    known = getattr(model, "feature_names_in_", None)
    if features is None:
        features = "features" if known is None else [str(name) for name in known]
    elif known is not None and not isinstance(features, str) and list(known) != list(features):
        raise ValueError(
            f"the model was fitted to the features {list(known)}, and these are {list(features)}"
        )
    made = [
        ScoreColumn(name, what, kind_of(_of_one_row(model, what))) for name, what in columns.items()
    ]
    return with_columns(frame, Shared(model), features, made)


def _of_one_row(model: Any, what: str):
    """What a model says of one row: the type of its column."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ModelAnswers(model, np.zeros((1, model.n_features_in_))).get(what)


class Shared:
    """A model and, once it was asked for, the broadcast of it: sent once, however often used."""

    def __init__(self, model: Any):
        self.model, self.key = model, uuid.uuid4().hex
        self._sent: tuple[Any, Any] | None = None

    def __getstate__(self):
        return {"model": self.model}

    def __setstate__(self, state):
        self.__init__(state["model"])

    def broadcast(self, context: Any) -> Any:
        if self._sent is None or self._sent[0] is not context:
            self._sent = context, context.broadcast(pickle.dumps(self.model, protocol=5))
        return self._sent[1]


def with_columns(frame, shared: Shared, features, made: list[ScoreColumn], thresholds=None):
    """The DataFrame with these columns after its own."""
    features = [features] if isinstance(features, str) else list(features)
    taken = [name for name in (column.name for column in made) if name in frame.columns]
    if taken:
        raise ValueError(f"there is a column {taken[0]!r} already")
    missing = [name for name in features if name not in frame.columns]
    if missing:
        raise ValueError(f"there is no column {missing[0]!r}; columns are {frame.columns}")
    if not made:
        return frame
    context = need_session(frame.sparkSession)
    taken_along = F.struct(*[column_for_arrow(frame, name).alias(name) for name in features])
    scoring = Scoring(shared.key, features, made, thresholds)
    work: Any = sent(score_structs, scoring, shared=shared.broadcast(context))
    kind = StructType([StructField(column.name, TYPES[column.kind]) for column in made])
    work.__annotations__ = {"items": Iterator[pa.Array], "return": Iterator[pa.Array]}
    make: Any = F.arrow_udf
    udf = make(work, kind)
    name = f"scores_{uuid.uuid4().hex}"
    scored = frame.select("*", udf(taken_along).alias(name))
    return scored.select("*", *[f"{name}.{quoted(c.name)}" for c in made]).drop(name)
