"""The page of a card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barrow.pages import frame
from barrow.pages.markup import Markup, element, paragraph, section, table

if TYPE_CHECKING:
    from barrow.align.card.card import Card
    from barrow.score.diff import Difference

# Samples keep their lines.
_STYLE = "#samples td, #samples th { white-space: pre-wrap; vertical-align: top; }"


def card_page(card: Card) -> str:
    """The page as one HTML file, without a script."""
    return frame.page(
        "What alignment cost",
        element(
            "header",
            paragraph("Alignment", class_="eyebrow"),
            element("h1", _headline(card)),
            paragraph(f"{card.before} → {card.after}", class_="lead"),
        ),
        element("main", _tax(card), _answers(card), _samples(card)),
        element("footer", "Made by barrow align."),
        style=_STYLE,
    )


def _headline(card: Card) -> str:
    if card.tax is None or card.tax.overall.difference is None:
        return f"{card.divergence:.2f} nats per answer from the start"
    return f"{card.tax.overall.difference:+.4f} bits per byte on the validation corpus"


def _tax(card: Card) -> Markup:
    if card.tax is None:
        words = "Not measured: pass --corpus CORPUS to `barrow align card`."
        return section("tax", "Bits per byte by domain", paragraph(words))
    return section(
        "tax",
        "Bits per byte by domain",
        table(
            "Of validation documents; lower is better. Intervals of 95 % by pairs of documents.",
            ("Domain", "Before", "After", "Difference", "Interval"),
            [_row(row.name, row) for row in card.tax.domains],
            total=_row("all", card.tax.overall),
            text=(0,),
        ),
    )


def _row(name: str, row: Difference) -> tuple[str, ...]:
    return (
        name,
        *("" if value is None else f"{value:.4f}" for value in (row.second, row.first)),
        "" if row.difference is None else f"{row.difference:+.4f}",
        "" if row.low is None else f"{row.low:+.4f} to {row.high:+.4f}",
    )


def _answers(card: Card) -> Markup:
    one, other = card.style_before, card.style_after
    rows = [
        ("tokens of an answer", f"{one.length:.1f}", f"{other.length:.1f}"),
        ("end by themselves", f"{one.ended:.0%}", f"{other.ended:.0%}"),
        ("runs of four tokens repeated", f"{one.repeated:.1%}", f"{other.repeated:.1%}"),
    ]
    words = f"KL(after ‖ before) is {card.divergence:.3f} nats per answer."
    return section(
        "answers",
        "Answers",
        table(words, ("", "Before", "After"), rows, text=(0,)),
    )


def _samples(card: Card) -> Markup:
    rows = [(sample.prompt, sample.before, sample.after) for sample in card.samples]
    words = "The same prompts and random numbers, at temperature 1."
    return section(
        "samples",
        "Samples side by side",
        table(words, ("Prompt", "Before", "After"), rows, text=(0, 1, 2)),
    )
