"""Compile ahead of time: every case on tiny data, every estimator on a few rows, odd branches.

A step is one such call. Steps of one estimator compile much the same kernels, so that they go to
one process together, and the estimators are shared out among as many processes as there are cores.
What is finished is noted in the cache folder: a warm-up that was interrupted goes on where it was.
Code that came with a wheel does not count as compiled: a warm-up brings code for this very CPU.
Afterwards no registered kernel is left uncompiled and no later call compiles one; tests check both.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import os
import subprocess
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fastml._cases._case import FAMILIES

DTYPES = ("float64", "float32")
DONE = "warm-up-done"
"""The file in the cache folder that lists the steps that are finished."""

LONG = {
    "tree": 8,
    "svm": 4,
    "ensemble": 4,
    "mixture": 3,
    "cluster": 2,
    "density": 2,
    "neighbors": 2,
}
"""Seconds that the demo of a family compiles, once measured; others take one or less."""

Progress = Callable[[str, int, int], None]


class StepError(RuntimeError):
    """Steps that failed; the others are done, and ``n_compiled`` functions compiled."""

    def __init__(self, message: str, n_compiled: int):
        super().__init__(message)
        self.n_compiled = n_compiled


class Step(NamedTuple):
    """One call that compiles."""

    family: str
    path: str  # of the estimator or function; empty for odd branches
    what: str
    dtype: str | None
    call: Callable[[], object] | None  # None where only a process of the pool has it

    @property
    def title(self) -> str:
        return f"{self.family}: {self.what}"


# ---------------------------------------------------------------------------- the steps


def _calls(family: str) -> Iterator[Step]:
    """Everything that the family has to compile."""
    from fastml._cases import _case

    for case in _case.cases(family):
        for dtype in case.dtypes:
            run = partial(_run_tiny, case, dtype)
            yield Step(family, case.path, f"{case.id} {dtype}", dtype, run)
    for path, tried in _case.variants(family).items():
        if hasattr(_case.find(f"fastml.{path}"), "fit"):
            for parameters in tried:
                what = ", ".join(f"{key}={value}" for key, value in parameters.items())
                for dtype in DTYPES:
                    run = partial(_try_everything, path, parameters, dtype)
                    yield Step(family, path, f"{path}({what}) {dtype}", dtype, run)
    for what, call in _case.odd_branches(family):
        yield Step(family, "", what, None, call)


def _run_tiny(case: Any, dtype: str) -> None:
    case.prepare("fastml", case.build("tiny", dtype))()


def demo_steps(family: str | None = None) -> Iterator[Step]:
    """What the demo shows of the family, or of all: data of its size take ways of their own.

    The last of them take longest to compile: processes take those first.
    """
    from fastml._cases import _case

    shown = [case for case in _case.cases(family) if case.draw is not None]
    for case in sorted(shown, key=lambda case: LONG.get(_case.family_of(case), 0)):
        run = partial(_run_demo, case)
        yield Step(_case.family_of(case), case.path, f"demo of {case.id}", None, run)


def _run_demo(case: Any) -> None:
    from fastml._cases._case import find

    data = case.build("quick")
    case.quality.judge(data, case.prepare("fastml", data)())
    with contextlib.suppress(ImportError):
        from matplotlib.figure import Figure

        case.draw(Figure().subplots(), find(f"fastml.{case.path}"))


def _try_everything(path: str, parameters: Mapping[str, Any], dtype: str) -> None:
    """Fit, call every method, read every property."""
    from sklearn.base import is_regressor
    from sklearn.utils import get_tags

    from fastml._cases._case import METHODS, find, trial
    from fastml._cases._data import few_rows

    X, y = few_rows(dtype)
    model = trial(find(f"fastml.{path}"), **parameters)
    names = inspect.signature(model.fit).parameters
    if "X" not in names:  # labels alone, or a kernel matrix
        labels = y[:, None].tolist() if get_tags(model).target_tags.two_d_labels else y
        given = X @ X.T if "K" in names else labels
        model.fit(given)
        model.transform(given)
        return
    if is_regressor(model):
        tags = get_tags(model).target_tags
        y = y + 1.0 if tags.positive_only else X[:, 0].astype("float64")
        y = y if tags.single_output else y[:, None].repeat(2, axis=1)
    model.fit(X, y)
    for name in (*METHODS, "apply", "decision_path"):
        if hasattr(model, name) and (name != "score" or hasattr(model, "predict")):
            for rows in (X,) if name == "score" else (X, X[:1]):  # a score may need all classes
                getattr(model, name)(rows, *([y] if name == "score" else []))
    for name, value in inspect.getmembers(type(model)):
        if isinstance(value, property):
            getattr(model, name, None)


def steps(only: str | Sequence[str] | None = None, dtype: str | None = None) -> list[Step]:
    """The steps of the families, estimators or functions ``only``, for one type or for both.

    Odd branches belong to families, and to no type.
    """
    from fastml._validation import lookup

    if dtype is not None:
        lookup({name: name for name in DTYPES}, dtype, "dtype")
    wanted = [only] if isinstance(only, str) else FAMILIES if only is None else only
    found: dict[tuple[str, str], Step] = {}
    for name in wanted:
        family, _, rest = name.partition(".")
        lookup({each: each for each in FAMILIES}, family, "family")
        chosen = [step for step in _calls(family) if not rest or step.path == name]
        if not chosen:
            known = sorted({step.path for step in _calls(family)} - {""})
            raise ValueError(f"there is no {name!r} to warm up; there are {', '.join(known)}")
        found |= {(step.family, step.what): step for step in chosen}
    return [step for step in found.values() if dtype is None or step.dtype in (dtype, None)]


# ---------------------------------------------------------------------------- what is finished


def _state() -> str:
    """A digest of what decides which kernels the steps compile, and to what."""
    from fastml._jit import target

    digest = hashlib.sha256(repr(target()).encode())
    package = Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


class _Diary:
    """The titles of finished steps, in the cache folder."""

    def __init__(self, folder: Path | None):
        self.path = None if folder is None else folder / DONE
        self.state = _state()

    def finished(self) -> set[str]:
        try:
            lines = self.path.read_text().splitlines() if self.path is not None else []
        except OSError:
            return set()
        return {line.partition(" ")[2] for line in lines if line.startswith(f"{self.state} ")}

    def note(self, title: str) -> None:
        if self.path is not None and self.path.parent.is_dir():
            with self.path.open("a") as file:
                file.write(f"{self.state} {title}\n")


# ---------------------------------------------------------------------------- running them


def warmup(
    only: str | Sequence[str] | None = None,
    progress: Progress | None = None,
    *,
    dtype: str | None = None,
    n_jobs: int | None = None,
) -> int:
    """Compile kernels into the on-disk cache, on all cores.

    Parameters
    ----------
    only : str or list of str, default=None
        A family, that is a submodule such as "cluster", or one estimator or function such as
        "cluster.KMeans"; or several. None means everything.
    progress : callable, default=None
        Called as ``progress(what, done, total)`` before each step.
    dtype : {"float64", "float32"}, default=None
        Compile for this type of data only. None means both.
    n_jobs : int, default=None
        Processes. None means one for each core. 1 means this process, which then has the kernels
        loaded (but another process where a wheel brought code: what is loaded cannot be replaced).
        Interrupted or repeated in other processes, it leaves out what was finished before.

    Returns
    -------
    n_compiled : int
        Functions compiled now; those found in the cache do not count.

    Examples
    --------
    >>> import fastml
    >>> fastml.warmup()  # doctest: +SKIP
    """
    from fastml._jit import cache_folder, jit_enabled, prebuilt_shelves
    from fastml._threads import effective_n_threads

    n_jobs = effective_n_threads(n_jobs)
    chosen = steps(only, dtype)
    here = n_jobs == 1 and not prebuilt_shelves()
    if here or cache_folder() is None or not jit_enabled() or not sys.executable:
        return _in_this_process(chosen, progress)
    return in_processes(chosen, n_jobs, progress, folder=cache_folder())


def _in_this_process(chosen: Sequence[Step], progress: Progress | None) -> int:
    from fastml._jit import compile_both_twins, statistics

    before = statistics.compiled
    with compile_both_twins(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for done, step in enumerate(chosen):
            if progress is not None:
                progress(step.title, done, len(chosen))
            assert step.call is not None
            step.call()
    return statistics.compiled - before


def in_processes(
    chosen: Sequence[Step],
    n_processes: int,
    progress: Progress | None,
    folder: Path | None,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run the steps in processes of their own, under further variables of the environment."""
    diary = _Diary(folder)
    finished = diary.finished()
    groups: dict[tuple[str, str], list[Step]] = {}
    for step in chosen:
        if step.title not in finished:
            groups.setdefault((step.family, step.path), []).append(step)
    if not groups:
        return 0
    pool = _Pool(sorted(groups.values(), key=len), len(chosen), progress, diary)
    return pool.run(min(n_processes, len(groups)), {**os.environ, **(environment or {})})


