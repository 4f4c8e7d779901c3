"""What all estimators and models here have in common: learning, scoring, files."""

from __future__ import annotations

import io
import threading
from typing import Any, ClassVar

import numpy as np
from pyspark.ml import Estimator, Model
from pyspark.ml.base import _FitMultipleIterator
from pyspark.ml.linalg import Vector
from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)

from fastml._engines.spark_scores import ModelAnswers, ScoreColumn, kind_of
from fastml.blocks import Blocks, SparkExecutor, fit
from fastml.convert import load, save
from fastml.spark._params import RUN_ON, TabledParams, signature_of
from fastml.spark._scoring import Shared, with_columns
from fastml.spark._tables import parameters_of

FEW_BYTES = 1 << 25
"""Rows of fewer bytes are passed over by the driver: to begin a job of Spark takes longer."""

CHUNK = 1 << 26
"""Bytes of a model's file in one row of a table."""


# ---------------------------------------------------------------------------- files


class ParamsWriter(MLWriter):
    """Parameters as JSON, in pyspark's own layout; the model's arrays beside them."""

    def __init__(self, instance):
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        name = f"fastml.spark.{type(self.instance).__name__}"
        DefaultParamsWriter.saveMetadata(
            self.instance, path, self.sparkSession, extraMetadata={"class": name}
        )
        if isinstance(self.instance, FrameModel):
            save(self.instance.to_local(), file := io.BytesIO())
            content = file.getvalue()
            rows = [(i, bytearray(content[i : i + CHUNK])) for i in range(0, len(content), CHUNK)]
            frame = self.sparkSession.createDataFrame(rows, "place long, content binary")
            frame.coalesce(1).write.parquet(f"{path}/model")


class ParamsReader(MLReader):
    """What `ParamsWriter` wrote."""

    def __init__(self, kind: type):
        super().__init__()
        self.kind = kind

    def load(self, path: str):
        name = f"fastml.spark.{self.kind.__name__}"
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        if metadata["class"] != name:
            raise ValueError(f"{path} holds a {metadata['class']}, not a {name}")
        made = self.kind()
        made._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(made, metadata)
        if isinstance(made, FrameModel):
            rows = sorted(self.sparkSession.read.parquet(f"{path}/model").collect())
            made._take(load(io.BytesIO(b"".join(bytes(row["content"]) for row in rows))))
        return made


class InFiles(MLWritable, MLReadable):
    def write(self) -> MLWriter:
        """What saves this: ``write().overwrite().save(path)``."""
        return ParamsWriter(self)

    @classmethod
    def read(cls) -> MLReader:
        """What loads one: ``read().load(path)``."""
        return ParamsReader(cls)


# ---------------------------------------------------------------------------- models


class FrameModel(TabledParams, Model, InFiles):
    """A fitted estimator of fastml as a model of pyspark.ml."""

    makes: ClassVar[dict[str, str]] = {}
    """Columns → what they hold: names of `ModelAnswers`."""

    def __init__(self, local=None):
        super().__init__()
        if local is not None:
            self._take(local)

    def _take(self, local) -> None:
        self._local, self._shared = local, Shared(local)

    def to_local(self):
        """The fitted estimator of fastml: no Spark is needed to use it."""
        return self._local

    @property
    def numFeatures(self) -> int:
        """Features that a row must have."""
        return int(self._local.n_features_in_)

    def _thresholds(self) -> list[float] | None:
        return None

    def _columns(self) -> list[ScoreColumn]:
        """Those to make; labels that are numbers are doubles, as Spark's evaluators want them."""
        answers = ModelAnswers(self._local, np.zeros((1, self.numFeatures)), self._thresholds())
        made = []
        for name, what in self.makes.items():
            column = self._column(name)
            if column is not None:
                kind = kind_of(answers.get(what))
                made.append(ScoreColumn(column, what, self._kind(kind)))
        return made

    def _kind(self, kind: str) -> str:
        return "double" if kind in ("long", "boolean") else kind

    def _transform(self, dataset):
        with _without_names_of_features():
            made = self._columns()
        return with_columns(dataset, self._shared, self._features(), made, self._thresholds())

    def predict(self, value):
        """The prediction of one row: a vector, or a sequence of numbers."""
        row = value.toArray() if isinstance(value, Vector) else np.asarray(value, dtype=float)
        with _without_names_of_features():
            found = ModelAnswers(self._local, row[None], self._thresholds()).get(self._says())
        return found[0].item() if found.ndim == 1 else found[0]

    def _says(self) -> str:
        return next(iter(self.makes.values()))


