"""One plain NumPy reference per kernel: readable, slow, never optimised."""

import itertools

import numpy as np

# kernels/numeric/rng.py


def splitmix64(state, n):
    """The first ``n`` outputs of SplitMix64 from ``state``, in Python integers."""
    mask = 2**64 - 1
    out = []
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        out.append(z ^ (z >> 31))
    return out


# kernels/numeric/heap.py


def k_best(pairs, k, dtype=np.float64):
    """Distances and indices of the ``k`` smallest pairs, padded with (largest float, -1)."""
    best = sorted(pairs)[:k]
    best += [(np.finfo(dtype).max, -1)] * (k - len(best))
    return np.array([d for d, _ in best], dtype), np.array([i for _, i in best])


# kernels/density/tiles.py, smoothing.py, sums.py, expansion.py, metric_sums.py


def smoothing_kernel(name, u):
    """K(u) for distances u in bandwidths, K(0) = 1."""
    inside = u < 1.0
    with np.errstate(under="ignore"):
        return {
            "gaussian": lambda: np.exp(-0.5 * u * u),
            "exponential": lambda: np.exp(-u),
            "tophat": lambda: inside * 1.0,
            "epanechnikov": lambda: inside * (1.0 - u * u),
            "linear": lambda: inside * (1.0 - u),
            "cosine": lambda: inside * np.cos(0.5 * np.pi * u),
        }[name]()


def log_kernel_sums(name, X, Q, weights=None, bandwidth=1.0, itself=None):
    """log sum_i w_i K(|q - x_i| / h), with log-sum-exp for the kernels that never end."""
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    u = np.sqrt(((Q[:, None, :] - X[None, :, :]) ** 2).sum(-1)) / bandwidth
    out = np.empty(len(Q))
    for q in range(len(Q)):
        w = weights.copy()
        if itself is not None:
            w[itself[q]] = 0.0
        with np.errstate(divide="ignore"):
            if name in ("gaussian", "exponential") and w.any():
                s = 0.5 * u[q] ** 2 if name == "gaussian" else u[q]
                least = s[w > 0].min()
                out[q] = np.log(np.sum(w * np.exp(least - s, where=w > 0, out=0 * s))) - least
            else:
                out[q] = np.log(np.sum(w * smoothing_kernel(name, u[q])))
    return out


# kernels/density/pair_integral.py


def sum_over_pairs(X, weights, reach, table):
    """sum_ij w_i w_j g(|x_i - x_j|), g linear between equal steps from 0 to the reach."""
    r = np.sqrt(((X[:, None, :] - X[None, :, :]) ** 2).sum(-1))
    g = np.interp(r, np.linspace(0.0, reach, len(table)), table, right=0.0)
    return weights @ g @ weights


# kernels/distances/metrics.py, pairwise.py, gram.py, boolean.py, sparse.py


def counts(x, y):
    """Coordinates that are true in both, only in x, only in y, in neither."""
    x, y = np.asarray(x) != 0, np.asarray(y) != 0
    return (x & y).sum(), (x & ~y).sum(), (~x & y).sum(), (~x & ~y).sum()


def ratio(a, b):
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.float64(a) / np.float64(b)


def boolean_distance(name, x, y):
    both, left, right, neither = (float(c) for c in counts(x, y))
    unequal, n = left + right, float(len(x))
    return {
        "jaccard": lambda: ratio(unequal, both + unequal) if both + unequal else 0.0,
        "dice": lambda: ratio(unequal, 2 * both + unequal),
        "matching": lambda: unequal / n,
        "rogerstanimoto": lambda: 2 * unequal / (n + unequal),
        "russellrao": lambda: (n - both) / n,
        "sokalsneath": lambda: ratio(2 * unequal, both + 2 * unequal),
        "yule": lambda: (
            ratio(2 * left * right, both * neither + left * right) if left * right else 0.0
        ),
        "kulsinski": lambda: (unequal - both + n) / (unequal + n),
    }[name]()


