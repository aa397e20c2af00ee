"""`barrow corpus pack`: any files of records to an archive."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.options import (
    AsJson,
    OnBad,
    OnBadChoice,
    Rejects,
    TextKey,
    open_archive,
    report_bad,
)
from barrow.cli.progress import progress_bar
from barrow.files import local_path, remove

if TYPE_CHECKING:
    from barrow.archive import Archive, BadLog, Document

_PART = re.compile(r"\d{5}(-[0-9a-f]{8})?\.parquet")


def pack(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH…", help="Files, folders, globs or URLs to read.", show_default=False
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="A folder, or one file: NAME.jsonl.zst or NAME.parquet.", show_default=False
        ),
    ],
    parquet: Annotated[
        bool,
        typer.Option("--parquet", help="Parquet files: one for each shard and split of a corpus."),
    ] = False,
    text_key: TextKey = "text",
    level: Annotated[int, typer.Option(help="zstandard level.")] = 3,
    shard_size: Annotated[
        int, typer.Option(min=1, help="Bytes of JSON lines in a shard of a folder.")
    ] = 1 << 29,
    append: Annotated[bool, typer.Option("--append", help="Add to an archive.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace one shard, or Parquet files.")
    ] = False,
    threads: Annotated[
        int, typer.Option(min=0, help="Threads that compress; 0 for one per core.")
    ] = 0,
    on_bad: OnBad = OnBadChoice.RAISE,
    rejects: Rejects = None,
    as_json: AsJson = False,
) -> None:
    """Read .jsonl, .jsonl.zst, .jsonl.gz, .json or .parquet and write an archive, or Parquet."""
    from barrow.ahead import available_cores
    from barrow.archive import Writer

    if parquet or out.suffix == ".parquet":
        _refuse(inputs, local_path(out), overwrite=overwrite)

        def opened(source: list[str]) -> Archive:
            return open_archive(source, text_key=text_key, on_bad=on_bad, rejects=rejects)

        _print_end(out, *_pack_parquet(inputs, out, opened, shard_size), as_json=as_json)
        return
    writer = Writer(  # first: what it refuses must not cost the rejects of an earlier call
        out,
        level=level,
        shard_size=shard_size,
        append=append,
        overwrite=overwrite,
        threads=threads or available_cores(),
    )
    with progress_bar("Packing", None) as advance, writer:
        archive = open_archive(inputs, text_key=text_key, on_bad=on_bad, rejects=rejects)
        for document in archive:
            writer.add(document)
            advance(len(document.text))
    _print_end(out, writer.num_documents, archive.bad, as_json=as_json)


def _refuse(inputs: list[str], out: Path, *, overwrite: bool) -> None:
    """Parquet files are not part of a corpus: it could not verify them or take documents out."""
    for given in inputs:
        if (Path(given) / "archive.json").is_file() and out.resolve().is_relative_to(
            Path(given).resolve()
        ):
            raise typer.BadParameter(f"--out must not be inside {given}, got {out}")
    if not overwrite and (out.is_file() or (out.is_dir() and any(out.iterdir()))):
        raise FileExistsError(f"{out} exists; pass --overwrite, or another --out")


def _pack_parquet(
    inputs: list[str], out: Path, opened: Callable[[list[str]], Archive], file_size: int
) -> tuple[int, BadLog]:
    """Write one file, or a folder: of a corpus a file for each shard, in a folder by split."""
    from barrow.archive import BadLog
    from barrow.archive.foreign.parquet_writer import write_parquet, write_parquet_folder
    from barrow.corpus.folder import archive_folders

    corpus = Path(inputs[0])
    with progress_bar("Packing", None) as advance:

        def read(archive: Archive) -> Iterator[Document]:
            for document in archive:
                yield document
                advance(len(document.text))

        if out.suffix == ".parquet":
            archive = opened(inputs)
            return write_parquet(out, read(archive)), archive.bad
        if len(inputs) > 1 or not (corpus / "manifest.json").is_file():
            archive = opened(inputs)
            num = write_parquet_folder(out, read(archive), file_size=file_size)
            return num, archive.bad
        total, written = 0, set()
        for split, folder in archive_folders(corpus).items():
            for shard in opened([str(folder)]).paths:
                path = out / split / Path(shard).name.replace(".jsonl.zst", ".parquet")
                total += write_parquet(path, read(opened([shard])))
                written.add(path)
        _remove(path for path in out.glob("*/*.parquet") if path not in written)
        return total, BadLog()


def _remove(paths: Iterable[Path]) -> None:
    """Files of an earlier export of the corpus, in which may be what was taken down since."""
    for path in paths:
        if _PART.fullmatch(path.name):
            remove(path)


def _print_end(out: Path, num_documents: int, bad: BadLog, *, as_json: bool) -> None:
    if as_json:
        import msgspec

        summary = {"out": str(out), "documents": num_documents, "bad": dict(bad.counts)}
        typer.echo(msgspec.json.encode(summary).decode())
    else:
        typer.echo(f"{num_documents:,} documents → {out}")
        report_bad(bad)