class _without_names_of_features:
    """Rows of Spark are arrays: scikit-learn's warning that they have no names says nothing."""

    def __enter__(self):
        import warnings

        self._caught = warnings.catch_warnings()
        self._caught.__enter__()
        warnings.filterwarnings("ignore", message="X does not have valid feature names")

    def __exit__(self, *error):
        self._caught.__exit__(*error)


# ---------------------------------------------------------------------------- estimators


class FrameEstimator(TabledParams, Estimator, InFiles):
    """Lays a DataFrame down as blocks, and learns from these by passes over them."""

    model: ClassVar[type[FrameModel]]

    def __init_subclass__(cls, table=None, **more):
        super().__init_subclass__(table=table, **more)
        if table is not None:
            setattr(cls, "__signature__", signature_of(cls._defaults))  # noqa: B010

    def _fit(self, dataset):
        return self._learned(self._blocks(dataset), dataset.sparkSession)

    def fitMultiple(self, dataset, paramMaps):
        """One model for each map of parameters; rows are laid down once for all."""
        estimator, blocks, lock = self.copy(), {}, threading.Lock()

        def fit_one(index: int):
            own = estimator.copy(paramMaps[index])
            columns = str(own._read_columns())
            with lock:
                if columns not in blocks:
                    blocks[columns] = own._blocks(dataset)
            return own._learned(blocks[columns], dataset.sparkSession)

        return _FitMultipleIterator(fit_one, len(paramMaps))

    def _read_columns(self) -> dict[str, Any]:
        return {
            "features": self._features(),
            "target": self._column("labelCol"),
            "weight": self._column("weightCol"),
        }

    def _blocks(self, dataset) -> Blocks:
        return Blocks.from_dataframe(dataset, **self._read_columns())

    def _executor(self, blocks: Blocks, spark):
        where = self._value("runOn")
        if where not in RUN_ON:
            raise ValueError(f"runOn must be one of {', '.join(RUN_ON)}, got {where!r}")
        if where == "auto":
            n_bytes = blocks.n_rows * blocks.n_features * blocks.dtype.itemsize
            where = "driver" if n_bytes <= FEW_BYTES else "spark"
        return SparkExecutor(spark) if where == "spark" else None

    def _learned(self, blocks: Blocks, spark):
        found = self._fitted(blocks, self._executor(blocks, spark))
        model = self.model(found)
        if "outputCol" in self.table.columns:
            model._setDefault(outputCol=self._value("outputCol"))
        return self._copyValues(model)

    def _fitted(self, blocks: Blocks, executor):
        """The estimator of fastml, fitted."""
        return fit(self._unfitted(blocks), blocks, executor)

    def _unfitted(self, blocks: Blocks):
        """The estimator of fastml, not fitted."""
        return self._made(0, **self._given_to_local())

    def _made(self, which: int, **given):
        """One of the table's classes; what was set by fastml's names comes last."""
        local, more = self.table.local_classes()[which], self._given_by_our_names()
        unknown = [name for name in more if name not in parameters_of(local)]
        if unknown:
            raise ValueError(
                f"{type(self).__name__} is a {local.__name__} here, which has no {unknown[0]!r}"
            )
        return local(**{**given, **more})