class _Pool:
    """Processes that take the longest group of steps that is left, one after the other.

    A step that fails, or ends its process, does not keep the others from being done.
    """

    def __init__(self, groups, total: int, progress: Progress | None, diary: _Diary):
        self.waiting = deque(groups)  # the longest last
        self.total, self.done = total, total - sum(map(len, groups))
        self.progress, self.diary = progress, diary
        self.lock = threading.Lock()
        self.n_compiled = 0
        self.errors: list[str] = []
        self.workers: list[subprocess.Popen] = []
        self.stopped = False

    def run(self, n_processes: int, environment: Mapping[str, str]) -> int:
        quiet = {**environment, "FASTML_QUIET": "1", "OMP_WAIT_POLICY": "passive"}
        quiet["FASTML_NO_PREBUILT"] = "1"  # what a wheel brought would be loaded, not compiled
        if n_processes > 1:  # BLAS's threads spin while they wait: other processes need the cores
            quiet["OPENBLAS_NUM_THREADS"] = "1"
        threads = [threading.Thread(target=self._drive, args=(quiet,)) for _ in range(n_processes)]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            with self.lock:
                self.stopped = True
            for worker in self.workers:
                worker.kill()  # its answers are here, and what it compiled is on disk
                with contextlib.suppress(OSError):  # what it was not told is lost
                    worker.communicate()
        left = sum(map(len, self.waiting))
        if self.errors or left:
            summary = [f"{self.done} of {self.total} steps are done"]
            raise StepError("\n".join(self.errors + summary), self.n_compiled)
        return self.n_compiled

    def _start(self, environment: Mapping[str, str]) -> subprocess.Popen | None:
        root = str(Path(__file__).parents[1])
        program = f"import sys; sys.path.insert(0, {root!r}); import fastml._warmup as w; w.work()"
        with self.lock:
            if self.stopped:
                return None
            worker = subprocess.Popen(
                [sys.executable, "-c", program],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
                start_new_session=True,  # Ctrl-C is for this process
            )
            self.workers.append(worker)
        return worker

    def _drive(self, environment: Mapping[str, str]) -> None:
        """Have a process do groups of steps until none is left; another one where it ends."""
        worker, answered = self._start(environment), True
        while worker is not None and (group := self._next()):
            for step in group:
                self._tell(step)
                answer = _answer(worker, step)
                self._finish(step, answer)
                if answer is not None:
                    answered = True
                    continue
                # After a second process that did not answer once the next would not either.
                worker, answered = self._start(environment) if answered else None, False
                if worker is None:
                    return

    def _next(self) -> list[Step] | None:
        with self.lock:
            return self.waiting.pop() if self.waiting and not self.stopped else None

    def _tell(self, step: Step) -> None:
        if self.progress is not None:
            with self.lock:
                self.progress(step.title, self.done, self.total)

    def _finish(self, step: Step, answer: int | str | None) -> None:
        with self.lock:
            if self.stopped:
                return
            if answer is None:
                self.errors.append(f"a process of the warm-up ended at {step.title}")
            elif isinstance(answer, str):
                self.errors.append(f"{step.title} failed:\n{answer}")
            else:
                self.done += 1
                self.n_compiled += answer
                self.diary.note(step.title)


def _answer(worker: subprocess.Popen, step: Step) -> int | str | None:
    """How many functions a process compiled in a step, or why it failed; None if it ended."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        worker.stdin.write(json.dumps([step.family, step.what]) + "\n")
        return json.loads(worker.stdout.readline())
    except (OSError, ValueError):
        return None


def work() -> None:
    """A process of the pool: reads the names of steps, answers how many functions it compiled."""
    import traceback

    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a step prints is not an answer
    known: dict[str, dict[str, Step]] = {}
    for line in sys.stdin:
        family, what = json.loads(line)
        if family not in known:
            all_steps = (*_calls(family), *demo_steps(family))
            known[family] = {step.what: step for step in all_steps}
        try:
            answer: int | str = _in_this_process([known[family][what]], None)
        except Exception:
            answer = traceback.format_exc()
        answers.write(json.dumps(answer) + "\n")
