"""pytest plugin: fastml's public classes and functions in the place of scikit-learn's.

Before collection every name that both packages export under the same path is replaced, wherever
scikit-learn's loaded modules hold it. A test counts if it used a replaced object, or if it fails
and passes on plain scikit-learn. A failure must be on the list of known differences, and what is
on the list must fail: see README.md.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml

MIXINS = ("neighbors._base.KNeighborsMixin",)
"""Private bases that tests ask swapped classes for, at the same path in both packages."""

OPERATORS = ("__call__", "__getitem__", "__iter__", "__len__")
"""Methods without a public name that count as use of a class."""

UNUSED = "uses nothing of the swapped package"
COUNTS = ("used", "passed", "known difference", "surprise", "skipped", "irrelevant")


def pytest_addoption(parser):
    group = parser.getgroup("upstream")
    group.addoption(
        "--swap-package", default="fastml", help="package that replaces scikit-learn's; '' for none"
    )
    group.addoption("--known-differences", default=None, help="YAML list of {test, reason}")
    group.addoption("--leave-out", default=None, help="JSON list of test ids not to run")
    group.addoption("--upstream-report", default=None, help="write the outcome here (JSON)")


def pytest_configure(config):
    package = config.getoption("--swap-package")
    if not package:
        config.pluginmanager.register(Plain(config), "plain-scikit-learn")
        return
    usage = Usage()
    swapped = swap(package, usage)
    path = config.getoption("--known-differences")
    known = load_known_differences(Path(path)) if path else []
    config.pluginmanager.register(Upstream(config, usage, swapped, known), "fastml-upstream")


# ---------------------------------------------------------------------------- swapping


class Usage:
    """What the running test has done with swapped objects."""

    def __init__(self):
        self.forget()

    def forget(self):
        self.used = self.made = False

    def counted(self, function):
        """The function; a call of it is use."""

        @functools.wraps(function)
        def call(*args, **kwargs):
            self.used = True
            return function(*args, **kwargs)

        return call

    def noted(self, init):
        """A constructor; a call of it is not use, but the test is about one of our classes."""

        @functools.wraps(init)
        def call(*args, **kwargs):
            self.made = True
            return init(*args, **kwargs)

        return call


def public_modules(package: str):
    """The package's public modules, imported: ``__init__`` of every level, and what lies below."""
    root = importlib.import_module(package)
    yield root
    for found in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
        parts = found.name.split(".")[1:]
        # Kernels are not public; fastml.spark needs pyspark, and its names are pyspark's.
        if not any(part.startswith("_") for part in parts) and parts[0] not in ("kernels", "spark"):
            yield importlib.import_module(found.name)


def counterparts(package: str) -> dict[str, tuple[object, object]]:
    """Path below the package → (scikit-learn's object, ours), for every public name of both."""
    with contextlib.suppress(ImportError):  # else it is not there
        importlib.import_module("sklearn.experimental.enable_iterative_imputer")
    pairs = {}
    for module in public_modules(package):
        below = module.__name__[len(package) :]
        if not below:
            continue
        try:
            theirs = importlib.import_module("sklearn" + below)
        except ImportError:
            continue
        for name in getattr(module, "__all__", ()):
            ours, original = getattr(module, name), getattr(theirs, name, None)
            if original is None or original is ours or inspect.ismodule(ours):
                continue
            if inspect.isclass(ours) or inspect.isroutine(ours):
                pairs[f"{below[1:]}.{name}"] = (original, ours)
    for path in MIXINS:
        module, _, name = path.rpartition(".")
        try:
            homes = [importlib.import_module(f"{top}.{module}") for top in ("sklearn", package)]
        except ImportError:
            continue
        pairs[path] = tuple(getattr(home, name) for home in homes)
    return pairs


def swap(package: str, usage: Usage) -> list[str]:
    """Replace scikit-learn's objects by the package's; return the paths that were replaced."""
    pairs = counterparts(package)
    replacement, wrappers = {}, {}
    for original, ours in pairs.values():
        if inspect.isclass(ours):
            count_methods(ours, package, usage)
            replacement[id(original)] = ours
        else:
            wrapper = wrappers.setdefault(id(ours), usage.counted(ours))
            replacement[id(original)] = wrapper
    for name, module in list(sys.modules.items()):
        top = name.partition(".")[0]
        if module is not None and top == "sklearn":
            replace_within(vars(module), replacement)
        elif module is not None and top == package:  # wrapped functions still pickle by name
            replace_within(vars(module), wrappers)
    return sorted(pairs)


def replace_within(namespace: dict, replacement: dict[int, object]) -> None:
    """Replace a module's names and the values of its tables, such as PAIRED_DISTANCES."""
    for name, value in list(namespace.items()):
        if id(value) in replacement:
            namespace[name] = replacement[id(value)]
        elif type(value) is dict and not name.startswith("__"):
            for key, entry in list(value.items()):
                if id(entry) in replacement:
                    value[key] = replacement[id(entry)]


