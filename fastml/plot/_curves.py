"""Curves of classifiers' scores, in the manner of scikit-learn's displays."""

from __future__ import annotations

import numpy as np

from fastml.plot._axes import axes_or_new
from fastml.plot._scores import area_below, model_scores, positive_class, ranked_counts, roc_points


class _Curve:
    """A line that knows where it is drawn: ``ax_``, ``figure_``, ``line_`` after `plot`."""

    _labels = ("", "")

    def _points(self):
        raise NotImplementedError

    def _label(self, name):
        return name

    def _draw(self, ax, name, options):
        ax = axes_or_new(ax)
        label = self._label(self.estimator_name if name is None else name)
        given = {"label": label, **options} if label else options
        (self.line_,) = ax.plot(*self._points(), **{**self._style, **given})
        ax.set(xlabel=self._labels[0], ylabel=self._labels[1])
        self.ax_, self.figure_ = ax, ax.figure
        if label:
            ax.legend(loc="best")
        return self

    _style: dict = {}

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, sample_weight=None, response_method="auto", pos_label=None,
        name=None, ax=None, **options,
    ):  # fmt: skip
        """Draw the curve of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
            Of two classes.
        X : array-like of shape (n_samples, n_features)
            Rows to score.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
            Where scores come from.
        pos_label : int or str, default=None
            The positive class.
        name : str, default=None
            Name in the legend; None means the class's name.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **options : dict
            For Matplotlib's line.

        Returns
        -------
        display : object
        """
        scores, positive, own = model_scores(estimator, X, response_method, pos_label)
        return cls.from_predictions(
            y, scores, sample_weight=sample_weight, pos_label=positive, ax=ax,
            name=own if name is None else name, **options,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls, y_true, y_score, *, sample_weight=None, pos_label=None, name=None, ax=None, **options
    ):
        """Draw the curve of scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels of two classes.
        y_score : array-like of shape (n_samples,)
            Scores, greater for the positive class.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        pos_label : int or str, default=None
            The positive class; None means the greater one.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **options : dict
            For Matplotlib's line.

        Returns
        -------
        display : object
        """
        counts = ranked_counts(y_true, y_score, sample_weight, pos_label)
        made = cls._of_counts(counts, name)
        made.pos_label = positive_class(y_true, pos_label)
        return made.plot(ax=ax, **options)


class RocCurveDisplay(_Curve):
    """ROC curve: share of positives against share of negatives above a threshold.

    Parameters
    ----------
    fpr, tpr : ndarray
        Points of the curve.
    roc_auc : float, default=None
        Area, for the legend.
    estimator_name : str, default=None
        Name in the legend.

    Examples
    --------
    >>> from fastml.plot import RocCurveDisplay
    >>> shown = RocCurveDisplay.from_predictions([0, 1, 1], [0.1, 0.4, 0.3])  # doctest: +SKIP
    """

    _labels = ("False positive rate", "True positive rate")

    def __init__(self, fpr, tpr, *, roc_auc=None, estimator_name=None):
        self.fpr, self.tpr = np.asarray(fpr), np.asarray(tpr)
        self.roc_auc, self.estimator_name = roc_auc, estimator_name

    @classmethod
    def _of_counts(cls, counts, name):
        fpr, tpr = roc_points(counts)
        return cls(fpr, tpr, roc_auc=area_below(fpr, tpr), estimator_name=name)

    def _points(self):
        return self.fpr, self.tpr

    def _label(self, name):
        told = "" if self.roc_auc is None else f"AUC = {self.roc_auc:0.2f}"
        return f"{name} ({told})" if name and told else name or told

    def plot(self, ax=None, *, name=None, plot_chance_level=False, **options):
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        name : str, default=None
            Name in the legend.
        plot_chance_level : bool, default=False
            Whether to draw the diagonal.
        **options : dict
            For Matplotlib's line.

        Returns
        -------
        display : RocCurveDisplay
        """
        ax = axes_or_new(ax)
        if plot_chance_level:
            ax.plot([0, 1], [0, 1], "k--", label="Chance level (AUC = 0.5)")
        return self._draw(ax, name, options)


class PrecisionRecallDisplay(_Curve):
    """Precision against recall.

    Parameters
    ----------
    precision, recall : ndarray
        Points of the curve.
    average_precision : float, default=None
        For the legend.
    estimator_name : str, default=None
        Name in the legend.
    prevalence_pos_label : float, default=None
        Share of positives: the precision of chance.

    Examples
    --------
    >>> from fastml.plot import PrecisionRecallDisplay
    >>> y, scores = [0, 1, 1], [0.1, 0.4, 0.3]
    >>> shown = PrecisionRecallDisplay.from_predictions(y, scores)  # doctest: +SKIP
    """

    _labels = ("Recall", "Precision")
    _style = {"drawstyle": "steps-post"}

    def __init__(
        self, precision, recall, *, average_precision=None, estimator_name=None,
        prevalence_pos_label=None,
    ):  # fmt: skip
        self.precision, self.recall = np.asarray(precision), np.asarray(recall)
        self.average_precision, self.estimator_name = average_precision, estimator_name
        self.prevalence_pos_label = prevalence_pos_label

    @classmethod
    def _of_counts(cls, counts, name):
        if counts.positives == 0.0:
            raise ValueError("y_true has no positives: there is no curve")
        above = counts.true + counts.false
        precision = np.divide(counts.true, above, out=np.zeros_like(above), where=above != 0)
        recall = counts.true / counts.positives
        average = float(np.sum(np.diff(np.concatenate([[0.0], recall])) * precision))
        share = counts.positives / (counts.positives + counts.negatives)
        return cls(
            np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0),
            average_precision=average, estimator_name=name, prevalence_pos_label=share,
        )  # fmt: skip

    def _points(self):
        return self.recall, self.precision

    def _label(self, name):
        told = "" if self.average_precision is None else f"AP = {self.average_precision:0.2f}"
        return f"{name} ({told})" if name and told else name or told

    def plot(self, ax=None, *, name=None, plot_chance_level=False, f_levels=False, **options):
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        name : str, default=None
            Name in the legend.
        plot_chance_level : bool, default=False
            Whether to draw the precision of chance.
        f_levels : bool, default=False
            Whether to draw `f_score_levels` below it.
        **options : dict
            For Matplotlib's line.

        Returns
        -------
        display : PrecisionRecallDisplay
        """
        ax = axes_or_new(ax)
        if f_levels:
            f_score_levels(ax=ax)
        if plot_chance_level and self.prevalence_pos_label is not None:
            share = self.prevalence_pos_label
            ax.plot([0, 1], [share, share], "k--", label=f"Chance level (AP = {share:0.2f})")
        return self._draw(ax, name, options)


