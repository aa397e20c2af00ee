"""Text that is safe to show on a terminal, and tables of it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def printable(text: str) -> str:
    """Text without control characters that would act on the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in text)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: Collection[str] | None = None,
    whole: Collection[str] = (),
    width: int = 120,
) -> None:
    """A table whose cells may say anything: no markup, no control characters, a line each.

    Columns named in `left` (by default the first) hold text and may be folded, but for those in
    `whole`; the others hold figures. `width` is for output that is not a terminal.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def cell(text: str) -> Text:
        return Text(printable(" ".join(text.splitlines())))

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        if name in (columns[:1] if left is None else left):
            table.add_column(cell(name), overflow="fold", no_wrap=name in whole)
        else:
            table.add_column(cell(name), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*map(cell, row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = width
    console.print(table)


@contextmanager
def warnings_in_words() -> Iterator[None]:
    """Say warnings to users on stderr as sentences, without the line of code they are from."""
    others = warnings.showwarning

    def say(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, UserWarning):
            print(f"barrow: {message}", file=sys.stderr, flush=True)  # noqa: T201
        else:
            others(message, category, *where, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = say
        yield
