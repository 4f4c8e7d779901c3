"""Other people's test suites under acceleration: ``python tests/upstream/others.py [name ...]``.

Each package is installed by name in an environment of its own; its tests come from the newest
release that carries them. A test counts if it passes without acceleration; what fails with it must
be listed in ``others_differences.yaml``, with a reason, and what is listed must fail.
"""

# ruff: noqa: T201 (a command)

from __future__ import annotations

import argparse
import importlib.metadata
import os
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import yaml

HERE = Path(__file__).parent
LIST = HERE / "others_differences.yaml"


class Suite(NamedTuple):
    """Where the tests of a package are."""

    tests: str  # "" : in the installed package; else the release whose source archive has them
    folders: tuple[str, ...]  # in the archive or the installed package
    needs: tuple[str, ...] = ()  # what only the tests import


SUITES = {
    "mlxtend": Suite("0.23.1", ("mlxtend",)),
    "skrub": Suite("", ("skrub",), ("polars", "pyarrow")),
    "feature-engine": Suite("1.8.3", ("tests",)),
}
FLOOR = 0.99


def environment_of(name: str, suite: Suite, folder: Path) -> Path:
    """Its Python; made where it is not there."""
    python = folder / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / name], check=True)
        same = [f"{each}=={importlib.metadata.version(each)}" for each in ("scikit-learn", "numba")]
        wanted = [name, "pytest", "matplotlib", *same, *suite.needs]
        subprocess.run([python, "-m", "pip", "install", "-q", *wanted], check=True)
    return python


def tests_of(name: str, suite: Suite, folder: Path, python: Path) -> tuple[Path, list[Path]]:
    """Folder and files of its tests."""
    if not suite.tests:
        code = f"import os, {name} as package; print(os.path.dirname(package.__file__))"
        found = subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
        root = Path(found.stdout.strip()).parent
    else:
        root = folder / f"{name}-tests"
        if not root.exists():
            with tempfile.TemporaryDirectory() as scratch:
                release = f"{name}=={suite.tests}"
                command = ["pip", "download", "-q", "--no-deps", "--no-binary", name, release]
                subprocess.run([python, "-m", *command], cwd=scratch, check=True)
                with tarfile.open(next(Path(scratch).glob("*.tar.gz"))) as archive:
                    for member in archive.getmembers():
                        member.path = member.path.partition("/")[2]
                        parts = Path(member.path).parts
                        if "tests" in parts[:-1] and parts[0] in suite.folders:
                            archive.extract(member, root, filter="data")
    return root, sorted(path for part in suite.folders for path in (root / part).rglob("test_*.py"))


def outcomes(
    python: Path, root: Path, tests: list[Path], scratch: Path, accelerated: bool, more: list[str]
) -> dict[str, tuple[str, int]]:
    """Name of a test → how it ended, calls that fastml served; one process."""
    start = scratch / "start"
    start.mkdir(exist_ok=True)
    environment = {**os.environ, "MPLBACKEND": "Agg", "FASTML_QUIET": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (start, HERE, HERE.parents[1], root)))
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    # In the place of the file that the wheel carries.
    line = (HERE.parents[1] / "fastml_accelerate.pth").read_text()
    (start / "sitecustomize.py").write_text(line if accelerated else "")
    if accelerated:
        environment["FASTML_ACCELERATE"] = "1"
    report = scratch / f"{accelerated}.xml"
    arguments = scratch / "tests.txt"
    arguments.write_text("\n".join(map(str, tests)))
    command = [python, "-m", "pytest", "-q", "-p", "served", "-p", "no:cacheprovider"]
    command += [
        "-c",
        HERE / "pytest.ini",
        f"--rootdir={root}",
        "--continue-on-collection-errors",
        "--tb=short",
    ]
    command += [f"--junitxml={report}", *more, f"@{arguments}"]
    done = subprocess.run(
        command, cwd=scratch, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    (scratch / f"{accelerated}.txt").write_bytes(done.stdout)
    if not report.exists():
        raise RuntimeError(done.stdout.decode(errors="replace")[-3000:])
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {each.tag for each in case}
        how = next((kind for kind in ("failure", "error", "skipped") if kind in kinds), "passed")
        calls = [each.get("value", "0") for each in case.iter("property")]
        found[f"{case.get('classname')}::{case.get('name')}"] = how, sum(map(int, calls))
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", choices=[*SUITES, []], help="default: all")
    parser.add_argument("--folder", type=Path, help="keep environments and results there")
    parser.add_argument("-k", default="", help="pytest's -k expression; nothing is judged")
    args = parser.parse_args(argv)
    known = yaml.safe_load(LIST.read_text()) or {}
    bad = False
    print(f"{'':16}{'count':>8}{'served':>8}{'passed':>8}{'known':>7}{'share':>9}")
    with tempfile.TemporaryDirectory() as temporary:
        for name in args.name or SUITES:
            folder = (args.folder or Path(temporary)).absolute()
            folder.mkdir(parents=True, exist_ok=True)
            python = environment_of(name, SUITES[name], folder)
            root, tests = tests_of(name, SUITES[name], folder, python)
            scratch = folder / f"{name}-results"
            scratch.mkdir(exist_ok=True)
            more = ["-k", args.k] if args.k else []
            without = outcomes(python, root, tests, scratch, False, more)
            with_it = outcomes(python, root, tests, scratch, True, more)
            counted: Counter = Counter()
            listed = {entry["test"]: entry["reason"] for entry in known.get(name, ())}
            surprises = []
            for test, (how, _) in without.items():
                if how != "passed":
                    continue
                ended, calls = with_it.get(test, ("lost", 0))
                counted["count"] += 1
                counted["served"] += calls > 0
                counted["passed"] += ended == "passed"
                counted["known"] += ended != "passed" and test in listed
                if ended != "passed" and test not in listed:
                    surprises.append(f"{test}: {ended} under acceleration only")
            for test in () if args.k else listed:
                if without.get(test, ("",))[0] != "passed" or with_it[test][0] == "passed":
                    surprises.append(f"{test}: listed, but it is no difference")
            share = counted["passed"] / counted["count"] if counted["count"] else 0.0
            print(
                f"{name:16}{counted['count']:8}{counted['served']:8}{counted['passed']:8}"
                f"{counted['known']:7}{share:9.2%}",
                *(f"surprise: {each}" for each in surprises), sep="\n", flush=True,
            )  # fmt: skip
            bad |= bool(surprises) or share < FLOOR
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
