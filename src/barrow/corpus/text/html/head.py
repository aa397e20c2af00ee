"""Title, URL and language from the head of a web page."""

from __future__ import annotations

import html
import re
from typing import NamedTuple

_MAX_HEAD = 1 << 20
_TAG = re.compile(
    r"""<!--.*?(?:-->|\Z)
    | <(?:script|style)\b.*?(?:</(?:script|style)\b|\Z)
    | <(html|meta|link|title|body)\b
      ((?:[^>=]++|=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))?+)*+)(?:>|\Z)
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"""([^\s=/]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|(\S*+)))?+""")
_LANGUAGE = re.compile(r"([a-z]{2})(?:[-_][a-z0-9_-]{1,20}+)?+$", re.IGNORECASE)


class Head(NamedTuple):
    """The title, the canonical URL (or empty), and the language as an ISO 639-1 code."""

    title: str
    url: str
    language: str | None


def page_head(markup: str) -> Head:
    """Metadata of a page, from its first MiB, up to <body>."""
    title = social = canonical = shared = ""
    language: str | None = None
    for token in _TAG.finditer(markup, 0, _MAX_HEAD):
        tag = (token[1] or "").lower()
        if tag == "body":
            break
        if tag == "title" and not title:
            end = markup.find("<", token.end(), token.end() + 10_000)
            title = _line(markup[token.end() : end if end >= 0 else token.end() + 10_000])
        elif tag:
            values = _attributes(token[2])
            if tag == "html":
                language = _language(values.get("lang") or values.get("xml:lang") or "")
            elif tag == "link" and values.get("rel", "").lower() == "canonical":
                canonical = canonical or values.get("href", "").strip()
            elif tag == "meta":
                key = (values.get("property") or values.get("name") or "").lower()
                content = values.get("content", "")
                if key == "og:title":
                    social = social or _line(content)
                elif key == "og:url":
                    shared = shared or content.strip()
                elif values.get("http-equiv", "").lower() == "content-language":
                    language = language or _language(content)
    url = next((u for u in (canonical, shared) if u.startswith(("http://", "https://"))), "")
    return Head(social or title, url, language)


def _attributes(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(text):
        values.setdefault(name.lower(), html.unescape(double or single or bare))
    return values


def _language(code: str) -> str | None:
    found = _LANGUAGE.match(code.strip())
    return found[1].lower() if found else None


def _line(text: str) -> str:
    return " ".join(html.unescape(text).split())
