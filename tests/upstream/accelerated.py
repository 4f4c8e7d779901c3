"""Run scikit-learn's whole test suite under acceleration: ``python tests/upstream/accelerated.py``.

A test counts if it passes without acceleration. What fails with it must be listed in
``accelerated_differences.yaml``, with a reason, and what is listed must fail.
"""

# ruff: noqa: T201 (a command)

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from plugin import KnownDifference, load_known_differences
from run import HERE, environment, sklearn_folder

LIST = HERE / "accelerated_differences.yaml"

SAMPLE = (
    "cluster/tests/test_k_means.py",
    "linear_model/tests/test_ridge.py",
    "metrics/cluster/tests/test_supervised.py",
    "metrics/tests/test_regression.py",
    "neighbors/tests/test_nearest_centroid.py",
    "preprocessing/tests/test_label.py",
    "tests/test_naive_bayes.py",
    "tree/tests/test_tree.py",
)
"""Test files that CI runs; within two minutes."""

LONGEST = 1800.0
"""Seconds after which a file counts as failed as a whole."""


def files(folder: Path, families: list[str], parts: list[str]) -> list[str]:
    """scikit-learn's test files, the longest first."""
    found = []
    for path in folder.rglob("test_*.py"):
        name = path.relative_to(folder).as_posix()
        family = name.partition("/")[0]
        if (not families or family in families) and (not parts or any(p in name for p in parts)):
            found.append((path.stat().st_size, name))
    return [name for _, name in sorted(found, reverse=True)]


def outcomes(tests: list[str], scratch: Path, accelerated: bool, options: list[str]) -> dict:
    """Node id below scikit-learn's folder → passed, failed or skipped; one process."""
    folder = sklearn_folder()
    stem = scratch / (tests[0].partition("::")[0].replace("/", ".") + f".{accelerated}")
    report, arguments = stem.with_suffix(".json"), stem.with_suffix(".txt")
    arguments.write_text("\n".join(str(folder / test) for test in tests))
    command = [sys.executable, "-m", "pytest", "-p", "plugin", "-c"]
    command += [str(HERE / "pytest.ini")]
    command += [f"--rootdir={folder.parent}", "-q", "--tb=short", "--swap-package="]
    command += [f"--upstream-report={report}", *options, f"@{arguments}"]
    env = environment()
    if accelerated:  # child processes too; here in the place of the file that the wheel carries
        line = (HERE.parents[1] / "fastml_accelerate.pth").read_text()
        (scratch / "start").mkdir(exist_ok=True)
        (scratch / "start" / "sitecustomize.py").write_text(line)
        env |= {"FASTML_ACCELERATE": "1"}
        env["PYTHONPATH"] = os.pathsep.join((str(scratch / "start"), env["PYTHONPATH"]))
    started = time.perf_counter()
    try:
        done = subprocess.run(
            command, cwd=scratch, env=env, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=LONGEST,
        )  # fmt: skip
        output = done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        output = f"not ended after {LONGEST} s"
    ended = json.loads(report.read_text()) if report.exists() else None
    return {
        "tests": ended and {name.partition("sklearn/")[2]: how for name, how in ended.items()},
        "output": output,
        "seconds": time.perf_counter() - started,
    }


def judge(file: str, scratch: Path, known: list[KnownDifference], options: list[str]) -> dict:
    """One test file: how many tests count, pass, are known to fail; what must not be."""
    listed = [entry for entry in known if entry.file == file]
    leave = [f"--deselect={sklearn_folder() / entry.test}" for entry in listed if not entry.run]
    with_it = outcomes([file], scratch, True, [*options, *leave])
    counted: Counter = Counter()
    surprises: list[str] = []
    if with_it["tests"] is None:
        surprises.append(f"{file}: pytest left no report")
    tests = with_it["tests"] or {}
    failed = [name for name, how in tests.items() if how == "failed"]
    without = {}
    if failed:
        without = outcomes(failed, scratch, False, [])["tests"] or {}
    counted["passed"] = sum(how == "passed" for how in tests.values())
    for name in failed:
        if without.get(name) != "passed":
            continue
        if any(entry.matches(name) for entry in listed):
            counted["known"] += 1
        else:
            counted["surprise"] += 1
            surprises.append(f"{name}: failed under acceleration only")
    counted["known"] += sum(not entry.run for entry in listed)
    for entry in listed if not options else ():
        matched = [name for name in tests if entry.matches(name)]
        if entry.run and not matched:
            surprises.append(f"{entry.test}: listed, but no test has this id")
        for name in matched:
            if name not in failed and tests[name] == "passed":
                surprises.append(f"{name}: listed as a difference, but it passes")
            elif name in failed and without.get(name) != "passed":
                surprises.append(f"{name}: listed, but it fails without acceleration too")
    return {"file": file, "counted": counted, "surprises": surprises, **with_it}


def table(results: list[dict]) -> str:
    families: dict[str, Counter] = defaultdict(Counter)
    for result in results:
        for family in (result["file"].partition("/")[0], "all"):
            families[family].update(result["counted"])
            families[family]["seconds"] += round(result["seconds"])
    lines = [f"{'':24}{'count':>8}{'passed':>8}{'known':>7}{'surprise':>10}{'share':>9}{'s':>7}"]
    for family in [*sorted(set(families) - {"all"}), "all"]:
        each = families[family]
        total = each["passed"] + each["known"] + each["surprise"]
        share = f"{each['passed'] / total:.2%}" if total else "-"
        lines.append(
            f"{family:24}{total:8}{each['passed']:8}{each['known']:7}{each['surprise']:10}"
            f"{share:>9}{each['seconds']:7}"
        )
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="*", help="folders of scikit-learn; default: all")
    parser.add_argument("--sample", action="store_true", help="the files that CI runs")
    parser.add_argument("--file", action="append", default=[], help="part of a file's name")
    parser.add_argument("-k", default="", help="pytest's -k expression")
    parser.add_argument("-n", "--jobs", type=int, default=2)
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args(argv)
    known = load_known_differences(LIST)
    chosen = list(SAMPLE) if args.sample else files(sklearn_folder(), args.family, args.file)
    options = ["-k", args.k] if args.k else []
    results = []
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(args.jobs) as pool:
        futures = [pool.submit(judge, file, Path(scratch), known, options) for file in chosen]
        for future in futures:
            results.append(future.result())
            if args.verbose or results[-1]["surprises"]:
                print(results[-1]["output"], flush=True)
            for surprise in results[-1]["surprises"]:
                print(f"surprise: {surprise}", flush=True)
    print(table(results))
    found = [surprise for result in results for surprise in result["surprises"]]
    for surprise in found:
        print(f"surprise: {surprise}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