def count_methods(cls: type, package: str, usage: Usage) -> None:
    """Make what the package wrote in the class note its use: methods, properties, constructors."""
    for owner in cls.__mro__:
        if owner.__module__.partition(".")[0] != package or "_upstream_counted" in vars(owner):
            continue
        owner._upstream_counted = True
        for name, member in list(vars(owner).items()):
            if not name.startswith("_") or name in OPERATORS:
                counted = counted_member(member, usage)
                if counted is not member:
                    setattr(owner, name, counted)
        if owner.__init__ is not object.__init__:
            owner.__init__ = usage.noted(owner.__init__)


def counted_member(member, usage: Usage):
    """The same member of a class, but its use is noted; data and nested classes as they are."""
    if inspect.isfunction(member):
        return usage.counted(member)
    if isinstance(member, (classmethod, staticmethod)):
        return type(member)(usage.counted(member.__func__))
    if isinstance(member, property):
        accessors = (member.fget, member.fset, member.fdel)
        return property(*(each and usage.counted(each) for each in accessors), member.__doc__)
    if isinstance(member, functools.cached_property):
        member.func = usage.counted(member.func)
    elif inspect.isfunction(getattr(member, "fn", None)):  # scikit-learn's available_if
        member.fn = usage.counted(member.fn)
    return member


# ---------------------------------------------------------------------------- known differences


class KnownDifference:
    """One entry: a test id or a prefix of one, where ``*`` stands for anything."""

    def __init__(self, test: str, reason: str, run: bool = True):
        if not test or not str(reason).strip():
            raise pytest.UsageError(f"known difference without test or reason: {test!r}")
        self.test, self.reason, self.run = test, reason, run
        pattern = ".*".join(re.escape(part) for part in test.split("*"))
        # ``test_a`` covers ``test_a[...]`` but not ``test_ab``; inside brackets any prefix counts.
        self.pattern = re.compile(pattern + (".*" if "[" in test else r"(\[.*)?") + r"\Z", re.S)

    @property
    def file(self) -> str:
        return self.test.partition("::")[0]

    def matches(self, test_id: str) -> bool:
        return self.pattern.match(test_id) is not None


def load_known_differences(path: Path) -> list[KnownDifference]:
    entries = [KnownDifference(**entry) for entry in yaml.safe_load(path.read_text()) or []]
    tests = [entry.test for entry in entries]
    if doubles := sorted({test for test in tests if tests.count(test) > 1}):
        raise pytest.UsageError(f"listed twice: {doubles}")
    return entries


def test_id(item) -> str:
    """The node id below ``sklearn/``: ``cluster/tests/test_k_means.py::test_x[...]``."""
    return item.nodeid.rpartition("sklearn/")[2] if "sklearn/" in item.nodeid else item.nodeid


# ---------------------------------------------------------------------------- the run


