"""Runs of models on known mixtures, as tables of CSV.

One row is one run: `run` (its name in the file), `params` (the size of its model), `weight:DOMAIN`
(shares of the tokens it was trained on) and `loss:DOMAIN`. A domain that is weighted need not be
scored.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from barrow.errors import ConfigError, NotFound, nearest

Array = npt.NDArray[np.float64]

TOLERANCE = 0.02  # of the sum of weights; what is within is scaled to 1


@dataclass(frozen=True)
class Runs:
    """`weights` by run and domain, `losses` by run and scored domain."""

    names: tuple[str, ...]
    params: Array
    domains: tuple[str, ...]
    weights: Array
    scored: tuple[str, ...]
    losses: Array

    def chosen(self, which: Sequence[int] | npt.NDArray[np.intp]) -> Runs:
        """Some of the runs."""
        names = tuple(self.names[number] for number in which)
        rows = np.asarray(which, np.intp)
        return Runs(
            names,
            self.params[rows],
            self.domains,
            self.weights[rows],
            self.scored,
            self.losses[rows],
        )


def read_runs(paths: Sequence[str | Path]) -> Runs:
    """Read runs from files, which may weight different domains but score the same ones.

    The folder of a search has its runs in runs.csv.
    """
    files = [Path(path) / "runs.csv" if Path(path).is_dir() else Path(path) for path in paths]
    tables = [_Table.read(file) for file in files]
    domains = tuple(dict.fromkeys(name for table in tables for name in table.named("weight:")))
    scored = tables[0].named("loss:")
    for table in tables:
        if set(table.named("loss:")) != set(scored):
            raise ConfigError(
                f"{table.path}: the scored domains must be those of {tables[0].path}: "
                + (", ".join(scored) or "none")
            )
    if not scored:
        raise ConfigError(f"{tables[0].path}: there is no column loss:DOMAIN")
    if len(domains) < 2:
        raise ConfigError(f"a mixture needs ≥ 2 domains, got {len(domains)}")
    names: list[str] = []
    seen: dict[object, str] = {}
    for table in tables:
        table.require("run", "params")
        for number, name in enumerate(table.texts["run"]):
            where = f"{table.path}, line {table.lines[number]}"
            facts = frozenset(
                (column, x) for column in table.values if (x := table.values[column][number])
            )
            # Every file may number its runs from 1; the same run in two files has the same figures.
            for key in ((table.path, name), facts):
                if key in seen:
                    raise ConfigError(f"{where}: run {name} is a duplicate of {seen[key]}")
                seen[key] = where
            names.append(name)
    return Runs(
        tuple(names),
        np.concatenate([table.positive("params") for table in tables]),
        domains,
        np.concatenate([table.weights(domains) for table in tables]),
        scored,
        np.concatenate(
            [np.stack([table.positive(f"loss:{name}") for name in scored], 1) for table in tables]
        ),
    )


def read_mixtures(path: str | Path, domains: Sequence[str]) -> Array:
    """The weights of a table of mixtures; columns other than weights are not used."""
    table = _Table.read(Path(path))
    for name in table.named("weight:"):
        if name not in domains:
            raise ConfigError(f"{path}: no run has the domain {name!r}; {nearest(name, domains)}")
    return table.weights(domains)


def checked_weights(weights: Array, where: Sequence[str]) -> Array:
    """Weights that are ≥ 0 and sum to 1, each row scaled if it is almost so."""
    for row, place in zip(weights, where, strict=True):
        if row.min() < 0:
            raise ConfigError(f"{place}: weights must be ≥ 0, got {row.min():g}")
        if abs(row.sum() - 1) > TOLERANCE:
            raise ConfigError(f"{place}: weights must sum to 1, got {row.sum():.4g}")
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def table_of(columns: Mapping[str, Sequence[object]]) -> str:
    """Columns as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([f"{cell:.6f}" if isinstance(cell, float) else cell for cell in row])
    return file.getvalue()


@dataclass(frozen=True)
class _Table:
    """A file: numbers by column, texts of `run`, and the line of each row."""

    path: Path
    lines: list[int]
    texts: dict[str, list[str]]
    values: dict[str, Array]

    @classmethod
    def read(cls, path: Path) -> _Table:
        if not path.is_file():
            raise NotFound(f"{path}: no such file")
        try:
            with path.open(newline="", encoding="utf-8-sig") as file:
                rows = csv.reader(file)
                header = [name.strip() for name in next(rows, [])]
                found = [(rows.line_num, row) for row in rows if any(row)]
        except (UnicodeDecodeError, csv.Error) as error:
            raise ConfigError(f"{path}: not a CSV file: {error}") from None
        for name in header:
            if header.count(name) > 1:
                raise ConfigError(f"{path}: there are two columns {name!r}")
            if name not in ("run", "params") and not name.startswith(("weight:", "loss:")):
                known = ("run", "params", "weight:DOMAIN", "loss:DOMAIN")
                raise ConfigError(f"{path}: unknown column {name!r}; {nearest(name, known)}")
        if not found:
            raise ConfigError(f"{path}: there are no rows")
        texts: dict[str, list[str]] = {"run": []}
        numbers: dict[str, list[float]] = {name: [] for name in header if name != "run"}
        for line, row in found:
            if len(row) != len(header):
                raise ConfigError(
                    f"{path}, line {line}: {len(header)} values expected, {len(row)} found"
                )
            for name, cell in zip(header, row, strict=True):
                if name == "run":
                    texts[name].append(cell)
                    continue
                try:
                    value = float(cell)
                except ValueError:
                    value = float("nan")
                if not np.isfinite(value):
                    raise ConfigError(f"{path}, line {line}: {name} must be a number, got {cell!r}")
                numbers[name].append(value)
        values = {name: np.array(column) for name, column in numbers.items()}
        return cls(path, [line for line, _ in found], texts, values)

    def named(self, kind: str) -> tuple[str, ...]:
        return tuple(name.removeprefix(kind) for name in self.values if name.startswith(kind))

    def require(self, *names: str) -> None:
        for name in names:
            if not self.texts.get(name) and name not in self.values:
                raise ConfigError(f"{self.path}: there is no column {name!r}")

    def positive(self, name: str) -> Array:
        values = self.values[name]
        if values.min() <= 0:
            line = self.lines[int(values.argmin())]
            raise ConfigError(f"{self.path}, line {line}: {name} must be > 0, got {values.min():g}")
        return values

    def weights(self, domains: Sequence[str]) -> Array:
        zeros = np.zeros(len(self.lines))
        weights = np.stack([self.values.get(f"weight:{name}", zeros) for name in domains], axis=1)
        return checked_weights(weights, [f"{self.path}, line {line}" for line in self.lines])
