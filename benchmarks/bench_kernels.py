"""The small kernels under everything else, one thread."""

import numpy as np

from .common import Benchmark, find, size

N = size(quick=200_000, full=1_000_000)


class Exp(Benchmark):
    params = (["exp_array", "exp32_array", "log_array"],)
    param_names = ("kernel",)

    def prepare(self, kernel):
        dtype = np.float32 if kernel == "exp32_array" else np.float64
        low, high = (0.01, 100.0) if kernel == "log_array" else (-30.0, 5.0)
        self.values = np.linspace(low, high, N).astype(dtype)
        self.out = np.empty_like(self.values)
        self.kernel = find("kernels.exp", kernel)

    def warm_up(self, kernel):
        self.kernel(self.values[:10], self.out[:10])

    def time_array(self, kernel):
        self.kernel(self.values, self.out)


class Heap(Benchmark):
    param_names = ("k",)
    params = ([10, 100],)

    def prepare(self, k):
        self.distances = np.random.default_rng(0).random(N)
        self.indices = np.arange(N)
        self.best, self.where = np.empty(k), np.empty(k, dtype=np.intp)
        self.clear = find("kernels.heap", "heap_clear")
        self.merge = find("kernels.heap", "heap_merge")
        self.sort = find("kernels.heap", "heap_sort")

    def smallest(self, n):
        self.clear(self.best, self.where)
        self.merge(self.best, self.where, self.distances[:n], self.indices[:n])
        self.sort(self.best, self.where)

    def warm_up(self, k):
        self.smallest(10)

    def time_smallest(self, k):
        self.smallest(N)


class Random(Benchmark):
    def prepare(self):
        self.items = np.arange(N)
        self.state = np.array([1], dtype=np.uint64)
        self.shuffle = find("kernels.rng", "shuffle")

    def warm_up(self):
        self.shuffle(self.state, self.items[:10])

    def time_shuffle(self):
        self.shuffle(self.state, self.items)