def real_distance(name, x, y, p=2.0, v=None):
    """Distance of two rows; v: weights, or the inverse covariance of mahalanobis."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    gap, weights = np.abs(x - y), np.ones(len(x)) if v is None else np.ravel(v)

    def cosine(a, b):
        norms = np.sqrt(a @ a) * np.sqrt(b @ b)
        return 1.0 - a @ b / norms if norms > 0 else 1.0

    def correlation():
        a, b = x - x.mean(), y - y.mean()
        return cosine(a, b) if a.any() and b.any() else np.nan

    def present():
        there = ~np.isnan(gap)
        return ratio((gap[there] ** 2).sum() * len(x), there.sum())

    return {
        "euclidean": lambda: np.sqrt((gap**2).sum()),
        "sqeuclidean": lambda: (gap**2).sum(),
        "manhattan": lambda: gap.sum(),
        "chebyshev": lambda: gap.max(),
        "minkowski": lambda: (weights * gap**p).sum() ** (1 / p),
        "mahalanobis": lambda: np.sqrt((x - y) @ v @ (x - y)),
        "cosine": lambda: cosine(x, y),
        "correlation": correlation,
        "hamming": lambda: (weights * (x != y)).sum() / weights.sum(),
        "canberra": lambda: np.nansum(ratio(gap, np.abs(x) + np.abs(y))),
        "braycurtis": lambda: ratio(gap.sum(), np.abs(x + y).sum()),
        "braycurtis_absolute": lambda: (
            ratio(gap.sum(), (np.abs(x) + np.abs(y)).sum()) if gap.any() else 0.0
        ),
        "haversine": lambda: (
            2
            * np.arcsin(
                np.sqrt(
                    np.sin(gap[0] / 2) ** 2 + np.cos(x[0]) * np.cos(y[0]) * np.sin(gap[1] / 2) ** 2
                )
            )
        ),
        "weighted_jaccard": lambda: (
            1 - np.minimum(x, y).sum() / np.maximum(x, y).sum() if np.maximum(x, y).any() else 0.0
        ),
        "nan_squares": present,
        "chi_squares": lambda: np.nansum(ratio(gap**2, x + y)),
    }[name]()


def pairs(function, X, Y):
    """The matrix of ``function(x, y)``."""
    values = [[function(x, y) for y in Y] for x in X]
    return np.array(values, dtype=np.float64).reshape(len(X), len(Y))


# kernels/neighbors/argkmin.py, kdtree.py, balltree.py, radius.py, votes.py


def nearest_rows(Q, Y, k, distance):
    """Distances and indices of the k nearest rows of Y, by (distance, index)."""
    D = np.array([[distance(q, y) for y in Y] for q in Q]).reshape(len(Q), len(Y))
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, order, axis=1), order


def rows_within(Q, Y, radius, distance):
    """Per query, the set of rows of Y at most ``radius`` away."""
    return [{j for j, y in enumerate(Y) if distance(q, y) <= radius} for q in Q]


def neighbour_votes(labels, indices, weights, n_classes):
    """votes[q, c] = sum of weights of the neighbours of q with label c."""
    votes = np.zeros((len(indices), n_classes))
    for q, row in enumerate(indices):
        for s, i in enumerate(row):
            votes[q, labels[i]] += weights[q][s]
    return votes


# kernels/cluster/lloyd.py, hamerly.py, lloyd_sparse.py, kmeans_plusplus.py


def squared_distances(X, C):
    X, C = np.asarray(X, np.float64), np.asarray(C, np.float64)
    return ((X[:, None] - C[None]) ** 2).sum(axis=2)


def lloyd_step(X, weights, centers):
    """Labels, sums, masses and inertia of one step."""
    distances = squared_distances(X, centers)
    labels = distances.argmin(axis=1)
    hot = np.eye(len(centers))[labels] * np.asarray(weights, np.float64)[:, None]
    inertia = (distances.min(axis=1) * weights).sum()
    return labels, hot.T @ np.asarray(X, np.float64), hot.sum(axis=0), inertia


def means_of_clusters(sums, masses):
    """Sums over masses; an empty cluster gets the place of the heaviest one."""
    means = np.array(sums, np.float64)
    full = masses > 0
    means[full] /= masses[full, None]
    means[~full] = means[np.argmax(masses)]
    return means


def seeding_step(X, weights, candidates, closest):
    """Lowered distances and potential of every candidate."""
    lowered = np.minimum(squared_distances(candidates, X), closest)
    return lowered, lowered @ np.asarray(weights, np.float64)


# kernels/density/grid.py


def linear_binning(positions, weights, shape):
    """Each weight shared by the 2^d nodes around, in proportion to the opposite volumes."""
    counts = np.zeros(shape)
    for position, weight in zip(positions, weights):
        base = np.minimum(position.astype(int), np.array(shape) - 2)
        share = position - base
        for corner in np.ndindex(*(2,) * len(shape)):
            part = np.prod([s if c else 1 - s for c, s in zip(corner, share)])
            counts[tuple(base + corner)] += weight * part
    return counts


# kernels/density/local_linear.py


def local_linear(name, X, y, weights, Q, bandwidth):
    """At each query the intercept of the plane of least weighted squares."""
    out = []
    for q in Q:
        delta = X - q
        K = weights * smoothing_kernel(name, np.sqrt((delta**2).sum(axis=1)) / bandwidth)
        design = np.column_stack([np.ones(len(X)), delta]) * np.sqrt(K)[:, None]
        out.append(np.linalg.lstsq(design, y * np.sqrt(K)[:, None], rcond=None)[0][0])
    return np.array(out)


# kernels/scores/silhouette.py


def distances_of_all_pairs(X):
    return np.sqrt(((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))


def silhouettes(D, labels):
    """Coefficients (b - a) / max(a, b) from a matrix of distances, row by row."""
    found = np.zeros(len(labels))
    for i, label in enumerate(labels):
        own = np.flatnonzero(labels == label)
        if own.size == 1:
            continue
        a = D[i, own].sum() / (own.size - 1)
        b = min(D[i, labels == other].mean() for other in set(labels) - {label})
        found[i] = (b - a) / max(a, b) if max(a, b) > 0 else 0.0
    return found


def dunn(D, labels):
    """(least distance between clusters, largest inside one)."""
    own = labels[:, None] == labels[None, :]
    return D[~own].min(), D[own].max()


# kernels/scores/contingency.py


def expected_mutual_information(a, b):
    """Mean mutual information over hypergeometric tables with margins a and b."""
    from scipy.stats import hypergeom

    n, total = sum(a), 0.0
    for i in a:
        for j in b:
            for m in range(max(1, i + j - n), min(i, j) + 1):
                total += m / n * np.log(n * m / (i * j)) * hypergeom.pmf(m, n, i, j)
    return total


# kernels/mixture/em.py


def gaussian_log_densities(X, means, covariances):
    """log N(x; m_k, S_k), by the textbook formula with an explicit inverse."""
    columns = []
    for mean, covariance in zip(means, covariances):
        gaps = X - mean
        squares = np.einsum("ni,ij,nj->n", gaps, np.linalg.inv(covariance), gaps)
        log_det = np.linalg.slogdet(2.0 * np.pi * covariance)[1]
        columns.append(-0.5 * (squares + log_det))
    return np.stack(columns, axis=1)


def em_step(X, sample_weight, weights, means, covariances):
    """One step of EM: (mean log-likelihood before it, weights, means, covariances after it)."""
    joint = gaussian_log_densities(X, means, covariances) + np.log(weights)
    top = joint.max(axis=1, keepdims=True)
    log_p = top[:, 0] + np.log(np.exp(joint - top).sum(axis=1))
    r = np.exp(joint - log_p[:, None]) * sample_weight[:, None]
    mass = r.sum(axis=0)
    new_means = (r.T @ X) / mass[:, None]
    new_covariances = np.stack(
        [(r[:, k, None] * (X - m)).T @ (X - m) / mass[k] for k, m in enumerate(new_means)]
    )
    bound = (sample_weight * log_p).sum() / sample_weight.sum()
    return bound, mass / mass.sum(), new_means, new_covariances


# kernels/cluster/linkage.py, kernels/cluster/mst.py, kernels/cluster/ward_chain.py


def agglomerate(D, method):
    """Merges as (height, members of the union), the closest pair first, by Lance and Williams."""
    squared = method in ("ward", "centroid", "median")
    D = {(i, j): float(D[i, j]) ** (1 + squared) for i in range(len(D)) for j in range(i)}
    clusters = {i: (i,) for i in range(max((i for i, _ in D), default=0) + 1)}
    merges = []
    while len(clusters) > 1:
        (i, j), d = min(D.items(), key=lambda item: item[1])
        a, b = len(clusters[i]), len(clusters[j])
        new = max(clusters) + 1
        for k in clusters:
            if k in (i, j):
                continue
            x, y = D[max(i, k), min(i, k)], D[max(j, k), min(j, k)]
            c = len(clusters[k])
            D[new, k] = {
                "single": min(x, y),
                "complete": max(x, y),
                "average": (a * x + b * y) / (a + b),
                "weighted": (x + y) / 2,
                "ward": ((a + c) * x + (b + c) * y - c * d) / (a + b + c),
                "centroid": (a * x + b * y) / (a + b) - a * b * d / (a + b) ** 2,
                "median": (x + y) / 2 - d / 4,
            }[method]
        clusters[new] = clusters.pop(i) + clusters.pop(j)
        D = {pair: v for pair, v in D.items() if not {i, j} & set(pair)}
        height = max(d, 0.0) ** 0.5 if squared else d
        merges.append((height, tuple(sorted(clusters[new]))))
    return merges


def merges_of(Z):
    """A linkage matrix in the form of `agglomerate`."""
    members = {i: (i,) for i in range(len(Z) + 1)}
    found = []
    for step, (i, j, height, _) in enumerate(Z):
        members[len(Z) + 1 + step] = tuple(sorted(members[int(i)] + members[int(j)]))
        found.append((height, members[len(Z) + 1 + step]))
    return found


# kernels/cluster/dbscan.py


def density_clusters(D, eps, enough, weights=None):
    """Labels and core rows: clusters grown one after the other from the first free core row."""
    n = len(D)
    near = eps >= D
    core = near @ (np.ones(n) if weights is None else weights) >= enough
    labels = np.full(n, -1)
    n_clusters = 0
    for seed in range(n):
        if not core[seed] or labels[seed] >= 0:
            continue
        waiting = [seed]
        while waiting:
            i = waiting.pop()
            if labels[i] < 0:
                labels[i] = n_clusters
                if core[i]:
                    waiting += np.flatnonzero(near[i] & (labels < 0)).tolist()
        n_clusters += 1
    return labels, core


# kernels/cluster/pam.py


def medoid_loss(D, medoids):
    return D[medoids].min(axis=0).sum()


# kernels/cluster/medians.py


def median_by_loss(values, weights):
    """Middle of the points where the weighted sum of absolute deviations is least."""
    losses = np.array([(weights * np.abs(values - v)).sum() for v in values])
    best = values[np.isclose(losses, losses.min(), rtol=1e-12, atol=1e-12)]
    return (best.min() + best.max()) / 2


# kernels/cluster/soft_means.py


def soft_shares(X, centers, beta):
    squares = ((X[:, None] - centers) ** 2).sum(axis=2)
    shares = np.exp(-beta * squares)
    return shares / shares.sum(axis=1, keepdims=True)


def fuzzy_shares(X, centers, m):
    squares = ((X[:, None] - centers) ** 2).sum(axis=2)
    shares = squares ** (-1 / (m - 1))
    return shares / shares.sum(axis=1, keepdims=True)


# kernels/svm/rows.py, support_sums.py, smo.py


def svm_kernel(name, X, Y, gamma=0.5, coef0=0.3, degree=3):
    dots = X @ Y.T
    norms = np.sqrt((X**2).sum(1)[:, None] * (Y**2).sum(1))
    return {
        "linear": lambda: dots,
        "poly": lambda: (gamma * dots + coef0) ** degree,
        "rbf": lambda: np.exp(-gamma * ((X[:, None] - Y) ** 2).sum(-1)),
        "sigmoid": lambda: np.tanh(gamma * dots + coef0),
        "cosine": lambda: np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0),
    }[name]()


def smo_gap(beta, v, lower, upper, groups):
    """Largest v that may rise minus smallest that may sink, in the worst group."""
    gaps = []
    for group in groups:
        rising = v[group][beta[group] < upper[group]]
        sinking = v[group][beta[group] > lower[group]]
        gaps.append(rising.max() - sinking.min() if rising.size and sinking.size else -np.inf)
    return max(gaps)


def smo(K, target, lower, upper, beta, groups, tol, max_steps):
    """β after steps on the pair of largest violation and best second-order gain: (β, v, steps)."""
    n, m = len(K), len(target)
    row = np.arange(m) % n
    K = K[np.ix_(row, row)].astype(float)
    beta = beta.astype(float)
    for steps in range(max_steps + 1):
        v = target - K @ beta
        if smo_gap(beta, v, lower, upper, groups) < tol or steps == max_steps:
            return beta, v, steps
        best = (-1.0, 0, 0)
        for group in groups:
            rising = group[beta[group] < upper[group]]
            if not rising.size:
                continue
            i = rising[np.argmax(v[rising])]
            for j in group[(beta[group] > lower[group]) & (v[group] < v[i])]:
                gain = (v[i] - v[j]) ** 2 / max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
                if gain > best[0]:
                    best = (gain, i, j)
        _, i, j = best
        step = (v[i] - v[j]) / max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
        step = min(step, upper[i] - beta[i], beta[j] - lower[j])
        beta[i] = upper[i] if step == upper[i] - beta[i] else beta[i] + step
        beta[j] = lower[j] if step == beta[j] - lower[j] else beta[j] - step
    raise AssertionError


# ---------------------------------------------------------------------------
# kernels/linear/rows.py, kernels/linear/dual_descent.py, kernels/linear/l1_descent.py,
# kernels/linear/crammer_singer.py, kernels/linear/newton.py


def with_constant(X, bias):
    return np.column_stack([X, np.full(len(X), bias)])


def box_quadratic(Q, linear, lower, upper, epochs=3000):
    """Minimise ½ a' Q a + linear · a in a box, one coordinate after the other."""
    a = np.zeros(len(linear))
    for _ in range(epochs):
        before = a.copy()
        for i in range(len(a)):
            slope = Q[i] @ a + linear[i]
            curvature = Q[i, i]
            new = a[i] - slope / curvature if curvature else (np.inf if slope < 0 else -np.inf)
            a[i] = min(max(new, lower[i]), upper[i])
        if np.abs(a - before).max(initial=0.0) < 1e-14:
            break
    return a


