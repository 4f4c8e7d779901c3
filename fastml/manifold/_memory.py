"""What an n × n array takes, said before it is made."""

from __future__ import annotations

import sklearn


def check_square(who: str, n_rows: int, bytes_per_pair: float, instead: str, verbose=0) -> None:
    """Raise a MemoryError if n × n pairs take more than scikit-learn's working memory.

    Else, with ``verbose``, print how much they take.
    """
    needed = bytes_per_pair * n_rows * n_rows / 2**20
    allowed = sklearn.get_config()["working_memory"]
    if needed > allowed:
        raise MemoryError(
            f"{who} needs arrays of {n_rows} x {n_rows} pairs, {needed:.0f} MiB; the working memory"
            f" is {allowed} MiB. {instead}, or allow more by "
            "sklearn.set_config(working_memory=...)."
        )
    if verbose:
        print(  # noqa: T201
            f"[{who}] arrays of {n_rows} x {n_rows} pairs: {needed:.1f} MiB of {allowed} MiB"
        )
