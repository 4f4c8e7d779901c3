"""Random numbers inside kernels: one small generator per task, never one per thread.

A task (a tree, an initialisation, a chunk of rows) owns a state array of one ``uint64``, made from
a 64-bit seed that the wrapper drew from ``check_random_state``. So results do not depend on which
thread runs which task. The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable
pseudorandom number generators", OOPSLA 2014): a counter and a bijective mixer, period 2^64; streams
of different seeds start at unrelated places of the cycle.
"""

import numpy as np

from fastml._jit import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def mix64(z):
    """Mix the bits of a uint64: every output bit depends on every input bit, none get lost."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def seed_stream(state, seed, task):
    """Set ``state`` to the stream number ``task`` of ``seed`` (both uint64)."""
    state[0] = mix64(seed + mix64(task + GOLDEN))


@kernel
def next_uint64(state):
    """Advance ``state``; return the next 64 random bits."""
    state[0] += GOLDEN
    return mix64(state[0])


@kernel
def unit_float(bits):
    """A number in [0, 1) from the upper 53 of 64 bits."""
    return np.float64(bits >> np.uint64(11)) * 1.1102230246251565e-16


@kernel
def next_float(state):
    """Advance ``state``; return a number uniform on [0, 1)."""
    return unit_float(next_uint64(state))


@kernel
def next_below(state, n):
    """Advance ``state``; return a uniform integer in [0, n), 0 < n <= 2^32, by Lemire's
    multiplication (2019)."""
    bound = np.uint64(n)
    low_bits = np.uint64(0xFFFFFFFF)
    product = (next_uint64(state) >> np.uint64(32)) * bound
    if (product & low_bits) < bound:
        threshold = (np.uint64(0x100000000) - bound) % bound
        while (product & low_bits) < threshold:
            product = (next_uint64(state) >> np.uint64(32)) * bound
    return np.intp(product >> np.uint64(32))


@kernel
def shuffle(state, items):
    """Put ``items`` in random order, in place (Fisher-Yates); advance ``state``."""
    for i in range(items.shape[0] - 1, 0, -1):
        j = next_below(state, i + 1)
        items[i], items[j] = items[j], items[i]


@kernel
def draw(state, pool, i):
    """Swap a random item of ``pool[i:]`` to place i and return it (a step of Fisher-Yates); advance
    ``state``."""
    j = i + next_below(state, pool.shape[0] - i)
    pool[i], pool[j] = pool[j], pool[i]
    return pool[i]


@kernel
def sample_without_replacement(state, pool, n_draws):
    """Move ``n_draws`` random items to the front of ``pool``; advance ``state``."""
    for i in range(n_draws):
        draw(state, pool, i)


@kernel
def next_normal(state):
    """Advance ``state``; return a standard normal number (Marsaglia's polar method, one number of
    each pair)."""
    while True:
        u = 2.0 * next_float(state) - 1.0
        v = 2.0 * next_float(state) - 1.0
        s = u * u + v * v
        if 0.0 < s < 1.0:
            return u * np.sqrt(-2.0 * np.log(s) / s)


# For trees whose nodes draw independently: a node's seed determines those of its children and
# columns.


@kernel
def child_seed(seed, is_left):
    """The seed of a node's left or right child."""
    return mix64(seed * np.uint64(2) + np.uint64(1 if is_left else 0) + GOLDEN)


@kernel
def column_seed(seed, column):
    """The seed of a column at the node with that seed."""
    return mix64(seed + np.uint64(column) * GOLDEN)


@kernel
def wins_tie(seed, column, other):
    """Whether a column's split replaces an equally good one of another column."""
    return column_seed(seed, column) > column_seed(seed, other)


@kernel
def random_cut(bits, low, high):
    """A random threshold from 64 bits: a float32, as float64, low <= cut < high."""
    low, high = np.float64(low), np.float64(high)
    cut = np.float64(np.float32(low + unit_float(bits) * (high - low)))
    return cut if cut < high else low
