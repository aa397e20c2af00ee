"""HTML and its relatives to text, in one pass and linear time, for mail and captions.

No tree is built: a tag that begins or ends a block becomes a line break, other tags vanish, blanks
collapse outside `pre`, character references are resolved. Scripts, styles, titles and comments are
dropped. Web pages, where most of the text is not wanted, need more than this.
"""

from __future__ import annotations

import re
from html import unescape

_PARAGRAPHS = frozenset(
    ["p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "table", "ul", "ol", "dl", "hr"]
)
_LINES = frozenset(
    ["div", "tr", "li", "dt", "dd", "center", "form", "section", "article", "header", "footer"]
)
_CELLS = frozenset(["td", "th"])
_HIDDEN = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style", "title")}
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9:]*+)")
_BLANKS = re.compile(r"[ \t\r\n\f\v\xa0]++")
_SPACES = re.compile(r" {2,}+")
_KEPT = "\0"  # a blank that must not collapse, until the end


def markup_text(markup: str) -> str:
    """The text of a page or fragment; whatever is malformed is treated as browsers do."""
    markup = markup.replace(_KEPT, "")
    pieces: list[str] = []
    position, verbatim, fresh = 0, False, True  # fresh: nothing on this line yet
    while True:
        start = markup.find("<", position)
        text = unescape(markup[position : start if start >= 0 else None])
        text = text.replace("\r", "").replace(" ", _KEPT) if verbatim else _BLANKS.sub(" ", text)
        pieces.append(text)
        fresh = (fresh and text in ("", " ")) or text.endswith("\n")
        if start < 0:
            break
        if markup.startswith("<!--", start):
            position = _after(markup, "-->", start + 4)
        elif markup.startswith(("<!", "<?"), start):
            position = _after(markup, ">", start)
        elif tag := _TAG.match(markup, start):
            name, closing = tag[1].lower(), markup[start + 1] == "/"
            position = _after(markup, ">", tag.end())
            gap = _gap(name, fresh=fresh)
            pieces.append(gap)
            fresh = fresh or "\n" in gap
            if name == "pre":
                verbatim = not closing
            if name in _HIDDEN and not closing:
                end = _HIDDEN[name].search(markup, position)
                position = end.start() if end else len(markup)
        else:  # a "<" that is only a character
            pieces.append("<")
            position, fresh = start + 1, False
    lines = _SPACES.sub(" ", "".join(pieces)).split("\n")
    return "\n".join(line.strip(" ") for line in lines).replace(_KEPT, " ")


def _after(markup: str, mark: str, start: int) -> int:
    """Where the text goes on; an unclosed tag or comment swallows the rest."""
    end = markup.find(mark, start)
    return end + len(mark) if end >= 0 else len(markup)


def _gap(name: str, *, fresh: bool) -> str:
    """What a tag leaves in the text."""
    if name in _PARAGRAPHS:
        return "\n\n"
    if name == "br" or (name in _LINES and not fresh):
        return "\n"
    return " " if name in _CELLS else ""
