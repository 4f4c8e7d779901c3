"""Confusion matrices as coloured tables."""

from __future__ import annotations

import numpy as np

from fastml.metrics import confusion_matrix
from fastml.plot._axes import axes_or_new


class ConfusionMatrixDisplay:
    """A confusion matrix: true labels by row, predicted ones by column.

    Parameters
    ----------
    confusion_matrix : ndarray of shape (n_classes, n_classes)
        Counts or shares.
    display_labels : array-like, default=None
        Names of the classes.

    Examples
    --------
    >>> from fastml.plot import ConfusionMatrixDisplay
    >>> y, predicted = [0, 1, 1], [0, 1, 0]
    >>> shown = ConfusionMatrixDisplay.from_predictions(y, predicted)  # doctest: +SKIP
    """

    def __init__(self, confusion_matrix, *, display_labels=None):
        self.confusion_matrix = np.asarray(confusion_matrix)
        self.display_labels = display_labels

    @classmethod
    def from_estimator(cls, estimator, X, y, **options):
        """Draw the matrix of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
            The model.
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,)
            Their labels.
        **options : dict
            Those of `from_predictions`.

        Returns
        -------
        display : ConfusionMatrixDisplay
        """
        return cls.from_predictions(y, estimator.predict(X), **options)

    @classmethod
    def from_predictions(
        cls, y_true, y_pred, *, labels=None, sample_weight=None, normalize=None,
        display_labels=None, ax=None, **options,
    ):  # fmt: skip
        """Draw the matrix of predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels.
        y_pred : array-like of shape (n_samples,)
            Predictions.
        labels : array-like, default=None
            Classes to show, in their order; None means all, sorted.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        normalize : {"true", "pred", "all"}, default=None
            Whether to show shares of rows, of columns or of everything.
        display_labels : array-like, default=None
            Names of the classes.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **options : dict
            Those of `plot`.

        Returns
        -------
        display : ConfusionMatrixDisplay
        """
        matrix = confusion_matrix(
            y_true, y_pred, labels=labels, sample_weight=sample_weight, normalize=normalize
        )
        both = [np.asarray(y_true), np.asarray(y_pred)]
        classes = np.unique(np.concatenate(both)) if labels is None else np.asarray(labels)
        shown = classes if display_labels is None else display_labels
        return cls(matrix, display_labels=shown).plot(ax=ax, **options)

    def plot(
        self, *, include_values=True, cmap="viridis", values_format=None, ax=None, colorbar=True,
        im_kw=None, text_kw=None,
    ):  # fmt: skip
        """Draw the matrix.

        Parameters
        ----------
        include_values : bool, default=True
            Whether to write the numbers.
        cmap : str, default="viridis"
            Matplotlib's colour map.
        values_format : str, default=None
            Format of the numbers.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        colorbar : bool, default=True
            Whether to draw a colour bar.
        im_kw : dict, default=None
            For Matplotlib's imshow.
        text_kw : dict, default=None
            For the numbers.

        Returns
        -------
        display : ConfusionMatrixDisplay
        """
        ax = axes_or_new(ax)
        matrix = self.confusion_matrix
        k = matrix.shape[0]
        options = {"interpolation": "nearest", "cmap": cmap, **(im_kw or {})}
        self.im_ = ax.imshow(matrix, **options)
        self.text_ = None
        if include_values:
            middle = (matrix.max() + matrix.min()) / 2.0
            form = values_format or ("d" if matrix.dtype.kind in "iu" else ".2g")
            low, high = self.im_.cmap(0), self.im_.cmap(1.0)
            self.text_ = np.empty((k, k), dtype=object)
            for i, j in np.ndindex(k, k):
                colour = high if matrix[i, j] < middle else low
                style = {"ha": "center", "va": "center", "color": colour, **(text_kw or {})}
                self.text_[i, j] = ax.text(j, i, format(matrix[i, j], form), **style)
        names = np.arange(k) if self.display_labels is None else self.display_labels
        ax.set(
            xticks=np.arange(k), yticks=np.arange(k), xticklabels=names, yticklabels=names,
            xlabel="Predicted label", ylabel="True label",
        )  # fmt: skip
        if colorbar:
            ax.figure.colorbar(self.im_, ax=ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