class Upstream:
    """Judges every test and writes the report."""

    def __init__(self, config, usage, swapped, known):
        self.config, self.usage, self.swapped, self.known = config, usage, swapped, known
        self.listed: dict[str, KnownDifference] = {}
        self.results: dict[str, dict] = {}
        self.surprises: list[str] = []
        self.started = 0.0
        self.open: dict[str, tuple[str, str]] = {}  # failed without use: id → (node id, traceback)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items):
        ids = {test_id(item): item for item in items}
        files = {name.partition("::")[0] for name in ids}
        for entry in self.known:
            matched = [name for name in ids if entry.matches(name)]
            if entry.file in files and not matched:
                self.surprises.append(f"{entry.test}: listed, but no test has this id")
            for name in matched:
                self.listed[name] = entry
                if not entry.run:
                    ids[name].add_marker(pytest.mark.skip(reason=entry.reason))
        if path := self.config.getoption("--leave-out"):
            leave_out = set(json.loads(Path(path).read_text())) - set(self.listed)
            gone = [item for name, item in ids.items() if leave_out & {name, name.split("[")[0]}]
            items[:] = [item for item in items if item not in set(gone)]
            self.config.hook.pytest_deselected(items=gone)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        self.usage.forget()
        self.started = sum(os.times()[:4])
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        name = test_id(item)
        new = {"status": "passed", "used": False, "made": False, "seconds": 0.0, "cpu": 0.0}
        result = self.results.setdefault(name, new)
        result["used"] = result["used"] or self.usage.used
        result["made"] = result["made"] or self.usage.made
        result["seconds"] += report.duration
        result["cpu"] = sum(os.times()[:4]) - self.started
        entry = self.listed.get(name)
        if entry is not None and not entry.run:
            result.update(used=True, status="known difference")
        elif report.failed:
            self._judge_failure(report, name, result, entry)
        elif report.skipped:
            result["status"] = "skipped"
        elif report.when == "teardown" and result["status"] == "passed" and entry is not None:
            result["status"] = "surprise"
            self.surprises.append(f"{name}: listed as a known difference, but it passes")
            report.outcome, report.longrepr = "failed", self.surprises[-1]
        return report

    def _judge_failure(self, report, name, result, entry):
        if not result["used"]:
            result["status"] = "irrelevant"
            self.open[name] = report.nodeid, str(report.longrepr)
            report.outcome, report.wasxfail = "skipped", f"{UNUSED}; is tried without it"
        elif entry is not None:
            result["status"] = "known difference"
            report.outcome, report.wasxfail = "skipped", entry.reason
        else:
            result["status"] = "surprise"
            self.surprises.append(f"{name}: failed")

    def _judge_open(self):
        """Tests that failed without use count if plain scikit-learn passes them."""
        nodes = {name: node for name, (node, _) in self.open.items()}
        outcomes = outcomes_without_swap(self.config, list(nodes.values()))
        for name, node in nodes.items():
            ours = outcomes.get(node) == "passed"
            entry = self.listed.get(name)
            if ours and entry is not None:
                self.results[name].update(status="known difference", used=True)
            elif ours:
                self.results[name]["status"] = "surprise"
                self.surprises.append(f"{name}: failed; it {UNUSED}, but passes without it")
            elif entry is not None:
                self.results[name]["status"] = "surprise"
                self.surprises.append(
                    f"{name}: listed as a known difference, but it {UNUSED} and fails without it"
                )

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session, exitstatus):
        if self.open:
            self._judge_open()
        empty = self.config.getoption("-k") or self.config.getoption("--leave-out")
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and empty:
            session.exitstatus = exitstatus = pytest.ExitCode.OK
        if exitstatus == pytest.ExitCode.OK and self.surprises:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if path := self.config.getoption("--upstream-report"):
            files: dict[str, dict] = {}
            for name, result in self.results.items():
                files.setdefault(name.partition("::")[0], {})[name] = result
            outcome = {
                "counts": counts(self.results),
                "files": {file: counts(results) for file, results in files.items()},
                "surprises": self.surprises,
                "swapped": self.swapped,
                "tests": self.results,
            }
            Path(path).write_text(json.dumps(outcome, indent=1))

    def pytest_terminal_summary(self, terminalreporter):
        counted = counts(self.results)
        share = counted["passed"] / counted["used"] if counted["used"] else 1.0
        terminalreporter.section("upstream")
        terminalreporter.line(f"swapped: {', '.join(self.swapped) or 'nothing'}")
        for name, (_, traceback) in self.open.items():
            if self.results[name]["status"] == "surprise":
                terminalreporter.line(f"{name}:\n{traceback}")
        for surprise in self.surprises:
            terminalreporter.line(f"surprise: {surprise}")
        terminalreporter.line(
            f"used: {counted['used']}, passed: {counted['passed']}, share: {share:.1%}, "
            f"known differences: {counted['known difference']}, surprises: {counted['surprise']}, "
            f"irrelevant: {counted['irrelevant']}, skipped: {counted['skipped']}"
        )


def counts(results: dict[str, dict]) -> dict[str, int]:
    """Tests that used a swapped object, by outcome; the others are irrelevant."""
    counted = dict.fromkeys(COUNTS, 0)
    for result in results.values():
        status = result["status"]
        if status == "passed" and not result["used"]:
            status = "irrelevant"
        counted[status] += 1
        counted["used"] += status in ("passed", "known difference", "surprise")
    return counted


# ---------------------------------------------------------------------------- without the swap


class Plain:
    """Swaps nothing and judges nothing: writes how each test ended."""

    def __init__(self, config):
        self.config = config
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report):
        if self.outcomes.get(report.nodeid, "passed") == "passed":
            self.outcomes[report.nodeid] = report.outcome

    def pytest_sessionfinish(self):
        Path(self.config.getoption("--upstream-report")).write_text(json.dumps(self.outcomes))


def outcomes_without_swap(config, nodes: list[str]) -> dict[str, str]:
    """Node id → passed, failed or skipped, from one process on plain scikit-learn."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        command = [sys.executable, "-m", "pytest", "-p", __name__, "-c", str(config.inipath), "-q"]
        command += [f"--rootdir={config.rootpath}", "--swap-package="]
        command += [f"--upstream-report={report}", *(str(config.rootpath / node) for node in nodes)]
        subprocess.run(command, cwd=scratch, env=os.environ, stdout=subprocess.DEVNULL)
        return json.loads(report.read_text()) if report.exists() else {}
