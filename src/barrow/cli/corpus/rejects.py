"""`barrow corpus rejects`: what was dropped, and why."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.options import AsJson
from barrow.cli.terminal import printable


def rejects(
    corpus: Annotated[Path, typer.Argument(help="A folder made by build.", show_default=False)],
    reason: Annotated[str | None, typer.Option(help="Show only this reason.")] = None,
    domain: Annotated[str | None, typer.Option(help="Show only this domain.")] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=0, help="How many to show.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Count what did not become a document, by domain and reason, and show some of it."""
    import msgspec

    import barrow.archive
    from barrow.errors import NotFound

    if not (corpus / "rejects").is_dir():
        raise NotFound(f"{corpus} has no rejects beside it; was it made by barrow build?")
    counts: Counter[tuple[str, str]] = Counter()
    shown = 0
    for reject in barrow.archive.open(corpus / "rejects"):
        meta = reject.meta
        if (reason or meta["reason"]) != meta["reason"]:
            continue
        if (domain or meta["pile_set_name"]) != meta["pile_set_name"]:
            continue
        counts[meta["pile_set_name"], meta["reason"]] += 1
        if shown < limit and (reason is not None or domain is not None):
            shown += 1
            if as_json:
                typer.echo(msgspec.json.encode({**meta, "excerpt": reject.text}).decode())
                continue
            place = f"{meta['source']} {meta.get('member', '')}".strip()
            typer.secho(f"── {meta['reason']} · {printable(place)}", bold=True)
            typer.echo(printable(meta["cause"]))
            if reject.text:
                typer.echo(printable(reject.text[:400]))
    if as_json and reason is None and domain is None:
        rows = [{"domain": d, "reason": r, "count": n} for (d, r), n in sorted(counts.items())]
        typer.echo(msgspec.json.encode(rows).decode())
    elif not as_json:
        for (name, why), count in sorted(counts.items()):
            typer.echo(printable(f"{count:>9,}  {name}: {why}"))
