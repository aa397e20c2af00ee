"""The frame of every page: one HTML file that fetches nothing, light or dark.

Its policy allows the page's own style and script, by their hashes, and nothing else: texts and
names come from anywhere. A page that a server sends may ask that server for newer data.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

from barrow.pages.markup import Markup, element


@functools.cache
def static(package: str, *names: str) -> str:
    """The files of a package's folder `static`, one after the other."""
    folder = resources.files(package) / "static"
    return "".join((folder / name).read_text(encoding="utf-8") for name in names)


def full_style(style: str) -> str:
    """The style of a page, after the shared one."""
    return static("barrow.pages", "base.css") + style


def policy(style: str, script: str = "", *, is_live: bool = False) -> str:
    """What a page of this style and script may do."""
    rules = {
        "default-src": "'none'",
        "script-src": _hash(script) if script else "'none'",
        "style-src": _hash(full_style(style)),
        "img-src": "data:",
        "connect-src": "'self'" if is_live else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def page(
    title: str,
    *body: str,
    style: str,
    script: str = "",
    data: Any = None,
    head: Sequence[Markup] = (),
    live: float | None = None,
) -> str:
    """A page. `data` are JSON values that the script finds in the element ``data``.

    `live` is how often the script asks its server for newer data, in seconds.
    """
    parts = [*body]
    if data is not None:
        parts.append(element("script", Markup(as_json(data)), type="application/json", id="data"))
    if script:
        parts.append(element("script", Markup(script)))
    rules = policy(style, script, is_live=live is not None)
    root = element(
        "html",
        element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=rules),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("meta", name="referrer", content="no-referrer"),
            element("title", title),
            *head,
            element("style", Markup(full_style(style))),
        ),
        element("body", *parts),
        lang="en",
        data_live=None if live is None else f"{live:g}",
    )
    return f"<!DOCTYPE html>\n{root}\n"


def as_json(data: Any) -> str:
    """JSON inside a script element: nothing in it can end the element."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
