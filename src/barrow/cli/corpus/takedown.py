"""`barrow corpus takedown`: remove documents from a corpus for good, with a record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.terminal import printable

if TYPE_CHECKING:
    from barrow.corpus.takedown.find import Finding
    from barrow.corpus.takedown.rules import Rules


def takedown(
    corpus: Annotated[Path, typer.Argument(help="A folder made by build.", show_default=False)],
    doc: Annotated[list[str] | None, typer.Option(metavar="ID", help="A document's id.")] = None,
    url: Annotated[
        list[str] | None,
        typer.Option(help="An address and all below it, or a pattern with *."),
    ] = None,
    domain: Annotated[list[str] | None, typer.Option(help="A domain, by its name.")] = None,
    licence: Annotated[list[str] | None, typer.Option(help="A licence, by its name.")] = None,
    match: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Documents that contain this text, or one of these."),
    ] = None,
    share: Annotated[
        float, typer.Option(help="With --match: how much of a text is enough, up to 1.")
    ] = 1.0,
    and_copies: Annotated[
        bool, typer.Option("--and-copies", help="The same text under other ids, too.")
    ] = False,
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "",
    by: Annotated[
        str | None, typer.Option(help="Who signs it off.", show_default="the user's name")
    ] = None,
    date: Annotated[
        str | None, typer.Option(help="Of the record, as 2024-12-31.", show_default="today")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    everything: Annotated[
        bool, typer.Option("--everything", help="With --yes: even if that is all of the corpus.")
    ] = False,
) -> None:
    """Remove documents from a corpus, from every file that has a part of them, and keep them out.

    Rewrites only the shards concerned. A later build in the same folder honours it. May be
    repeated, also after it was interrupted. Exits 1 if nothing matches.
    """
    from barrow.corpus.folder import refuse_other_folders
    from barrow.corpus.takedown.commit import complete_interrupted
    from barrow.corpus.takedown.find import find_taken
    from barrow.corpus.takedown.rules import Rules
    from barrow.corpus.takedown.takedown import refuse_read_only, take_down
    from barrow.corpus.takedown.texts import TextRule, read_texts
    from barrow.files import locked

    refuse_other_folders(corpus)
    rules = Rules(
        ids=tuple(doc or ()),
        urls=tuple(url or ()),
        domains=tuple(domain or ()),
        licences=tuple(licence or ()),
        texts=tuple(
            TextRule.of(text, share=share) for path in match or () for text in read_texts(path)
        ),
    )
    if not rules:
        raise typer.BadParameter("pass --doc, --url, --domain, --licence or --match")
    if dry_run:
        finding = find_taken(corpus, rules, and_copies=and_copies)
        _refuse_nothing(corpus, rules, finding)
        _show(finding, and_copies=and_copies)
        return
    date, by = _as_date(date), by or _user()
    refuse_read_only(corpus)
    with locked(corpus):
        resumed = complete_interrupted(corpus)
        if resumed is not None:
            typer.echo("A takedown that was interrupted is now complete.")
        finding = find_taken(corpus, rules, and_copies=and_copies)
        if resumed is not None and not finding.num_documents and not finding.num_rejects:
            return
        _refuse_nothing(corpus, rules, finding)
        _show(finding, and_copies=and_copies)
        _ask(finding, yes=yes, everything=everything)
        record = take_down(
            corpus, rules, finding, reason=reason, by=by, date=date, and_copies=and_copies
        )
    typer.echo(
        f"taken down; version {record['after']['version']}. The next build in this folder reads "
        "everything again, without what was taken down."
    )


def _refuse_nothing(corpus: Path, rules: Rules, finding: Finding) -> None:
    """Raise for an id that is not in the corpus, even if others are."""
    from barrow.corpus.takedown.rules import load_list
    from barrow.errors import NotFound

    known = load_list(corpus)
    for name in rules.ids:
        if name not in finding.found:
            before = known is not None and name in known.rules.ids
            raise NotFound(
                f"{name} was taken down already; nothing was changed"
                if before
                else f"no document {name} in {corpus}; nothing was changed"
            )
    if not finding.num_documents and not finding.num_rejects:
        raise NotFound(f"nothing in {corpus} matches; nothing was changed")


def _show(finding: Finding, *, and_copies: bool) -> None:
    for split in finding.documents:
        for name, number in finding.by_domain(split).items():
            typer.echo(f"{number:>9,}  {split}: {printable(name)}")
    for name, number in sorted(finding.rejects_by_domain.items()):
        typer.echo(f"{number:>9,}  rejects: {printable(name)}")
    shards = len(finding.rejects) + sum(map(len, finding.documents.values()))
    typer.echo(
        f"{finding.num_documents:,} documents and {finding.num_rejects:,} rejects "
        f"in {shards:,} shards"
    )
    for example in finding.examples:
        typer.echo(f"  {printable(example)}")
    if finding.num_documents > len(finding.examples):
        typer.echo("  …")
    if finding.copies:
        typer.echo(f"{finding.copies:,} copies under other ids stay; --and-copies takes them, too.")
    if finding.rejected_copies and not and_copies:
        typer.echo(
            f"{len(finding.rejected_copies):,} copies that deduplication had removed would take "
            "their place in the next build; --and-copies keeps them out."
        )


def _ask(finding: Finding, *, yes: bool, everything: bool) -> None:
    if finding.is_everything and not everything:
        if yes:
            raise typer.BadParameter("that is every document; pass --everything as well")
        if typer.prompt("That is every document. Write 'everything' to go on") != "everything":
            raise typer.Abort
    elif not yes:
        typer.confirm("Remove them for good?", abort=True)


def _as_date(date: str | None) -> str:
    import datetime

    if date is None:
        return datetime.datetime.now().astimezone().date().isoformat()
    try:
        return datetime.date.fromisoformat(date).isoformat()
    except ValueError:
        raise typer.BadParameter(f"--date is a day such as 2024-12-31, not {date!r}") from None


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise typer.BadParameter("pass --by NAME: who signs it off") from None
