"""Coordinate descent on the columns that matter: working sets that grow until the gap is small.

Most weights of a sparse solution stay 0, and a pass over all columns is only needed to say so. The
solver keeps the Gram matrix of the columns that matter and works on that; then one product A'r with
all columns gives the duality gap of the whole problem, and the columns to add: those that
the strong rule (Tibshirani et al., 2012) expects, or that pull hardest. Where that takes several
rounds, columns whose weights are 0 for certain (`screening`) are left out of the later ones. The
pulls that descent starts from are those of the residual itself, so that rounding of the Gram matrix
does not add up.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.screening import lengths, safe_ball
from fastml._threads import single_threaded_blas
from fastml.kernels.linear.gram_descent import Net, descend, objective_and_gap
from fastml.kernels.linear.group_descent import group_descend, group_gap

FIRST_SET = 200
"""Columns of the first working set; later ones have up to twice the columns in use."""

NEARLY = 0.9
"""Share of l1 that a column must pull with to enter a working set."""

NEWTON_WEIGHTS, PASSES_IN_TURN = 150, 1
"""Weights in use from which Newton steps pay, and passes of descent between them."""

CHANGED = 0.1
"""Share of the columns in use that may change before they are factorised anew."""

SMALLEST_PIVOT = 1e-6
"""Of Cholesky's factor, over the largest: below it a Newton step is not tried."""

SCREEN_FROM, SCREENED_PAYS = 3, 0.5
"""Rounds that were not the last of their penalty from which columns are screened (their lengths are
a pass over X), and the share of columns up to which it pays to go on with those that are left."""

INNER = 0.3
"""Share of the tolerance to which a working set is solved."""


SPARE, FORGETFUL = 32, 8
"""One column in so many that there is room for beforehand, and that is kept though not in use."""


