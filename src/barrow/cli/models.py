"""`barrow models`: what opens, what a file holds, and weights fetched into a checksummed cache."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.options import AsJson
from barrow.cli.progress import progress_bar
from barrow.cli.terminal import printable

if TYPE_CHECKING:
    from barrow.weights import Fetched, FetchSettings

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

What = Annotated[
    str,
    typer.Argument(
        metavar="NAME|URL|OWNER/MODEL[@REVISION]",
        help="A name that `list` shows, the URL of a file, or a Hugging Face repository.",
        show_default=False,
    ),
]


@app.callback()
def models() -> None:
    """Models: what opens, what a file holds; published weights, and fetching them."""


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """Families that open, names that `get` knows, and what is in the cache."""
    from barrow.models.hf_config import ENCODERS, FAMILIES
    from barrow.weights.fetch import cached
    from barrow.weights.known import KNOWN

    found = cached(_settings())
    if as_json:
        import json

        names = [{"name": k.name, "source": k.source, "what": k.what} for k in KNOWN]
        listed = {
            "families": {**FAMILIES, **ENCODERS},
            "known": names,
            "cached": [_as_dict(f) for f in found],
        }
        typer.echo(json.dumps(listed, indent=1, ensure_ascii=False))
        return
    typer.echo("Decoders that open (Hugging Face folder, GGUF, llama2.c):")
    for family, what in FAMILIES.items():
        typer.echo(f"{family:<10}  {what}")
    typer.echo("\nEncoders that open (Hugging Face folder):")
    for family, what in ENCODERS.items():
        typer.echo(f"{family:<10}  {what}")
    typer.echo("\nNames that `barrow models get` knows:")
    width = max(len(entry.name) for entry in KNOWN)
    for entry in KNOWN:
        typer.echo(f"{entry.name:<{width}}  {entry.what}")
    typer.echo(f"\nIn the cache, {_settings().cache}:" + ("" if found else " nothing"))
    for fetched in found:
        typer.echo(f"{fetched.num_bytes:>15,}  {printable(fetched.what)}  {fetched.path}")


@app.command("show")
def show(
    path: Annotated[
        str, typer.Argument(metavar="MODEL", help="A folder, a file, or what `get` fetched.")
    ],
    as_json: AsJson = False,
) -> None:
    """Architecture, number of parameters, and what became of every key; reads no weights."""
    from barrow.config import to_dict
    from barrow.models.card import card

    found = card(locate_model(path))
    if as_json:
        import json

        typer.echo(json.dumps(to_dict(found), indent=1, ensure_ascii=False))
        return
    typer.echo(f"{found.family}: {found.num_params:,} parameters, {found.num_bytes:,} bytes")
    typer.echo(f"tokenizer: {'yes' if found.has_tokenizer else 'none'}")
    for name, value in to_dict(found.config).items():
        if value is not None:
            typer.echo(f"  {name} = {value}")
    typer.echo(f"keys: {printable(str(found.report))}")


@app.command("get")
def get(
    what: What,
    sha256: Annotated[
        str | None, typer.Option(help="What the file must hash to.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a model if it is not there yet, and say where it is. Goes on where it was stopped."""
    from barrow.weights.fetch import fetch

    with progress_bar(f"Fetching {printable(what)}", None) as advance:
        _say(fetch(what, settings=_settings(), sha256=sha256, on_bytes=advance), as_json)


@app.command("where")
def where(what: What, as_json: AsJson = False) -> None:
    """Where a model is in the cache; fails if it is not."""
    from barrow.weights.fetch import where as locate

    _say(locate(what, settings=_settings()), as_json)


def locate_model(what: str) -> Path:
    """A path as it is; anything else is looked for in the cache."""
    if Path(what).exists() or what.startswith((".", "/", "~")):
        return Path(what).expanduser()
    from barrow.weights.fetch import where as look

    return look(what, settings=_settings()).path


def _settings() -> FetchSettings:
    from barrow.weights.fetch_settings import settings_from

    return settings_from(os.environ)


def _say(fetched: Fetched, as_json: bool) -> None:
    if as_json:
        import json

        typer.echo(json.dumps(_as_dict(fetched), indent=1))
    else:
        typer.echo(str(fetched.path))


def _as_dict(fetched: Fetched) -> dict[str, object]:
    return {
        "what": fetched.what,
        "path": str(fetched.path),
        "files": [
            {"name": file.path.name, "bytes": file.num_bytes, "sha256": file.sha256}
            for file in fetched.files
        ],
    }
