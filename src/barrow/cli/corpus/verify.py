"""`barrow corpus verify`: whether every byte is what was written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from barrow.cli.options import AsJson, Source, TextKey, is_store
from barrow.cli.progress import progress_bar
from barrow.cli.terminal import printable

_MOST_LINES = 50


def verify(
    path: Source,
    deep: Annotated[bool, typer.Option("--deep", help="Parse every record, too.")] = False,
    as_json: AsJson = False,
    text_key: TextKey = "text",
) -> None:
    """Check every frame, checksum and count. Exits 1 if anything is wrong.

    Of a corpus, also that it is what its manifest says, and that takedowns hold. Of a token store,
    every checksum, offset and id.
    """
    if is_store(path):
        _verify_store(path, as_json)
        return
    import barrow.archive
    from barrow.archive.storage import disk_bytes, is_url

    folder = Path(path)
    if not is_url(path) and (folder / "manifest.json").is_file():
        from barrow.corpus.verify import verify_corpus

        parts = [p for p in (folder, *folder.iterdir()) if (p / "archive.json").is_file()]
        with progress_bar("Verifying", disk_bytes(parts) if parts else 0) as advance:
            result = verify_corpus(folder, deep=deep, on_progress=advance)
    else:
        with progress_bar("Verifying", disk_bytes(path)) as advance:
            result = barrow.archive.verify(path, deep=deep, text_key=text_key, on_progress=advance)
    where = ("reason", "shard", "frame", "document", "cause")
    _tell(result, ("shards", "frames", "documents", "bytes"), where, as_json)


def _verify_store(path: str, as_json: bool) -> None:
    from barrow.tokens.store.verify import verify_store

    size = sum(file.stat().st_size for file in Path(path).glob("*.safetensors"))
    with progress_bar("Verifying", size) as advance:
        result = verify_store(path, on_progress=advance)
    counted = ("files", "documents", "tokens", "bytes")
    _tell(result, counted, ("reason", "file", "cause"), as_json)


def _tell(result: Any, counted: Sequence[str], where: Sequence[str], as_json: bool) -> None:
    """Print the counts and every problem with its place; exit 1 if there are any."""
    counts = {what: getattr(result, f"num_{what}") for what in counted}
    if as_json:
        import msgspec

        rows = [{key: getattr(problem, key) for key in where} for problem in result.problems]
        summary = {"ok": result.ok, **counts, "problems": rows}
        typer.echo(msgspec.json.encode(summary).decode())
    else:
        for problem in result.problems[:_MOST_LINES]:
            typer.echo(printable(f"{problem.reason}: {problem}"))
        if len(result.problems) > _MOST_LINES:
            typer.echo(f"… and {len(result.problems) - _MOST_LINES:,} more (see --json)")
        verdict = "ok" if result.ok else f"{len(result.problems):,} problems"
        typer.echo(f"{verdict}: " + ", ".join(f"{n:,} {what}" for what, n in counts.items()))
    if not result.ok:
        raise typer.Exit(1)
