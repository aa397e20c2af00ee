"""A datasheet: what a corpus is, for people who decide whether to use it.

Its questions are those of Gebru et al., *Datasheets for Datasets* (2018). The manifest and the
recipe answer what they can; the rest are sections for the owner. The same manifest and recipe give
the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from barrow.corpus.recipe import Recipe
from barrow.corpus.report.datasheet_stages import stages
from barrow.corpus.report.known_limits import known_limits
from barrow.corpus.report.owner_sections import place
from barrow.corpus.report.portable_recipe import portable_json, recipe_hash
from barrow.corpus.report.totals import Amount, Survey, survey
from barrow.pages.escape import markdown_code, markdown_text, shown
from barrow.pages.markup import markdown_table, sentence
from barrow.pages.numbers import readable_count, readable_share, readable_size

DATASHEET = "datasheet.md"

_COMMANDS = """```sh
barrow build CORPUS/recipe.json --root RAW --out AGAIN
barrow verify AGAIN --deep
```"""


def datasheet(manifest: Mapping[str, Any], recipe: Recipe) -> str:
    """The datasheet of a corpus, in markdown."""
    totals = survey(manifest)
    parts = [
        f"# Datasheet of {markdown_text(manifest['recipe'])}",
        _abstract(manifest, totals),
        "## Motivation",
        place(
            "motivation",
            "For what purpose was the corpus made? Who made it, for whom, and who paid for it?",
        ),
        "## Composition",
        _composition(totals),
        "### Languages",
        _amounts("language", totals.languages, totals.total),
        "### Licences",
        _licences(totals),
        "### Splits",
        _splits(totals, recipe),
        "## Collection",
        _collection(totals, recipe),
        place(
            "collection",
            "Who fetched the raw files, how, and with whose consent? Was there an ethical review?",
        ),
        "## Preprocessing",
        *stages(totals, recipe),
        "## Known limits",
        "\n".join(f"- {sentence(limit)}" for limit in known_limits(totals, recipe)),
        "## Uses",
        place("uses", "What is the corpus meant for? What should nobody do with it?"),
        "## Distribution and maintenance",
        place(
            "maintenance",
            "Who may have the corpus, under which terms? Who answers questions, and where?",
        ),
        "### How to take documents down",
        _takedown(),
        "### How to rebuild",
        _rebuild(manifest, totals, recipe),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _abstract(manifest: Mapping[str, Any], totals: Survey) -> str:
    total, num_domains = totals.total, sum(1 for d in totals.domains if d.total.documents)
    return (
        f"{readable_count(total.documents)} documents, {readable_size(total.bytes)} of text "
        f"({readable_count(total.bytes)} bytes of UTF-8), from {num_domains} domains; version "
        f"{manifest['version']}. Made by barrow {markdown_text(manifest['barrow'])} from the "
        f"recipe {markdown_code(manifest['recipe'])}. All figures are those of `manifest.json`; "
        "bytes are those of the texts, in UTF-8, unless stated otherwise."
    )


def _composition(totals: Survey) -> str:
    rows = [
        (
            markdown_text(domain.name),
            readable_count(domain.total.documents),
            readable_size(domain.total.bytes),
            readable_share(domain.total.bytes, totals.total.bytes),
            _mean(domain.total),
        )
        for domain in totals.domains
    ]
    total = totals.total
    rows.append(
        (
            "**all**",
            readable_count(total.documents),
            readable_size(total.bytes),
            readable_share(total.bytes, total.bytes),
            _mean(total),
        )
    )
    return (
        "A document is a text with its provenance: domain, source, licence, hash of the raw file, "
        "extractor and version, and what each stage decided about it.\n\n"
        + markdown_table(("domain", "documents", "text", "share", "mean"), rows)
    )


def _mean(amount: Amount) -> str:
    return readable_size(amount.bytes // amount.documents) if amount.documents else "–"


def _amounts(what: str, amounts: Mapping[str, Amount], total: Amount) -> str:
    rows = [
        (
            markdown_text(name),
            readable_count(amount.documents),
            readable_size(amount.bytes),
            readable_share(amount.bytes, total.bytes),
        )
        for name, amount in amounts.items()
    ]
    return markdown_table((what, "documents", "text", "share"), rows)


def _licences(totals: Survey) -> str:
    rows = [
        (
            markdown_text(domain.name),
            markdown_text(licence),
            readable_count(amount.documents),
            readable_size(amount.bytes),
            readable_share(amount.bytes, domain.total.bytes),
        )
        for domain in totals.domains
        for licence, amount in domain.licences.items()
    ]
    return (
        "Over all domains:\n\n"
        + _amounts("licence", totals.licences, totals.total)
        + "\n\nBy domain; shares are of the domain's text:\n\n"
        + markdown_table(("domain", "licence", "documents", "text", "share"), rows, text=(0, 1))
    )


def _splits(totals: Survey, recipe: Recipe) -> str:
    asked = {"validation": recipe.splits.validation, "test": recipe.splits.test}
    rows = [
        (
            split,
            readable_count(amount.documents),
            readable_size(amount.bytes),
            readable_share(amount.bytes, totals.total.bytes),
            f"{asked[split]:.1%}" if split in asked else "the rest",
            str(sum(1 for domain in totals.domains if split in domain.written)),
        )
        for split, amount in totals.splits.items()
    ]
    how = (
        "Held out after deduplication, by cluster of duplicates: copies that were found are never "
        "on two sides."
        if recipe.deduplication is not None
        else "Held out by document; nobody looked for duplicates, so copies may be on both sides."
    )
    if recipe.mixture.by != "once":
        how += " What was asked for is a share of the text before the mixture repeats some of it."
    table = markdown_table(("split", "documents", "text", "share", "asked for", "domains"), rows)
    return table if not any(asked.values()) else f"{how}\n\n{table}"


def _collection(totals: Survey, recipe: Recipe) -> str:
    chosen = {domain.name: domain for domain in recipe.domains.values()}
    rows = []
    for domain in totals.domains:
        known = chosen.get(domain.name)
        rows.append(
            (
                markdown_text(domain.name),
                readable_count(domain.files),
                readable_count(domain.unread_files),
                ", ".join(map(markdown_code, domain.extractors)) or "–",
                known.retrieved if known and known.retrieved else "the days of the files",
                markdown_text(known.licence) if known else "–",
            )
        )
    header = ("domain", "files read", "not read", "extractor", "fetched", "licence by default")
    parts = [
        "Raw files as their owners publish them; nothing is fetched by the build.",
        markdown_table(header, rows, text=(0, 3, 4, 5)),
    ]
    unread = [example for domain in totals.domains for example in domain.unread_examples]
    if unread:
        parts.append(f"Files not read, for instance: {_some(map(markdown_code, unread))}.")
    if totals.missing:
        left_out = [
            (markdown_code(folder), markdown_text(why)) for folder, why in totals.missing.items()
        ]
        parts += ["Left out:", markdown_table(("folder", "why"), left_out, text=(0, 1))]
    return "\n\n".join(parts)


def _some(names: Iterable[str], most: int = 10) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "")


def _takedown() -> str:
    return (
        "Every document names the raw file it comes from: `barrow corpus trace CORPUS ID` shows "
        "`source` and `member`, and `url` and `licence` where they are known. `barrow corpus "
        "takedown CORPUS` with `--doc`, `--url`, `--domain`, `--licence` or `--match FILE` "
        "removes documents from every shard, leaves no byte of them in the folder, keeps a record"
        " of who asked and why, and keeps them out of later builds; `barrow verify CORPUS`"
        " proves it. Copies that were passed on are not changed by that."
    )


def _rebuild(manifest: Mapping[str, Any], totals: Survey, recipe: Recipe) -> str:
    rows: list[Sequence[str]] = [
        (
            split,
            markdown_code(shard["name"]),
            readable_count(shard["documents"]),
            readable_size(shard["bytes"]),
            markdown_code(shard["sha256"]),
        )
        for split, shards in totals.shards.items()
        for shard in shards
    ]
    saved = shown(portable_json(recipe))
    fence = "```"
    while fence in saved:
        fence += "`"
    return "\n\n".join(
        [
            "The bytes depend on the recipe and the raw files alone, whoever does the work:",
            _COMMANDS,
            (
                f"barrow {markdown_text(manifest['barrow'])}; seed {recipe.seed}; `recipe.json` "
                f"has the sha256 `{recipe_hash(recipe)}`. Every document has that of its raw "
                "file, as `raw_sha256`. The shards, compressed:"
            ),
            markdown_table(("split", "shard", "documents", "size", "sha256"), rows, text=(0, 1, 4)),
            "The recipe, files without their folders:",
            f"{fence}json\n{saved.rstrip()}\n{fence}",
        ]
    )
