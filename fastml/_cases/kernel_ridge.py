"""Ridge regression in the space of a kernel, for one penalty and for many."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import Case, Quality, find, sizes
from fastml._cases._panels import curve

ALPHAS = np.geomspace(1e-3, 1e2, 20)


def smooth(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return SimpleNamespace(X=X, y=np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n))


def _loop(data):
    KernelRidge = find("sklearn.kernel_ridge.KernelRidge")

    def fit():
        return [KernelRidge(alpha=a, kernel="rbf").fit(data.X, data.y).dual_coef_ for a in ALPHAS]

    return fit


def _residual(data, answer) -> float:
    """Largest error of (K + alpha) c = y over the penalties."""
    from sklearn.metrics.pairwise import rbf_kernel

    found = answer if isinstance(answer, list) else getattr(answer, "dual_coefs_", None)
    pairs = [(answer.alpha, answer.dual_coef_)] if found is None else list(zip(ALPHAS, found))
    K = rbf_kernel(data.X)
    errors = [np.abs(K @ c + a * c - data.y).max() for a, c in pairs]
    return float(max(errors))


def _case(id, what, params, peers, **more):
    return Case(
        id, "kernel_ridge.KernelRidge", "KernelRidge, {n:,} × {d}, " + what,
        smooth, sizes(n=(200, 1_500, 5_000), d=20),
        Quality("max error of the equations", _residual, "error", 1e-8),
        {"kernel": "rbf", **params}, peers=peers, **more,
    )  # fmt: skip


CASES = (
    _case("ridge-path", "20 penalties", {"alphas": ALPHAS, "select_by": "gcv"}, {"sklearn": _loop}),
    _case("ridge-loo", "20 penalties by leaving one out", {"alphas": ALPHAS}, {}),
    _case("ridge", "one penalty", {}, {"sklearn": {}}, also=("predict",), draw=curve, variants=(
        {"kernel": "rbf", "gamma": 0.1},
        {"kernel": "rbf", "gamma": 0.1, "alphas": [0.1, 1.0]},
        {"kernel": "rbf", "gamma": 0.1, "alphas": [0.1, 1.0], "select_by": "gcv"},
    )),
)  # fmt: skip


def odd_branches():
    from fastml._engines.ridge_path import inverse_trace

    yield "trace of an inverse", lambda: inverse_trace(np.ones((4, 3)), np.zeros((3, 3)))
