"""The leaderboard: one HTML file with its results, style and script."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from barrow.pages import frame
from barrow.pages.frame import static
from barrow.pages.markup import Markup, element, joined, paragraph, section
from barrow.score.board.published import published_section

_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath "
    "d='M2 13h12M4 13V8M8 13V3M12 13v-7' stroke='%230072b2' stroke-width='2.4'/%3E%3C/svg%3E"
)


_SCRIPTS = ("elements.js", "table.js", "heat.js", "chart.js", "card.js", "state.js")
STYLE = static("barrow.score.board", "board.css")
# One strict function, so no name is global.
SCRIPT = '(() => {\n"use strict";\n' + static("barrow.score.board", *_SCRIPTS) + "})();\n"


def page(data: Mapping[str, Any], *, live: float | None = None) -> str:
    """The page of `board_data`; `live` is how often it asks its server, in seconds."""
    return frame.page(
        "Bits per byte: leaderboard",
        element("a", "Skip to the ranking", href="#ranking", class_="skip"),
        _header(str(data["summary"]), live=live is not None),
        element("main", _empty(live=live is not None), _board(), _left_out(), published_section()),
        element(
            "footer",
            f"Made by barrow {version('barrow')}. Bits per byte: bits a model needs for each byte "
            "of UTF-8 text, as totals over documents.",
        ),
        element("dialog", id="card", aria_labelledby="card-title"),
        style=STYLE,
        script=SCRIPT,
        data=data,
        head=[element("link", rel="icon", href=_ICON)],
        live=live,
    )


def _header(summary: str, *, live: bool) -> Markup:
    return element(
        "header",
        element(
            "div",
            paragraph("Leaderboard", class_="eyebrow"),
            element("button", "Dark", type="button", id="theme", aria_pressed="false"),
            class_="top",
        ),
        element("h1", "Bits per byte"),
        paragraph(
            "How many bits a model needs for each byte of text that it has not seen. "
            "Lower is better. ",
            element("span", summary, id="summary"),
            class_="lead",
        ),
        element("p", id="live", class_="live", role="status") if live else "",
        element(
            "noscript",
            paragraph("Tables and charts need JavaScript; the script is in this file."),
        ),
    )


def _empty(*, live: bool) -> Markup:
    then = (
        "They appear here as they are written; this page reloads itself."
        if live
        else "Make the page again when there are some."
    )
    return element(
        "section",
        element("h2", "No results yet"),
        paragraph(
            "A result is the JSON file that ",
            element("code", "barrow score MODEL CORPUS --out DIR"),
            f" writes. {then}",
        ),
        id="empty",
        class_="empty",
        hidden="",
    )


def _left_out() -> Markup:
    return element(
        "section",
        element("h2", "Left out", id="left-out-heading"),
        paragraph("Files that are not valid results. They are not shown above."),
        element("ul", id="left-out-list"),
        id="left-out",
        aria_labelledby="left-out-heading",
        hidden="",
    )


def _board() -> Markup:
    choices = element(
        "div",
        _field("Score card", element("select", id="choose-card"), for_="choose-card"),
        _field("Domain", element("select", id="choose-domain"), for_="choose-domain"),
        element(
            "fieldset",
            element("legend", "Kinds of models"),
            element("div", id="choose-kinds", class_="checks"),
        ),
        class_="choices",
    )
    views = element("div", _ranking(), _heat(), _chart(), id="views")
    nothing = element(
        "p",
        "Every kind is switched off. ",
        element("button", "Show all", type="button", id="reset"),
        id="nothing",
        class_="empty",
        hidden="",
    )
    ground = element("dl", id="ground", class_="ground")
    return element("div", choices, ground, nothing, views, id="board", hidden="")


def _field(label: str, control: Markup, *, for_: str) -> Markup:
    return element("div", element("label", label, for_=for_), control, class_="field")


def _ranking() -> Markup:
    return section(
        "ranking",
        "Ranking",
        paragraph(
            element("span", id="count"),
            ". A ranking compares only results with the same score card; models without "
            "windows are in every ranking of their text. Open a model for its card and "
            "provenance.",
        ),
        element(
            "div",
            element("label", "Sort by", for_="sort"),
            element("select", id="sort"),
            element("button", type="button", id="turn"),
            class_="sorting",
        ),
        _scroll("ranking-table", "Ranking", class_="ranking"),
    )


def _heat() -> Markup:
    return element(
        "section",
        element("h2", "By domain", id="heat-heading"),
        paragraph("Shading shows how far a model is from the best one shown in the same domain."),
        element("ul", id="heat-legend", class_="legend"),
        _scroll("heat-table", "Bits per byte by model and domain", class_="matrix"),
        id="heat",
        aria_labelledby="heat-heading",
    )


def _chart() -> Markup:
    axes = {"params": "Parameters", "train_tokens": "Training tokens", "size": "Size"}
    radios = joined(
        element("label", element("input", type="radio", name="x", value=value), words)
        for value, words in axes.items()
    )
    return section(
        "cost",
        "Against what it cost",
        element(
            "fieldset",
            element("legend", "Bits per byte against"),
            element("div", radios, class_="checks"),
        ),
        element("div", element("div", id="chart"), id="chart-box"),
        element("p", id="chart-note", class_="small soft"),
    )


def _scroll(identity: str, label: str, *, class_: str) -> Markup:
    return element(
        "div",
        id=identity,
        class_=f"scroll {class_}",
        tabindex="0",
        role="region",
        aria_label=label,
    )
