"""The flow through the stages, for a report: what each of them dropped."""

from __future__ import annotations

from collections.abc import Mapping

from barrow.corpus.recipe import Recipe
from barrow.corpus.report.charts import bar, river
from barrow.corpus.report.composition import labelled, legend
from barrow.corpus.report.totals import (
    DEDUPLICATE,
    FILTER,
    MIX,
    READ,
    STEPS,
    Amount,
    DomainSurvey,
    Step,
    Survey,
)
from barrow.pages.markup import (
    Markup,
    count,
    element,
    folded,
    joined,
    name,
    paragraph,
    section,
    share,
    size,
    table,
)
from barrow.pages.numbers import readable_count

STEP_TITLES = {READ: "Reading", FILTER: "Filters", DEDUPLICATE: "Deduplication", MIX: "Mixture"}
_STAYED = {
    READ: "became documents",
    FILTER: "stayed",
    DEDUPLICATE: "stayed",
    MIX: "are taken",
}
_REASONS = 5


def flow(totals: Survey) -> Markup:
    """From raw files to shards: all domains together, then each."""
    files = sum(domain.files for domain in totals.domains)
    found = totals.steps[0].came
    start = joined(
        [
            element("strong", count(found), " found"),
            element("span", "in ", count(files), " raw files", class_="small soft"),
        ]
    )
    written = totals.total
    repeats = written.documents - totals.steps[-1].stayed
    end = joined(
        [
            element("strong", count(written.documents), " written"),
            element(
                "span",
                size(written.bytes),
                " of text",
                f", {readable_count(repeats)} of them repeats" if repeats > 0 else "",
                class_="small soft",
            ),
        ]
    )
    return section(
        "flow",
        "What became of what was found",
        paragraph(
            "The width is the number of documents; branches are what each step dropped. What "
            "readers drop is not yet a document: a post, a part of a mail, a file."
        ),
        element(
            "ol",
            element("li", element("div", start, class_="end")),
            *(_stretch(step, found) for step in totals.steps),
            element("li", element("div", end, class_="end")),
            class_="flow",
        ),
        element("h3", "By domain"),
        paragraph("Of everything found in a domain's files, how much each step dropped."),
        legend([("kept", "kept"), *((f"lost-{s}", f"{STEP_TITLES[s].lower()}") for s in STEPS)]),
        table(
            "Found, kept and dropped documents by domain",
            ("Domain", "Found", "Kept", "Share kept"),
            [_outcome(domain) for domain in totals.domains],
            total=(
                "All",
                count(found),
                count(totals.steps[-1].stayed),
                share(totals.steps[-1].stayed, found),
            ),
            class_="bars",
        ),
        _costs(totals),
    )


def _stretch(step: Step, found: int) -> Markup:
    lost = step.came - step.stayed
    stage = joined(
        [
            element("strong", STEP_TITLES[step.name]),
            element("span", count(step.stayed), f" {_STAYED[step.name]}", class_="small"),
        ]
    )
    cost: list[str] = [element("span", "dropped nothing", class_="soft")]
    if lost:
        cost = [
            element("b", "−", count(lost)),
            " (",
            share(lost, step.came),
            ") ",
            reasons(step.rejects, most=_REASONS),
        ]
    return element(
        "li",
        element("div", stage, class_="stage"),
        element("div", river(f"lost-{step.name}", step.came, step.stayed, found), class_="bed"),
        element("div", *cost, class_="cost"),
    )


def reasons(rejects: Mapping[str, int], *, most: int) -> Markup:
    """Reasons with their counts, the largest first, up to a limit."""
    listed = list(rejects.items())
    words: list[str] = []
    for reason, number in listed[:most]:
        words += [", " if words else "", name(reason), " ", count(number)]
    if len(listed) > most:
        rest = sum(number for _, number in listed[most:])
        words += [f" and {len(listed) - most} more reasons ", count(rest)]
    return joined(words)


def _outcome(domain: DomainSurvey) -> tuple[str, ...]:
    parts = [("kept", float(domain.drawn))]
    parts += [(f"lost-{step.name}", float(step.came - step.stayed)) for step in domain.steps]
    return (
        labelled(domain.name, bar(parts, domain.found)),
        count(domain.found),
        count(domain.drawn),
        share(domain.drawn, domain.found),
    )


def _costs(totals: Survey) -> Markup:
    rows = [
        (
            name(domain.name),
            STEP_TITLES[step.name],
            count(step.came),
            count(step.came - step.stayed),
            share(step.came - step.stayed, step.came),
            reasons(step.rejects, most=len(step.rejects)),
        )
        for domain in totals.domains
        for step in domain.steps
        if step.came != step.stayed
    ]
    if not rows:
        return paragraph("Nothing was dropped anywhere.")
    caption = "What each step cost, by domain and reason"
    header = ("Domain", "Step", "Came", "Dropped", "Share", "Reasons")
    return folded(caption, table(caption, header, rows, text=(0, 1, 5)))


def duplicates(totals: Survey, recipe: Recipe) -> Markup:
    """The duplicates of each domain."""
    settings = recipe.deduplication
    if settings is None:
        body = paragraph("Nobody looked for duplicates.")
        return section("duplicates", "Duplicates", body)
    what = "Exact duplicates share their content but for white space"
    if settings.near:
        what += f"; near-duplicates at least {settings.similarity:.0%} of their shingles"
    came = sum((domain.filtered for domain in totals.domains), Amount())
    stayed = sum((domain.deduplicated for domain in totals.domains), Amount())
    exact, near, others = (sum(_removed(d)[k] for d in totals.domains) for k in range(3))
    had = [d for d in totals.domains if d.filtered.documents != d.deduplicated.documents]
    without = sum(1 for domain in totals.domains if domain.filtered.documents) - len(had)
    if not had:
        return section("duplicates", "Duplicates", paragraph(f"{what}. There were none."))
    return section(
        "duplicates",
        "Duplicates",
        paragraph(
            f"{what}. Shares are of the documents that were looked at."
            + (f" {readable_count(without)} domains had none." if without else "")
            + (
                f" {readable_count(others)} more documents were removed: others have their URL, or "
                "nearly all of their lines or passages."
                if others
                else ""
            )
        ),
        legend([("exact", "exact"), ("near", "near")]),
        table(
            "Duplicates by domain: documents, share of documents, text, mean length of a copy",
            ("Domain", "Exact", "Near", "Share", "Text", "Mean"),
            [
                _copies(domain.name, domain.filtered, domain.deduplicated, *_removed(domain)[:2])
                for domain in had
            ],
            total=_copies("All", came, stayed, exact, near),
            extra=(5,),
            class_="bars",
        ),
    )


def _removed(domain: DomainSurvey) -> tuple[int, int, int]:
    """Exact duplicates, near-duplicates, and documents that were removed for other reasons."""
    rejects = domain.steps[STEPS.index(DEDUPLICATE)].rejects
    exact, near = rejects.get("duplicate", 0), rejects.get("near-duplicate", 0)
    return exact, near, sum(rejects.values()) - exact - near


def _copies(title: str, came: Amount, stayed: Amount, exact: int, near: int) -> tuple[str, ...]:
    lost = came - stayed
    chart = bar([("exact", exact), ("near", near)], came.documents)
    return (
        labelled(title, chart),
        count(exact),
        count(near),
        share(lost.documents, came.documents),
        size(lost.bytes),
        size(lost.bytes // lost.documents) if lost.documents else "–",
    )
