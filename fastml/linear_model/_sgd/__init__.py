"""Stochastic gradient descent on linear models.

``_settings``: what all share, from parameters to the kernel's rules; ``_regression``,
``_classification``, ``_one_class``: the three kinds; ``_perceptron`` and ``_passive_aggressive``:
their special cases.
"""
