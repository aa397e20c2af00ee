"""`barrow corpus readers` and `filters`: what a recipe can be written with, and its settings."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from barrow.cli.options import AsJson, print_keys
from barrow.cli.terminal import print_table

Name = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", help="List the settings of this one.", show_default=False),
]


def readers(name: Name = None, as_json: AsJson = False) -> None:
    """List the readers: the files that each looks for, compressed or not, and what it reads.

    With NAME, the settings of one.
    """
    rows = []
    for one in _classes("readers", but="reader"):
        plain = [p for p in one.patterns if p.rpartition(".")[0] not in one.patterns]
        rows.append((one.__name__, " ".join(plain), _sentence(one)))
    _tell("readers", ("reader", "files", "what it reads"), rows, name, as_json=as_json)


def filters(name: Name = None, as_json: AsJson = False) -> None:
    """List the filters, those that edit texts among them; with NAME, the settings of one."""
    rows = [(one.__name__, _sentence(one)) for one in _classes("filters", but="filter")]
    _tell("filters", ("filter", "what it does"), rows, name, as_json=as_json)


def _tell(
    part: str, columns: tuple[str, ...], rows: list[Any], name: str | None, *, as_json: bool
) -> None:
    """Print the table, or the settings of one; as JSON, both."""
    import inspect

    from barrow import corpus
    from barrow.errors import nearest

    known = {row[0]: row for row in rows}
    if name is not None and name not in known:
        hint = nearest(name, known)
        raise typer.BadParameter(f"there is no {part[:-1]} {name!r}; {hint}")
    if as_json:
        import json

        chosen = [known[name]] if name is not None else rows
        said = [
            dict(zip(columns, row, strict=True)) | {"settings": _settings(row[0])} for row in chosen
        ]
        typer.echo(json.dumps(said))
        return
    if name is None:
        print_table(columns, rows, left=columns, whole=columns[:1])
        return
    typer.echo(inspect.cleandoc(getattr(corpus, name).__doc__) + "\n")
    print_keys((row["key"], row["default"], row["meaning"]) for row in _settings(name))


def _settings(name: str) -> list[dict[str, str]]:
    """The settings of a reader or filter: key, default as JSON, and meaning."""
    import json
    from dataclasses import MISSING, fields

    from barrow import corpus
    from barrow.config import meanings, to_dict

    kind = getattr(corpus, name)
    said = meanings(kind)
    rows = []
    for field in fields(kind):
        value = field.default
        if field.default_factory is not MISSING:
            value = field.default_factory()
        default = "required"
        if value is not MISSING:
            default = json.dumps(getattr(value, "__name__", None) or to_dict(value))
        rows.append({"key": field.name, "default": default, "meaning": said.get(field.name, "")})
    return rows


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
