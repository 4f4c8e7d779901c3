"""Learning from blocks."""

from __future__ import annotations

import hashlib
import os
import pickle
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from fastml._engines.passes import Passes
from fastml._threads import single_threaded_blas
from fastml.blocks._blocks import Blocks
from fastml.blocks._output import TransformedSource, is_pipeline
from fastml.blocks._run import Runner, kept_open


def fit(estimator, blocks: Blocks, executor=None, *, progress: bool = False, bins=None):
    """Fit an estimator to rows in blocks, a few of which are in memory at a time.

    The model is that of ``estimator.fit`` on all rows, up to the order in which numbers are added.
    It is the same to the bit for any executor, number of workers and number of threads: every
    statistic is taken of one block, and those of blocks are merged in their order. Statistics of
    single rows (``labels_``) are not kept: see `predict`.

    Estimators that learn step by step take one block after the other, and then the model is not
    that of all rows at once: an epoch of ``SGDClassifier`` and ``SGDRegressor``, and ``BFR``, are
    ``partial_fit`` of every block; ``MiniBatchKMeans`` draws its batches from the blocks in turn.

    Parameters
    ----------
    estimator : estimator
        One of `trainable`; weights of the blocks are its ``sample_weight``. Or a Pipeline of such:
        each step learns from blocks that the steps before transform whenever a pass reads them, so
        nothing is laid down.
    blocks : Blocks
        Rows, with a target if the estimator needs one.
    executor : ThreadsExecutor or SparkExecutor, default=None
        Who does the work; None: threads of this process.
    progress : bool, default=False
        Whether to show, on stderr, how far the passes over the blocks are.
    bins : path, default=None
        For gradient boosting: a folder where the bins of the blocks are kept, a byte a value. The
        first fit makes it; later ones, of the same blocks and ``max_bins``, read neither X nor look
        for bins again, whatever their other parameters. On a cluster all nodes must share it.

    Returns
    -------
    estimator : object
        The same object, fitted. Where an error or Ctrl-C ends the fit, it is as it was.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.blocks import Blocks, fit
    >>> from fastml.linear_model import LinearRegression
    >>> X = np.arange(12.0).reshape(6, 2) ** 2
    >>> blocks = Blocks.from_npy(X, X @ [1.0, 2.0] + 3.0, block_rows=4)
    >>> fit(LinearRegression(), blocks).coef_.round(6)
    array([1., 2.])
    """
    if bins is not None and not hasattr(estimator, "max_bins"):
        raise TypeError(f"{type(estimator).__name__} has no bins to keep")
    if is_pipeline(estimator):
        return _fit_pipeline(estimator, blocks, executor, progress)
    _need_blocks(estimator)
    if blocks.has_weights and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(f"{type(estimator).__name__} takes no weights, and these blocks have some")
    model = clone(estimator)
    model._validate_params()
    model.n_features_in_ = blocks.n_features
    if blocks.feature_names is not None:
        model.feature_names_in_ = np.array(blocks.feature_names, dtype=object)
    if hasattr(executor, "run_alone") and getattr(model, "_blocks_in_order", False):
        # The rows would all come to this process, only to be read here.
        model, told = executor.run_alone(fit_alone, (model, blocks))
        for message, category in told:
            warnings.warn(message, category, stacklevel=2)
    else:
        passes = Passes(blocks.counts, Runner(blocks, executor, progress))
        if bins is not None:
            passes.bins, passes.rows_name = os.fspath(bins), _name_of(blocks)
        # What is done with the merged statistics rounds the same, too.
        with single_threaded_blas(), kept_open(executor):
            model._fit_blocks(passes)
    parameters = estimator.get_params(deep=False)
    vars(estimator).clear()
    vars(estimator).update({**vars(model), **parameters})
    return estimator


def fit_alone(block, model, blocks):
    """(the model, fitted by this process; warnings): ``block`` only says that it is to be done."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = fit(model, blocks)
    return found, [(str(each.message), each.category) for each in told]


def _fit_pipeline(pipeline, blocks: Blocks, executor, progress: bool):
    model = clone(pipeline)
    steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
    for place, step in enumerate(steps):
        if not is_pipeline(step):
            _need_blocks(step)
        if place < len(steps) - 1 and not hasattr(step, "transform"):
            raise TypeError(f"{type(step).__name__} is not the last step and has no transform")
    with kept_open(executor):
        for place, step in enumerate(steps):
            if place:
                blocks = Blocks(TransformedSource(steps[place - 1], blocks), blocks.block_rows)
            fit(step, blocks, executor, progress=progress)
    pipeline.steps = model.steps
    return pipeline


def _name_of(blocks: Blocks) -> str:
    """Of these files as they are now, and how they are cut."""
    try:
        told = pickle.dumps((blocks.source, blocks.block_rows), protocol=5)
    except ValueError as error:
        raise ValueError("bins are kept of blocks of files, not of arrays in memory") from error
    return hashlib.sha256(told).hexdigest()


def _need_blocks(estimator) -> None:
    if getattr(estimator, "_fit_blocks", None) is None:
        raise TypeError(
            f"{type(estimator).__name__} does not learn from blocks; those that do: "
            f"{', '.join(trainable())}"
        )


def trainable() -> list[str]:
    """Names of the estimators that learn from blocks.

    Examples
    --------
    >>> from fastml.blocks import trainable
    >>> "cluster.KMeans" in trainable()
    True
    """
    import importlib
    import inspect

    import fastml

    found = set()
    for name in fastml._SUBMODULES:
        if name in ("plot", "blocks"):
            continue
        module = importlib.import_module(f"fastml.{name}")
        for public in module.__all__:
            value = getattr(module, public)
            if inspect.isclass(value) and getattr(value, "_fit_blocks", None) is not None:
                found.add(f"{name}.{public}")
    return sorted(found)
