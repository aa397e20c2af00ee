"""`barrow build`: a recipe and raw files to a corpus."""

from __future__ import annotations

import glob
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.options import (
    Address,
    AsJson,
    EngineChoice,
    EngineOption,
    Overrides,
    Trust,
    Workers,
    changes,
)
from barrow.cli.progress import staged_progress
from barrow.cli.python_file import made_by
from barrow.cli.terminal import print_table, printable

if TYPE_CHECKING:
    from barrow.corpus import Recipe


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
        list[Path] | None,
        typer.Option(
            help="Instead, for a recipe of one domain: a folder, a file, or several.",
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
    trust: Trust = None,
    as_json: AsJson = False,
) -> None:
    """Build a corpus with provenance from raw files as their owners publish them."""
    from barrow import config
    from barrow.corpus import build as build_corpus
    from barrow.engine import Engine

    changed = changes(overrides, root="--root", source="--source", out="--out")
    if (root is None) == (not source):
        raise typer.BadParameter("pass the raw files: --root DIR, or --source FILE")
    if out is None:
        raise typer.BadParameter("pass --out DIR: where the corpus goes")
    trusted = [*(trust or ()), *([recipe] if recipe.endswith(".py") else [])]
    made = load_recipe(recipe, trust=trusted)
    if root is None:
        made, root = _of_sources(made, source or [])
    if language is not None:
        from barrow.corpus.filters.by_language import recipe_by_language

        made = recipe_by_language(made, language)
    resolved = config.override(made, changed, trust=trusted)
    if missing is not None:
        resolved = config.override(resolved, [f"missing={missing.value}"])
    with staged_progress() as progress:
        report = build_corpus(
            resolved,
            root=root,
            out=out,
            engine=Engine("ray" if engine is EngineChoice.RAY else "local", workers, address),
            progress=progress,
        )
    if as_json:
        import msgspec

        typer.echo(msgspec.json.encode(report).decode())
    else:
        print_report(report)
    if not any(split["domains"] for split in report["splits"].values()):
        typer.echo(_nothing_kept(report), err=True)
        raise typer.Exit(1)


def _nothing_kept(report: dict[str, Any]) -> str:
    """Why a corpus has no document, in words."""
    from barrow.corpus.manifest import rejects_by_domain

    reasons: Counter[str] = Counter()
    for rejects in rejects_by_domain(report).values():
        reasons.update(rejects)
    counts = ", ".join(f"{number:,} {reason}" for reason, number in reasons.most_common())
    return (
        f"no document was kept: {counts or 'no file had one'}; barrow corpus rejects shows examples"
    )


def _of_sources(made: Recipe, sources: list[Path]) -> tuple[Recipe, Path]:
    """A recipe of one domain that reads one folder or some files, and the root of them."""
    if len(made.domains) != 1:
        raise typer.BadParameter(
            f"--source is for a recipe of one domain, and {made.name!r} has {len(made.domains)}: "
            "pass --root DIR"
        )
    (domain,) = made.domains.values()
    if len(sources) == 1 and sources[0].is_dir():
        return replace(made, domains={".": domain}), sources[0]
    for file in sources:
        if not file.is_file():
            what = "is not a file" if file.exists() else "does not exist"
            raise typer.BadParameter(f"{file} {what}; --source takes one folder, or files")
    root = Path(os.path.commonpath([file.absolute().parent for file in sources]))
    paths = tuple(glob.escape(str(file.absolute().relative_to(root))) for file in sources)
    return replace(made, domains={".": replace(domain, paths=paths)}), root


def load_recipe(name: str, *, trust: Collection[str] | None = ()) -> Recipe:
    """A recipe by its name, from a saved JSON file, or from a Python file.

    For a saved one, `trust` lists code outside barrow that may be imported (`config.from_dict`).
    """
    import importlib
    import pkgutil

    import barrow.recipes
    from barrow import config
    from barrow.corpus import Recipe
    from barrow.errors import nearest

    if name.endswith(".json"):
        return config.from_json(Recipe, Path(name).read_text(), trust=trust, where=name)
    if name.endswith(".py"):
        return made_by(Path(name), "recipe", Recipe)
    found = (module.name for module in pkgutil.iter_modules(barrow.recipes.__path__))
    homes = {one: f"barrow.recipes.{one}" for one in found if one not in barrow.recipes.TRAINING}
    homes["pocket"] = "barrow.demo.pocket"
    if name not in homes:
        raise typer.BadParameter(f"there is no recipe {name!r}; {nearest(name, sorted(homes))}")
    made = importlib.import_module(homes[name]).recipe()
    assert isinstance(made, Recipe)
    return made


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
