"""Gaussian mixtures from the same start and by the same number of steps; judged by likelihood."""

from __future__ import annotations

from functools import partial

import numpy as np

from fastml._cases._case import BOTH, SKLEARN, Case, Data, Quality, sizes
from fastml._cases._data import blobs
from fastml._cases._panels import clusters

SHAPES = ("full", "diag", "tied", "spherical")


def blobs_and_start(n, d, k, shape):
    """Blobs, and unit precisions in the form that the shape of the covariances asks for."""
    data = blobs(n, d, k)
    unit = {"full": [np.eye(d)] * k, "tied": np.eye(d), "diag": np.ones((k, d))}
    data.precisions = np.array(unit.get(shape, np.ones(k)))
    data.weights = np.full(k, 1 / k)
    return data


def _case(shape: str, **more) -> Case:
    start = {
        "weights_init": Data("weights"),
        "means_init": Data("start"),
        "precisions_init": Data("precisions"),
    }
    return Case(
        f"mixture-{shape}", "mixture.GaussianMixture",
        f"GaussianMixture {shape}, {{n:,}} × {{d}}, {{k}} components, 20 iterations",
        partial(blobs_and_start, shape=shape), sizes(n=(500, 10_000, 100_000), d=10, k=(4, 10, 10)),
        Quality("mean log-likelihood", lambda data, model: float(model.lower_bound_)),
        {"n_components": Data("k"), "covariance_type": shape, "max_iter": 20, "tol": 0.0, **start},
        also=("predict",), peers=SKLEARN, dtypes=BOTH, **more,
    )  # fmt: skip


VARIANTS = (
    {"n_components": 3},
    *(
        {"n_components": 3, "covariance_type": shape}
        for shape in ("tied", "diag", "spherical", "tied_spherical")
    ),
)
CASES = (
    _case("full", variants=VARIANTS, draw=clusters, headline=True),
    *(_case(shape) for shape in SHAPES[1:]),
)
