"""Matches a file's tensors with parameters, and reports those without a match."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from barrow.weights.tensors import Tensors

_SHOWN = 10


@dataclass(frozen=True)
class Mismatch:
    """A tensor whose shape is not the one expected."""

    name: str
    expected: tuple[int, ...]
    found: tuple[int, ...]


@dataclass(frozen=True)
class Matching:
    """The result of comparing a file with the parameters of a model.

    `source` maps the name of each parameter that can be loaded to its tensor in the file.
    `missing` are parameters without a tensor, `unexpected` tensors without a parameter,
    `mismatched` those of equal names and different shapes.
    """

    source: Mapping[str, str]
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    mismatched: tuple[Mismatch, ...]

    @property
    def is_exact(self) -> bool:
        """Whether every parameter has its tensor, and every tensor its parameter."""
        return not (self.missing or self.unexpected or self.mismatched)

    def report(self) -> str:
        """The result in words: a line per kind and per name, at most ten of each kind."""
        shapes = [f"{m.name}: expected {m.expected}, found {m.found}" for m in self.mismatched]
        lines = [f"{len(self.source)} of {self._num_expected} parameters found"]
        for kind, names in (
            ("missing", self.missing),
            ("unexpected", self.unexpected),
            ("mismatched", shapes),
        ):
            lines += _listed(kind, names)
        return "\n".join(lines)

    @property
    def _num_expected(self) -> int:
        return len(self.source) + len(self.missing) + len(self.mismatched)


def match(
    tensors: Tensors,
    expected: Mapping[str, tuple[int, ...]],
    *,
    rename: Callable[[str], str | None] | None = None,
) -> Matching:
    """Match tensors with parameters, given by name and shape.

    `rename` gives the parameter of a tensor of the file, or None for a tensor to ignore, such as a
    buffer that can be computed. Nothing is read.
    """
    name_of = rename or _same
    target = {name: new for name in tensors if (new := name_of(name)) is not None}
    origin: dict[str, str] = {}
    for name, new in target.items():
        if new in origin:
            raise ValueError(f"{origin[new]!r} and {name!r} both map to {new!r}")
        origin[new] = name
    shapes = {new: tensors.entry(name).shape for new, name in origin.items()}
    both = [name for name in expected if name in origin]
    return Matching(
        {name: origin[name] for name in both if shapes[name] == tuple(expected[name])},
        tuple(name for name in expected if name not in origin),
        tuple(name for name, new in target.items() if new not in expected),
        tuple(
            Mismatch(name, tuple(expected[name]), shapes[name])
            for name in both
            if shapes[name] != tuple(expected[name])
        ),
    )


def _same(name: str) -> str:
    return name


def _listed(kind: str, names: Iterable[str]) -> list[str]:
    names = list(names)
    more = [f"  … and {len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return [f"{kind}: {len(names)}", *(f"  {name}" for name in names[:_SHOWN]), *more]
