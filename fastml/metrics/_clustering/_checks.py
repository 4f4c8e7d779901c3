"""What scores of clusterings check of their labels."""

from __future__ import annotations


def check_number_of_labels(n_labels: int, n_samples: int) -> None:
    if not 1 < n_labels < n_samples:
        raise ValueError(
            f"Number of labels is {n_labels}. Valid values are 2 to n_samples - 1 (inclusive)"
        )