def svm_classify_weights(Z, signs, upper, damping):
    """Weights of the two-class machine from its dual."""
    Q = (Z @ Z.T) * np.outer(signs, signs) + np.diag(damping)
    a = box_quadratic(Q, -np.ones(len(signs)), np.zeros(len(signs)), upper)
    return (a * signs) @ Z


def svm_regress_weights(Z, y, epsilon, upper, damping):
    """Weights of regression: β = p − q with p, q ≥ 0, at most one of them positive."""
    G = Z @ Z.T + np.diag(damping)
    n = len(y)
    linear = np.concatenate([epsilon - y, epsilon + y])
    pq = box_quadratic(
        np.block([[G, -G], [-G, G]]), linear, np.zeros(2 * n), np.concatenate([upper, upper])
    )
    return (pq[:n] - pq[n:]) @ Z


def squared_loss_parts(task, Z, targets, costs, epsilon, w):
    """(loss, gradient, Hessian) of Σ C ℓ², ℓ hinge (task 0) or epsilon-insensitive (1)."""
    z = Z @ w
    if task == 0:
        wrong = np.maximum(0.0, 1.0 - targets * z)
        slope = -2.0 * costs * targets * wrong
    else:
        gap = z - targets
        wrong = np.maximum(0.0, np.abs(gap) - epsilon)
        slope = 2.0 * costs * np.sign(gap) * wrong
    curvature = np.where(wrong > 0, 2.0 * costs, 0.0)
    return (costs * wrong**2).sum(), slope @ Z, (Z.T * curvature) @ Z


