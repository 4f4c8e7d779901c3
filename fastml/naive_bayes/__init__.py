"""Naive Bayes: features that are independent within every class."""

from fastml.naive_bayes._categorical import CategoricalNB
from fastml.naive_bayes._counts import BernoulliNB, ComplementNB, MultinomialNB
from fastml.naive_bayes._gaussian import GaussianNB
from fastml.naive_bayes._mixed._estimator import NaiveBayes

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "MultinomialNB",
    "NaiveBayes",
]
