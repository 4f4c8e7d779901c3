"""Information: entropy, cross-entropy, divergence, mutual information, perplexity.

Probabilities lie along the last axis; logarithms are natural, or of the ``base`` given (2: bits).
0 log 0 is 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "conditional_entropy",
    "cross_entropy",
    "entropy",
    "kl_divergence",
    "mutual_information",
    "perplexity",
]


def _probabilities(name: str, values, *, axes: int = 1, normalise: bool) -> NDArray:
    p = np.asarray(values, dtype=np.float64)
    if p.ndim < axes or not p.size:
        raise ValueError(f"{name} must have at least {axes} dimensions and not be empty")
    if not (p >= 0.0).all() or not np.isfinite(p).all():
        raise ValueError(f"{name} must hold finite numbers that are not negative")
    total = p.sum(axis=tuple(range(-axes, 0)), keepdims=True)
    if normalise:
        if not (total > 0.0).all():
            raise ValueError(f"{name} must not be all zero")
        return p / total
    wrong = np.abs(total - 1.0) > 1e-6
    if wrong.any():
        raise ValueError(
            f"{name} must sum to 1, got {total[wrong][0]:g}; normalise=True takes counts"
        )
    return p


def _unit(base) -> float:
    if base is None:
        return 1.0
    if not base > 0.0 or base == 1.0:
        raise ValueError(f"base must be positive and not 1, got {base}")
    return float(np.log(base))


def entropy(p, *, base=None, normalise=False):
    """Entropy, H(p) = −Σ p log p.

    Parameters
    ----------
    p : array-like of shape (..., n_outcomes)
        Probabilities.
    base : float, default=None
        Of the logarithm; None is e.
    normalise : bool, default=False
        Whether p are counts, to be divided by their sum.

    Returns
    -------
    entropy : float or ndarray of shape (...)

    Examples
    --------
    >>> from fastml.information import entropy
    >>> float(entropy([0.5, 0.5], base=2))
    1.0
    """
    from scipy.special import entr

    return entr(_probabilities("p", p, normalise=normalise)).sum(axis=-1) / _unit(base)


def cross_entropy(p, q, *, base=None, normalise=False):
    """Cross-entropy, H(p, q) = −Σ p log q = H(p) + KL(p ‖ q).

    Parameters
    ----------
    p : array-like of shape (..., n_outcomes)
        What is.
    q : array-like of shape (..., n_outcomes)
        What is believed; infinite where q is 0 and p is not.
    base : float, default=None
        Of the logarithm; None is e.
    normalise : bool, default=False
        Whether both are counts.

    Returns
    -------
    cross_entropy : float or ndarray of shape (...)

    Examples
    --------
    >>> from fastml.information import cross_entropy
    >>> round(float(cross_entropy([0.5, 0.5], [0.9, 0.1])), 4)
    1.204
    """
    from scipy.special import xlogy

    p = _probabilities("p", p, normalise=normalise)
    q = _probabilities("q", q, normalise=normalise)
    _check_same("p", p, "q", q)
    with np.errstate(divide="ignore"):
        return -xlogy(p, q).sum(axis=-1) / _unit(base)


def kl_divergence(p, q, *, base=None, normalise=False):
    """Kullback-Leibler divergence, KL(p ‖ q) = Σ p log(p / q) ≥ 0.

    Parameters
    ----------
    p : array-like of shape (..., n_outcomes)
        What is.
    q : array-like of shape (..., n_outcomes)
        What is believed; infinite where q is 0 and p is not.
    base : float, default=None
        Of the logarithm; None is e.
    normalise : bool, default=False
        Whether both are counts.

    Returns
    -------
    divergence : float or ndarray of shape (...)

    Examples
    --------
    >>> from fastml.information import kl_divergence
    >>> round(float(kl_divergence([0.5, 0.5], [0.9, 0.1])), 4)
    0.5108
    """
    from scipy.special import rel_entr

    p = _probabilities("p", p, normalise=normalise)
    q = _probabilities("q", q, normalise=normalise)
    _check_same("p", p, "q", q)
    return np.maximum(rel_entr(p, q).sum(axis=-1), 0.0) / _unit(base)


def _check_same(first: str, p: NDArray, second: str, q: NDArray) -> None:
    if p.shape[-1] != q.shape[-1]:
        raise ValueError(
            f"{first} has {p.shape[-1]} outcomes, {second} has {q.shape[-1]}: not the same"
        )


def mutual_information(joint, *, base=None, normalise=False):
    """Mutual information of a joint distribution, Σ p(x, y) log(p(x, y) / (p(x) p(y))).

    Never negative, and never above either entropy.

    Parameters
    ----------
    joint : array-like of shape (..., n_x, n_y)
        Probabilities of pairs.
    base : float, default=None
        Of the logarithm; None is e.
    normalise : bool, default=False
        Whether joint is a table of counts.

    Returns
    -------
    information : float or ndarray of shape (...)

    Examples
    --------
    >>> from fastml.information import mutual_information
    >>> float(mutual_information([[0.5, 0.0], [0.0, 0.5]], base=2))
    1.0
    """
    from scipy.special import entr, rel_entr

    p = _probabilities("joint", joint, axes=2, normalise=normalise)
    x, y = p.sum(axis=-1, keepdims=True), p.sum(axis=-2, keepdims=True)
    found = rel_entr(p, x * y).sum(axis=(-2, -1))
    most = np.minimum(entr(x).sum(axis=(-2, -1)), entr(y).sum(axis=(-2, -1)))
    return np.clip(found, 0.0, np.maximum(most, 0.0)) / _unit(base)


def conditional_entropy(joint, *, base=None, normalise=False):
    """Entropy of y that is left when x is known, H(y ∣ x) = H(x, y) − H(x).

    Parameters
    ----------
    joint : array-like of shape (..., n_x, n_y)
        Probabilities of pairs.
    base : float, default=None
        Of the logarithm; None is e.
    normalise : bool, default=False
        Whether joint is a table of counts.

    Returns
    -------
    entropy : float or ndarray of shape (...)

    Examples
    --------
    >>> from fastml.information import conditional_entropy
    >>> float(conditional_entropy([[0.25, 0.25], [0.25, 0.25]], base=2))
    1.0
    """
    from scipy.special import entr

    p = _probabilities("joint", joint, axes=2, normalise=normalise)
    left = entr(p).sum(axis=(-2, -1)) - entr(p.sum(axis=-1)).sum(axis=-1)
    return np.maximum(left, 0.0) / _unit(base)


def perplexity(p, *, normalise=False):
    """Perplexity, exp H(p): how many equally likely outcomes are as uncertain.

    Parameters
    ----------
    p : array-like of shape (..., n_outcomes)
        Probabilities.
    normalise : bool, default=False
        Whether p are counts.

    Returns
    -------
    perplexity : float or ndarray of shape (...)

    Examples
    --------
    >>> from fastml.information import perplexity
    >>> round(float(perplexity([0.25, 0.25, 0.25, 0.25])), 6)
    4.0
    """
    return np.exp(entropy(p, normalise=normalise))