def lasso_hinge_weights(Z, signs, costs, steps=20000):
    """\\|w\\|₁ + Σ C max(0, 1 − y w · z)² by proximal gradient steps."""
    rate = 1.0 / (2.0 * np.linalg.norm((Z.T * costs) @ Z, 2) + 1e-12)
    w = np.zeros(Z.shape[1])
    for _ in range(steps):
        _, gradient, _ = squared_loss_parts(0, Z, signs, costs, 0.0, w)
        new = w - rate * gradient
        new = np.sign(new) * np.maximum(0.0, np.abs(new) - rate)
        if np.abs(new - w).max() < 1e-15:
            break
        w = new
    return w


def crammer_singer_gap(Z, labels, costs, w, alpha):
    """Primal less dual objective; w from alpha."""
    scores = Z @ w.T
    own = scores[np.arange(len(labels)), labels]
    others = scores + (np.arange(len(w)) != labels[:, None]) - own[:, None]
    primal = 0.5 * (w**2).sum() + costs @ others.max(axis=1)
    wrong = np.arange(len(w)) != labels[:, None]
    dual = -0.5 * ((alpha.T @ Z) ** 2).sum() - (alpha * wrong).sum()
    return primal - dual


# ---------------------------------------------------------------------------
# kernels/linalg/band_inverse.py, kernels/svm/perceptron.py


