"""`barrow verify`: whether every byte is what was written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.options import AsJson, TextKey
from barrow.cli.progress import progress_bar
from barrow.cli.terminal import printable

_MOST_LINES = 50
_WHERE = ("reason", "shard", "frame", "document", "folder", "path", "file", "tensor", "cause")


def verify(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="A corpus, a store, an index of pairs, a run, a checkpoint, a folder of a model, "
            "a result, a search; a shard, a glob or a URL.",
            show_default=False,
        ),
    ],
    deep: Annotated[bool, typer.Option("--deep", help="Parse every record, too.")] = False,
    as_json: AsJson = False,
    text_key: TextKey = "text",
) -> None:
    """Check every checksum and count of a folder. Exits 1 if anything is wrong.

    Of a corpus, also every frame, that it is what its manifest says, and that takedowns hold; of a
    token store, every offset and id. What has no checksum is counted as unchecked.
    """
    from barrow.verification import verify as check

    with progress_bar("Verifying", _size(path)) as advance:
        found = check(path, deep=deep, text_key=text_key, on_progress=advance)
    if as_json:
        import json

        rows = [
            {"reason": "damaged"} | {key: getattr(one, key) for key in _WHERE if hasattr(one, key)}
            for one in found.problems
        ]
        summary = {"ok": found.ok, "kind": found.kind, **found.counts, "problems": rows}
        typer.echo(json.dumps(summary, ensure_ascii=False))
    else:
        for problem in found.problems[:_MOST_LINES]:
            typer.echo(printable(f"{getattr(problem, 'reason', 'damaged')}: {problem}"))
        if len(found.problems) > _MOST_LINES:
            typer.echo(f"… and {len(found.problems) - _MOST_LINES:,} more (see --json)")
        verdict = "ok" if found.ok else f"{len(found.problems):,} problems"
        counted = ", ".join(f"{number:,} {what}" for what, number in found.counts.items())
        typer.echo(f"{verdict}: {found.kind}: {counted}")
    if not found.ok:
        raise typer.Exit(1)


def _size(path: str) -> int | None:
    """Bytes that will be read, of kinds that tell how far they are."""
    from barrow.archive.storage import disk_bytes, is_url

    folder = Path(path)
    if is_url(path) or not folder.is_dir():
        return disk_bytes(path)
    if (folder / "store.json").is_file():
        return sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    parts = [part for part in (folder, *folder.iterdir()) if (part / "archive.json").is_file()]
    return disk_bytes(parts) if parts else None
