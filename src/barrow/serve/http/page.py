"""The page at `/`: a prompt, its answer as it comes, and how likely its tokens were."""

from __future__ import annotations

from barrow.pages.frame import page, static
from barrow.pages.markup import Markup, element, joined


def playground(model: str, *, has_chat: bool, has_key: bool) -> str:
    """The page of a server; it asks that server and nobody else."""
    fields = [
        _field("Prompt", element("textarea", id="prompt", rows="5", autofocus="")),
        element(
            "div",
            _number("max_tokens", "Tokens", value="128", min="1", step="1"),
            _number("temperature", "Temperature", value="0.8", min="0", step="0.1"),
            _field("Key", element("input", id="key", type="password", autocomplete="off"))
            if has_key
            else Markup(""),
            element("button", "Send", id="send", type="submit"),
            element("button", "Stop", id="stop", type="button", disabled=""),
            class_="row",
        ),
    ]
    return page(
        f"{model} — playground",
        element("p", "barrow serve", class_="eyebrow"),
        element("h1", model),
        element("form", joined(fields), id="ask"),
        element("p", id="problem", role="alert"),
        element("div", id="answer", aria_live="polite"),
        element("p", id="count", class_="soft small"),
        element("div", id="likely", hidden=""),
        style=static(__package__, "playground.css"),
        script=static(__package__, "playground.js"),
        data={"chat": has_chat},
        live=0.0,
    )


def _field(label: str, field: Markup) -> Markup:
    return element("label", label, field)


def _number(name: str, label: str, **more: str) -> Markup:
    return _field(label, element("input", id=name, type="number", **more))
