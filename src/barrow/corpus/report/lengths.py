"""How long documents are, for a report: histograms by powers of two."""

from __future__ import annotations

from collections.abc import Mapping

from barrow.corpus.report.charts import histogram
from barrow.corpus.report.totals import Amount, Survey
from barrow.pages.escape import one_line
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
from barrow.pages.numbers import (
    length_range,
    power_of_two,
    readable_count,
    readable_share,
)

_CARDS = 24


def lengths(totals: Survey) -> Markup:
    """All documents together, then each domain, on one scale."""
    everything = totals.lengths
    if not everything:
        return section("lengths", "Lengths", paragraph("None: no document is left."))
    bins = range(min(everything), max(everything) + 1)
    cards = [
        _figure(domain.name, domain.lengths, bins) for domain in totals.domains if domain.lengths
    ]
    shown = element("div", *cards[:_CARDS], class_="cards")
    if len(cards) > _CARDS:
        rest = element("div", *cards[_CARDS:], class_="cards")
        shown = joined([shown, folded(f"{len(cards) - _CARDS} more domains", rest)])
    return section(
        "lengths",
        "Lengths",
        paragraph(
            "Documents by the bytes of their text. Each column is twice as long as the one before; "
            "the scale across is the same everywhere, the highest column is of full height."
        ),
        _figure("All domains", everything, bins, class_="tall"),
        element("h3", "By domain"),
        shown,
        _numbers(totals, bins),
    )


def median_bin(found: Mapping[int, Amount]) -> int:
    """The bin of the median document."""
    total, below = sum(amount.documents for amount in found.values()), 0
    for bits, amount in sorted(found.items()):
        below += amount.documents
        if 2 * below >= total:
            return bits
    raise ValueError("no documents, so no median")


def _figure(
    title: str, found: Mapping[int, Amount], bins: range, *, class_: str | None = None
) -> Markup:
    counts = [found.get(bits, Amount()).documents for bits in bins]
    total = sum(counts)
    titles = [
        f"{length_range(bits)}: {readable_count(n)} documents ({readable_share(n, total)})"
        for bits, n in zip(bins, counts, strict=True)
    ]
    middle = length_range(median_bin(found))
    label = f"Lengths of {one_line(title)}: {readable_count(total)} documents, median {middle}"
    first, last = bins[0] - 1, bins[-1]
    # A mark in the middle, if columns meet there.
    ends = (
        (first, (first + last) // 2, last) if class_ and not (first + last) % 2 else (first, last)
    )
    return element(
        "figure",
        element(
            "figcaption",
            element("strong", name(title)),
            element("span", count(total), f" documents, median {middle}", class_="soft"),
        ),
        histogram(counts, titles, label, class_=class_),
        element(
            "div",
            *(element("span", _edge(exponent)) for exponent in ends),
            class_="axis",
            aria_hidden="true",
        ),
    )


def _edge(exponent: int) -> str:
    return power_of_two(exponent) if exponent >= 0 else "0"


def _numbers(totals: Survey, bins: range) -> Markup:
    rows = [
        (
            name(domain.name),
            *(count(domain.lengths.get(bits, Amount()).documents) for bits in bins),
        )
        for domain in totals.domains
        if domain.lengths
    ]
    everything = totals.lengths
    header = ("Domain", *(f"< {power_of_two(bits)}" for bits in bins))
    caption = "Documents by length and domain, in numbers"
    total = ("All", *(count(everything.get(bits, Amount()).documents) for bits in bins))
    return folded(caption, table(caption, header, rows, total=total))
