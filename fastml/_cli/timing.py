"""Time several libraries on the same work, fairly: interleaved rounds, best of several."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Collection
from typing import Any

from fastml._cases._case import Case

PAUSE = 0.02
"""Seconds between two calls: idle OpenMP threads of one library must not spin into the next."""

MIN_ROUNDS = 2


def compare(
    case: Case,
    *,
    size: str,
    peers: Collection[str] | None,
    rounds: int,
    budget: float,
    least: int = MIN_ROUNDS,
) -> dict[str, Any]:
    """One row of the report: per library the first call, the best and the median of the rounds.

    Every library is called once untimed (compiles, fills caches), then once per round, in an order
    that turns around each time. After ``budget`` seconds no further round starts, but for
    the first ``least``. A peer is ``comparable`` if the faster of the two is as good as the slower.
    """
    data = case.build(size)
    calls: dict[str, Callable[[], Any]] = {}
    missing: list[str] = []
    for library in case.libraries:
        if peers is not None and library not in {"fastml", *peers}:
            continue
        try:
            calls[library] = case.prepare(library, data)
        except ImportError:
            missing.append(library)
            if library == "fastml":  # not built yet: nothing to compare
                break
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = _time(calls, rounds, budget, least)
        for result in results.values():
            result["quality"] = float(case.quality.judge(data, result.pop("answer")))
    for library, result in results.items():
        faster, slower = sorted((library, "fastml"), key=lambda name: results[name]["best"])
        result["comparable"] = library == "fastml" or case.quality.as_good(
            results[faster]["quality"], results[slower]["quality"], size, faster
        )
    return {
        "id": case.id,
        "headline": case.headline,
        "work": case.title(size),
        "yardstick": case.quality.name,
        "results": results,
        "missing": missing,
    }


def _time(
    calls: dict[str, Callable[[], Any]], rounds: int, budget: float, least: int
) -> dict[str, dict]:
    end = time.perf_counter() + budget
    results: dict[str, dict[str, Any]] = {}
    for library, call in calls.items():
        first, answer = _once(call)
        results[library] = {"first": first, "answer": answer}
    times: dict[str, list[float]] = {library: [] for library in calls}
    for turn in range(rounds):
        if turn >= least and time.perf_counter() > end:
            break
        for library in list(calls)[:: -1 if turn % 2 else 1]:
            times[library].append(_once(calls[library])[0])
    for library, result in results.items():
        result["best"] = min(times[library])
        result["median"] = statistics.median(times[library])
        result["rounds"] = len(times[library])
    return results


def _once(call: Callable[[], Any]) -> tuple[float, Any]:
    time.sleep(PAUSE)
    start = time.perf_counter()
    answer = call()
    return time.perf_counter() - start, answer
