"""Embeddings: t-SNE, scaling, Isomap."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import BOTH, ON_ALL_CORES, SKLEARN, Case, Data, Quality, sizes


def groups(n, d):
    """Twenty overlapping groups."""
    rng = np.random.default_rng(0)
    centres = 2.0 * rng.normal(size=(20, d))
    y = rng.integers(0, 20, size=n)
    return SimpleNamespace(X=centres[y] + rng.normal(size=(n, d)), labels=y)


def _divergence(data, answer) -> float:
    return float(getattr(answer, "kl_divergence_", getattr(answer, "kl_divergence", np.nan)))


def _opentsne(data):
    import openTSNE

    def embed():
        return openTSNE.TSNE(
            n_iter=data.iterations - 250, initialization="pca", negative_gradient_method="fft",
            random_state=0, n_jobs=-1,
        ).fit(data.X)  # fmt: skip

    return embed


def _tsne(library):
    def prepare(data):
        import importlib

        cls = importlib.import_module(f"{library}.manifold").TSNE
        return lambda: cls(max_iter=data.iterations, random_state=0).fit(data.X)

    return prepare


def normal_rows(n, d):
    """Rows without any structure."""
    return SimpleNamespace(X=np.random.default_rng(0).normal(size=(n, d)))


def swiss_roll(n):
    """A sheet, rolled up."""
    rng = np.random.default_rng(0)
    t = 1.5 * np.pi * (1.0 + 2.0 * rng.random(n))
    return SimpleNamespace(X=np.c_[t * np.cos(t), 21.0 * rng.random(n), t * np.sin(t)])


def unrolled(axes, Isomap) -> None:
    """The sheet, coloured along the roll."""
    X = swiss_roll(800).X
    Y = Isomap(n_neighbors=10).fit_transform(X)
    axes.scatter(*Y.T, c=np.hypot(X[:, 0], X[:, 2]), s=8)
    axes.set_title("Isomap of a swiss roll")


def _stress(data, model) -> float:
    return float(model.stress_)


def _spread(data, model) -> float:
    return float(np.linalg.norm(model.embedding_))


def _isomap_error(data, model) -> float:
    return float(model.reconstruction_error())


def _by_matrix(data, model) -> float:
    return float(model.reconstruction_error_)


def _smoothness(data, model) -> float:
    """Sum of the eigenvalues, recovered from the vectors."""
    from scipy.sparse.csgraph import laplacian

    L, roots = laplacian(model.affinity_matrix_, normed=True, return_diag=True)
    V = model.embedding_ * roots[:, None]
    return float(np.sum(V * (L @ V)) / np.sum(V * V))


def _sammon_steps(data):
    """Sammon's own steps, a fixed share of Newton's, from the same start."""
    rows = np.sum(data.X**2, axis=1)

    def embed():
        squares = np.maximum(rows[:, None] + rows - 2.0 * data.X @ data.X.T, 0.0)
        np.fill_diagonal(squares, 0.0)
        targets = np.sqrt(squares)
        centred = squares - squares.mean(axis=0)
        values, vectors = np.linalg.eigh(-0.5 * (centred - centred.mean(axis=1, keepdims=True)))
        Y = vectors[:, -2:] * np.sqrt(values[-2:])
        np.fill_diagonal(targets, 1.0)
        for _ in range(20):
            apart = Y[:, None] - Y
            lengths = np.linalg.norm(apart, axis=2)
            np.fill_diagonal(lengths, 1.0)
            gap, both = ((targets - lengths) / (targets * lengths))[..., None], lengths[..., None]
            bend = gap - apart**2 / both**3  # on the diagonal 0
            Y = Y + 0.3 * (gap * apart).sum(axis=1) / np.abs(bend.sum(axis=1))
        lengths = np.linalg.norm(Y[:, None] - Y, axis=2)
        np.fill_diagonal(lengths, 1.0)
        stress = np.sum((targets - lengths) ** 2 / targets) / (targets.sum() - len(Y))
        return SimpleNamespace(stress_=stress)

    return embed


def _sne_by_scipy(data):
    """SciPy's L-BFGS and roots for the same cost, from the same start."""
    from scipy.optimize import brentq, minimize
    from scipy.spatial.distance import cdist
    from scipy.special import entr, softmax

    def shares(squares):
        def excess(log_beta):
            return entr(softmax(-np.exp(log_beta) * squares)).sum() - np.log(30.0)

        return softmax(-np.exp(brentq(excess, -20.0, 20.0)) * squares)

    def embed():
        n = len(data.X)
        squares = cdist(data.X, data.X, "sqeuclidean")
        np.fill_diagonal(squares, np.inf)
        P = np.vstack([np.insert(shares(np.delete(s, i)), i, 0.0) for i, s in enumerate(squares)])

        def cost(flat):
            Y = flat.reshape(n, 2)
            logits = -cdist(Y, Y, "sqeuclidean")
            np.fill_diagonal(logits, -np.inf)
            Q = softmax(logits, axis=1)
            M = P - Q + (P - Q).T
            slopes = 2.0 * (M.sum(axis=1)[:, None] * Y - M @ Y)
            kept = P > 0
            return np.sum(P[kept] * np.log(P[kept] / Q[kept])), slopes.ravel()

        centred = data.X - data.X.mean(axis=0)
        start = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
        start *= 0.1 / np.std(start[:, 0])
        found = minimize(cost, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 50})
        return SimpleNamespace(kl_divergence_=found.fun)

    return embed