def perceptron(K, signs, order):
    """(coefficients after each row, mistakes) of one problem, rows in the given order."""
    c, mistakes, path = np.zeros(len(signs)), 0, []
    for i in order:
        if signs[i] * (K[i] @ c) <= 0.0:
            mistakes += 1
            c[i] += signs[i]
        path.append(c.copy())
    return np.array(path), mistakes


# kernels/forest/score.py, split.py, random_split.py, grow.py


def forest_score(weights, y, criterion, n_classes):
    """Score of a set of rows; y is (n, outputs), n_classes None for regression."""
    w = weights.sum()
    parts = []
    for o in range(y.shape[1]):
        if n_classes is None:
            total = (weights * y[:, o]).sum()
            if criterion == "poisson":
                parts.append(total * np.log(total / w) if total > 0 else -np.inf)
            else:
                parts.append(total**2 / w)
            continue
        counts = np.array([weights[y[:, o] == k].sum() for k in range(n_classes[o])])
        if criterion == "squared":
            parts.append((counts**2).sum() / w)
        elif criterion == "entropy":
            c = counts[counts > 0]
            parts.append((c * np.log(c)).sum() - w * np.log(w))
        else:
            parts.append(counts.max())
    return np.mean(parts)


def best_forest_split(X, y, weights, criterion, n_classes, min_leaf=1, min_weight=0.0):
    """The greatest score over all cuts, missing values on either side; -inf without a cut."""
    best = -np.inf
    for f in range(X.shape[1]):
        x = X[:, f]
        values = np.unique(x[~np.isnan(x)])
        for cut in [*values[:-1], np.inf]:
            for missing_left in (False, True):
                left = (x <= cut) | (np.isnan(x) & missing_left)
                if left.all() or not left.any():
                    continue
                if min(left.sum(), (~left).sum()) < min_leaf:
                    continue
                if min(weights[left].sum(), weights[~left].sum()) < min_weight:
                    continue
                score = forest_score(weights[left], y[left], criterion, n_classes)
                score += forest_score(weights[~left], y[~left], criterion, n_classes)
                best = max(best, score)
    return best


def forest_scratch(n_rows, n_features, n_slots, n_codes, seed=0, n_classes=1):
    """Memory for the searches of a tree, as `grow_tree` sets it up."""
    from fastml.kernels.forest.frame import Scratch
    from fastml.kernels.numeric.bitset import all_words

    return Scratch(
        np.array([seed], np.uint64), np.empty(n_features, np.int32),
        np.empty(n_rows, np.uint32), np.empty((2, n_rows)), np.empty((5, n_slots)),
        np.empty(n_classes, np.int32), np.zeros((n_codes, n_slots)), np.zeros(n_codes, np.int32),
        np.zeros(all_words(n_codes), np.uint64), np.empty(n_codes + 1, np.int32),
        np.empty((3, n_codes + 1)),
    )  # fmt: skip


# kernels/forest/codes.py


def forest_codes(X, cuts):
    """Number of a feature's cuts below each value, at most the last code; NaN: one more."""
    out = np.empty(X.shape, int)
    for f, c in enumerate(cuts):
        out[:, f] = np.minimum(np.searchsorted(c, X[:, f], side="left"), len(c) - 1)
        out[np.isnan(X[:, f]), f] = len(c)
    return out


# kernels/forest/quantiles.py


def weighted_quantile(targets, weights, q):
    """The least target at which the summed weights reach q of their total."""
    order = np.argsort(targets, kind="stable")
    reached = np.cumsum(weights[order])
    return targets[order][np.searchsorted(reached, q * reached[-1] * (1 - 1e-12))]


def kept_targets(rows, samples, y, weights, most, starts):
    """Per leaf the targets at the places (start + j) / n of its weight; none if all are equal."""
    kept = []
    for leaf, start in zip(np.split(rows, np.cumsum(samples)[:-1]), starts):
        w, total = weights[leaf], weights[leaf].sum()
        n = int(min(most, total)) if np.array_equal(w, np.floor(w)) else most
        n = 0 if np.all(y[leaf] == y[leaf[0]]) else n
        at = np.searchsorted(np.cumsum(w), (start + np.arange(n)) * total / max(n, 1), side="right")
        kept.append(y[leaf[np.minimum(at, len(leaf) - 1)]])
    return kept


# kernels/forest/isolation.py


def average_path(n):
    if n <= 2:
        return max(0.0, n - 1.0)
    return 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n


def isolation_tree(X, rows, columns, state, depth_left, depth=0):
    """Nodes of an isolation tree, from the same draws as the kernel's."""
    from fastml.kernels.numeric.rng import draw, next_float
    from fastml.kernels.tree.nodes import LEAF, MISSING_LEFT, NODE

    for drawn in range(len(columns) if len(rows) > 1 and depth_left else 0):
        feature = int(draw(state, columns, drawn))
        x = X[rows, feature].astype(np.float64)
        low, high = np.nanmin([*x, np.inf]), np.nanmax([*x, -np.inf])
        if low < high:
            break
    else:
        leaf = (depth + average_path(len(rows)), len(rows), LEAF)
        return np.array([leaf], NODE)
    threshold = low + next_float(state) * (high - low)
    threshold = low if threshold >= high else threshold
    missing_left = np.sum(x <= threshold) > np.sum(x > threshold)
    goes_left = (x <= threshold) | (np.isnan(x) & missing_left)
    below = (columns, state, depth_left - 1, depth + 1)
    left = isolation_tree(X, rows[goes_left], *below)
    right = isolation_tree(X, rows[~goes_left], *below)
    top = (threshold, len(left) + 1, feature | (MISSING_LEFT if missing_left else 0))
    for child, shift in ((left, 1), (right, len(left) + 1)):
        child["right"][child["feature"] != LEAF] += shift
    return np.concatenate([np.array([top], NODE), left, right])


