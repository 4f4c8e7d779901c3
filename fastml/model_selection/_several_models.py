"""Tests whether several models are equally good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastml.model_selection._test_result import (
    ModelTest,
    finished,
    is_model,
    says,
)
from fastml.model_selection._two_models import predictions


def cochrans_q_test(y_true, models, X=None, *, level=0.05):
    """Cochran's Q test whether several classifiers err equally often on the same rows.

    With :math:`G_j` the rows that model j of k has right and :math:`L_i` the models that have row i
    right,

    .. math:: Q = (k - 1) \\frac{k \\sum_j G_j^2 - (\\sum_j G_j)^2}{k \\sum_i L_i - \\sum_i L_i^2},
        \\quad k - 1 \\text{ df.}

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels.
    models : list of fitted estimators, or of array-likes of shape (n_samples,)
        Two or more models, or what they predict.
    X : array-like of shape (n_samples, n_features), default=None
        Rows to predict for, with estimators.
    level : float, default=0.05
        For the sentence: where p becomes a difference.

    Returns
    -------
    result : ModelTest

    References
    ----------
    W. G. Cochran, "The comparison of percentages in matched samples", Biometrika 37 (1950).

    Examples
    --------
    >>> from fastml.model_selection import cochrans_q_test
    >>> y = [1] * 12
    >>> found = cochrans_q_test(y, [[1] * 12, [1] * 6 + [0] * 6, [0] * 9 + [1] * 3])
    >>> found.statistic, found.degrees_of_freedom, round(found.p_value, 4)
    (10.5, 2, 0.0052)
    """
    from scipy.stats import chi2

    if len(models) < 2:
        raise ValueError(f"at least two models are needed, got {len(models)}")
    y = np.asarray(y_true)
    hits = np.column_stack([predictions(model, X, y) == y for model in models]).astype(np.int64)
    k = len(models)
    of_model, of_row = hits.sum(axis=0), hits.sum(axis=1)
    total = int(of_model.sum())
    spread = float(k * total - (of_row * of_row).sum())
    between = float(k * (of_model * of_model).sum() - total * total)
    statistic = (k - 1) * between / spread if spread > 0.0 else 0.0
    p = float(chi2.sf(statistic, k - 1))
    shares = ", ".join(f"{share:.4g}" for share in of_model / max(len(y), 1))
    told = f"{says(p, level)}. Shares of right answers: {shares}."
    return ModelTest("Cochran's Q test", float(statistic), k - 1, p, told)


@dataclass(frozen=True)
class RankTest(ModelTest):
    """Friedman's test with what follows from the ranks.

    Attributes
    ----------
    method : str
        Name of the test.
    statistic : float
        Friedman's chi-square.
    degrees_of_freedom : int
        Its degrees of freedom.
    p_value : float
        Chance of such ranks, or more extreme ones, among equally good models.
    meaning : str
        A sentence that says it in words.
    names : tuple of str
        The models.
    mean_ranks : ndarray of shape (n_models,)
        Mean rank of each; 1 is the best.
    f_statistic, f_p_value : float
        Iman's and Davenport's less conservative F and its p.
    critical_difference : float
        Models whose mean ranks differ by more are different (Nemenyi).
    level : float
        Of the critical difference.
    pair_p_values : ndarray of shape (n_models, n_models)
        Nemenyi's p of each pair.
    n_blocks : int
        Data sets, or folds, on which the models were ranked.

    Examples
    --------
    >>> from fastml.model_selection import friedman_test
    >>> found = friedman_test({"a": [3.0, 3.0, 3.0, 2.0], "b": [1.0, 2.0, 1.0, 1.0]})
    >>> found.names, found.mean_ranks
    (('a', 'b'), array([1., 2.]))
    """

    names: tuple[str, ...]
    mean_ranks: NDArray
    f_statistic: float
    f_p_value: float
    critical_difference: float
    level: float
    pair_p_values: NDArray
    n_blocks: int

    def alike(self) -> list[tuple[str, ...]]:
        """Largest sets of models whose ranks lie within one critical difference.

        Returns
        -------
        sets : list of tuple of str
            Best first; sets of one are left out.
        """
        order = np.argsort(self.mean_ranks, kind="stable")
        found: list[tuple[int, int]] = []
        for i in range(len(order)):
            within = self.mean_ranks[order] - self.mean_ranks[order[i]] <= self.critical_difference
            last = int(np.flatnonzero(within)[-1])
            if last > i and not (found and found[-1][1] >= last):
                found.append((i, last))
        return [tuple(self.names[m] for m in order[i : j + 1]) for i, j in found]


def nemenyi_critical_difference(n_models, n_blocks, *, level=0.05):
    """Least difference of mean ranks that is significant.

    .. math:: CD = \\frac{q_{\\alpha, k}}{\\sqrt 2} \\sqrt{\\frac{k (k + 1)}{6 N}}

    with q the quantile of the studentised range for infinitely many degrees of freedom.

    Parameters
    ----------
    n_models : int
        Number of models k.
    n_blocks : int
        Number of data sets N.
    level : float, default=0.05
        Level of the test.

    Returns
    -------
    critical_difference : float

    References
    ----------
    J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7 (2006).

    Examples
    --------
    >>> from fastml.model_selection import nemenyi_critical_difference
    >>> round(nemenyi_critical_difference(4, 14), 2)
    1.25
    """
    from scipy.stats import studentized_range

    if n_models < 2 or n_blocks < 1:
        raise ValueError(f"at least 2 models and 1 block are needed, got {n_models}, {n_blocks}")
    quantile = studentized_range.isf(level, n_models, np.inf) / np.sqrt(2.0)
    return float(quantile * np.sqrt(n_models * (n_models + 1) / (6.0 * n_blocks)))


def friedman_test(
    scores,
    datasets=None,
    *,
    names=None,
    cv=5,
    scoring=None,
    greater_is_better=True,
    level=0.05,
):
    """Friedman's test whether several models rank equally, with Nemenyi's critical difference.

    On each of N data sets the k models are ranked, ties by their mean rank; with mean ranks
    :math:`R_j` and C the correction for ties,

    .. math:: \\chi^2_F = \\frac1C \\frac{12 N}{k (k + 1)}
        \\Big(\\sum_j R_j^2 - \\frac{k (k + 1)^2}{4}\\Big), \\qquad
        F = \\frac{(N - 1) \\chi^2_F}{N (k - 1) - \\chi^2_F}.

    Parameters
    ----------
    scores : array-like of shape (n_blocks, n_models), dict, or list of estimators
        Finished scores, a row for each data set; or a dict from names to scores or estimators.
    datasets : list of (X, y), default=None
        For estimators: data on which each is cross-validated; the mean score is ranked.
    names : list of str, default=None
        Names of the models.
    cv : int or splitter, default=5
        scikit-learn's, for estimators.
    scoring : str or callable, default=None
        scikit-learn's; None means the estimators' own score.
    greater_is_better : bool, default=True
        Whether the greatest score has rank 1; False for errors.
    level : float, default=0.05
        Of the critical difference and the sentence.

    Returns
    -------
    result : RankTest

    References
    ----------
    M. Friedman, JASA 32 (1937); J. Demšar, JMLR 7 (2006).

    Examples
    --------
    >>> from fastml.model_selection import friedman_test
    >>> rows = [[0.9, 0.8, 0.7], [0.8, 0.7, 0.75], [0.95, 0.9, 0.6], [0.7, 0.65, 0.5]]
    >>> found = friedman_test(rows, names=["forest", "tree", "line"])
    >>> found.statistic, found.degrees_of_freedom, round(found.p_value, 4)
    (6.5, 2, 0.0388)
    >>> found.alike()
    [('forest', 'tree'), ('tree', 'line')]
    """
    from scipy.stats import chi2, rankdata, studentized_range
    from scipy.stats import f as fisher

    table, told = _table(scores, datasets, names, cv, scoring)
    n, k = table.shape
    if k < 2 or n < 2:
        raise ValueError(f"at least 2 models and 2 blocks are needed, got {k} and {n}")
    ranks = rankdata(-table if greater_is_better else table, axis=1)
    mean = ranks.mean(axis=0)
    ties = sum(
        float((t**3 - t).sum()) for t in (np.unique(r, return_counts=True)[1] for r in ranks)
    )
    correction = 1.0 - ties / (n * (k**3 - k))
    raw = 12.0 * n / (k * (k + 1)) * (float((mean * mean).sum()) - k * (k + 1) ** 2 / 4.0)
    statistic = max(raw, 0.0) / correction if correction > 0.0 else 0.0
    statistic = round(statistic, 12)
    left = n * (k - 1) - statistic
    f_statistic = (n - 1) * statistic / left if left > 0.0 else float("inf")
    p = float(chi2.sf(statistic, k - 1))
    f_p = float(fisher.sf(f_statistic, k - 1, (k - 1) * (n - 1)))
    cd = nemenyi_critical_difference(k, n, level=level)
    gaps = np.abs(mean[:, None] - mean) / np.sqrt(k * (k + 1) / (6.0 * n))
    pairs = np.clip(studentized_range.sf(gaps * np.sqrt(2.0), k, np.inf), 0.0, 1.0)
    np.fill_diagonal(pairs, 1.0)
    best = told[int(np.argmin(mean))]
    sentence = (
        f"{says(p, level, f': {best} has the best mean rank')}. Mean ranks over {n} blocks: "
        + ", ".join(f"{name} {rank:.3g}" for name, rank in zip(told, mean))
        + f"; critical difference {cd:.3g}."
    )
    return RankTest(
        "Friedman test", float(statistic), k - 1, p, sentence, told, mean, float(f_statistic), f_p,
        cd, level, pairs, n,
    )  # fmt: skip


def _table(scores, datasets, names, cv, scoring) -> tuple[NDArray, tuple[str, ...]]:
    """(blocks, models) of scores and the models' names."""
    if isinstance(scores, Mapping):
        names = list(scores) if names is None else names
        scores = list(scores.values())
        columns = True
    else:
        columns = False
    if len(scores) and all(is_model(model) for model in scores):
        from sklearn.model_selection import cross_val_score

        if not datasets:
            raise ValueError("datasets, a list of (X, y), is needed to fit the models")
        if names is None:
            names = [type(model).__name__ for model in scores]
        table = np.array(
            [
                [np.mean(cross_val_score(model, X, y, cv=cv, scoring=scoring)) for model in scores]
                for X, y in datasets
            ]
        )
    else:
        table = finished(scores, "scores")
        table = table.T if columns else table
    if table.ndim != 2:
        raise ValueError(f"scores must have shape (n_blocks, n_models), got {table.shape}")
    if names is None:
        names = [f"model {j + 1}" for j in range(table.shape[1])]
    if len(names) != table.shape[1]:
        raise ValueError(f"{len(names)} names for {table.shape[1]} models")
    return table, tuple(map(str, names))
