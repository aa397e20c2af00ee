"""`barrow build`: a recipe and raw files to a corpus."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from barrow.cli.options import (
    Address,
    AsJson,
    EngineChoice,
    EngineOption,
    Overrides,
    Show,
    Trust,
    Workers,
    changes,
    print_keys,
)
from barrow.cli.progress import staged_progress
from barrow.cli.recipe import keys_of, load_recipe, of_sources, resolve, with_mixture
from barrow.cli.terminal import print_table, printable


class MissingChoice(StrEnum):
    """What to do about domains without files."""

    ERROR = "error"
    SKIP = "skip"


def build(
    recipe: Annotated[
        str,
        typer.Argument(
            help="A recipe of barrow (permissive, pile, pocket, refine), a saved recipe.json, or a "
            ".py file with a function recipe().",
            show_default=False,
        ),
    ],
    overrides: Overrides = None,
    root: Annotated[
        Path | None, typer.Option(help="The folder of raw files.", show_default=False)
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Instead, for a recipe of one domain: a file, a folder, or a quoted pattern such "
            "as 'data/*.jsonl.gz'; may be repeated.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder of the corpus.", show_default=False)
    ] = None,
    workers: Workers = 2,
    engine: EngineOption = EngineChoice.LOCAL,
    address: Address = None,
    missing: Annotated[
        MissingChoice | None, typer.Option(help="Domains without files: an error, or left out.")
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            help="Rules for web text by language: auto (of each document), or a code such as de. "
            "Otherwise those of the recipe; they are made for English.",
            show_default=False,
        ),
    ] = None,
    mixture: Annotated[
        Path | None,
        typer.Option(
            help="Weights of domains: the folder of a mixture search, or a mixture.json.",
            show_default=False,
        ),
    ] = None,
    trust: Trust = None,
    show: Show = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Say what would be read, done and needed; write nothing, and stop."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Build a corpus with provenance from raw files as their owners publish them.

    --show lists every KEY of KEY=VALUE.
    """
    from barrow.corpus import build as build_corpus
    from barrow.engine import Engine

    trusted = [*(trust or ()), *([recipe] if recipe.endswith(".py") else [])]
    changed = changes(overrides, root="--root", source="--source", out="--out")
    if missing is not None:
        changed = [*changed, f"missing={missing.value}"]
    made = load_recipe(recipe, trust=trusted)
    if mixture is not None:
        made = with_mixture(made, mixture)
    resolved = resolve(made, changed, language, trust=trusted)
    if show:
        print_keys(keys_of(resolved))
        return
    if (root is None) == (not source):
        raise typer.BadParameter("pass the raw files: --root DIR, or --source FILE")
    if out is None:
        raise typer.BadParameter("pass --out DIR: where the corpus goes")
    if root is None:
        resolved, root = of_sources(resolved, source or [])
    workforce = Engine("ray" if engine is EngineChoice.RAY else "local", workers, address)
    if dry_run:
        from barrow.corpus.build.dry_run import dry_run as foresee

        print_plan(foresee(resolved, root=root, out=out, engine=workforce), as_json=as_json)
        return
    with staged_progress(with_ends=True) as progress:
        report = build_corpus(
            resolved,
            root=root,
            out=out,
            engine=workforce,
            progress=progress,
        )
    if as_json:
        import msgspec

        from barrow.corpus.times import read_times

        typer.echo(msgspec.json.encode({**report, "times": read_times(out)}).decode())
    else:
        print_report(report)
    if not any(split["domains"] for split in report["splits"].values()):
        typer.echo(_nothing_kept(report), err=True)
        raise typer.Exit(1)