class BackgroundRejectionDisplay(_Curve):
    """Background rejection against signal efficiency, as in high-energy physics.

    The share of the background (negatives) that is below a threshold against the share of the
    signal (positives) above it.

    Parameters
    ----------
    efficiency, rejection : ndarray
        Points of the curve.
    roc_auc : float, default=None
        Area, for the legend.
    estimator_name : str, default=None
        Name in the legend.

    Examples
    --------
    >>> from fastml.plot import BackgroundRejectionDisplay
    >>> y, scores = [0, 1, 1], [0.1, 0.4, 0.3]
    >>> shown = BackgroundRejectionDisplay.from_predictions(y, scores)  # doctest: +SKIP
    """

    _labels = ("Signal efficiency", "Background rejection")

    def __init__(self, efficiency, rejection, *, roc_auc=None, estimator_name=None):
        self.efficiency, self.rejection = np.asarray(efficiency), np.asarray(rejection)
        self.roc_auc, self.estimator_name = roc_auc, estimator_name

    @classmethod
    def _of_counts(cls, counts, name):
        fpr, tpr = roc_points(counts)
        return cls(tpr, 1.0 - fpr, roc_auc=area_below(fpr, tpr), estimator_name=name)

    def _points(self):
        return self.efficiency, self.rejection

    _label = RocCurveDisplay._label

    def plot(self, ax=None, *, name=None, inverse=False, **options):
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        name : str, default=None
            Name in the legend.
        inverse : bool, default=False
            Whether to draw 1 / (1 − rejection) on a logarithmic scale instead.
        **options : dict
            For Matplotlib's line.

        Returns
        -------
        display : BackgroundRejectionDisplay
        """
        ax = axes_or_new(ax)
        self._draw(ax, name, options)
        if inverse:
            kept = self.rejection < 1.0
            self.line_.set_data(self.efficiency[kept], 1.0 / (1.0 - self.rejection[kept]))
            ax.set_yscale("log")
            ax.set_ylabel("1 / background efficiency")
            ax.relim()
            ax.autoscale_view()
        return self


class CalibrationDisplay(_Curve):
    """Share of positives against the mean predicted probability, by bins.

    Parameters
    ----------
    prob_true, prob_pred : ndarray
        Points of the curve.
    y_prob : ndarray
        All probabilities.
    estimator_name : str, default=None
        Name in the legend.
    pos_label : int or str, default=None
        The positive class.

    Examples
    --------
    >>> from fastml.plot import CalibrationDisplay
    >>> y, p = [0, 1, 1, 0], [0.1, 0.4, 0.9, 0.2]
    >>> shown = CalibrationDisplay.from_predictions(y, p, n_bins=2)  # doctest: +SKIP
    """

    _labels = ("Mean predicted probability", "Fraction of positives")
    _style = {"marker": "s", "linestyle": "-"}

    def __init__(self, prob_true, prob_pred, y_prob, *, estimator_name=None, pos_label=None):
        self.prob_true, self.prob_pred = np.asarray(prob_true), np.asarray(prob_pred)
        self.y_prob, self.estimator_name, self.pos_label = y_prob, estimator_name, pos_label

    def _points(self):
        return self.prob_pred, self.prob_true

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, n_bins=5, strategy="uniform", pos_label=None, name=None,
        ref_line=True, intervals=False, ax=None, **options,
    ):  # fmt: skip
        """Draw the curve of a fitted classifier's probabilities.

        Parameters
        ----------
        estimator : fitted classifier
            Of two classes, with `predict_proba`.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        n_bins : int, default=5
            Number of bins.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of equally many rows.
        pos_label : int or str, default=None
            The positive class.
        name : str, default=None
            Name in the legend.
        ref_line : bool, default=True
            Whether to draw the diagonal.
        intervals : bool, default=False
            Whether to draw Wilson's interval of every bin.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **options : dict
            For Matplotlib's line.

        Returns
        -------
        display : CalibrationDisplay
        """
        p, positive, own = model_scores(estimator, X, "predict_proba", pos_label)
        return cls.from_predictions(
            y, p, n_bins=n_bins, strategy=strategy, pos_label=positive, ref_line=ref_line,
            name=own if name is None else name, intervals=intervals, ax=ax, **options,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls, y_true, y_prob, *, n_bins=5, strategy="uniform", pos_label=None, name=None,
        ref_line=True, intervals=False, ax=None, **options,
    ):  # fmt: skip
        """Draw the curve of probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels of two classes.
        y_prob : array-like of shape (n_samples,)
            Probabilities of the positive class.
        n_bins : int, default=5
            Number of bins.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of equally many rows.
        pos_label : int or str, default=None
            The positive class; None means the greater one.
        name : str, default=None
            Name in the legend.
        ref_line : bool, default=True
            Whether to draw the diagonal.
        intervals : bool, default=False
            Whether to draw Wilson's interval of every bin.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **options : dict
            For Matplotlib's line.

        Returns
        -------
        display : CalibrationDisplay
        """
        y, p = np.asarray(y_true), np.asarray(y_prob, dtype=np.float64)
        if p.ndim != 1 or len(p) != len(y) or not ((p >= 0.0) & (p <= 1.0)).all():
            raise ValueError("y_prob must hold one probability from 0 to 1 for each label")
        positive = positive_class(y, pos_label)
        if strategy == "uniform":
            edges = np.linspace(0.0, 1.0, n_bins + 1)
        elif strategy == "quantile":
            edges = np.percentile(p, np.linspace(0, 100, n_bins + 1))
        else:
            raise ValueError(f"strategy must be 'uniform' or 'quantile', got {strategy!r}")
        bins = np.searchsorted(edges[1:-1], p)
        counts = np.bincount(bins, minlength=n_bins)
        hits = np.bincount(bins, y == positive, n_bins)
        there = counts > 0
        true = hits[there] / counts[there]
        mean = np.bincount(bins, p, n_bins)[there] / counts[there]
        made = cls(true, mean, p, estimator_name=name, pos_label=positive)
        made.counts = counts[there]
        return made.plot(ax=ax, ref_line=ref_line, intervals=intervals, **options)

    def plot(self, ax=None, *, name=None, ref_line=True, intervals=False, **options):
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        name : str, default=None
            Name in the legend.
        ref_line : bool, default=True
            Whether to draw the diagonal.
        intervals : bool, default=False
            Whether to draw Wilson's interval of every bin.
        **options : dict
            For Matplotlib's line.

        Returns
        -------
        display : CalibrationDisplay
        """
        ax = axes_or_new(ax)
        if ref_line:
            ax.plot([0, 1], [0, 1], "k:", label="Perfectly calibrated")
        self._draw(ax, name, options)
        if intervals and hasattr(self, "counts"):
            from fastml.metrics import wilson_interval

            low, high = wilson_interval(self.prob_true * self.counts, self.counts)
            ax.vlines(self.prob_pred, low, high, color=self.line_.get_color(), alpha=0.5)
        return self


