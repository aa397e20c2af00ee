"""The part of a datasheet on what every stage did to every domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barrow import config
from barrow.corpus.filters.pii.found import CATEGORIES
from barrow.corpus.recipe import Recipe
from barrow.corpus.report.totals import (
    DEDUPLICATE,
    FILTER,
    MIX,
    READ,
    STEPS,
    DomainSurvey,
    Survey,
    add_counts,
)
from barrow.pages.escape import markdown_code, markdown_text
from barrow.pages.markup import markdown_table
from barrow.pages.numbers import readable_count, readable_size

_READING = (
    "Readers extract texts from raw files. What they drop is not yet a document: a post, a part "
    "of a mail, a file."
)

_Cells = Callable[[DomainSurvey], tuple[str, ...]]


def stages(totals: Survey, recipe: Recipe) -> list[str]:
    """A heading and a paragraph or table for each stage."""
    return [
        "### Reading",
        _READING,
        _table(totals, READ, ("found", "read", "text"), _reading),
        "### Filters",
        _filters(totals, recipe),
        _table(totals, FILTER, ("came", "stayed", "text before", "after", "changed"), _filtering),
        "### Decontamination",
        _decontamination(totals, recipe),
        "### Personal data",
        _found_inside(totals, lambda category: category in CATEGORIES)
        or "None was counted: no filter that replaces personal data is set, or it found none.",
        "### Other things counted in texts",
        _found_inside(totals, lambda category: category not in CATEGORIES) or "None.",
        "### Deduplication",
        _deduplication(recipe),
        _table(totals, DEDUPLICATE, ("came", "stayed", "text before", "after"), _deduplicating),
        "### Mixture",
        _mixture(recipe),
        _table(totals, MIX, ("epochs", "came", "taken", "written", "text"), _mixing),
    ]


def _table(totals: Survey, step: str, header: tuple[str, ...], cells: _Cells) -> str:
    place = STEPS.index(step)
    rows = [
        (markdown_text(domain.name), *cells(domain), _reasons(domain.steps[place].rejects))
        for domain in totals.domains
    ]
    columns = ("domain", *header, "dropped")
    return markdown_table(columns, rows, text=(0, len(columns) - 1))


def _reading(domain: DomainSurvey) -> tuple[str, ...]:
    return (
        readable_count(domain.found),
        readable_count(domain.read.documents),
        readable_size(domain.read.bytes),
    )


def _filtering(domain: DomainSurvey) -> tuple[str, ...]:
    return (
        readable_count(domain.read.documents),
        readable_count(domain.filtered.documents),
        readable_size(domain.read.bytes),
        readable_size(domain.filtered.bytes),
        readable_count(domain.changed),
    )


def _deduplicating(domain: DomainSurvey) -> tuple[str, ...]:
    return (
        readable_count(domain.filtered.documents),
        readable_count(domain.deduplicated.documents),
        readable_size(domain.filtered.bytes),
        readable_size(domain.deduplicated.bytes),
    )


def _mixing(domain: DomainSurvey) -> tuple[str, ...]:
    return (
        f"{domain.epochs:.4g}",
        readable_count(domain.deduplicated.documents),
        readable_count(domain.drawn),
        readable_count(domain.total.documents),
        readable_size(domain.total.bytes),
    )


def _filters(totals: Survey, recipe: Recipe) -> str:
    """Domains by their filters; the thresholds are in the recipe at the end."""
    here = {domain.name for domain in totals.domains}
    groups: dict[tuple[str, ...], list[str]] = {}
    for domain in recipe.domains.values():
        chosen = tuple(map(config.class_name, domain.filters))
        if chosen and domain.name in here:
            groups.setdefault(chosen, []).append(domain.name)
    if not groups:
        return "None is set."
    lines = (
        f"- {', '.join(map(markdown_code, chosen))}: {', '.join(map(markdown_text, names))}"
        for chosen, names in groups.items()
    )
    return "Thresholds are in the recipe, at the end.\n\n" + "\n".join(lines)


def _decontamination(totals: Survey, recipe: Recipe) -> str:
    settings = recipe.decontamination
    if settings is None:
        return "No evaluation set was given, and nothing was looked for."
    matches = add_counts(domain.matches for domain in totals.domains)
    rows = [
        (markdown_text(domain.name), markdown_text(name), readable_count(number))
        for domain in totals.domains
        for name, number in domain.matches.items()
    ]
    return (
        f"A document that has {settings.min_ngrams} or more runs of {settings.ngram} words in "
        f"common with an evaluation set is dropped, as `contaminated`: "
        f"{readable_count(sum(matches.values()))} matches.\n\n"
        + markdown_table(("domain", "evaluation set", "documents"), rows, text=(0, 1))
    )


def _found_inside(totals: Survey, wanted: Callable[[str], bool]) -> str:
    found = add_counts(domain.found_inside for domain in totals.domains)
    if not any(map(wanted, found)):
        return ""
    rows = [
        (
            markdown_text(name),
            readable_count(number),
            ", ".join(
                f"{markdown_text(domain.name)} {readable_count(domain.found_inside[name])}"
                for domain in totals.domains
                if name in domain.found_inside
            ),
        )
        for name, number in found.items()
        if wanted(name)
    ]
    return markdown_table(("category", "found", "where"), rows, text=(0, 2))


def _deduplication(recipe: Recipe) -> str:
    settings = recipe.deduplication
    if settings is None:
        return "None is set."
    parts = ["Exact duplicates share their content but for white space."]
    if settings.near:
        parts.append(
            f"Near-duplicates share at least {settings.similarity:.0%} of their shingles; "
            "candidates are found by hashing, and every pair is verified."
        )
    stays = {
        "longest": "the longest",
        "quality": "the best by the classifier",
        "domain": "that of the preferred domain",
    }[settings.keep]
    parts.append(f"Of a cluster, {stays} stays.")
    if settings.url is not None:
        parts.append(f"Of documents with the same URL, the {settings.url} stays.")
    for cut, what in (
        (settings.lines, settings.lines and f"{settings.lines.span} {settings.lines.unit}s"),
        (settings.passages, settings.passages and f"{settings.passages.min_words} words"),
    ):
        if cut is not None:
            where = "all places but one" if cut.keep == "one" else "all places"
            parts.append(f"What is repeated for {what} in a row or more is cut from {where}.")
    if settings.prefer:
        parts.append(f"Preferred: {', '.join(map(markdown_text, settings.prefer))}.")
    if settings.against:
        names = (markdown_code(path.rstrip("/").rpartition("/")[2]) for path in settings.against)
        parts.append(f"Documents of these corpora count as kept: {', '.join(names)}.")
    return " ".join(parts)


def _mixture(recipe: Recipe) -> str:
    how = {
        "once": "Every document is taken once.",
        "epochs": "Domains are taken as often as their epochs in the recipe say.",
        "weight": "Domains are taken as often as their weights in the recipe need.",
    }[recipe.mixture.by]
    return f"{how} Documents held out are taken once; `written` counts repeats."


def _reasons(rejects: Mapping[str, int]) -> str:
    counts = (f"{markdown_text(name)} {readable_count(n)}" for name, n in rejects.items())
    return ", ".join(counts) or "–"
