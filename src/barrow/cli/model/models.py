"""`barrow model list`, `show`, `get`, `where`: what opens, what a file holds, published weights."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.options import AsJson
from barrow.cli.progress import progress_bar
from barrow.cli.terminal import printable
from barrow.errors import NotFound, nearest, nearest_path

if TYPE_CHECKING:
    from barrow.weights import Fetched

What = Annotated[
    str,
    typer.Argument(
        metavar="NAME|URL|OWNER/MODEL[@REVISION]",
        help="A name that `list` shows, the URL of a file, or a Hugging Face repository.",
        show_default=False,
    ),
]


def list_models(as_json: AsJson = False) -> None:
    """Families that open, names that `get` knows, and what is in the cache."""
    from barrow.models.huggingface.config import ENCODERS, FAMILIES
    from barrow.weights.hub.download import cached
    from barrow.weights.hub.known import KNOWN

    found = cached(_cache())
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
    typer.echo("\nNames that `barrow model get` knows:")
    width = max(len(entry.name) for entry in KNOWN)
    for entry in KNOWN:
        typer.echo(f"{entry.name:<{width}}  {entry.what}")
    typer.echo("\nOn this machine:" + ("" if found else " nothing"))
    for fetched in found:
        typer.echo(f"{fetched.num_bytes:>15,}  {printable(fetched.what)}  {fetched.path}")


def show(
    path: Annotated[
        str, typer.Argument(metavar="MODEL", help="A folder, a file, or what `get` fetched.")
    ],
    as_json: AsJson = False,
) -> None:
    """Architecture, number of parameters, and a report of every key; reads no weights."""
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
            typer.echo(printable(f"  {name} = {value}"))
    typer.echo(f"keys: {printable(str(found.report))}")


def get(
    what: What,
    sha256: Annotated[
        str | None, typer.Option(help="What the file of a URL must hash to.", show_default=False)
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Hash files that are there already again.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Download a model unless it is in the cache, check its hashes, and print its path."""
    from barrow.weights.hub.download import fetch, source_of

    if "://" not in source_of(what):  # huggingface_hub has progress bars of its own
        return _say(fetch(what, cache=_cache(), sha256=sha256, verify=verify), as_json)
    with progress_bar(f"Fetching {printable(what)}", None) as advance:
        found = fetch(what, cache=_cache(), sha256=sha256, verify=verify, on_bytes=advance)
    return _say(found, as_json)


def where(what: What, as_json: AsJson = False) -> None:
    """Where a model is on this machine; fails if it is not."""
    from barrow.weights.hub.download import where as locate

    _say(locate(what, cache=_cache()), as_json)


def at_step(model: str, step: int | None) -> str:
    """The checkpoint of a step of a run; without a step, the model as it was given."""
    if step is None:
        return model
    from barrow.checkpoint.folder import find_checkpoint

    return os.fspath(find_checkpoint(locate_model(model), step=step))


def locate_model(what: str) -> Path:
    """A path as it is; anything else is searched among the downloads."""
    path = Path(what).expanduser()
    near, kinds = "" if path.exists() else nearest_path(path), "file or folder"
    if path.exists() or (what.startswith((".", "/", "~")) and not near):
        return path
    from barrow.weights.hub.download import where as look
    from barrow.weights.hub.known import KNOWN, known

    try:
        return look(what, cache=_cache()).path
    except NotFound as error:
        is_named = known(what) is not None or "://" in what
        how = str(error) if is_named or not near else near
    except ValueError:
        how = near or nearest(what, (entry.name for entry in KNOWN))
        kinds = kinds if near else "file, folder or known model"
    raise NotFound(f"there is no {kinds} {what}; {how}") from None


def _cache() -> Path:
    from barrow.weights.hub.cache import cache_folder

    return cache_folder(os.environ)


def _say(fetched: Fetched, as_json: bool) -> None:
    if as_json:
        import json

        typer.echo(json.dumps(_as_dict(fetched), indent=1))
    else:
        typer.echo(str(fetched.path))


def _as_dict(fetched: Fetched) -> dict[str, object]:
    from barrow.weights.hub.download import known_sum

    files = [{"name": file.name, "bytes": file.stat().st_size} for file in fetched.files]
    sums = [{"sha256": known} if (known := known_sum(file)) else {} for file in fetched.files]
    listed = [one | known for one, known in zip(files, sums, strict=True)]
    return {"what": fetched.what, "path": str(fetched.path), "files": listed}