def path_length(nodes, x):
    """What the leaf of an isolation tree says."""
    return nodes["threshold"][leaf_of(nodes, x)]


# kernels/forest/predict.py


def leaf_of(nodes, x):
    """Follow one row through a tree of `nodes.NODE`."""
    i = 0
    while nodes["feature"][i] != -1:
        flags = int(nodes["feature"][i])
        value = x[flags & ((1 << 29) - 1)]
        missing_left = bool(flags & (1 << 29))
        left = missing_left if np.isnan(value) else value <= nodes["threshold"][i]
        i = i + 1 if left else nodes["right"][i]
    return i


# kernels/tree/exact_split.py, median_split.py, node_split.py, grow.py


def node_loss(y, w, criterion):
    """Weight times impurity of a node, mean over the outputs; y is (n, n_outputs)."""
    losses = []
    for target in y.T:
        mean = np.average(target, weights=w)
        if criterion in ("gini", "entropy", "error"):
            p = np.array([w[target == k].sum() for k in np.unique(target)]) / w.sum()
            impurity = {
                "gini": 1.0 - (p * p).sum(),
                "entropy": -(p * np.log2(p)).sum(),
                "error": 1.0 - p.max(),
            }[criterion]
        elif criterion == "absolute_error":
            impurity = min(np.average(np.abs(target - c), weights=w) for c in target)
        elif criterion == "poisson":
            ratio = np.where(target > 0, target / mean if mean > 0 else 1.0, 1.0)
            impurity = np.average(target * np.log(ratio), weights=w)
        else:
            impurity = np.average((target - mean) ** 2, weights=w)
        losses.append(impurity)
    return w.sum() * np.mean(losses)


def best_threshold_split(x, y, w, criterion, min_leaf=1):
    """Smallest loss of the two sides over all thresholds and both sides for missing values."""
    present = ~np.isnan(x)
    best = np.inf
    for cut in [*np.unique(x[present])[:-1], np.inf]:
        for missing_left in (False, True):
            left = np.where(present, x <= cut, missing_left)
            if min(left.sum(), (~left).sum()) < min_leaf:
                continue
            if criterion == "poisson" and min(y[left].sum(0).min(), y[~left].sum(0).min()) <= 0:
                continue
            loss = node_loss(y[left], w[left], criterion) + node_loss(y[~left], w[~left], criterion)
            best = min(best, loss)
    return best


def losses_of_splits(x, y, w, criterion, missing_left=False, min_leaf=1, min_weight=0.0):
    """{p: loss of the two sides} of every split that the rules allow, p values on the left."""
    order = np.argsort(x, kind="stable")  # missing values last
    m = np.count_nonzero(~np.isnan(x))
    losses = {}
    for p in range(1, m + 1):
        if p < m and x[order[p]] <= x[order[p - 1]] + 1e-7:
            continue
        left = np.zeros(len(x), bool)
        left[order[:p]] = True
        left[order[m:]] = missing_left
        sides = left, ~left
        if min(side.sum() for side in sides) < max(min_leaf, 1):
            continue
        if min(w[side].sum() for side in sides) < min_weight:
            continue
        if criterion == "poisson" and min(y[side].sum(0).min() for side in sides) <= 0:
            continue
        losses[p] = sum(node_loss(y[side], w[side], criterion) for side in sides)
    return losses


def best_subset_split(codes, y, w, criterion):
    """The same over all subsets of categories."""
    found = np.unique(codes)
    best = np.inf
    for bits in range(1, 2 ** len(found) - 1):
        left = np.isin(codes, [c for i, c in enumerate(found) if bits >> i & 1])
        loss = node_loss(y[left], w[left], criterion) + node_loss(y[~left], w[~left], criterion)
        best = min(best, loss)
    return best


# kernels/tree/predict.py


def child(tree, node, x):
    """Where a value goes, by scikit-learn's arrays."""
    if np.isnan(x):
        left = tree.missing_go_to_left[node]
    elif tree.is_categorical[node]:
        left = x in tree.categories_left(node)
    else:
        left = x <= tree.numeric_threshold[node]
    return tree.children_left[node] if left else tree.children_right[node]


def walk(tree, row):
    """Leaf of a row."""
    node = 0
    while tree.children_left[node] >= 0:
        node = child(tree, node, row[tree.feature[node]])
    return node


# kernels/tree/dependence.py


def dependence(tree, fixed, node=0):
    """Mean prediction where some columns are fixed and the others follow the training rows."""
    if tree.children_left[node] < 0:
        return tree.value[node, 0, 0]
    feature = tree.feature[node]
    if feature in fixed:
        return dependence(tree, fixed, child(tree, node, fixed[feature]))
    both = tree.children_left[node], tree.children_right[node]
    return np.average(
        [dependence(tree, fixed, at) for at in both],
        weights=[tree.weighted_n_node_samples[at] for at in both],
    )


# ---------------------------------------------------------------------------- kernels/hist/bins.py


