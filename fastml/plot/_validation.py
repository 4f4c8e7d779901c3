"""Curves of validation with bands, bias and variance, mean ranks of models."""

from __future__ import annotations

import numpy as np

from fastml.plot._axes import axes_or_new


class _ScoreCurves:
    """Scores of training and validation rows along a number, with bands of one deviation."""

    def _plot(self, x, ax, negate_score, score_name, score_type, std_display_style, xlabel):
        ax = axes_or_new(ax)
        sign = -1.0 if negate_score else 1.0
        shown = {"train": ("Train",), "test": ("Test",), "both": ("Train", "Test")}
        if score_type not in shown:
            raise ValueError(f"score_type must be 'train', 'test' or 'both', got {score_type!r}")
        if std_display_style not in ("fill_between", "errorbar", None):
            raise ValueError(
                "std_display_style must be 'fill_between', 'errorbar' or None, got "
                f"{std_display_style!r}"
            )
        self.lines_, self.fill_between_, self.errorbar_ = [], [], []
        for name in shown[score_type]:
            scores = sign * (self.train_scores if name == "Train" else self.test_scores)
            mean, spread = scores.mean(axis=1), scores.std(axis=1)
            if std_display_style == "errorbar":
                self.errorbar_.append(ax.errorbar(x, mean, spread, label=name))
                continue
            self.lines_ += ax.plot(x, mean, label=name)
            if std_display_style == "fill_between":
                self.fill_between_.append(
                    ax.fill_between(x, mean - spread, mean + spread, alpha=0.5)
                )
        ax.legend()
        ax.set(xlabel=xlabel, ylabel=score_name or self.score_name or "Score")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class LearningCurveDisplay(_ScoreCurves):
    """Scores by the number of rows learned from, with bands.

    Parameters
    ----------
    train_sizes : ndarray of shape (n_sizes,)
        Numbers of rows.
    train_scores, test_scores : ndarray of shape (n_sizes, n_folds)
        Scores.
    score_name : str, default=None
        Label of the vertical axis.

    Examples
    --------
    >>> from fastml.plot import LearningCurveDisplay
    >>> shown = LearningCurveDisplay([10, 20], [[1, 1], [0.9, 1]], [[0.5, 0.6], [0.7, 0.8]])
    >>> shown.plot().ax_.get_xlabel()
    'Number of samples in the training set'
    """

    def __init__(self, train_sizes, train_scores, test_scores, score_name=None):
        self.train_sizes, self.score_name = np.asarray(train_sizes), score_name
        self.train_scores, self.test_scores = np.asarray(train_scores), np.asarray(test_scores)

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, train_sizes=(0.1, 0.325, 0.55, 0.775, 1.0), cv=None, scoring=None,
        n_jobs=None, shuffle=False, random_state=None, ax=None, **options,
    ):  # fmt: skip
        """Cross-validate on growing numbers of rows, and draw.

        Parameters
        ----------
        estimator : estimator
            The method.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        train_sizes : array-like, default=(0.1, 0.325, 0.55, 0.775, 1.0)
            Shares or numbers of rows.
        cv : int or splitter, default=None
            scikit-learn's.
        scoring : str or callable, default=None
            scikit-learn's.
        n_jobs : int, default=None
            Fits at a time.
        shuffle : bool, default=False
            Whether to shuffle rows before taking the first.
        random_state : int, RandomState instance or None, default=None
            Seed of that.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **options : dict
            Those of `plot`.

        Returns
        -------
        display : LearningCurveDisplay
        """
        from sklearn.model_selection import learning_curve

        found = learning_curve(
            estimator, X, y, train_sizes=np.asarray(train_sizes), cv=cv, scoring=scoring,
            n_jobs=n_jobs, shuffle=shuffle, random_state=random_state,
        )  # fmt: skip
        name = scoring if isinstance(scoring, str) else None
        return cls(*found[:3], score_name=name).plot(ax=ax, **options)

    def plot(
        self, ax=None, *, negate_score=False, score_name=None, score_type="both",
        std_display_style="fill_between",
    ):  # fmt: skip
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        negate_score : bool, default=False
            Whether to draw minus the score.
        score_name : str, default=None
            Label of the vertical axis.
        score_type : {"train", "test", "both"}, default="both"
            Which curves.
        std_display_style : {"fill_between", "errorbar", None}, default="fill_between"
            How to show the deviation of the folds.

        Returns
        -------
        display : LearningCurveDisplay
        """
        return self._plot(
            self.train_sizes, ax, negate_score, score_name, score_type, std_display_style,
            "Number of samples in the training set",
        )  # fmt: skip


class ValidationCurveDisplay(_ScoreCurves):
    """Scores by a parameter, with bands.

    Parameters
    ----------
    param_name : str
        The parameter.
    param_range : array-like of shape (n_values,)
        Its values.
    train_scores, test_scores : ndarray of shape (n_values, n_folds)
        Scores.
    score_name : str, default=None
        Label of the vertical axis.

    Examples
    --------
    >>> from fastml.plot import ValidationCurveDisplay
    >>> scores = [[1, 1], [0.9, 1]], [[0.5, 0.6], [0.7, 0.8]]
    >>> ValidationCurveDisplay("max_depth", [1, 2], *scores).plot().ax_.get_xlabel()
    'max_depth'
    """

    def __init__(self, param_name, param_range, train_scores, test_scores, score_name=None):
        self.param_name, self.param_range = param_name, param_range
        self.train_scores, self.test_scores = np.asarray(train_scores), np.asarray(test_scores)
        self.score_name = score_name

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, param_name, param_range, cv=None, scoring=None, n_jobs=None,
        ax=None, **options,
    ):  # fmt: skip
        """Cross-validate for every value of a parameter, and draw.

        Parameters
        ----------
        estimator : estimator
            The method.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        param_name : str
            The parameter.
        param_range : array-like
            Its values.
        cv : int or splitter, default=None
            scikit-learn's.
        scoring : str or callable, default=None
            scikit-learn's.
        n_jobs : int, default=None
            Fits at a time.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **options : dict
            Those of `plot`.

        Returns
        -------
        display : ValidationCurveDisplay
        """
        from sklearn.model_selection import validation_curve

        scores = validation_curve(
            estimator, X, y, param_name=param_name, param_range=param_range, cv=cv,
            scoring=scoring, n_jobs=n_jobs,
        )  # fmt: skip
        name = scoring if isinstance(scoring, str) else None
        return cls(param_name, param_range, *scores, score_name=name).plot(ax=ax, **options)

    def plot(
        self, ax=None, *, negate_score=False, score_name=None, score_type="both",
        std_display_style="fill_between",
    ):  # fmt: skip
        """Draw the curves; steps that grow by factors have a logarithmic axis.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        negate_score : bool, default=False
            Whether to draw minus the score.
        score_name : str, default=None
            Label of the vertical axis.
        score_type : {"train", "test", "both"}, default="both"
            Which curves.
        std_display_style : {"fill_between", "errorbar", None}, default="fill_between"
            How to show the deviation of the folds.

        Returns
        -------
        display : ValidationCurveDisplay
        """
        self._plot(
            self.param_range, ax, negate_score, score_name, score_type, std_display_style,
            self.param_name,
        )  # fmt: skip
        values = np.asarray(self.param_range)
        if values.dtype.kind in "iuf" and len(values) > 2 and (values > 0).all():
            steps = np.abs(np.diff(np.sort(values)))
            if steps.min() > 0 and steps.max() / steps.min() > 5:
                self.ax_.set_xscale("log")
        return self


def bias_variance_curve(values, results, *, name="complexity", ax=None):
    """Error, bias, variance and noise of a method along a parameter.

    Parameters
    ----------
    values : array-like of shape (n_values,)
        Values of the parameter.
    results : list of BiasVariance
        From :func:`fastml.model_selection.bias_variance`, one for each value.
    name : str, default="complexity"
        Label of the horizontal axis.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes.

    Examples
    --------
    >>> from fastml.model_selection import bias_variance
    >>> from fastml.plot import bias_variance_curve
    >>> from fastml.tree import DecisionTreeRegressor
    >>> X, y = [[i] for i in range(40)], [i % 5 for i in range(40)]
    >>> found = [bias_variance(DecisionTreeRegressor(max_depth=d), X, y) for d in (1, 4)]
    >>> ax = bias_variance_curve([1, 4], found, name="depth")  # doctest: +SKIP
    """
    results = list(results)
    if len(results) != len(values):
        raise ValueError(f"{len(values)} values for {len(results)} results")
    ax = axes_or_new(ax)
    squared = all(found.loss == "squared" for found in results)
    for part, label in (
        ("error", "expected error"),
        ("bias", "bias²" if squared else "bias"),
        ("variance", "variance"),
        ("noise", "noise"),
    ):
        heights = [getattr(found, part) for found in results]
        if part != "noise" or any(heights):
            ax.plot(values, heights, marker=".", label=label)
    ax.set(xlabel=name, ylabel="error")
    ax.legend()
    return ax


def critical_difference(test, *, ax=None):
    """Mean ranks of models on a line; bars join those that do not differ (Demšar's diagram).

    Parameters
    ----------
    test : RankTest
        From :func:`fastml.model_selection.friedman_test`.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes.

    Examples
    --------
    >>> from fastml.model_selection import friedman_test
    >>> from fastml.plot import critical_difference
    >>> found = friedman_test([[0.9, 0.8, 0.7], [0.8, 0.7, 0.75], [0.95, 0.9, 0.6]])
    >>> ax = critical_difference(found)  # doctest: +SKIP
    """
    ax = axes_or_new(ax)
    ranks = np.asarray(test.mean_ranks)
    order = np.argsort(ranks, kind="stable")
    k = len(ranks)
    ax.set_xlim(0.7, k + 0.3)
    ax.hlines(0.0, 1, k, color="k")
    ax.vlines(np.arange(1, k + 1), 0.0, 0.15, color="k")
    for rank in range(1, k + 1):
        ax.text(rank, 0.25, str(rank), ha="center")
    half = (k + 1) // 2
    for place, model in enumerate(order):
        level = -1.0 - 0.6 * (place if place < half else k - 1 - place)
        at, side = (0.7, "right") if place < half else (k + 0.3, "left")
        ax.plot([ranks[model], ranks[model], at], [0.0, level, level], color="k", linewidth=0.8)
        ax.text(at, level, f" {test.names[model]} ", ha=side, va="center")
    place_of = {name: ranks[i] for i, name in enumerate(test.names)}
    for height, alike in enumerate(test.alike()):
        level = -0.2 - 0.2 * height
        ax.plot([place_of[alike[0]], place_of[alike[-1]]], [level, level], color="C3", linewidth=4)
    ax.plot([1.0, 1.0 + test.critical_difference], [0.9, 0.9], color="k", linewidth=1.5)
    ax.text(1.0 + test.critical_difference / 2.0, 1.0, f"CD = {test.critical_difference:.2f}",
            ha="center")  # fmt: skip
    ax.set_ylim(-1.6 - 0.6 * half, 1.5)
    ax.axis("off")
    return ax