def _mds(id, work, sizes, **params):
    by_order = {"metric_mds": False, "n_components": 3, "init": "classical_mds"}
    given = {"init": "random", "max_iter": 100, "eps": 0.0, "random_state": 0, **params}
    return Case(
        id, "manifold.MDS", f"MDS, {work}, {{n:,}} rows, 100 iterations", normal_rows, sizes,
        Quality("stress", _stress, "less", 1e-6), given, peers=SKLEARN,
        variants=() if params else (by_order,), settings={"init": "random", "max_iter": 30},
    )  # fmt: skip


SMALL = {"min_grad_norm": 1e9, "perplexity": 5.0}  # 50 iterations of each phase
CASES = (
    Case(
        "tsne", "manifold.TSNE", "TSNE, {n:,} × {d}, {iterations} iterations",
        groups, sizes(n=(300, 2_000, 20_000), d=(6, 50, 50), iterations=(300, 750, 750)),
        Quality("divergence", _divergence, "less", 0.005, tiny=0.1),
        params={"random_state": 0, "max_iter": Data("iterations")},
        peers={"sklearn": _tsne("sklearn"), "sklearnex": _tsne("sklearnex"), "openTSNE": _opentsne},
        variants=(
            {"repulsion": "grid", "degrees_of_freedom": 0.5},
            {"repulsion": "grid", "n_components": 1},
            {"repulsion": "tree", "n_components": 3, "init": "random"},
            {"method": "exact", "affinities": "uniform"},
        ),
        settings=SMALL, dtypes=BOTH,
    ),
    _mds("mds", "metric", sizes(n=(60, 500, 1_500), d=20)),
    _mds("mds-order", "non-metric", sizes(n=(60, 300, 1_500), d=20), metric_mds=False),
    Case(
        "classical-mds", "manifold.ClassicalMDS", "ClassicalMDS, {n:,} × {d}", normal_rows,
        sizes(n=(60, 1_000, 4_000), d=20), Quality("spread", _spread, "same", 1e-6), peers=SKLEARN,
    ),
    Case(
        "isomap", "manifold.Isomap", "Isomap, swiss roll, {n:,} rows", swiss_roll,
        sizes(n=(100, 1_000, 5_000)), Quality("error", _isomap_error, "less", 1e-5),
        {"n_neighbors": 10}, peers={"sklearn": {"n_jobs": -1}},
        variants=({"n_landmarks": 30},), settings={"n_neighbors": None, "radius": 1e4},
        draw=unrolled,
    ),
    Case(
        "locally-linear", "manifold.LocallyLinearEmbedding",
        "LocallyLinearEmbedding, swiss roll, {n:,} rows", swiss_roll,
        sizes(n=(250, 1_000, 5_000)), Quality("error", _by_matrix, "same", 1e-3, tiny=1e-2),
        {"n_neighbors": 12, "random_state": 0}, peers=ON_ALL_CORES,
        variants=({"method": "modified"}, {"method": "hessian"}, {"method": "ltsa"}),
        settings={"n_neighbors": 6, "eigen_solver": "dense"},
    ),
    Case(
        "hessian-embedding", "manifold.LocallyLinearEmbedding",
        "LocallyLinearEmbedding, hessian, swiss roll, {n:,} rows", swiss_roll,
        sizes(n=(250, 1_000, 2_500)), Quality("error", _by_matrix, "same", 1e-3),
        {"n_neighbors": 12, "method": "hessian", "random_state": 0}, peers=ON_ALL_CORES,
        settings={"n_neighbors": 6, "eigen_solver": "dense"},
    ),
    Case(
        "spectral-embedding", "manifold.SpectralEmbedding",
        "SpectralEmbedding, swiss roll, {n:,} rows", swiss_roll,
        sizes(n=(250, 1_000, 5_000)), Quality("smoothness", _smoothness, "same", 1e-6),
        {"n_neighbors": 10}, peers=ON_ALL_CORES,
        settings={"affinity": "rbf", "gamma": 1e-3},  # rows that fall into groups hang together
    ),
    Case(
        "spectral-embedding-tenth", "manifold.SpectralEmbedding",
        "SpectralEmbedding, a tenth of the rows as neighbours, {n:,} × {d}", groups,
        sizes(n=(320, 1_000, 3_000), d=10), Quality("smoothness", _smoothness, "same", 1e-6),
        peers=ON_ALL_CORES,
    ),
    Case(
        "sammon", "manifold.SammonMapping", "SammonMapping, {n:,} × {d}", groups,
        sizes(n=(60, 500, 1_500), d=10), Quality("stress", _stress, "less", 0.01),
        {"max_iter": 20, "tol": 0.0}, peers={"numpy": _sammon_steps},
        variants=({"weighting": "squared", "init": "random"},), settings={"tol": 1e-3},
    ),
    Case(
        "sne", "manifold.SNE", "SNE, {n:,} × {d}", groups, sizes(n=(60, 300, 1_000), d=10),
        Quality("divergence", _divergence, "less", 0.01), {"max_iter": 50},
        peers={"scipy": _sne_by_scipy},
        variants=({"sigma": 2.0},), settings={"perplexity": 10.0, "max_iter": 20},
    ),
)  # fmt: skip


def odd_branches():
    from fastml import manifold

    X = groups(320, 6).X

    def weighted():
        manifold.smacof(np.abs(X[:20] @ X[:20].T), weights=np.ones((20, 20)), max_iter=2)

    yield "weighted scaling", weighted

    def many_neighbours():
        manifold.Isomap(n_neighbors=19).fit(X[:20])

    yield "paths of few rows with many neighbours", many_neighbours

    def new_rows():
        manifold.TSNE(**SMALL, random_state=0).fit(X[:60]).transform(X[60:80])

    yield "new rows of t-SNE", new_rows

    def in_space():
        settings = {**SMALL, "n_components": 3, "method": "exact", "init": "random"}
        manifold.TSNE(**settings, random_state=0).fit(X[:20])

    yield "t-SNE in three dimensions by all pairs", in_space
