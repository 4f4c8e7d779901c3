"""Plain NumPy twins of the kernels in ``fastml/kernels/scores`` that metrics use."""

import numpy as np


def residual_sums(y, p):
    """sum |d|, sum d², mean and squares about it of d, and of y."""
    d = y - p
    return np.array(
        [
            np.abs(d).sum(), (d**2).sum(),
            d.mean(), ((d - d.mean()) ** 2).sum(), y.mean(), ((y - y.mean()) ** 2).sum(),
        ]
    )  # fmt: skip


def pair_counts(y_true, y_pred, low, width):
    table = np.zeros((width, width), dtype=np.int64)
    for t, p in zip(y_true, y_pred):
        table[t - low, p - low] += 1
    return table


def codes_by_appearance(words):
    seen = {}
    return np.array([seen.setdefault(word, len(seen)) for word in words], dtype=np.intp)


def ordered_pairs(positives, negatives):
    above = sum(int(p > n) for p in positives for n in negatives)
    return above, sum(int(p == n) for p in positives for n in negatives)


def threshold_counts(positives, negatives):
    """Distinct scores, falling, and the positives and negatives at or above each."""
    thresholds = np.unique(np.concatenate([positives, negatives]))[::-1]
    return thresholds, *([(s >= t).sum() for t in thresholds] for s in (positives, negatives))


def precision_area(positives, negatives):
    _, hits, misses = threshold_counts(positives, negatives)
    new = np.diff(hits, prepend=0)
    return sum(n * h / (h + m) for n, h, m in zip(new, hits, misses) if n)


def log_likelihood(codes, p, least):
    return np.log(np.clip(p[np.arange(len(p)), codes], least, 1 - least)).sum()
