"""Error of a method taken apart: how wrong it is on average, how much it depends on its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

from fastml._sklearn import HasMethods, Interval, StrOptions, safe_indexing, validate_params


@dataclass(frozen=True)
class BiasVariance:
    """Expected error and its parts.

    Attributes
    ----------
    error : float
        Mean loss over resamples and test rows.
    bias : float
        Squared error: mean square of mean prediction less target. 0-1 loss: how often the most
        frequent prediction is wrong.
    variance : float
        Squared error: mean variance of the predictions. 0-1 loss: how often a prediction is not the
        most frequent one.
    noise : float
        Mean loss of the noise-free targets; 0 where they were not given, and ``bias`` has it then.
    net_variance : float
        What variance adds to the error: the same for squared error; for 0-1 loss that of rows
        without bias less what happens to be right where there is bias.
    main_prediction : ndarray of shape (n_test,)
        Mean or most frequent prediction of every test row.
    loss : str
        The loss.

    Examples
    --------
    >>> from fastml.model_selection import bias_variance
    >>> from fastml.tree import DecisionTreeRegressor
    >>> X, y = [[i] for i in range(40)], [i % 5 for i in range(40)]
    >>> found = bias_variance(DecisionTreeRegressor(), X, y, n_resamples=20, random_state=0)
    >>> abs(found.error - found.bias - found.variance) < 1e-12
    True
    """

    error: float
    bias: float
    variance: float
    noise: float
    net_variance: float
    main_prediction: NDArray = field(repr=False)
    loss: str = "squared"


@validate_params(
    {
        "estimator": [HasMethods(["fit", "predict"])],
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like"],
        "X_test": ["array-like", "sparse matrix", None],
        "y_test": ["array-like", None],
        "expected": ["array-like", None],
        "loss": [StrOptions({"auto", "squared", "zero_one"})],
        "n_resamples": [Interval(Integral, 2, None, closed="left")],
        "test_size": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def bias_variance(
    estimator,
    X,
    y,
    *,
    X_test=None,
    y_test=None,
    expected=None,
    loss="auto",
    n_resamples=200,
    test_size=0.3,
    random_state=None,
    n_jobs=None,
):
    """Bias, variance and noise of a method, by fits on bootstrap samples.

    Error of the prediction :math:`\\hat f_b(x)` in sample b, with :math:`\\bar f` their mean
    and :math:`f` the noise-free target,

    .. math:: E (\\hat f_b - y)^2 = (\\bar f - f)^2 + E (\\hat f_b - \\bar f)^2 + E (y - f)^2.

    For 0-1 loss the mean becomes the most frequent prediction (Domingos): error = bias +
    net variance, where variance helps on rows with bias.

    Parameters
    ----------
    estimator : estimator
        The method; clones of it are fitted.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    X_test : {array-like, sparse matrix}, default=None
        Rows to judge on; None takes a share of X away.
    y_test : array-like, default=None
        Their targets.
    expected : array-like, default=None
        Their noise-free targets, where these are known (simulated data).
    loss : {"auto", "squared", "zero_one"}, default="auto"
        "auto" is "zero_one" for classifiers.
    n_resamples : int, default=200
        Number of bootstrap samples.
    test_size : float, default=0.3
        Share of rows to judge on, without ``X_test``.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.
    n_jobs : int, default=None
        Fits at a time, on threads. fastml's estimators use all cores themselves.

    Returns
    -------
    result : BiasVariance

    References
    ----------
    P. Domingos, "A unified bias-variance decomposition", ICML (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.model_selection import bias_variance
    >>> from fastml.neighbors import KNeighborsRegressor
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> rough = bias_variance(KNeighborsRegressor(1), X, y, random_state=0, n_resamples=30)
    >>> smooth = bias_variance(KNeighborsRegressor(25), X, y, random_state=0, n_resamples=30)
    >>> rough.bias < smooth.bias
    True
    """
    from sklearn.utils import indexable
    from sklearn.utils.parallel import Parallel, delayed

    generator = check_random_state(random_state)
    X, y = indexable(X, y)
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test must be given together")
    if X_test is None:
        from sklearn.model_selection import train_test_split

        if expected is not None:
            raise ValueError("expected belongs to X_test, which was not given")
        X, X_test, y, y_test = train_test_split(
            X, y, test_size=test_size, random_state=generator.randint(2**31 - 1)
        )
    kind = loss
    if loss == "auto":
        kind = "zero_one" if is_classifier(estimator) else "squared"
    n = len(y)
    draws = [generator.randint(0, n, n) for _ in range(n_resamples)]
    run = Parallel(n_jobs=n_jobs, prefer="threads")
    told = np.array(run(delayed(_fitted)(estimator, X, y, rows, X_test) for rows in draws))
    truth = np.asarray(y_test)
    known = None if expected is None else np.asarray(expected)
    if told.shape[1:] != truth.shape or (known is not None and known.shape != truth.shape):
        raise ValueError(f"predictions have shape {told.shape[1:]}, y_test {truth.shape}")
    return _squared(told, truth, known) if kind == "squared" else _zero_one(told, truth, known)


def _fitted(estimator, X, y, rows, X_test):
    model = clone(estimator).fit(safe_indexing(X, rows), safe_indexing(y, rows))
    return model.predict(X_test)


def _squared(told, truth, known) -> BiasVariance:
    truth = truth.astype(np.float64)
    main = told.mean(axis=0)
    variance = float(np.mean((told - main) ** 2))
    target = truth if known is None else known.astype(np.float64)
    return BiasVariance(
        error=float(np.mean((told - truth) ** 2)),
        bias=float(np.mean((main - target) ** 2)),
        variance=variance,
        noise=float(np.mean((truth - target) ** 2)),
        net_variance=variance,
        main_prediction=main,
        loss="squared",
    )


def _zero_one(told, truth, known) -> BiasVariance:
    classes, codes = np.unique(told, return_inverse=True)
    codes = codes.reshape(told.shape)
    votes = np.stack([(codes == k).sum(axis=0) for k in range(len(classes))])
    main = classes[votes.argmax(axis=0)]
    target = truth if known is None else known
    other = np.mean(told != main, axis=0)
    wrong = np.mean(told != truth, axis=0)
    biased = main != target
    return BiasVariance(
        error=float(wrong.mean()),
        bias=float(biased.mean()),
        variance=float(other.mean()),
        noise=float(np.mean(truth != target)),
        net_variance=float(np.mean(wrong - (main != truth))),
        main_prediction=main,
        loss="zero_one",
    )
