"""Arguments that several verbs share, and the archive they describe."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.terminal import print_table, printable

if TYPE_CHECKING:
    from barrow.archive import Archive, BadLog


class OnBadChoice(StrEnum):
    """What to do about bad input."""

    RAISE = "raise"
    COUNT = "count"


class EngineChoice(StrEnum):
    """Who does the work."""

    LOCAL = "local"
    RAY = "ray"


Source = Annotated[
    str,
    typer.Argument(metavar="PATH", help="A shard, a folder, a glob or a URL.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TokenizerOption = Annotated[
    str | None, typer.Option(help="A tokenizer, where the model has none beside it.")
]
DtypeOption = Annotated[
    str | None,
    typer.Option(
        help="float32, bfloat16 or float16.", show_default="float32 on a CPU, else that of the file"
    ),
]
TensorOption = Annotated[
    int,
    typer.Option(min=1, help="Devices that share the parameters; it divides the model's heads."),
]
StepOption = Annotated[
    int | None,
    typer.Option(min=0, help="Step of the checkpoint of a run.", show_default="the newest"),
]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE",
        help="Import code that saved settings name from this module outside barrow, or from this "
        "Python file; may be repeated.",
        show_default=False,
    ),
]
Workers = Annotated[int, typer.Option(min=0, help="Processes; 0 works in this one.")]
EngineOption = Annotated[EngineChoice, typer.Option(help="Local processes, or Ray.")]
Address = Annotated[
    str | None, typer.Option(help="Of a Ray cluster; without it, one is started here.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KEY=VALUE]…",
        help="Changes to settings, such as domains.arxiv.epochs=1.5 or data.batch=8.",
        show_default=False,
    ),
]
Show = Annotated[
    bool, typer.Option("--show", help="List every KEY with its value and meaning, and stop.")
]
TextKey = Annotated[str, typer.Option(help="Key of the text in foreign records.")]
OnBad = Annotated[
    OnBadChoice, typer.Option(help="Stop at bad input, or count it by reason and continue.")
]
Rejects = Annotated[
    Path | None, typer.Option(help="With --on-bad count: write the bad records to this file.")
]


def open_archive(
    source: str | list[str],
    *,
    text_key: str,
    on_bad: OnBadChoice,
    rejects: Path | None = None,
) -> Archive:
    """The archive that a verb's arguments describe."""
    import barrow.archive

    return barrow.archive.open(
        source,
        text_key=text_key,
        on_bad="count" if on_bad is OnBadChoice.COUNT else "raise",
        rejects=rejects,
    )


def changes(given: list[str] | None, **options: str) -> list[str]:
    """Changes to settings; those that are said by an option are refused, with its name."""
    for assignment in given or ():
        key, _, value = assignment.partition("=")
        if key in options:
            raise typer.BadParameter(f"{key} is an option now: pass {options[key]} {value}")
    return given or []


def print_keys(rows: Iterable[tuple[str, str, str]], *, besides: Collection[str] = ()) -> None:
    """Keys of KEY=VALUE, as `config.describe` gives them, besides those that are options."""
    columns = ("key", "value", "meaning")
    shown = [row for row in rows if row[0] not in besides]
    print_table(columns, shown, left=columns, whole=("key",), width=160)


def is_store(path: str) -> bool:
    """Whether a path is the folder of a token store."""
    from barrow.archive.storage import is_url

    return not is_url(path) and (Path(path) / "store.json").is_file()


def report_bad(bad: BadLog) -> None:
    """Say on stderr what was counted."""
    for reason, count in bad.counts.most_common():
        example = next(error for error in bad.examples if error.reason == reason)
        typer.echo(printable(f"bad input: {count:,} × {reason} (first: {example})"), err=True)
