"""Naive Bayes with a model of its own per column.

``_columns``: the models of one column; ``_reading``: columns of any table, and which model suits
them; ``_estimator``: the classifier.
"""