class GramCache:
    """Gram matrix of the columns of A that were asked for, in the order of ``chosen``.

    The columns themselves are read where they lie in X, a block of rows at a time.
    """

    def __init__(self, design: CentredDesign):
        self.design = design
        self.slot = np.full(design.n_features, -1, dtype=np.intp)
        self.chosen = np.empty(0, dtype=np.intp)
        self._values = np.zeros(0)

    @property
    def gram(self) -> NDArray:
        """With room for more columns than are ``chosen``."""
        size = math.isqrt(len(self._values))
        return self._values.reshape(size, size)

    def add(self, columns: NDArray) -> None:
        new = columns[self.slot[columns] < 0]
        while len(new):
            m = len(self.chosen)
            k = min(len(new), self.design.columns_at_once())
            self._make_room(m + k, m + len(new))
            self.slot[new[:k]] = np.arange(m, m + k)
            self.chosen = np.append(self.chosen, new[:k])
            block = self.design.inner(self.chosen, k)
            gram = self.gram
            gram[m : m + k, : m + k] = block
            gram[:m, m : m + k] = block[:, :m].T
            new = new[k:]

    def _make_room(self, needed: int, soon: int) -> None:
        """For so many columns: the memory grows where it is, and rows move apart in it."""
        size, m = math.isqrt(len(self._values)), len(self.chosen)
        if needed <= size:
            return
        larger = soon + max(32, soon // SPARE)
        self._values.resize(larger * larger, refcheck=False)
        for i in range(m - 1, 0, -1):
            self._values[i * larger : i * larger + m] = self._values[i * size : i * size + m]

    def keep(self, wanted: NDArray) -> NDArray:
        """Forget the columns that are not ``wanted`` (by slot); returns the new slots of all."""
        kept = np.flatnonzero(wanted)
        slots = np.full(len(self.chosen), -1, dtype=np.intp)
        slots[kept] = np.arange(len(kept))
        gram = self.gram
        for i, j in enumerate(kept):  # never behind the rows still to be read
            gram[i, : len(kept)] = gram[j, kept]
        self.slot[self.chosen] = slots
        self.chosen = self.chosen[kept]
        return slots


class Restricted(NamedTuple):
    """The problem on the columns ``order`` of those kept, with their Gram matrix and A'b."""

    gram: NDArray
    cross: NDArray
    square: float
    order: NDArray
    net: Net

    def solve(self, w, pull, tol, most, at_least, factor: ActiveFactor) -> int:
        """Passes until the gap is ``tol`` · \\|b\\|²; changes ``w`` and ``pull``.

        Where many weights are in use, a few passes of coordinate descent find which and of which
        signs, and a Newton step solves for these; in turns.
        """
        gram, cross, square, order, net = self
        passes, fewest, steps = 0, at_least, 0
        while passes < most:
            turn = most - passes
            if np.count_nonzero(w) >= NEWTON_WEIGHTS:
                turn = min(turn, PASSES_IN_TURN)
            gap, more = descend(gram, cross, square, pull, w, order, net, tol, turn, fewest)
            passes, fewest = passes + more, 0
            if more < turn or turn > PASSES_IN_TURN or (steps and gap <= tol * square):
                break
            steps += 1
            if not self.newton_step(w, pull, factor):
                turn = most - passes
                passes += descend(gram, cross, square, pull, w, order, net, tol, turn, 0)[1]
                break
        return passes

    def newton_step(self, w, pull, factor: ActiveFactor) -> bool:
        """Whether a step for the weights in use, their signs kept, changed ``w`` and ``pull``.

        It minimises the objective where it is quadratic. Weights that would change their signs
        become 0, if that is an improvement; else the step ends where the first one does.
        """
        gram, cross, square, order, net = self
        active = np.flatnonzero(w)
        if len(active) < NEWTON_WEIGHTS:
            return False
        old = w[active]
        signs = np.sign(old)
        new = factor.solve(gram, active, net.l2, cross[active] - net.l1 * signs)
        if new is None:
            return False
        before, _ = objective_and_gap(cross, square, pull, w, order, net)
        turned = new * signs < 0.0
        tries = [np.where(turned, 0.0, new)]
        if turned.any():
            share = old[turned] / (old[turned] - new[turned])
            last = share.min()
            part = old + last * (new - old)
            part[np.flatnonzero(turned)[share == last]] = 0.0
            tries.append(np.where(part * signs < 0.0, 0.0, part))
        m = len(w)
        for values in tries:
            step, tried = np.zeros(m), w.copy()
            step[active], tried[active] = values - old, values
            with single_threaded_blas():
                tried_pull = pull - gram[:m, :m] @ step
            if objective_and_gap(cross, square, tried_pull, tried, order, net)[0] < before:
                w[:], pull[:] = tried, tried_pull
                return True
        return False


class ActiveFactor:
    """Cholesky's factor for a set of columns; solves for sets that differ from it by a few."""

    def __init__(self):
        self.columns = np.empty(0, dtype=np.intp)
        self.l2, self.factor = -1.0, None

    def solve(self, gram, active, l2, right):
        """(gram + l2)⁻¹ right on the columns ``active``, ascending; None if nearly singular."""
        with single_threaded_blas():
            joined = np.setdiff1d(active, self.columns, assume_unique=True)
            gone = np.flatnonzero(np.isin(self.columns, active, assume_unique=True, invert=True))
            changes = len(joined) + len(gone)
            if self.factor is None or l2 != self.l2 or changes > CHANGED * len(active):
                if not self._renew(gram, active, l2):
                    return None
                joined, gone = joined[:0], gone[:0]
            return self._bordered(gram, active, right, joined, gone)

    def _renew(self, gram, active, l2) -> bool:
        from scipy.linalg.lapack import dpotrf

        self.factor = None  # its memory is free for the next one
        matrix = gram[np.ix_(active, active)]
        matrix.flat[:: len(active) + 1] += l2
        factor, failure = dpotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
        pivots = np.diag(factor)
        if failure or not pivots.min() > SMALLEST_PIVOT * pivots.max():
            return False
        self.columns, self.l2, self.factor = active, l2, factor
        return True

    def _bordered(self, gram, active, right, joined, gone):
        """By the factor with rows for columns that joined, and multipliers of those gone."""
        from scipy.linalg.lapack import dtrtrs

        n, n_joined, n_gone = len(self.columns), len(joined), len(gone)
        size = int(gram.shape[0])
        whole = np.zeros(size)
        whole[active] = right
        sides = np.zeros((n, n_joined + n_gone + 1), order="F")
        sides[:, :n_joined] = gram[np.ix_(joined, self.columns)].T
        sides[gone, np.arange(n_joined, n_joined + n_gone)] = 1.0
        sides[:, -1] = whole[self.columns]
        half = dtrtrs(self.factor, sides, lower=1, overwrite_b=1)[0]
        border, own = half[:, :-1], half[:, -1]
        if border.shape[1]:
            corner = np.zeros((border.shape[1],) * 2)
            corner[:n_joined, :n_joined] = gram[np.ix_(joined, joined)]
            corner.flat[: n_joined * len(corner) : len(corner) + 1] += self.l2
            try:
                extra = np.linalg.solve(
                    corner - border.T @ border,
                    np.append(whole[joined], np.zeros(n_gone)) - border.T @ own,
                )
            except np.linalg.LinAlgError:
                return None
            own = own - border @ extra
            whole[joined] = extra[:n_joined]
        whole[self.columns] = dtrtrs(self.factor, own, lower=1, trans=1)[0]
        found = whole[active]
        return found if np.isfinite(found).all() else None


class WorkingSets:
    """State of a path: weights, residual and pulls of every column.

    ``b`` has one column a target, or is one vector. ``order`` may shuffle a working set.
    """

    def __init__(self, design: CentredDesign, b: NDArray, positive=False, start=None, shuffle=None):
        self.design, self.b, self.positive, self.shuffle = design, b, positive, shuffle
        self.square = float((b * b).sum())
        self.cross = design.transposed(b)
        self.cache = GramCache(design)
        self.factor = ActiveFactor()
        self.w = np.zeros(self.cross.shape)
        self.pull, self.residual = self.cross, b
        self.everything = np.arange(design.n_features)
        self.left = self.everything  # columns that are not screened at this penalty
        self.squares: NDArray | None = None  # of all columns, once they are asked for
        self.rounds = 0  # that were not the last of their penalty
        if start is not None and start.any():
            self.w[:] = start
            self.cache.add(self.support())
            self._renew()

    def support(self) -> NDArray:
        return np.flatnonzero(self.w if self.w.ndim == 1 else self.w.any(axis=1))

    def _renew(self):
        """Residual and pulls of the weights as they are; pulls of screened columns become 0."""
        self.residual = self.b - self.design.fitted(self.w, self.support())
        if self.left is self.everything:
            self.pull = self.design.transposed(self.residual)
            return
        self.pull = np.zeros(self.w.shape)
        self.pull[self.left] = self.design.transposed(self.residual, self.left)

    def _screen(self, l1: float, l2: float) -> None:
        """Leave out columns whose weights are 0 at this penalty's minimum, if there are many."""
        self.rounds += 1
        if self.rounds < SCREEN_FROM:
            return
        single = self.design.X.dtype == np.float32
        ball = safe_ball(
            self.b, self.residual, self.pull - l2 * self.w, self.w, l1, l2,
            positive=self.positive, rounding=1e-6 if single else 1e-13,
        )  # fmt: skip
        enough = SCREENED_PAYS * len(self.everything)
        # Until the lengths are known, that of columns in use tells whether to ask for them.
        typical = float(np.median(np.diag(self.cache.gram)[: len(self.cache.chosen)]))
        if self.squares is None:
            if np.count_nonzero(~ball.excluded(typical, l1, l2)) > enough:
                return
            self.squares = self.design.column_squares()
        open_ = ~ball.excluded(self.squares, l1, l2) | (lengths(self.w, False) > 0.0)
        left = self.left[open_[self.left]]
        if len(left) <= enough:
            self.left = left

    def _unscreen(self) -> None:
        """Another penalty may use every column again."""
        if self.left is not self.everything:
            self.left = self.everything
            self._renew()

    def gap(self, l1: float, l2: float) -> float:
        if self.w.ndim == 1:
            net = Net(l1, l2, self.positive)
            return objective_and_gap(self.cross, self.square, self.pull, self.w, self.left, net)[1]
        return group_gap(self.cross, self.square, self.pull, self.w, self.left, l1, l2)

    def solve(self, l1: float, l2: float, tol: float, most: int, before: float | None = None):
        """(gap, passes), to a gap of ``tol`` · \\|b\\|²; ``before``: l1 of the solution at hand."""
        passes = 0
        self._unscreen()
        if before is not None:
            self._forget(2.0 * l1 - before, l2)
        gap = self.gap(l1, l2)
        at_least = 0 if before is None else 1  # a new penalty of a path has weights of its own
        while (gap > tol * self.square or at_least) and passes < most:
            columns = self._choose(l1, l2, before)
            before = None
            self.cache.add(columns)
            moved, more = self._descend(columns, l1, l2, INNER * tol, most - passes, at_least)
            passes, at_least = passes + more, 0
            if not moved:
                break
            self._renew()
            gap = self.gap(l1, l2)
            if gap > tol * self.square and l1 > 0.0:
                self._screen(l1, l2)
        return gap, passes

    def _forget(self, threshold: float, l2: float) -> None:
        """The Gram matrix of a path keeps few more columns than are in use or about to be."""
        cache = self.cache
        slots = cache.slot[self.support()]
        if len(cache.chosen) > max(FIRST_SET, len(slots) + len(slots) // FORGETFUL):
            slopes = self.pull[cache.chosen] - l2 * self.w[cache.chosen]
            wanted = lengths(slopes, self.positive) >= max(threshold, 0.0)
            wanted[slots] = wanted[self.factor.columns] = True
            self.factor.columns = cache.keep(wanted)[self.factor.columns]

    def _choose(self, l1, l2, before) -> NDArray:
        """The columns in use, and those that pull hardest."""
        scores = lengths(self.pull - l2 * self.w, self.positive)
        support = self.support()
        scores[support] = -1.0
        threshold, most = NEARLY * l1, max(FIRST_SET, 2 * len(support))
        if before is not None:
            threshold, most = min(threshold, 2.0 * l1 - before), 5 * most
        entering = self.left[scores[self.left] >= max(threshold, 0.0)]
        if len(entering) > most:
            entering = entering[np.argpartition(-scores[entering], most)[:most]]
        chosen = np.concatenate([support, entering])
        return chosen if self.shuffle is None else self.shuffle.permutation(chosen)

    def _descend(self, columns, l1, l2, tol, most, at_least):
        """(whether a weight moved, passes): descent on the working set alone."""
        cache = self.cache
        order = cache.slot[columns]
        w, pull = self.w[cache.chosen], self.pull[cache.chosen]
        cross = self.cross[cache.chosen]
        old = w.copy()
        if w.ndim == 1:
            net = Net(l1, l2, self.positive)
            problem = Restricted(cache.gram, cross, self.square, order, net)
            passes = problem.solve(w, pull, tol, most, at_least, self.factor)
        else:
            _, passes = group_descend(
                cache.gram, cross, self.square, pull, w, order, l1, l2, tol, most
            )
        self.w[cache.chosen] = w
        return bool((w != old).any()), passes
