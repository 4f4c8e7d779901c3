"""pytest plugin: fastml's public classes and functions in the place of scikit-learn's.

Before collection every name that both packages export under the same path is replaced, wherever
scikit-learn's loaded modules hold it. A test counts only if it called a replaced object. A failure
must be on the list of known differences, and what is on the list must fail: see README.md.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import pkgutil
import re
import sys
from pathlib import Path

import pytest
import yaml

MIXINS = ("neighbors._base.KNeighborsMixin",)
"""Private bases that tests ask swapped classes for, at the same path in both packages."""

IRRELEVANT = "calls nothing of the swapped package"


def pytest_addoption(parser):
    group = parser.getgroup("upstream")
    group.addoption("--swap-package", default="fastml", help="package that replaces scikit-learn's")
    group.addoption("--known-differences", default=None, help="YAML list of {test, reason}")
    group.addoption("--upstream-report", default=None, help="write the outcome here (JSON)")


def pytest_configure(config):
    package = config.getoption("--swap-package")
    usage = Usage()
    swapped = swap(package, usage)
    path = config.getoption("--known-differences")
    known = load_known_differences(Path(path)) if path else []
    config.pluginmanager.register(Upstream(config, usage, swapped, known), "fastml-upstream")


# ---------------------------------------------------------------------------- swapping


class Usage:
    """Whether the running test has called a swapped object."""

    def __init__(self):
        self.seen = False

    def counted(self, function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            self.seen = True
            return function(*args, **kwargs)

        return call


def public_modules(package: str):
    """The package's public modules, imported: ``__init__`` of every level, and what lies below."""
    root = importlib.import_module(package)
    yield root
    for found in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
        parts = found.name.split(".")[1:]
        if not any(part.startswith("_") for part in parts) and parts[0] != "kernels":
            yield importlib.import_module(found.name)


def counterparts(package: str) -> dict[str, tuple[object, object]]:
    """Path below the package → (scikit-learn's object, ours), for every public name of both."""
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
    """Make the class's constructor and the methods that the package wrote set the flag."""
    for owner in cls.__mro__:
        if owner.__module__.partition(".")[0] != package or "_upstream_counted" in vars(owner):
            continue
        owner._upstream_counted = True
        for name, member in list(vars(owner).items()):
            if inspect.isfunction(member) and (name == "__init__" or not name.startswith("_")):
                setattr(owner, name, usage.counted(member))
        if "__init__" not in vars(owner) and owner.__init__ is not object.__init__:
            owner.__init__ = usage.counted(owner.__init__)


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

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        self.usage.seen = False
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        name = test_id(item)
        result = self.results.setdefault(name, {"status": "passed", "used": False, "seconds": 0.0})
        result["used"] = result["used"] or self.usage.seen
        result["seconds"] += report.duration
        entry = self.listed.get(name)
        if entry is not None and not entry.run:
            result.update(used=True, status="known difference")
        elif report.failed:
            self._judge_failure(report, result, entry)
        elif report.skipped:
            result["status"] = "skipped"
        elif report.when == "teardown" and result["status"] == "passed" and entry is not None:
            result["status"] = "surprise"
            self._fail(report, name, "listed as a known difference, but it passes")
        return report

    def _judge_failure(self, report, result, entry):
        if not self.usage.seen:
            result["status"] = "irrelevant"
            if entry is not None:
                result["status"] = "surprise"
                name = report.nodeid.rpartition("sklearn/")[2]
                self._fail(report, name, f"listed as a known difference, but {IRRELEVANT}")
            else:
                report.outcome, report.wasxfail = "skipped", IRRELEVANT
        elif entry is not None:
            result["status"] = "known difference"
            report.outcome, report.wasxfail = "skipped", entry.reason
        else:
            result["status"] = "surprise"
            self.surprises.append(f"{report.nodeid.rpartition('sklearn/')[2]}: failed")

    def _fail(self, report, name, why):
        self.surprises.append(f"{name}: {why}")
        report.outcome, report.longrepr = "failed", why

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session, exitstatus):
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.config.getoption("-k"):
            session.exitstatus = exitstatus = pytest.ExitCode.OK
        if exitstatus == pytest.ExitCode.OK and self.surprises:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if path := self.config.getoption("--upstream-report"):
            outcome = {
                "counts": self.counts(),
                "surprises": self.surprises,
                "swapped": self.swapped,
                "tests": self.results,
            }
            Path(path).write_text(json.dumps(outcome, indent=1))

    def counts(self) -> dict[str, int]:
        """Tests that used a swapped object, by outcome; the others are irrelevant."""
        counted = dict.fromkeys(("used", "passed", "known difference", "surprise"), 0)
        counted |= {"skipped": 0, "irrelevant": 0}
        for result in self.results.values():
            status = result["status"]
            if status == "surprise":
                counted["surprise"] += 1
                counted["used"] += 1
            elif status == "skipped":
                counted["skipped"] += 1
            elif not result["used"]:
                counted["irrelevant"] += 1
            else:
                counted[status] += 1
                counted["used"] += 1
        return counted

    def pytest_terminal_summary(self, terminalreporter):
        counted = self.counts()
        share = counted["passed"] / counted["used"] if counted["used"] else 1.0
        terminalreporter.section("upstream")
        terminalreporter.line(f"swapped: {', '.join(self.swapped) or 'nothing'}")
        for surprise in self.surprises:
            terminalreporter.line(f"surprise: {surprise}")
        terminalreporter.line(
            f"used: {counted['used']}, passed: {counted['passed']}, share: {share:.1%}, "
            f"known differences: {counted['known difference']}, surprises: {counted['surprise']}, "
            f"irrelevant: {counted['irrelevant']}, skipped: {counted['skipped']}"
        )
