"""The composition of a corpus, for a report: domains, splits, languages, licences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from barrow.corpus.report.charts import bar
from barrow.corpus.report.totals import Amount, DomainSurvey, Survey
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
from barrow.pages.numbers import readable_count, readable_share

_ROWS = 24
_Values = Callable[[DomainSurvey], Mapping[str, Amount]]


def labelled(text: str, chart: Markup) -> Markup:
    """A name and its bar, in one cell."""
    return element("div", name(text), chart, class_="labelled")


def legend(entries: Sequence[tuple[str, str]]) -> Markup:
    """The meaning of colours, as (class, words)."""
    return element(
        "ul",
        *(
            element("li", element("svg", _square(kind), viewBox="0 0 10 10", aria_hidden="true"), t)
            for kind, t in entries
        ),
        class_="legend",
    )


def _square(kind: str) -> Markup:
    return element("rect", width="10", height="10", class_=kind)


def composition(totals: Survey) -> Markup:
    """Domains by bytes, divided into splits."""
    if not totals.total.documents:
        return section("composition", "What is in it", paragraph("Nothing: no document is left."))
    largest = max(domain.total.bytes for domain in totals.domains)
    rows = [
        (
            labelled(
                domain.name,
                bar([(split, a.bytes) for split, a in domain.written.items()], largest),
            ),
            size(domain.total.bytes),
            share(domain.total.bytes, totals.total.bytes),
            count(domain.total.documents),
            _mean(domain.total),
        )
        for domain in totals.domains
    ]
    total = totals.total
    everything = ("All", size(total.bytes), share(1, 1), count(total.documents), _mean(total))
    splits = ", ".join(
        f"{readable_share(amount.bytes, total.bytes)} {split}"
        for split, amount in totals.splits.items()
    )
    return section(
        "composition",
        "What is in it",
        paragraph(
            "Text by domain, in bytes of UTF-8"
            + (
                f"; of all of it, {splits}."
                if len(totals.splits) > 1
                else "; no validation or test split."
            )
        ),
        legend([(split, split) for split in totals.splits]) if len(totals.splits) > 1 else "",
        table(
            "Text, share of the text, documents and mean length by domain",
            ("Domain", "Text", "Share", "Documents", "Mean"),
            rows,
            total=everything,
            extra=(4,),
            class_="bars",
        ),
        _by_split(totals) if len(totals.splits) > 1 else "",
    )


def _mean(amount: Amount) -> str:
    return size(amount.bytes // amount.documents) if amount.documents else "–"


def _by_split(totals: Survey) -> Markup:
    def cells(written: Mapping[str, Amount]) -> list[str]:
        amounts = [written.get(split, Amount()) for split in totals.splits]
        return [cell for a in amounts for cell in (count(a.documents), size(a.bytes))]

    header = ["Domain", *(f"{s}, {what}" for s in totals.splits for what in ("documents", "text"))]
    return folded(
        "Domains by split, in numbers",
        table(
            "Documents and text by domain and split",
            header,
            [(name(domain.name), *cells(domain.written)) for domain in totals.domains],
            total=("All", *cells(totals.splits)),
        ),
    )


def languages(totals: Survey) -> Markup:
    """Languages by their bytes."""
    return section(
        "languages",
        "Languages",
        paragraph("As the files or the recipe state them, one for each document."),
        _ranked("Language", totals.languages, totals.total),
        _by_domain("Languages by domain", "Language", totals.domains, lambda d: d.languages),
    )


def licences(totals: Survey) -> Markup:
    """Licences by their bytes."""
    return section(
        "licences",
        "Licences",
        paragraph("As the documents state them, or else the recipe; nobody has verified them."),
        _ranked("Licence", totals.licences, totals.total),
        _by_domain("Licences by domain", "Licence", totals.domains, lambda d: d.licences),
    )


def _ranked(what: str, amounts: Mapping[str, Amount], total: Amount) -> Markup:
    if not amounts:
        return paragraph("None: no document is left.")
    largest = max(amount.bytes for amount in amounts.values())
    rows = [
        (
            labelled(value, bar([("kept", amount.bytes)], largest)),
            size(amount.bytes),
            share(amount.bytes, total.bytes),
            count(amount.documents),
        )
        for value, amount in amounts.items()
    ]

    def ranked(part: Sequence[Sequence[str]], caption: str) -> Markup:
        header = (what, "Text", "Share", "Documents")
        return table(caption, header, part, class_="bars")

    shown = ranked(rows[:_ROWS], f"Text, share of the text and documents by {what.lower()}")
    if len(rows) <= _ROWS:
        return shown
    rest = len(rows) - _ROWS
    return joined([shown, folded(f"{rest} more", ranked(rows[_ROWS:], f"{rest} more"))])


def _by_domain(caption: str, what: str, domains: Sequence[DomainSurvey], values: _Values) -> Markup:
    rows = [
        (
            name(domain.name),
            name(value),
            size(amount.bytes),
            share(amount.bytes, domain.total.bytes),
            count(amount.documents),
        )
        for domain in domains
        for value, amount in values(domain).items()
    ]
    if not rows:
        return Markup("")
    header = ("Domain", what, "Text", "Share of the domain", "Documents")
    words = f"{caption} ({readable_count(len(rows))} rows)"
    return folded(words, table(caption, header, rows, text=(0, 1)))
