"""Plain NumPy twins of the kernels that prepare columns."""

from itertools import combinations, combinations_with_replacement

import numpy as np


def column_moments(X, weights):
    """Weight, mean and squares about it of every column, NaN left out."""
    X = X.astype(np.float64)
    w = np.where(np.isnan(X), 0.0, weights[:, None])
    filled = np.where(np.isnan(X), 0.0, X)
    counts = w.sum(axis=0)
    means = np.divide(
        (w * filled).sum(axis=0), counts, out=np.zeros(len(counts)), where=counts != 0
    )
    return counts, means, (w * (filled - means) ** 2).sum(axis=0)


def codes_of(items):
    """Code of each item by first appearance, and the rows of these."""
    seen: dict = {}
    codes = [seen.setdefault(item, len(seen)) for item in items]
    return codes, [codes.index(code) for code in range(len(seen))]


def words_of_text(text):
    """Bytes of the text times 8 plus those of a character, then the text, in 32-bit words."""
    top = max(map(ord, text), default=0)
    width = 1 if top < 256 else 2 if top < 65536 else 4
    data = b"".join(ord(letter).to_bytes(width, "little") for letter in text)
    starts = range(0, len(data), 4)
    return [8 * len(data) + width, *(int.from_bytes(data[k : k + 4], "little") for k in starts)]


def monomials(row, degrees, distinct, bias):
    chosen = combinations if distinct else combinations_with_replacement
    found = [1.0] if bias else []
    for degree in degrees:
        found += [np.prod(row[list(c)]) for c in chosen(range(len(row)), degree)]
    return np.array(found)


def nearest_donors(x, j, donors, k):
    """Rows nearest to x among those that have column j, and their mean squares."""
    with np.errstate(invalid="ignore"):
        shared = ~np.isnan(x) & ~np.isnan(donors)
        squares = np.where(shared, (x - donors) ** 2, 0.0).sum(axis=1) / shared.sum(axis=1)
    usable = np.flatnonzero(~np.isnan(donors[:, j]) & shared.any(axis=1))
    order = usable[np.argsort(squares[usable], kind="stable")[:k]]
    return order, squares[order]


def basis(X, function, of):
    """Columns of a function of rows, or of every value."""
    if of == "row":
        return np.array([[function(row)] for row in X]).reshape(len(X), 1)
    return np.array([[function(value) for value in row] for row in X]).reshape(X.shape)