def bins_of(X, thresholds, n_categories, missing_bin):
    """Bin of every value: thresholds below it, or its code."""
    out = np.empty(X.shape, dtype=np.uint8)
    for f in range(X.shape[1]):
        column = X[:, f]
        if n_categories[f]:
            known = (column >= 0) & (column < n_categories[f])
            out[:, f] = np.where(known, np.nan_to_num(column, nan=0.0), missing_bin)
        else:
            below = np.searchsorted(thresholds[f], column, side="left")
            out[:, f] = np.where(np.isnan(column), missing_bin, below)
    return out


# ----------------------------------------------------------------------- kernels/hist/histogram.py


def integer_histogram(bins, rows, gradients, hessians):
    """(features, 256, 3): sums of integer gradients and hessians, counts."""
    out = np.zeros((bins.shape[1], 256, 3), dtype=np.int64)
    for r in rows:
        for f, b in enumerate(bins[r]):
            out[f, b] += (gradients[r], hessians[r], 1)
    return out


# ------------------------------------------------------------ kernels/hist/split.py, grow.py


def best_threshold_gain(g, h, counts, g_missing, h_missing, n_missing, l2, min_rows):
    """Best gain of a split of bins 0.., missing values on either side; 0 if there is none."""
    G, H, N = g.sum() + g_missing, h.sum() + h_missing, counts.sum() + n_missing
    best = 0.0
    for left_missing in (0, 1):
        for last in range(len(g)):
            gl = g[: last + 1].sum() + left_missing * g_missing
            hl = h[: last + 1].sum() + left_missing * h_missing
            nl = counts[: last + 1].sum() + left_missing * n_missing
            if min(nl, N - nl) < min_rows or min(hl, H - hl) <= 0:
                continue
            gain = gl**2 / (hl + l2) + (G - gl) ** 2 / (H - hl + l2) - G**2 / (H + l2)
            best = max(best, gain)
    return best


def boosted_node_value(g, h, rules, lower=-np.inf, upper=np.inf):
    """What a node with these sums adds: soft thresholding, then the bounds."""
    pull = np.sign(g) * max(abs(g) - rules.l1, 0.0)
    return float(np.clip(-pull / (h + rules.l2 + 1e-15), lower, upper))


def boosted_loss(g, h, value, rules):
    """Second-order model of the loss of a node with these sums that adds ``value``."""
    return g * value + 0.5 * (h + rules.l2) * value**2 + rules.l1 * abs(value)


def best_boosted_split(bins, rows, g, h, n_bins, missing_bin, rules):
    """(gain, feature, bin, whether missing values go left) of the rows; gain 0 if there is none."""
    best = 0.0, -1, -1, 0
    g, h = g.astype(float), h.astype(float)
    G, H, N = g[rows].sum(), h[rows].sum(), len(rows)
    for f in range(bins.shape[1]):
        column = bins[rows, f]
        lost = column == missing_bin
        for missing_left in (0, 1) if lost.any() else (0,):
            for b in range(n_bins[f] if lost.any() and not missing_left else n_bins[f] - 1):
                left = rows[np.where(lost, bool(missing_left), column <= b)]
                gl, hl, nl = g[left].sum(), h[left].sum(), len(left)
                if min(nl, N - nl) < rules.min_leaf or min(hl, H - hl) < rules.min_hessian:
                    continue
                gain = gl**2 / (hl + rules.l2) + (G - gl) ** 2 / (H - hl + rules.l2)
                gain -= G**2 / (H + rules.l2) + rules.min_gain
                if gain > best[0] + 1e-9:
                    best = gain, f, b, missing_left
    return best


def grow_boosted_tree(bins, g, h, n_bins, missing_bin, rules):
    """Rows of the leaves of a tree that splits the leaf of highest gain until none is worth it, or
    there are enough."""
    leaves = [(np.arange(len(bins)), 0)]
    while len(leaves) < rules.max_leaves:
        found = [
            best_boosted_split(bins, rows, g, h, n_bins, missing_bin, rules)
            if depth < rules.max_depth
            else (0.0, -1, -1, 0)
            for rows, depth in leaves
        ]
        place = int(np.argmax([gain for gain, *_ in found]))
        gain, f, b, missing_left = found[place]
        if gain <= 0.0:
            break
        rows, depth = leaves.pop(place)
        left = np.where(bins[rows, f] == missing_bin, bool(missing_left), bins[rows, f] <= b)
        leaves += [(rows[left], depth + 1), (rows[~left], depth + 1)]
    return [rows for rows, _ in leaves]


# ------------------------------------------------------------------------- kernels/hist/predict.py


def walk_trees(trees, bins, missing_bin):
    """Sum of all trees for every row, node by node."""
    out = np.zeros(len(bins))
    for i, row in enumerate(bins):
        for tree in trees:
            node = 0
            while tree.nodes["left"][node] >= 0:
                entry = tree.nodes[node]
                b = int(row[entry["feature_idx"]])
                if b == missing_bin:
                    left = bool(entry["missing_go_to_left"])
                elif entry["is_categorical"]:
                    place = int(tree.nodes["is_categorical"][:node].sum())
                    left = bool((int(tree.sets[place][b >> 6]) >> (b & 63)) & 1)
                else:
                    left = b <= entry["bin_threshold"]
                node = int(entry["left"]) + (not left)
            out[i] += tree.nodes["value"][node]
    return out


# ---------------------------------------------------------------------------- boost_loss


