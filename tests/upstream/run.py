"""Run scikit-learn's own tests against fastml: ``python tests/upstream/run.py [family ...]``."""

# ruff: noqa: T201 (a command)

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

HERE = Path(__file__).parent
TOGETHER = 30.0
"""Seconds of the processor; test files share a process, whose start takes 4, up to this time."""

LONGEST = 60.0
"""Seconds; a test that is always slower may be listed with ``run: false``."""

LEFT_OUT = {
    "metrics/tests/test_pairwise_distances_reduction.py": "about private classes; ours only help",
    "mixture/tests/test_bayesian_mixture.py": (
        "26 s about BayesianGaussianMixture, which fastml does not have; only its KMeans is ours"
    ),
    "ensemble/_hist_gradient_boosting/tests/test_compare_lightgbm.py": (
        "skipped without lightgbm, as in CI; with it, the floors would depend on the machine"
    ),
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
    ours = {"PYTHONPATH": path, "FASTML_QUIET": "1", "MPLBACKEND": "Agg"}
    # Several of these processes share the cores, and BLAS's threads spin while they wait.
    shared = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
    return {**shared, **ours, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def run_files(files: list[str], scratch: Path, leave_out: dict[str, list[str]], args) -> dict:
    """One pytest process on some test files; its outcome."""
    stem = scratch / files[0].replace("/", ".")
    report, left = stem.with_suffix(".report.json"), stem.with_suffix(".left.json")
    left.write_text(json.dumps([f"{file}::{test}" for file in files for test in leave_out[file]]))
    modules = ["sklearn." + file.removesuffix(".py").replace("/", ".") for file in files]
    command = [sys.executable, "-m", "pytest", "-p", "plugin", "-c", str(HERE / "pytest.ini")]
    command += [f"--rootdir={sklearn_folder().parent}", "-q", "--tb=short", "-ra"]
    command += [
        f"--known-differences={args.known_differences.absolute()}",
        f"--upstream-report={report}",
    ]
    command += [f"--swap-package={args.swap_package}", f"--leave-out={left}"]
    command += ["-k", args.k] if args.k else []
    command += ["--pyargs", *modules]
    started = time.perf_counter()
    done = subprocess.run(
        command, cwd=scratch, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return {
        "files": files,
        "status": done.returncode,
        "seconds": time.perf_counter() - started,
        "output": done.stdout.decode(errors="replace"),
        "outcome": json.loads(report.read_text()) if report.exists() else None,
    }


def groups(files: Iterable[str], seconds: dict[str, float]) -> list[list[str]]:
    """Files that share a process, the longest group first; an unknown file has its own.

    Neighbours stay together: files of a family need the same kernels.
    """
    found: list[tuple[float, list[str]]] = []
    for file in files:
        more = seconds.get(file, TOGETHER)
        if found and found[-1][0] + more <= TOGETHER:
            found[-1] = found[-1][0] + more, [*found[-1][1], file]
        else:
            found.append((more, [file]))
    return [group for _, group in sorted(found, key=lambda each: -each[0])]


# ---------------------------------------------------------------------------- what was recorded


class Record:
    """What a full run found: tests per file that use fastml (the floors), and those to leave out.

    A test is left out if it neither used nor made one of our objects. With another scikit-learn, or
    with a name swapped that was not at the time, nothing is. Seconds are of the processor.
    """

    def __init__(self, folder: Path):
        self.floors_file, self.unused_file = folder / "floors.yaml", folder / "unused.yaml"
        self.floors = self._load(self.floors_file)
        self.unused = self._load(self.unused_file)

    @staticmethod
    def _load(path: Path) -> dict:
        return (yaml.safe_load(path.read_text()) or {}) if path.exists() else {}

    def outdated(self, names: list[str]) -> str:
        """Why nothing may be left out; empty if the record holds."""
        if self.unused.get("scikit-learn") != importlib.metadata.version("scikit-learn"):
            return "another version of scikit-learn"
        if new := sorted(set(names) - set(self.unused["names"])):
            return f"new names: {', '.join(new)}"
        return ""

    def leave_out(self) -> dict[str, list[str]]:
        return {file: about["unused"] for file, about in self.unused["files"].items()}

    def seconds(self) -> dict[str, float]:
        return {file: about["seconds"] for file, about in self.unused.get("files", {}).items()}

    def below(self, used: dict[str, int], families: Iterable[str]) -> list[str]:
        """Complaints: files in which fewer tests than recorded used fastml, or that were not run.

        ``used`` has the files that were run. Files that are new must get a floor.
        """
        found = []
        for family in families:
            for file, floor in self.floors.get(family, {}).items():
                if used.get(file, 0) < floor:
                    found.append(f"{file}: {used.get(file, 0)} tests use fastml, {floor} did")
        known = {file for floors in self.floors.values() for file in floors}
        found += [f"{file}: no floor; run --write-floors" for file in used if file not in known]
        return found

    def write(self, names: list[str], runs: dict[str, dict[str, dict]]) -> None:
        """``runs``: family → file → test id → result of a run that left nothing out."""
        self.floors = {
            family: {file: sum(map(counts, tests.values())) for file, tests in files.items()}
            for family, files in runs.items()
        }
        self.unused = {
            "scikit-learn": importlib.metadata.version("scikit-learn"),
            "names": names,
            "files": {
                file: {"kept": len(kept := [t for t in tests.values() if touches(t)]),
                       "seconds": round(sum(test["cpu"] for test in kept)),
                       "unused": unused(tests)}
                for files in runs.values() for file, tests in files.items()
            },
        }  # fmt: skip
        about = "# Written by run.py --write-floors. "
        for path, what, content in (
            (self.floors_file, "Tests of each file that use fastml.", self.floors),
            (self.unused_file, "Tests that do not: left out unless --all.", self.unused),
        ):
            path.write_text(f"{about}{what}\n" + yaml.safe_dump(content, sort_keys=False))


def counts(test: dict) -> bool:
    """As in the plugin: the test used one of our objects, or fails because of them."""
    return (test["used"] and test["status"] != "skipped") or test["status"] == "surprise"


def touches(test: dict) -> bool:
    """Whether a run must keep the test. A skipped one may find what it needs on another machine."""
    return counts(test) or test["used"] or test["made"] or test["status"] == "skipped"


def unused(tests: dict[str, dict]) -> list[str]:
    """Names below the file of the tests to leave out; of a function where all its tests are."""
    functions = defaultdict(list)
    for name, test in tests.items():
        below = name.partition("::")[2]
        functions[below.partition("[")[0]].append((below, touches(test)))
    names = []
    for function, cases in functions.items():
        if not any(touched for _, touched in cases):
            names.append(function)
        else:
            names += [below for below, touched in cases if not touched]
    return sorted(names)


# ---------------------------------------------------------------------------- the command


def table(runs: dict[str, dict[str, dict]]) -> str:
    """Per family and file: tests that used fastml, passed, known differences, surprises, share."""
    columns = ("used", "passed", "known difference", "surprise")
    lines = [f"{'':60}{'used':>7}{'passed':>8}{'known':>7}{'surprise':>10}{'share':>8}{'s':>7}"]
    for family, files in runs.items():
        rows = [(f"  {file}", {file: tests}) for file, tests in files.items()]
        for name, group in [(family, files), *rows]:
            tests = [test for tests in group.values() for test in tests.values()]
            counted = [test for test in tests if counts(test)]
            used, passed, known, surprise = (
                len(counted),
                *(sum(test["status"] == column for test in counted) for column in columns[1:]),
            )
            seconds = sum(test["seconds"] for test in tests)
            share = f"{passed / used:.1%}" if used else "-"
            lines.append(
                f"{name:60}{used:7}{passed:8}{known:7}{surprise:10}{share:>8}{seconds:7.0f}"
            )
    return "\n".join(lines)


def surprises(run: dict) -> list[str]:
    """Everything about one process that must not be."""
    files = ", ".join(run["files"])
    if run["outcome"] is None:
        return [f"{files}: pytest ended with status {run['status']} and left no report"]
    found = list(run["outcome"]["surprises"])
    if run["status"] != 0 and not found:
        found.append(f"{files}: pytest ended with status {run['status']}")
    return found


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="*", help="submodules of fastml; default: all")
    parser.add_argument("-n", "--jobs", type=int, default=2, help="pytest processes at once")
    parser.add_argument("-k", default="", help="pytest's -k expression")
    parser.add_argument("-v", "--verbose", action="store_true", help="show pytest's output")
    parser.add_argument("--all", action="store_true", help="also tests that never used fastml")
    parser.add_argument("--file", action="append", help="only test files with this in their name")
    parser.add_argument("--json", type=Path, help="write all outcomes here")
    parser.add_argument(
        "--write-floors", action="store_true", help="run everything; renew floors.yaml, unused.yaml"
    )
    parser.add_argument("--record", type=Path, default=HERE, help="folder of these two files")
    parser.add_argument("--swap-package", default="fastml")
    parser.add_argument("--known-differences", type=Path, default=HERE / "known_differences.yaml")
    args = parser.parse_args(argv)
    if args.write_floors and (args.family or args.k or args.file):
        parser.error("--write-floors needs the whole run")
    args.names = swapped_names(args.swap_package)
    args.families = sorted({name.partition(".")[0] for name in args.names})
    if unknown := set(args.family) - set(args.families):
        parser.error(f"nothing to swap in {sorted(unknown)}; there is {args.families}")
    return args


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    record = Record(args.record)
    leave_out = {}
    if not (args.all or args.write_floors or args.k):
        if why := record.outdated(args.names):
            print(f"nothing is left out ({why}); --write-floors renews the record")
        else:
            leave_out = record.leave_out()
    chosen = {
        file: family
        for family in args.family or args.families
        for file in files_of(family, args.names, sklearn_folder())
        if not args.file or any(part in file for part in args.file)
    }
    idle = {file for file in leave_out if record.unused["files"][file]["kept"] == 0}
    together = groups([file for file in chosen if file not in idle], record.seconds())
    leave_out = defaultdict(list, leave_out)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(args.jobs) as pool:
        futures = [
            pool.submit(run_files, each, Path(scratch), leave_out, args) for each in together
        ]
        processes = [future.result() for future in futures]

    runs: dict[str, dict[str, dict]] = {}  # family → file → test id → result
    for file, family in chosen.items():
        runs.setdefault(family, {})[file] = {}
    finished = [process for process in processes if process["outcome"]]
    for process in finished:
        for name, test in process["outcome"]["tests"].items():
            file = name.partition("::")[0]
            runs[chosen[file]][file][name] = test
    found = [surprise for process in processes for surprise in surprises(process)]
    if args.write_floors and len(finished) == len(processes):
        record.write(args.names, runs)
    elif not (args.k or args.file) and len(finished) == len(processes):
        used = {file: sum(map(counts, tests.values())) for files in runs.values()
                for file, tests in files.items()}  # fmt: skip
        found += record.below(used, args.family or record.floors)

    for process in processes:
        if args.verbose or surprises(process):
            print(process["output"])
    if args.json:
        args.json.write_text(json.dumps(processes, indent=1))
    print(table(runs))
    for surprise in found:
        print(f"surprise: {surprise}")
    for files in runs.values():
        for name, test in (item for tests in files.values() for item in tests.items()):
            if test["seconds"] > LONGEST:
                print(f"slow: {name}: {test['seconds']:.0f} s")
    print(f"{len(args.names)} names swapped: {', '.join(args.names) or 'none'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
