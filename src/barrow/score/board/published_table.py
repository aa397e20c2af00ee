"""The Pile paper's figures as a table of their own."""

from __future__ import annotations

from barrow.pages.markup import Markup, element, paragraph, section
from barrow.score.published import PUBLISHED, SOURCE, WEIGHTS


def published_section() -> Markup:
    """Reference rows, marked as published; no rank, no shade."""
    head = element(
        "tr",
        element("th", "Model", scope="col", class_="text"),
        _upright("Mean by weight"),
        *(_upright(component) for component in WEIGHTS),
    )
    rows = (
        element(
            "tr",
            element(
                "th",
                element("span", published.model),
                element("span", "published", class_="tag"),
                scope="row",
                class_="text",
            ),
            element("td", f"{published.weighted:.2f}", class_="number mean"),
            *(
                element("td", f"{published.bpb[component]:.2f}", class_="number")
                for component in WEIGHTS
            ),
        )
        for published in PUBLISHED
    )
    caption = "Published bits per byte by model and component of the Pile"
    return section(
        "published",
        "Published, for reference",
        paragraph(
            f"{SOURCE}. Other texts, other windows: these rows stand apart and have no rank. The "
            "last three are the authors' own models, by what they were trained on. The mean by "
            "weight is computed here from the published figures."
        ),
        element(
            "div",
            element(
                "table",
                element("caption", element("span", caption)),
                element("thead", head),
                element("tbody", *rows),
            ),
            class_="scroll matrix",
            tabindex="0",
            role="region",
            aria_label=caption,
        ),
    )


def _upright(words: str) -> Markup:
    return element("th", element("span", words), scope="col", class_="upright")