def f_score_levels(levels=(0.2, 0.4, 0.6, 0.8), *, beta=1.0, resolution=200, ax=None):
    """Curves of equal F-score in the plane of recall and precision.

    .. math:: P = F R \\big/ \\big((1 + \\beta^2) R - \\beta^2 F\\big)

    Parameters
    ----------
    levels : array-like of float, default=(0.2, 0.4, 0.6, 0.8)
        Values of the F-score.
    beta : float, default=1.0
        Weight of recall.
    resolution : int, default=200
        Points of each curve.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes.

    Examples
    --------
    >>> from fastml.plot import f_score_levels
    >>> ax = f_score_levels([0.5, 0.9])  # doctest: +SKIP
    """
    ax = axes_or_new(ax)
    square = beta * beta
    for level in levels:
        if not 0.0 < level < 1.0:
            raise ValueError(f"levels must lie between 0 and 1, got {level}")
        # Precision falls from 1 to the least that full recall needs.
        most = level / (1.0 + square - square * level)
        precision = np.linspace(most, 1.0, resolution)
        recall = square * level * precision / ((1.0 + square) * precision - level)
        ax.plot(recall, precision, color="grey", linewidth=0.8, alpha=0.5)
        name = "F1" if beta == 1.0 else f"F{beta:g}"
        ax.annotate(f"{name} = {level:g}", (1.0, most), fontsize="small", color="grey")
    ax.set(xlabel="Recall", ylabel="Precision", xlim=(0.0, 1.05), ylim=(0.0, 1.05))
    return ax
