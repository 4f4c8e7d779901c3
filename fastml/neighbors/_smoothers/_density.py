"""Kernel density estimation."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy.special import gammainc
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from fastml._engines.distances.names import TREE_METRICS
from fastml._engines.search.metric import KD_TREE_METRICS
from fastml._engines.smoothing.bandwidth import check_bandwidth, refuse_constant_features
from fastml._engines.smoothing.names import SMOOTHING_KERNELS
from fastml._engines.smoothing.smoother import TOLERANCE, Smoother, leave_one_out
from fastml._progress import CallbackSupport, fit_steps, telling
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._validation import relative_weights

SELECTORS = ("isj", "loo", "lscv")


class KernelDensity(CallbackSupport, BaseEstimator):
    r"""Kernel density estimate.

    .. math:: \hat f(x) = \frac{1}{\sum_i w_i} \sum_i \frac{w_i}{c_d\, h^d}\,
              K\!\left(\frac{\lVert x - x_i \rVert}{h}\right),

    where :math:`c_d` is the integral of K over d dimensions. The log-density is exact to 1e-8
    (relative error of the density), at any distance from the data.

    Parameters
    ----------
    bandwidth : float, array-like or str, default=1.0
        A number h; one per feature; a covariance matrix H of shape (n_features, n_features), whose
        square root takes the place of h; "scott", n^(-1/(d + 4)), or "silverman",
        (n (d + 2) / 4)^(-1/(d + 4)), both for data of unit variance, as in scikit-learn, and an
        error for a constant feature (see :func:`fastml.density.bandwidth_scott` for rules that
        measure the spread); "isj" (improved Sheather-Jones, one feature); "loo" (largest
        leave-one-out likelihood); "lscv" (least-squares cross-validation).
    algorithm : {"kd_tree", "ball_tree", "auto"}, default="auto"
        Accepted for compatibility: it only limits the choice of the metric.
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}, \
            default="gaussian"
        The smoothing kernel K.
    metric : str, default="euclidean"
        A distance of scikit-learn's trees. Only the Euclidean one gives densities that integrate
        to one.
    atol : float, default=0
        Absolute error of the density that is welcome if it saves time.
    rtol : float, default=0
        The same, relative. Errors up to 1e-9 are always allowed.
    breadth_first : bool, default=True
        Accepted for compatibility; without effect.
    leaf_size : int, default=40
        Accepted for compatibility; without effect.
    metric_params : dict, default=None
        Further parameters of the metric, such as ``{"p": 3}``.
    n_jobs : int, default=None
        Threads; None means all cores. Results do not depend on it.

    Attributes
    ----------
    bandwidth_ : float or ndarray
        The bandwidth in use.
    engine_ : str
        How sums are computed: "tiles" (blocks of points with bounding boxes, those that cannot
        matter are left out), "expansion" (one feature, Gaussian kernel, many points per bandwidth:
        Taylor series around cells) or "pairs" (other metrics: every pair).
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.neighbors import KernelDensity
    >>> X = np.random.RandomState(42).random_sample((100, 3))
    >>> KernelDensity(bandwidth=0.5).fit(X).score_samples(X[:3])
    array([-1.52955942, -1.51462041, -1.60244657])
    """

    _parameter_constraints: dict = {
        "bandwidth": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"scott", "silverman", *SELECTORS}),
            "array-like",
        ],
        "algorithm": [StrOptions({"kd_tree", "ball_tree", "auto"})],
        "kernel": [StrOptions(set(SMOOTHING_KERNELS))],
        "metric": [StrOptions(set(TREE_METRICS))],
        "atol": [Interval(Real, 0, None, closed="left")],
        "rtol": [Interval(Real, 0, None, closed="left")],
        "breadth_first": ["boolean"],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "metric_params": [None, dict],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        bandwidth=1.0,
        algorithm="auto",
        kernel="gaussian",
        metric="euclidean",
        atol=0,
        rtol=0,
        breadth_first=True,
        leaf_size=40,
        metric_params=None,
        n_jobs=None,
    ):
        self.bandwidth = bandwidth
        self.algorithm = algorithm
        self.kernel = kernel
        self.metric = metric
        self.atol = atol
        self.rtol = rtol
        self.breadth_first = breadth_first
        self.leaf_size = leaf_size
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Keep the points and choose the bandwidth.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative, not all zero; w = 2 is the same as the row twice.

        Returns
        -------
        self : object
        """
        if self.algorithm == "kd_tree" and self.metric not in KD_TREE_METRICS:
            raise ValueError(
                f"invalid metric for algorithm='kd_tree': {self.metric!r}; it takes "
                + ", ".join(KD_TREE_METRICS)
            )
        X = validate_data(self, X, order="C", dtype=np.float64)
        weights, _ = relative_weights(sample_weight, X, dtype=np.float64)
        with fit_steps(self, None, X) as steps, telling(steps):
            bandwidth = self._choose_bandwidth(X, weights)
        if np.ndim(bandwidth) and self.metric != "euclidean":
            raise ValueError(
                "a bandwidth per feature or a covariance needs metric='euclidean', "
                f"got {self.metric!r}"
            )
        self._weighted = sample_weight is not None
        return self._smooth(X, weights, bandwidth)

    def _smooth(self, X, weights, bandwidth):
        """Keep the points."""
        smoother = Smoother(
            X,
            weights[:, None],
            self.kernel,
            bandwidth,
            metric=self.metric,
            metric_params=self.metric_params,
            relative=max(self.rtol, TOLERANCE),
            n_jobs=self.n_jobs,
        )
        self._log_scale = smoother.log_norm() - np.log(smoother.total)
        smoother.absolute = self.atol * np.exp(-self._log_scale)
        self._smoother = smoother
        self.bandwidth_ = bandwidth
        self.engine_ = smoother.engine
        return self

    def _choose_bandwidth(self, X, weights):
        n, d = X.shape
        if not isinstance(self.bandwidth, str):
            return check_bandwidth(self.bandwidth, d)
        if self.bandwidth in ("scott", "silverman"):
            refuse_constant_features(X[weights > 0.0])
        if self.bandwidth == "scott":
            return n ** (-1 / (d + 4))
        if self.bandwidth == "silverman":
            return (n * (d + 2) / 4) ** (-1 / (d + 4))
        if self.metric != "euclidean":
            raise ValueError(
                f"bandwidth={self.bandwidth!r} needs metric='euclidean', got {self.metric!r}"
            )
        from fastml import density

        if self.bandwidth == "isj":
            return density.bandwidth_isj(X, sample_weight=weights)
        select = {"loo": density.bandwidth_loo, "lscv": density.bandwidth_lscv}[self.bandwidth]
        return select(X, kernel=self.kernel, sample_weight=weights, n_jobs=self.n_jobs)

    def score_samples(self, X):
        """Log-density at each row of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        density : ndarray of shape (n_samples,)
            -inf where a kernel of bounded support reaches no point.
        """
        check_is_fitted(self)
        X = validate_data(self, X, order="C", dtype=np.float64, reset=False)
        return self._smoother.log_sums(X) + self._log_scale

    def score(self, X, y=None):
        """Total log-likelihood of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        logprob : float
        """
        return np.sum(self.score_samples(X))

    def leave_one_out(self):
        """Log-density at each training point, estimated from all the others.

        Returns
        -------
        density : ndarray of shape (n_samples,)

        Examples
        --------
        >>> from fastml.neighbors import KernelDensity
        >>> KernelDensity(kernel="tophat").fit([[0.0], [0.5], [3.0]]).leave_one_out()
        array([-1.38629436, -1.38629436,        -inf])
        """
        check_is_fitted(self)
        return leave_one_out(self._smoother)

    def score_grid(self, n_points=None, limits=None):
        """Density at the nodes of a regular grid (one or two features), by binning and FFT.

        The cost hardly depends on the number of points. Every kernel but the tophat, which is
        not continuous.

        Parameters
        ----------
        n_points : int or (int, int), default=None
            Nodes along each axis; None means 1024 for one feature, 256 x 256 for two.
        limits : array-like of shape (n_features, 2), default=None
            Ends of the grid; by default the data's with a margin of up to four bandwidths.

        Returns
        -------
        grid : GridDensity
            ``(axes, density, error)``: nodes along each axis, densities (not their logs), and a
            bound of the absolute error, which is proportional to (step / bandwidth)^2 for the
            Gaussian and to step / bandwidth for the others.

        Examples
        --------
        >>> from fastml.neighbors import KernelDensity
        >>> model = KernelDensity(bandwidth=0.5).fit([[0.0], [1.0]])
        >>> grid = model.score_grid(5, limits=[[-1.0, 1.0]])
        >>> grid.density.round(3)
        array([0.054, 0.246, 0.453, 0.484, 0.453])
        """
        from fastml._engines.smoothing.grid import density_on_grid

        check_is_fitted(self)
        d = self.n_features_in_
        if d > 2:
            raise ValueError(f"score_grid takes one or two features, got {d}; use score_samples")
        if self.metric != "euclidean":
            raise ValueError(f"score_grid needs metric='euclidean', got {self.metric!r}")
        if self.kernel == "tophat":
            raise ValueError("score_grid needs a continuous kernel, got 'tophat'")
        if n_points is None:
            n_points = 1024 if d == 1 else 256
        if np.any(np.asarray(n_points) < 2):
            raise ValueError(f"n_points must be at least 2, got {n_points}")
        smoother = self._smoother
        return density_on_grid(
            smoother.X,
            smoother.values[:, 0],
            self.kernel,
            self.bandwidth_,
            smoother.log_norm(),
            n_points,
            limits,
        )

    def sample(self, n_samples=1, random_state=None):
        """Draw from the estimated density (Gaussian and tophat kernels).

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=None

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        if self.kernel not in ("gaussian", "tophat"):
            raise NotImplementedError(
                f"samples can be drawn with kernel 'gaussian' or 'tophat', not {self.kernel!r}"
            )
        points, weights = self._smoother.X, self._smoother.values[:, 0]
        rng = check_random_state(random_state)
        u = rng.uniform(0, 1, size=n_samples)
        if self._weighted:
            cumulated = np.cumsum(weights)
            chosen = points[np.searchsorted(cumulated, u * cumulated[-1])]
        else:
            chosen = points[(u * points.shape[0]).astype(np.intp)]
        step = rng.normal(size=chosen.shape)
        if self.kernel == "tophat":
            # The chi-square probability of |step|^2 is uniform; its d-th root is a radius.
            squares = np.einsum("ij,ij->i", step, step)
            d = points.shape[1]
            radius = gammainc(0.5 * d, 0.5 * squares) ** (1.0 / d)
            step *= (radius / np.sqrt(squares))[:, None]
        if np.ndim(self.bandwidth_) == 2:
            return chosen + step @ np.linalg.cholesky(self.bandwidth_).T
        return chosen + step * self.bandwidth_
