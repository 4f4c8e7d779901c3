"""kmeans_plusplus: the starting centres alone."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from fastml._engines.kmeans.make_rows import make_rows
from fastml._engines.kmeans.seeding import seed
from fastml._sklearn import Interval, validate_params
from fastml._validation import FLOATS, check_array, relative_weights


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "sample_weight": ["array-like", None],
        "x_squared_norms": ["array-like", None],
        "random_state": ["random_state"],
        "n_local_trials": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def kmeans_plusplus(
    X,
    n_clusters,
    *,
    sample_weight=None,
    x_squared_norms=None,
    random_state=None,
    n_local_trials=None,
    n_jobs=None,
):
    """Choose starting centres by greedy k-means++.

    Each further centre is the best of a few candidate rows, which are drawn with probability
    :math:`w_i D_i^2 / \\sum_j w_j D_j^2`, where :math:`D_i` is the distance to the nearest centre
    chosen so far; the best is the one that leaves the least :math:`\\sum_i w_i D_i^2`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows to choose from.
    n_clusters : int
        The number of centres.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows; None means equal weights.
    x_squared_norms : array-like of shape (n_samples,), default=None
        Only its length is checked: distances are computed without norms here.
    random_state : int, RandomState instance or None, default=None
        The same state gives the rows that scikit-learn chooses.
    n_local_trials : int, default=None
        Candidates per step; None means ``2 + int(log(n_clusters))``, and 1 is the plain method.
    n_jobs : int, default=None
        Threads; None means all cores.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
        The chosen rows.
    indices : ndarray of shape (n_clusters,)
        Their indices in ``X``.

    References
    ----------
    D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.cluster import kmeans_plusplus
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> centers, indices = kmeans_plusplus(X, n_clusters=2, random_state=0)
    >>> centers
    array([[10,  2],
           [ 1,  0]])
    >>> indices
    array([3, 2])
    """
    floats = check_array(X, accept_sparse="csr", dtype=FLOATS, order="C")
    weights, _ = relative_weights(sample_weight, floats, dtype=floats.dtype)
    n_samples = floats.shape[0]
    if n_samples < n_clusters:
        raise ValueError(f"n_samples={n_samples} should be >= n_clusters={n_clusters}.")
    if x_squared_norms is not None:
        norms = check_array(x_squared_norms, dtype=floats.dtype, ensure_2d=False)
        if norms.shape[0] != n_samples:
            raise ValueError(
                f"The length of x_squared_norms {norms.shape[0]} should be equal to "
                f"the length of n_samples {n_samples}."
            )
    rows = make_rows(floats, weights, n_jobs=n_jobs)
    indices = seed(rows, n_clusters, check_random_state(random_state), n_local_trials)
    if sp.issparse(X):
        return X.tocsr()[indices].toarray(), indices
    return np.asarray(X)[indices], indices
