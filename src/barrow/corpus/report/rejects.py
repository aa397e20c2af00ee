"""What was dropped and why, for a report, with samples."""

from __future__ import annotations

from collections import Counter, defaultdict

from barrow.corpus.report.charts import bar
from barrow.corpus.report.flow import STEP_TITLES, reasons
from barrow.corpus.report.reject_samples import Sample, Samples
from barrow.corpus.report.totals import Survey, add_counts
from barrow.pages.markup import (
    Markup,
    count,
    element,
    folded,
    joined,
    name,
    paragraph,
    section,
    table,
)
from barrow.pages.numbers import readable_count


def rejects(totals: Survey, samples: Samples) -> Markup:
    """Every reason, the most frequent first, with samples."""
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for domain in totals.domains:
        for step in domain.steps:
            for reason, number in step.rejects.items():
                found[step.name, reason][domain.name] += number
    kinds = sorted(found.items(), key=lambda item: (-item[1].total(), item[0]))
    if not kinds:
        return section("rejects", "What was dropped", paragraph("Nothing."))
    total, largest = sum(counts.total() for _, counts in kinds), kinds[0][1].total()
    return section(
        "rejects",
        "What was dropped",
        paragraph(
            f"{readable_count(total)} for {len(kinds)} reasons. Open one to see the first few, of "
            "different domains where there are several. All of them are in the archive ",
            element("code", "rejects"),
            " beside the corpus.",
        ),
        *(
            _kind(stage, reason, counts, largest, samples.get((stage, reason), ()))
            for (stage, reason), counts in kinds
        ),
    )


def _kind(
    stage: str, reason: str, counts: Counter[str], largest: int, samples: tuple[Sample, ...]
) -> Markup:
    number = counts.total()
    summary = element(
        "span",
        name(reason),
        element("span", STEP_TITLES[stage].lower(), class_="kind"),
        bar([(f"lost-{stage}", number)], largest),
        element("span", count(number), class_="number"),
        class_="labelled",
    )
    return folded(
        summary,
        paragraph("In ", reasons(add_counts([counts]), most=len(counts)), ".", class_="small")
        if counts
        else "",
        *_shown(reason, samples),
    )


def _shown(reason: str, samples: tuple[Sample, ...]) -> list[Markup]:
    if reason.startswith("pii-"):
        # A report is shared more freely than a corpus.
        return [paragraph("Not shown here: it is personal data.", class_="small soft")]
    if not samples:
        return [paragraph("No sample was kept.", class_="small soft")]
    return [_sample(sample) for sample in samples]


def _sample(sample: Sample) -> Markup:
    text = (
        element("blockquote", element("pre", sample.beginning, dir="auto"))
        if sample.beginning.strip()
        else paragraph("No text.", class_="soft")
    )
    return element(
        "div",
        paragraph(element("b", name(sample.domain)), " · ", name(sample.cause)),
        paragraph(element("code", name(sample.place)), class_="soft") if sample.place else "",
        text,
        class_="sample",
    )


def found_inside(totals: Survey) -> Markup:
    """What rewriters counted inside texts, and how many documents had evaluation data in them."""
    parts = []
    found = add_counts(domain.found_inside for domain in totals.domains)
    if found:
        parts.append(
            table(
                "Found in texts, by category",
                ("Category", "Found", "Where"),
                [
                    (
                        name(category),
                        count(number),
                        reasons(
                            {
                                domain.name: domain.found_inside[category]
                                for domain in totals.domains
                                if category in domain.found_inside
                            },
                            most=8,
                        ),
                    )
                    for category, number in found.items()
                ],
                text=(0, 2),
            )
        )
    matches = [
        (name(domain.name), name(title), count(number))
        for domain in totals.domains
        for title, number in domain.matches.items()
    ]
    if matches:
        header = ("Domain", "Evaluation set", "Documents")
        parts.append(table("Documents with evaluation data", header, matches, text=(0, 1)))
    return section("inside", "Found in texts", joined(parts)) if parts else Markup("")
