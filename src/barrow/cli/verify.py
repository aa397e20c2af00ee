"""`barrow verify`: whether every byte is what was written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.options import AsJson, Source, TextKey, is_store
from barrow.cli.progress import progress_bar

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
    if as_json:
        import msgspec

        rows = [
            {
                "reason": problem.reason,
                "shard": problem.shard,
                "frame": problem.frame,
                "document": problem.document,
                "cause": problem.cause,
            }
            for problem in result.problems
        ]
        summary = {
            "ok": result.ok,
            "shards": result.num_shards,
            "frames": result.num_frames,
            "documents": result.num_documents,
            "bytes": result.num_bytes,
            "problems": rows,
        }
        typer.echo(msgspec.json.encode(summary).decode())
    else:
        for problem in result.problems[:_MOST_LINES]:
            typer.echo(f"{problem.reason}: {problem}")
        if len(result.problems) > _MOST_LINES:
            typer.echo(f"… and {len(result.problems) - _MOST_LINES:,} more (see --json)")
        typer.echo(
            f"{'ok' if result.ok else f'{len(result.problems):,} problems'}: "
            f"{result.num_shards:,} shards, {result.num_frames:,} frames, "
            f"{result.num_documents:,} documents, {result.num_bytes:,} bytes"
        )
    if not result.ok:
        raise typer.Exit(1)


def _verify_store(path: str, as_json: bool) -> None:
    from barrow.tokens.verify import verify_store

    size = sum(file.stat().st_size for file in Path(path).glob("*.safetensors"))
    with progress_bar("Verifying", size) as advance:
        result = verify_store(path, on_progress=advance)
    if as_json:
        import msgspec

        rows = [{"reason": p.reason, "file": p.file, "cause": p.cause} for p in result.problems]
        summary = {
            "ok": result.ok,
            "files": result.num_files,
            "documents": result.num_documents,
            "tokens": result.num_tokens,
            "bytes": result.num_bytes,
            "problems": rows,
        }
        typer.echo(msgspec.json.encode(summary).decode())
    else:
        for problem in result.problems[:_MOST_LINES]:
            typer.echo(f"{problem.reason}: {problem}")
        if len(result.problems) > _MOST_LINES:
            typer.echo(f"… and {len(result.problems) - _MOST_LINES:,} more (see --json)")
        typer.echo(
            f"{'ok' if result.ok else f'{len(result.problems):,} problems'}: "
            f"{result.num_files:,} files, {result.num_documents:,} documents, "
            f"{result.num_tokens:,} tokens, {result.num_bytes:,} bytes"
        )
    if not result.ok:
        raise typer.Exit(1)
