"""`barrow tokens pairs`: image–text pairs, indexed once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.options import AsJson
from barrow.cli.progress import progress_bar
from barrow.cli.terminal import printable

if TYPE_CHECKING:
    from barrow.stream.pairs import PairIndex


class CaptionsOf(StrEnum):
    """Where the captions of a folder's images come from."""

    AUTO = "auto"
    TXT = "txt"
    FOLDER = "folder"
    NAME = "name"


def index(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE…",
            help="Folders of images, .jsonl files with paths, tars (webdataset) or parquet files.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The index, a folder.")],
    captions: Annotated[
        CaptionsOf,
        typer.Option(
            help="Of a folder's images: text files beside, names of folders, or of files."
        ),
    ] = CaptionsOf.AUTO,
    image_key: Annotated[
        str | None, typer.Option(help="Key or column of the image.", show_default="the usual ones")
    ] = None,
    caption_key: Annotated[
        str | None,
        typer.Option(help="Key or column of the captions.", show_default="the usual ones"),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Decode every image; leave out, and name, broken ones.")
    ] = False,
    outside: Annotated[
        bool,
        typer.Option(
            "--outside", help="Follow paths and links that lead out of a source's folder."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look through sources once, and write where every image and its captions are."""
    from barrow.stream.pairs import index_pairs

    with progress_bar("Indexing", None) as advance:
        made = index_pairs(
            sources,
            out,
            captions=captions.value,
            image_key=image_key,
            caption_key=caption_key,
            check=check,
            outside=outside,
            on_progress=advance,
        )
    _print(made, as_json=as_json, samples=0)


def show(
    index: Annotated[Path, typer.Argument(help="An index of pairs.", show_default=False)],
    limit: Annotated[
        int, typer.Option("-n", "--limit", help="Pairs to show of each source.", min=0)
    ] = 3,
    as_json: AsJson = False,
) -> None:
    """Sources, pairs and captions of an index, what was left out, and some pairs."""
    from barrow.stream.pairs import open_index

    _print(open_index(index), as_json=as_json, samples=limit)


def _print(index: PairIndex, *, as_json: bool, samples: int) -> None:
    from barrow import config

    manifest = index.manifest
    if as_json:
        typer.echo(config.to_json(manifest), nl=False)
        return
    checked = "every image decoded" if manifest.is_checked else "images not checked (see --check)"
    typer.echo(
        f"{manifest.pairs:,} pairs, {manifest.captions:,} captions, "
        f"{manifest.image_bytes:,} bytes of images; {checked}"
    )
    for domain, numbers in zip(manifest.domains, index.ranges, strict=True):
        copied = f", {domain.copied_bytes:,} bytes copied" if domain.copied_bytes else ""
        where = printable(f"{domain.name}  {domain.kind} {domain.root}")
        typer.echo(f"  {where}: {domain.pairs:,} pairs{copied}")
        for number in numbers[:samples]:
            captions = " | ".join(index.captions(number))
            typer.echo(f"    {number} {printable(index.name(number))}: {printable(captions)}")
    for reason, count in manifest.left_out.items():
        typer.echo(f"left out: {count:,} × {reason} (see {index.folder / 'left_out.jsonl'})")
