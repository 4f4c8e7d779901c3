"""Run scikit-learn's own tests against fastml: ``python tests/upstream/run.py [family ...]``."""

# ruff: noqa: T201 (a command)

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
LONGEST = 60.0
"""Seconds; a test that is always slower may be listed with ``run: false``."""

LEFT_OUT = {
    "metrics/tests/test_pairwise_distances_reduction.py": "about private classes; ours only help",
    "metrics/tests/test_common.py": "thousands of tests of metrics that fastml does not have",
}
"""Test files that are not run, and why."""


def sklearn_folder() -> Path:
    return Path(importlib.util.find_spec("sklearn").origin).parent


def swapped_names(package: str) -> list[str]:
    """Paths below the package that the plugin would swap: ``cluster.KMeans`` …"""
    code = f"import json, plugin; print(json.dumps(sorted(plugin.counterparts({package!r}))))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def files_of(family: str, names: list[str], folder: Path) -> list[str]:
    """scikit-learn's test files of the family that name something swapped, the longest first."""
    words = {name.rpartition(".")[2] for name in names}
    found = []
    # A family that is one module has one test file, beside those of the package.
    own = [*(folder / family).rglob("tests/test_*.py"), *folder.glob(f"tests/test_{family}.py")]
    for path in own:
        source = path.read_text()
        name = path.relative_to(folder).as_posix()
        if name not in LEFT_OUT and words & set(re.findall(r"\w+", source)):
            found.append((len(source), name))
    return [name for _, name in sorted(found, reverse=True)]


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "FASTML_QUIET": "1", "MPLBACKEND": "Agg"}


def run_file(test_file: str, scratch: Path, args) -> dict:
    """One pytest process on one test file; its outcome."""
    report = scratch / (test_file.replace("/", ".") + ".json")
    module = "sklearn." + test_file.removesuffix(".py").replace("/", ".")
    command = [sys.executable, "-m", "pytest", "-p", "plugin", "-c", str(HERE / "pytest.ini")]
    command += [f"--rootdir={sklearn_folder().parent}", "-q", "--tb=short", "-ra"]
    command += [f"--known-differences={args.known_differences}", f"--upstream-report={report}"]
    command += [f"--swap-package={args.swap_package}"]
    command += ["-k", args.k] if args.k else []
    command += ["--pyargs", module]
    done = subprocess.run(
        command, cwd=scratch, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    outcome = json.loads(report.read_text()) if report.exists() else None
    return {
        "file": test_file,
        "status": done.returncode,
        "output": done.stdout.decode(errors="replace"),
        "outcome": outcome,
    }


def table(runs: dict[str, list[dict]]) -> str:
    """Per family and file: tests that used fastml, passed, known differences, surprises, share."""
    columns = ("used", "passed", "known difference", "surprise")
    lines = [f"{'':44}{'used':>7}{'passed':>8}{'known':>7}{'surprise':>10}{'share':>8}{'s':>7}"]
    for family, done in runs.items():
        rows = [(f"  {run['file']}", [run]) for run in done]
        for name, group in [(family, done), *rows]:
            outcomes = [run["outcome"] for run in group if run["outcome"]]
            used, passed, known, surprise = (
                sum(outcome["counts"][column] for outcome in outcomes) for column in columns
            )
            seconds = sum(t["seconds"] for o in outcomes for t in o["tests"].values())
            share = f"{passed / used:.1%}" if used else "-"
            lines.append(
                f"{name:44}{used:7}{passed:8}{known:7}{surprise:10}{share:>8}{seconds:7.0f}"
            )
    return "\n".join(lines)


def surprises(run: dict) -> list[str]:
    """Everything about one file that must not be."""
    if run["outcome"] is None:
        return [f"{run['file']}: pytest ended with status {run['status']} and left no report"]
    found = list(run["outcome"]["surprises"])
    if run["status"] != 0 and not found:
        found.append(f"{run['file']}: pytest ended with status {run['status']}")
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="*", help="submodules of fastml; default: all")
    parser.add_argument("-n", "--jobs", type=int, default=2, help="pytest processes at once")
    parser.add_argument("-k", default="", help="pytest's -k expression")
    parser.add_argument("-v", "--verbose", action="store_true", help="show pytest's output")
    parser.add_argument("--file", action="append", help="only test files with this in their name")
    parser.add_argument("--json", type=Path, help="write all outcomes here")
    parser.add_argument("--swap-package", default="fastml")
    parser.add_argument("--known-differences", default=str(HERE / "known_differences.yaml"))
    args = parser.parse_args(argv)
    names = swapped_names(args.swap_package)
    families = sorted({name.partition(".")[0] for name in names})
    if unknown := set(args.family) - set(families):
        parser.error(f"nothing to swap in {sorted(unknown)}; there is {families}")

    chosen = {
        family: [
            file
            for file in files_of(family, names, sklearn_folder())
            if not args.file or any(part in file for part in args.file)
        ]
        for family in args.family or families
    }
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(args.jobs) as pool:
        futures = {
            family: [pool.submit(run_file, file, Path(scratch), args) for file in files]
            for family, files in chosen.items()
        }
        runs = {family: [each.result() for each in group] for family, group in futures.items()}

    everything = [run for done in runs.values() for run in done]
    found = [surprise for run in everything for surprise in surprises(run)]
    for run in everything:
        if args.verbose or surprises(run):
            print(run["output"])
    if args.json:
        args.json.write_text(json.dumps(everything, indent=1))
    print(table(runs))
    for surprise in found:
        print(f"surprise: {surprise}")
    outcomes = [run["outcome"] for run in everything if run["outcome"]]
    for name, test in (item for outcome in outcomes for item in outcome["tests"].items()):
        if test["seconds"] > LONGEST:
            print(f"slow: {name}: {test['seconds']:.0f} s")
    print(f"{len(names)} names swapped: {', '.join(names) or 'none'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
