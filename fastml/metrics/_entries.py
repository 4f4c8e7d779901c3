"""Entries that the docstrings of metrics share; `fastml.metrics._checks.checked` fills them in."""

ENTRIES = {
    "sample_weight": """
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
    """,
    "targets": """
        y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        y_pred : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.
    """,
    "one_target": """
        y_true : array-like of shape (n_samples,)
            Targets.
        y_pred : array-like of shape (n_samples,)
            Predictions.
    """,
    "multioutput": """
        multioutput : {'raw_values', 'uniform_average'} or array-like of shape (n_outputs,), \
default='uniform_average'
            An array of one error per output, their mean, or their mean with these weights.
    """,
    "multioutput_of_scores": """
        multioutput : {'raw_values', 'uniform_average', 'variance_weighted'} or array-like of \
shape (n_outputs,), default='uniform_average'
            An array of one score per output, their mean, their mean weighted by the variances of
            the targets, or with these weights.
    """,
    "one_label": """
        y_true : array-like of shape (n_samples,)
            True labels.
        y_pred : array-like of shape (n_samples,)
            Predicted labels.
    """,
    "labels_or_indicators": """
        y_true : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            True labels, or an indicator matrix.
        y_pred : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs)
            Predicted labels, or an indicator matrix.
    """,
    "averaged_labels": """
        labels : array-like of shape (n_labels,), default=None
            Labels to count, in this order, where ``average`` is not 'binary'; by default all.
        pos_label : int, float, bool or str, default=1
            The positive label, where ``average`` is 'binary'.
    """,
    "average": """
        average : {'micro', 'macro', 'samples', 'weighted', 'binary'} or None, default='binary'
            'binary': of the positive label. 'macro': mean over labels. 'weighted': mean weighted by
            their rows. 'micro': from sums over all labels. 'samples': mean over the rows of an
            indicator matrix. None: one per label.
    """,
    "zero_division": """
        zero_division : {"warn", 0.0, 1.0, np.nan}, default="warn"
            What stands for 0 / 0; "warn" is 0 with a warning, NaN is left out of averages.
    """,
    "y_true": """
        y_true : array-like of shape (n_samples,)
            Labels.
    """,
    "y_score": """
        y_score : array-like of shape (n_samples,)
            Scores of the positive label.
    """,
    "pos_label": """
        pos_label : int, float, bool or str, default=None
            The positive label; by default 1 of 0 and 1 or of -1 and 1.
    """,
    "all_labels": """
        labels : array-like of shape (n_classes,), default=None
            All labels, sorted, where some do not occur.
    """,
}