def print_plan(plan: dict[str, Any], *, as_json: bool) -> None:
    """What a build would do; exit 1 if a library for it is missing."""
    if as_json:
        import json

        typer.echo(json.dumps(plan))
    else:
        domains = [
            (
                folder,
                domain["reader"],
                f"{domain['files']:,}",
                f"{domain['bytes'] / 1e6:,.1f}",
                f"{domain['unread_files']:,}",
            )
            for folder, domain in plan["domains"].items()
        ]
        columns = ("folder", "reader", "files", "MB", "files not read")
        print_table(columns, domains, left=columns[:2])
        for folder, why in plan["missing"].items():
            typer.echo(printable(f"left out: {folder} ({why})"))
        typer.echo(f"{plan['new_files']:,} of {plan['files']:,} files are new or changed\n")
        stages = [
            (one["stage"], f"{one['tasks']:,}", f"{one['done']:,}", f"{one['bytes'] / 1e6:,.1f}")
            for one in plan["stages"]
        ]
        print_table(("stage", "tasks", "done already", "MB to do"), stages)
        if plan["is_done"]:
            typer.echo("every task is done already; nothing would be rebuilt")
        elif stages:
            typer.echo(f"the tasks of later stages depend on what {stages[-1][0]} finds")
        disk = plan["disk"]
        typer.echo(
            f"\ndisk: about {disk['peak'] / 1e6:,.0f} MB while it builds and "
            f"{disk['after'] / 1e6:,.0f} MB after it; {disk['free'] / 1e6:,.0f} MB are free"
        )
        if disk["peak"] > disk["free"]:
            typer.echo("that is not enough; choose another --out, or make room")
    for extra in plan["missing_extras"]:
        typer.echo(f"missing: pip install '.[{extra}]' in a checkout of barrow", err=True)
    if plan["missing_extras"]:
        raise typer.Exit(1)


def _nothing_kept(report: dict[str, Any]) -> str:
    """Why a corpus has no document, in words."""
    from barrow.corpus.manifest import rejects_by_domain

    reasons: Counter[str] = Counter()
    for rejects in rejects_by_domain(report).values():
        reasons.update(rejects)
    counts = ", ".join(f"{number:,} {reason}" for reason, number in reasons.most_common())
    key = "; name the key of the text: reader.text_key=KEY" if reasons["no-text"] else ""
    return (
        f"no document was kept: {counts or 'no file had one'}{key}; barrow corpus rejects shows "
        "examples"
    )


def print_report(report: dict[str, Any]) -> None:
    """Print a table of what was read and kept."""
    from barrow.corpus.manifest import rejects_by_domain

    rejects = rejects_by_domain(report)
    written: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for split in report["splits"].values():
        for name, amounts in split["domains"].items():
            written[name] += amounts["documents"]
            sizes[name] += amounts["bytes"]
    files: Counter[str] = Counter()
    for domain in report["reading"].values():
        files[domain["name"]] += domain["files"]
    reasons = {
        name: ", ".join(f"{number:,} {reason}" for reason, number in counts.items())
        for name, counts in rejects.items()
    }
    kept = {name: _num_kept(stages) for name, stages in report["stages"].items()}
    has_copies = any(written[name] > number for name, number in kept.items())
    rows = []
    languages: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name in filter(None, dict.fromkeys([*files, *kept])):
        stages = report["stages"].get(name, {})
        read = stages.get("documents", 0)
        copies = [written[name] - kept.get(name, 0)] if has_copies else []
        numbers = [f"{n:,}" for n in (read, kept.get(name, 0), *copies, sizes[name])]
        num_files = f"{files[name]:,}" if name in files else ""
        rows.append((name, num_files, *numbers, reasons.get(name, "")))
        for code, number in stages.get("filter", {}).get("languages", {}).items():
            languages[code].update(number)
    print_table(
        ("domain", "files", "read", "kept", *["copies"] * has_copies, "bytes", "rejects"),
        rows,
        left=("domain", "rejects"),
        width=160,
    )
    if "" in files:  # records state their domains
        unnamed = f"; rejected while reading: {reasons['']}" if reasons.get("") else ""
        typer.echo(printable(f"{files['']:,} file{'s' * (files[''] != 1)}{unnamed}"))
    if len(languages) > 1:
        _print_languages(languages)
    for folder, why in report["missing"].items():
        typer.echo(printable(f"left out: {folder} ({why})"))


def _print_languages(languages: Mapping[str, Mapping[str, int]]) -> None:
    """Documents that the filters were given and kept, by language; neutral rules are named."""
    from barrow.corpus.filters.by_language import has_rules

    typer.echo()
    print_table(
        ("language", "read", "kept", "rules"),
        [
            (
                code,
                f"{number['documents']:,}",
                f"{number['kept']:,}",
                "own" if has_rules(code) else "neutral",
            )
            for code, number in sorted(
                languages.items(), key=lambda item: (-item[1]["documents"], item[0])
            )
        ],
        left=("language", "rules"),
    )


def _num_kept(stages: dict[str, Any]) -> int:
    """Documents of a domain in the corpus, each counted once however often it is written."""
    return int(stages["deduplicate"]["documents"] - sum(stages["mix"]["rejects"].values()))
