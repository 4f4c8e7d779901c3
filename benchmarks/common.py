"""What every benchmark shares: the size profile, warm kernels, and what is measured per estimator.

`Benchmark` compiles in ``setup`` and fails if the measured part compiled or loaded anything.
`Estimator` adds ``time_fit`` and ``peakmem_fit``; `Predictor` and `Transformer` add
``time_predict`` / ``time_transform`` and ``track_score``.
"""

import contextlib
import importlib
import os
import warnings
from abc import ABC, abstractmethod

# asv forks each benchmark from a server that has loaded this file, hence these two.
import sklearn.metrics  # noqa: F401

import fastml._jit  # noqa: F401

PROFILES = ("quick", "full")


def read_profile(environment=os.environ):
    chosen = environment.get("FASTML_ASV_PROFILE") or "quick"
    if chosen not in PROFILES:
        raise ValueError(f"FASTML_ASV_PROFILE must be one of {PROFILES}, got {chosen!r}")
    return chosen


PROFILE = read_profile()
os.environ.setdefault("FASTML_QUIET", "1")


def size(*, quick, full):
    """One of the two, by profile."""
    return quick if PROFILE == "quick" else full


def find(module, name):
    """fastml's object of that name; in a version that has none, asv skips the benchmark."""
    try:
        return getattr(importlib.import_module(f"fastml.{module}"), name)
    except (ImportError, AttributeError) as missing:
        raise NotImplementedError(f"no fastml.{module}.{name} in this version") from missing


class Benchmark(ABC):
    """``prepare`` makes the data, ``warm_up`` calls once what will be measured.

    asv takes every class that is not abstract for a benchmark: bases must stay abstract.
    """

    timeout = 300
    params = ()
    param_names = ()

    @abstractmethod
    def prepare(self, *params): ...

    @abstractmethod
    def warm_up(self, *params): ...

    def setup(self, *params):
        warnings.simplefilter("ignore")  # fixed work stops before convergence on purpose
        self.prepare(*params)
        with both_twins():
            self.warm_up(*params)
        self._kernels = kernel_count()

    def teardown(self, *params):
        if kernel_count() != getattr(self, "_kernels", kernel_count()):
            raise RuntimeError("a kernel was compiled or loaded inside the measurement: warm it up")


def both_twins():
    """Small data run serially; compile what large data run as well."""
    with contextlib.suppress(ImportError):
        from fastml._jit import compile_both_twins

        return compile_both_twins()
    return contextlib.nullcontext()


def kernel_count():
    from fastml._jit import statistics

    return statistics.compiled + statistics.loaded


class Estimator(Benchmark):
    """Subclasses define ``data(*params)`` → (X, y) and then ``estimator(*params)``."""

    warm_rows = 400

    @abstractmethod
    def data(self, *params): ...

    @abstractmethod
    def estimator(self, *params): ...

    def prepare(self, *params):
        self.X, self.y = self.data(*params)
        self.model = self.estimator(*params)

    def warm_up(self, *params):
        self.model.fit(self.X[: self.warm_rows], self.y[: self.warm_rows])
        self.model.fit(self.X, self.y)

    def time_fit(self, *params):
        self.model.fit(self.X, self.y)

    def peakmem_fit(self, *params):
        self.model.fit(self.X, self.y)


class Predictor(Estimator):
    """``score`` is the estimator's own unless a subclass says otherwise."""

    n_predicted = None

    def warm_up(self, *params):
        super().warm_up(*params)
        self.X_predicted = self.X[: self.n_predicted]
        self.model.predict(self.X[: self.warm_rows])

    def score(self):
        return self.model.score(self.X_predicted, self.y[: self.n_predicted])

    def time_predict(self, *params):
        self.model.predict(self.X_predicted)

    def track_score(self, *params):
        with both_twins():
            score = float(self.score())
        self._kernels = kernel_count()  # scoring is not timed: it may load what it likes
        return score


class Transformer(Estimator):
    def warm_up(self, *params):
        super().warm_up(*params)
        self.model.transform(self.X[: self.warm_rows])

    def time_transform(self, *params):
        self.model.transform(self.X)