def boosting_loss(name, parameter, y, raw):
    """Loss per row; ``raw`` has one row per tree."""
    r = raw[0]
    d = y - r
    huber = np.where(np.abs(d) <= parameter, d * d / 2, parameter * (np.abs(d) - parameter / 2))
    chosen = raw[y.astype(int) % len(raw), np.arange(len(y))]
    return {
        "SQUARED": d * d / 2,
        "ABSOLUTE": np.abs(d),
        "PINBALL": np.where(d >= 0, parameter * d, (parameter - 1) * d),
        "HUBER": huber,
        "POISSON": np.exp(r) - y * r,
        "GAMMA": r + y * np.exp(-r),
        "BINOMIAL": np.logaddexp(0, r) - y * r,
        "EXPONENTIAL": np.exp(np.where(y == 0, r, -r)),
        "MULTINOMIAL": np.log(np.exp(raw).sum(axis=0)) - chosen,
    }[name]


# ---------------------------------------------------------------------------- stump_split


def stump_scores(x, classes, weights, n_classes, criterion, min_leaf):
    """{p: minus weight times impurity of both sides} of every split of one column."""
    order = np.argsort(x, kind="stable")
    values, member = x[order], np.eye(n_classes)[classes[order]] * weights[order, None]
    scores = {}
    for p in range(max(1, min_leaf), len(x) - max(1, min_leaf) + 1):
        if values[p] <= values[p - 1] + np.float32(1e-7):
            continue
        scores[p] = 0.0
        for side in (member[:p].sum(axis=0), member[p:].sum(axis=0)):
            shares = side / side.sum()
            impurity = {
                "gini": 1.0 - (shares**2).sum(),
                "entropy": -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(),
                "error": 1.0 - shares.max(),
            }[criterion]
            scores[p] -= side.sum() * impurity
    return scores


def stump_votes(X, stumps, scales, n_classes):
    """Weight by class of the stumps (column, threshold, class below, class above)."""
    votes = np.zeros((len(X), n_classes))
    for (f, threshold, left, right), scale in zip(stumps, scales):
        votes[np.arange(len(X)), np.where(X[:, f] <= threshold, left, right)] += scale
    return votes


# ---------------------------------------------------------------------------- boost_median


def weighted_median_of_members(values, scales):
    """Per row the first sorted value with half of the scale at or below it."""
    out = []
    for row in values:
        order = np.argsort(row, kind="stable")
        below = np.cumsum(scales[order])
        out.append(row[order][np.argmax(below >= 0.5 * below[-1])])
    return np.array(out)


# ---------------------------------------------------------------------------- boost_stage


def stage_residuals(name, parameter, y, raw):
    """Negative gradients; ``raw`` has one row per tree."""
    r = raw[0]
    p = np.exp(raw - raw.max(axis=0))
    return {
        "SQUARED": [y - r],
        "ABSOLUTE": [np.where(y >= r, 1.0, -1.0)],
        "PINBALL": [np.where(y >= r, parameter, parameter - 1)],
        "HUBER": [np.clip(y - r, -parameter, parameter)],
        "BINOMIAL": [y - 1 / (1 + np.exp(-r))],
        "MULTINOMIAL": (y == np.arange(len(raw))[:, None]) - p / p.sum(axis=0),
        "EXPONENTIAL": [np.where(y == 0, -np.exp(r), np.exp(-r))],
    }[name]


def newton_leaf_sums(name, k, y, residuals, weights, leaves, n_nodes):
    """Per leaf: sums of weights, of residuals and of second derivatives."""
    p = ((y == k) if name == "MULTINOMIAL" else y) - residuals
    curvature = np.abs(residuals) if name == "EXPONENTIAL" else p * (1 - p)
    columns = weights, weights * residuals, weights * curvature
    return np.column_stack([np.bincount(leaves, column, n_nodes) for column in columns])


def selection_mask(uniform, n_inside):
    mask = []
    for i, u in enumerate(uniform):
        mask.append(u * (len(uniform) - i) < n_inside - sum(mask))
    return np.array(mask, dtype=bool)


# ---------------------------------------------------------------------------- level_grow


def best_column_split(x, targets, weights, min_leaf, min_weight):
    """Best sum of squared sums over weights of ``x <= t``, and the two values around t."""
    best, around = -np.inf, None
    kept = weights != 0
    x, targets, weights = x[kept], targets[kept], weights[kept]
    values = np.unique(x)
    for a, b in itertools.pairwise(values):
        left = x <= a
        if b <= a + np.float32(1e-7) or min(left.sum(), (~left).sum()) < min_leaf:
            continue
        sides = [(targets[s] @ weights[s], weights[s].sum()) for s in (left, ~left)]
        if min(weight for _, weight in sides) < min_weight:
            continue
        score = sum(total**2 / weight for total, weight in sides)
        if score > best:
            best, around = score, (a, b)
    return best, around


def forest_histogram(codes, targets, weights, n_codes, n_classes):
    """Of one column: weight, weighted sum of targets and rows per code, or weights of more than two
    classes and rows."""
    found = np.zeros((n_codes + 1, 3 if n_classes <= 2 else n_classes + 1))
    for code, target, weight in zip(codes, targets, weights):
        if n_classes <= 2:
            found[code, :2] += weight, weight * target
        else:
            found[code, int(target)] += weight
        found[code, -1] += 1
    return found


def poisson_number(u, mean):
    """The least k whose chance of at most k is above u."""
    from scipy.stats import poisson

    return int(np.searchsorted(poisson.cdf(np.arange(200), mean), u, side="right"))
