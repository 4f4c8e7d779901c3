"""Random parameters, data and sequences of calls, each beside scikit-learn, until the time is up.

    python tests/fuzz.py --minutes 10 [--seed N] [--cases N] [--bounds] [--only NAME]
    python tests/fuzz.py --case N        one case in this process, to look at what was found

Cases run in a child process: a crash or a hang is seen, reported, and the next case runs in a new
child. Exit code 1 if something was found.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PATIENCE = 300.0
"""Seconds for one case, in which kernels may have to be compiled; less in a short run,"""
MOST_MEMORY = 12 << 30
"""Bytes of a child;"""
OTHERS_PATIENCE = 20.0
"""and seconds for scikit-learn, some of whose solvers do not end on huge values."""


def child(first: int, step: int, only: str) -> None:
    """Run cases for ever; say before each what runs, after each what came of it."""
    import faulthandler
    import resource

    from fuzz_cases import draw_case, run_case

    faulthandler.enable()
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, most))  # an error, not the system's end

    def tell(**message):
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()

    seed = first
    while True:
        tell(case=seed, runs="draw")
        case = draw_case(seed, only)
        outcome, fault = run_case(case, lambda library, seed=seed: tell(case=seed, runs=library))
        tell(case=seed, outcome=outcome, fault=fault, says=case.says() if fault else "")
        seed += step


class Child:
    """A process that runs cases."""

    def __init__(self, first: int, options):
        command = [sys.executable, str(Path(__file__)), "--child", str(first)]
        environment = {**os.environ, "FASTML_QUIET": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(TESTS.parent), str(TESTS), environment.get("PYTHONPATH", "")]
        )
        if options.bounds:
            environment |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_NUM_THREADS": "1"}
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (as long as the process)
        self.process = subprocess.Popen(
            [*command, "--only", options.only], env=environment, stdout=subprocess.PIPE,
            stderr=self.errors, text=True,
        )  # fmt: skip
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def message(self, seconds: float) -> dict | str:
        """The next message; 'hangs' or 'dies' if there is none."""
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            return "hangs"
        return json.loads(line) if line.endswith("\n") else "dies"

    def end(self) -> str:
        """End the process; what it wrote first to standard error."""
        self.process.kill()
        self.process.wait()
        self.errors.seek(0)
        return self.errors.read()[:1500]


def report(seed, only, what, text):
    sys.stdout.write(f"{what}: {text}\n    python tests/fuzz.py --case {seed} --only '{only}'\n")
    sys.stdout.flush()


def parent(options) -> int:
    until = time.monotonic() + options.minutes * 60.0
    seed, count, found = options.seed, collections.Counter(), 0
    worker, runs, at = Child(seed, options), "draw", seed
    last = seed + options.cases if options.cases else None
    own_patience = min(PATIENCE, max(30.0, 30.0 * options.minutes))
    if options.bounds:
        own_patience = 3.0 * PATIENCE  # nothing is compiled ahead
    while (left := until - time.monotonic()) > 0 and at != last:
        patience = OTHERS_PATIENCE if runs == "scikit-learn" else own_patience
        message = worker.message(min(patience, left) if runs == "draw" else patience)
        if isinstance(message, str):
            if runs == "draw" and time.monotonic() >= until:
                break
            errors = worker.end()
            if runs == "scikit-learn":
                count[f"scikit-learn {message}"] += 1
            else:
                found += 1
                count[message] += 1
                report(at, options.only, f"fastml {message}", errors)
            runs, at = "draw", at + 1
            worker = Child(at, options)
        elif "runs" in message:
            at, runs = message["case"], message["runs"]
        else:
            count[message["outcome"]] += 1
            runs, at = "draw", at + 1
            if message["fault"]:
                found += 1
                text = f"{message['fault']}\n    {message['says']}"
                report(message["case"], options.only, message["outcome"], text)
    worker.end()
    total = sum(count.values())
    sys.stdout.write(f"{total} cases from seed {options.seed}: ")
    sys.stdout.write(", ".join(f"{n} {what}" for what, n in count.most_common()) + "\n")
    return 1 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--cases", type=int, default=0, help="stop after so many; 0: time decides")
    parser.add_argument("--bounds", action="store_true", help="kernels check their indices")
    parser.add_argument("--only", default="", help="part of an estimator's path")
    parser.add_argument("--case", type=int, help="run this one here")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        child(options.child, 1, options.only)
    if options.case is not None:
        sys.path[:0] = [str(TESTS.parent), str(TESTS)]
        from fuzz_cases import draw_case, run_case

        case = draw_case(options.case, options.only)
        sys.stdout.write(f"{case.says()}\n{run_case(case, lambda library: None)}\n")
        return 0
    return parent(options)


if __name__ == "__main__":
    sys.exit(main())
