"""`barrow corpus readers` and `filters`: what a recipe can be written with."""

from __future__ import annotations

from typing import Any

from barrow.cli.terminal import print_table


def readers() -> None:
    """List the readers: the files that each looks for, compressed or not, and what it reads."""
    rows = []
    for one in _classes("readers", but="reader"):
        plain = [p for p in one.patterns if p.rpartition(".")[0] not in one.patterns]
        rows.append((one.__name__, " ".join(plain), _sentence(one)))
    columns = ("reader", "files", "what it reads")
    print_table(columns, rows, left=columns)


def filters() -> None:
    """List the filters, those that edit texts among them."""
    rows = [(one.__name__, _sentence(one)) for one in _classes("filters", but="filter")]
    print_table(("filter", "what it does"), rows, left=("filter", "what it does"))


def _classes(part: str, *, but: str) -> list[Any]:
    """The public settings of a part, without its base classes."""
    from dataclasses import is_dataclass

    from barrow import corpus

    home = f"barrow.corpus.{part}."
    found = [getattr(corpus, name) for name in sorted(corpus.__all__)]
    ours = [one for one in found if getattr(one, "__module__", "").startswith(home)]
    bases = (f"{home}{but}", f"{home}texts")
    return [one for one in ours if is_dataclass(one) and one.__module__ not in bases]


def _sentence(one: Any) -> str:
    """The first line of the docstring."""
    return str(one.__doc__.partition("\n")[0].rstrip("."))
