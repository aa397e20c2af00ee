"""`barrow tokens lineage`: which documents a step saw, and which steps saw a document."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.options import AsJson
from barrow.cli.terminal import print_table, printable
from barrow.config import parse_json

if TYPE_CHECKING:
    from barrow.stream.explain import Seen
    from barrow.stream.pairs import PairSeen
    from barrow.tokens import TokenStore

_SHOWN = ("licence", "url", "source", "member")


def lineage(
    run: Annotated[
        Path,
        typer.Argument(
            help="A saved stream, or a folder (a checkpoint) with a stream.json.",
            show_default=False,
        ),
    ],
    step: Annotated[int | None, typer.Option(help="List the documents of this step.")] = None,
    row: Annotated[int | None, typer.Option(help="With --step: of this row only.")] = None,
    doc: Annotated[
        str | None,
        typer.Option(help="List the steps that saw this document: its id, or number in the store."),
    ] = None,
    until: Annotated[
        int | None,
        typer.Option(help="With --doc: steps before this one.", show_default="all, or one epoch"),
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="Where the token store is now, if it was moved.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tell which documents a step of a run saw, or which steps saw a document."""
    from barrow.stream import Stream
    from barrow.stream.origins import origins
    from barrow.stream.pairs import PairSettings
    from barrow.stream.saved import Saved

    if (step is None) == (doc is None):
        raise typer.BadParameter("give --step N, or --doc ID")
    if row is not None and step is None:
        raise typer.BadParameter("--row goes with --step")
    if until is not None and doc is None:
        raise typer.BadParameter("--until goes with --doc")
    if _is_aligned(run):
        _print_records(run, step)
        return
    of_pairs = isinstance(Saved.read(run).settings, PairSettings)
    stream: Any = _pairs(run) if of_pairs else Stream.load(run, store)
    if step is not None:
        seen = stream.explain(step, row=row)
    else:
        numbers = [int(str(doc))] if of_pairs else _documents(stream.data.store, str(doc))
        seen = sorted(s for n in numbers for s in stream.steps_of(n, until=until))
    if of_pairs:
        _print_pairs(seen, as_json=as_json)
        return
    tokens: TokenStore = stream.data.store
    metas = origins(tokens, seen)
    if as_json:
        import msgspec

        rows = [{**dataclasses.asdict(one), "meta": metas.get(one.document)} for one in seen]
        typer.echo(msgspec.json.encode(rows).decode())
        return
    _print(seen, metas)
    if len(metas) < len({one.document for one in seen}):
        typer.echo(
            f"some documents are no longer in {tokens.manifest.corpus.path}: their licence and "
            "source are not shown",
            err=True,
        )


def _is_aligned(run: Path) -> bool:
    """Whether a run read chats, pairs or prompts."""
    file = run / "stream.json" if run.is_dir() else run
    if not file.is_file():
        return False
    found = parse_json(file.read_bytes(), file)
    return isinstance(found, dict) and found.get("format") == "barrow-align"


def _print_records(run: Path, step: int | None) -> None:
    """The chats, pairs or prompts of a step."""
    from barrow.train.run_folder import RunFolder
    from barrow.train.tasks.task import task_of

    if step is None:
        raise typer.BadParameter("a run on chats, pairs or prompts is asked with --step N")
    folder = run if run.is_dir() else run.parent
    # Rewards and losses of others are not needed, and not imported.
    data: Any = task_of(RunFolder(folder).read(trust=None)).data()
    data.check(folder / "stream.json")
    for line in data.describe(step):
        typer.echo(printable(line))


def _pairs(run: Path) -> Any:
    """The stream of a run on image–text pairs; the run says which tokenizer encodes the texts."""
    from barrow.train.run_folder import RunFolder
    from barrow.train.tasks.task import task_of

    data: Any = task_of(RunFolder(run).read()).data()
    data.check(run)
    return data.stream


def _print_pairs(seen: list[PairSeen], *, as_json: bool) -> None:
    if as_json:
        import msgspec

        typer.echo(msgspec.json.encode([dataclasses.asdict(one) for one in seen]).decode())
        return
    for one in seen:
        typer.echo(printable(f"step {one.step}, {one}"))


def _documents(store: TokenStore, name: str) -> list[int]:
    """The documents, by number, that a name denotes."""
    if name.isdigit():
        return [store.document(int(name)).number]
    store.find(name)  # which says what is wrong
    return [int(number) for number in store.find_all(name)]


def _print(seen: list[Seen], metas: dict[int, dict[str, Any]]) -> None:
    rows = []
    for one in seen:
        meta = metas.get(one.document, {})
        shown = [str(meta[key]) for key in _SHOWN if meta.get(key) is not None]
        rows.append(
            (
                f"{one.step:,}",
                f"{one.row:,}",
                f"{one.column:,}–{one.column + one.stop - one.first:,}",
                one.domain,
                # A name that --doc takes; the place in the archive is another number.
                one.identity or f"{one.document} ({one.shard} {one.archive_number})",
                f"{one.first:,}–{one.stop:,} of {one.num_tokens:,}",
                ", ".join(shown),
            )
        )
    print_table(
        ("step", "row", "columns", "domain", "document", "tokens", "licence, origin"),
        rows,
        left=("domain", "document", "licence, origin"),
        width=160,
    )
