"""Gaussian mixtures from the same start and by the same number of steps; judged by likelihood."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cli.case import Case


def _blobs(n: int, d: int, k: int) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=3.0, size=(k, d))
    X = centres[rng.integers(k, size=n)] + rng.normal(size=(n, d))
    return SimpleNamespace(X=X, k=k, start=X[rng.choice(n, k, replace=False)])


def _em(module: str, shape: str):
    def prepare(data):
        import warnings
        from importlib import import_module

        GaussianMixture = import_module(f"{module}.mixture").GaussianMixture
        d = data.X.shape[1]
        precisions = np.ones((data.k, d)) if shape == "diag" else np.array([np.eye(d)] * data.k)

        def fit():
            model = GaussianMixture(
                data.k,
                covariance_type=shape,
                weights_init=np.full(data.k, 1 / data.k),
                means_init=data.start,
                precisions_init=precisions,
                max_iter=20,
                tol=0.0,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # 20 steps by order, not to convergence
                return model.fit(data.X).lower_bound_

        return fit

    return prepare


def _case(shape: str) -> Case:
    return Case(
        work=f"GaussianMixture {shape}, " + "{n:,} × {d}, {k} components, 20 iterations",
        full={"n": 100_000, "d": 10, "k": 10},
        quick={"n": 10_000, "d": 10, "k": 10},
        build=_blobs,
        libraries={name: _em(name, shape) for name in ("fastml", "sklearn")},
        quality=lambda data, bound: float(bound),
        yardstick="mean log-likelihood",
    )


CASES = (_case("full"), _case("diag"))
