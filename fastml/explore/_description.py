"""What `describe` and the analyses of factors return: plain data that prints as a table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastml.explore._text import HEAD, cell, row, short, text_table


class TableFacts(NamedTuple):
    n_rows: int
    method: str
    shares: list[float]
    all_pairs: bool


class Description:
    """What is in a table, as plain data.

    ``columns`` has a dict per column; ``correlations`` a matrix per kind, in the order of the
    columns; ``tests`` the one-factor analysis of every column and the target, ``two_factors`` that
    of the pairs that tell most of it.
    """

    def __init__(self, facts, columns, correlations, target, tests, two_factors, sample):
        self.facts = facts
        self.columns: list[dict[str, Any]] = columns
        self.correlations: dict[str, np.ndarray] = correlations
        self.target: str | None = target
        self.tests: list[dict[str, Any]] = tests
        self.two_factors: list[dict[str, Any]] = two_factors
        self._sample = sample

    @property
    def n_rows(self) -> int:
        return self.facts.n_rows

    @property
    def names(self) -> list[str]:
        return [column["name"] for column in self.columns]

    def __getitem__(self, name: str) -> dict[str, Any]:
        """A column by name."""
        return self.columns[self.names.index(name)]

    def with_target(self, kind: str) -> dict[str, float]:
        """Correlations of one kind of every column with the target; NaN where there is none."""
        if self.target is None:
            raise ValueError("describe was given no target")
        matrix, k = self.correlations[kind], self.names.index(self.target)
        found = {}
        for j, name in enumerate(self.names):
            if j != k:
                value = matrix[j, k] if matrix[j, k] == matrix[j, k] else matrix[k, j]
                found[name] = float(value)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Everything, as `json.dumps` takes it; what is not a number is None."""
        return {
            "n_rows": self.n_rows,
            "n_columns": len(self.columns),
            "quantile_method": self.facts.method,
            "columns": self.columns,
            "correlations": {
                kind: [[float(x) if np.isfinite(x) else None for x in line] for line in matrix]
                for kind, matrix in self.correlations.items()
            },
            "target": self.target,
            "tests": self.tests,
            "two_factors": self.two_factors,
        }

    def to_html(self, file=None, *, title="A table, described") -> str:
        """One page with plots that needs nothing else, written to ``file`` if that is given."""
        from fastml.explore._page import page

        text = page(self, title)
        if file is not None:
            if hasattr(file, "write"):
                file.write(text)
            else:
                with open(file, "w", encoding="utf-8") as stream:
                    stream.write(text)
        return text

    def _repr_html_(self) -> str:
        from fastml.explore._page import overview

        return overview(self)

    def __repr__(self) -> str:
        missing = sum(column["missing"] for column in self.columns)
        many = "1 value" if missing == 1 else f"{missing:,} values"
        parts = [
            f"{self.n_rows:,} rows, {len(self.columns)} columns, {many} missing", "",
            text_table(HEAD, [row(column) for column in self.columns], left=2),
        ]  # fmt: skip
        if self.tests:
            parts += ["", f"with {self.target}", self._test_table()]
        notes = [f"{c['name']}: {', '.join(c['notes'])}" for c in self.columns if c["notes"]]
        return "\n".join([*parts, *([""] if notes else []), *notes])

    def _test_table(self) -> str:
        lines = []
        for found in self.tests:
            first = found["tests"][0] if found["tests"] else {"test": "", "p": None}
            effect = next(iter(found["effect"].items()), ("", None))
            lines.append(
                [found["factor"], effect[0], short(effect[1]), first["test"], short(first["p"])]
            )
        return text_table(["column", "measure", "value", "test", "p"], lines, left=2)


class FactorTests:
    """Tests of a target and one or two factors, as plain data."""

    def __init__(self, found: dict[str, Any]):
        self._found = found

    def to_dict(self) -> dict[str, Any]:
        """Everything, as `json.dumps` takes it."""
        return self._found

    def __getitem__(self, key: str) -> Any:
        return self._found[key]

    def __repr__(self) -> str:
        found = self._found
        if "rows" in found:
            head = f"{found['target']} by {' and '.join(found['factors'])}: {found['n']:,} rows"
            rows = found["rows"]
        else:
            effects = ", ".join(f"{k} {short(v)}" for k, v in found["effect"].items())
            head = f"{found['target']} by {found['factor']}: {found['n']:,} rows, {effects}"
            rows = found["tests"]
        keys = [k for k in ("test", "what", "sum_of_squares", "share", "statistic", "df", "p")
                if any(k in line for line in rows)]  # fmt: skip
        cells = [[cell(line.get(k)) for k in keys] for line in rows]
        return f"{head}\n\n{text_table(keys, cells)}"
