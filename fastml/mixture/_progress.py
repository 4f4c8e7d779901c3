"""What a fit with ``verbose`` prints."""

from __future__ import annotations

from time import perf_counter


class RunProgress:
    """Prints the progress of one run of EM if ``verbose`` is 1; 2 adds times and gains."""

    def __init__(self, verbose: int, interval: int, run: int):
        self.verbose, self.interval = verbose, interval
        self.began = self.last = perf_counter()
        if self.verbose:
            print(f"Initialization {run}")  # noqa: T201

    def iteration(self, number: int, gain: float) -> None:
        if self.verbose and number % self.interval == 0:
            line = f"  Iteration {number}"
            if self.verbose > 1:
                now = perf_counter()
                line += f"\t time lapse {now - self.last:.5f}s\t ll change {gain:.5f}"
                self.last = now
            print(line)  # noqa: T201

    def end(self, bound: float, converged: bool) -> None:
        if self.verbose:
            line = f"Initialization {'converged' if converged else 'did not converge'}."
            if self.verbose > 1:
                lapse = perf_counter() - self.began
                line += f" time lapse {lapse:.5f}s\t lower bound {bound:.5f}."
            print(line)  # noqa: T201
