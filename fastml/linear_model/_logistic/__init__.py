"""Logistic regression.

``_problem``: one data set and its minima for any penalty; ``_names``: scikit-learn's names of
penalties and solvers; ``_estimator`` and ``_cv``: the classes.
"""
