"""Parts of a page that are not parsed as wikitext: comments, notes, formulas, code."""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5

from barrow.corpus.text.wikitext.marks import BREAK, CONTROLS, STASHED, STASHED_END, gone_after

# Tags whose contents are dropped: notes, pictures, diagrams, data of the software.
_DROPPED = frozenset(
    re.findall(
        r"\S+",
        """
    ref references gallery timeline imagemap score graph chart mapframe maplink templatedata
    templatestyles hiero inputbox section indicator categorytree includeonly style script
    """,
    )
)
_FORMULAS = frozenset(["math", "ce", "chem"])
_HIGHLIGHTED = frozenset(["syntaxhighlight", "source"])
_CODE = _HIGHLIGHTED | {"pre"}
_OTHER = frozenset(["nowiki", "code", "poem"])
_NAMES = sorted(_DROPPED | _FORMULAS | _CODE | _OTHER)
_OPENING = re.compile(
    rf"<!--|<({'|'.join(_NAMES)})(?=[\s/>])(?:[^<>\"]++|\"[^\"<>]*+\"|\")*+>", re.IGNORECASE
)
_CLOSING = {name: re.compile(rf"</{name}\s*+>", re.IGNORECASE) for name in _NAMES}
_BLANKS = re.compile(r"[ \t]*+")
_NOWIKI = re.compile(r"</?nowiki\s*+/?>", re.IGNORECASE)
_PUT_BACK = re.compile(f"{STASHED}([0-9]+){STASHED_END}")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|([A-Za-z][A-Za-z0-9]{1,31}));")


class Stash:
    """What was taken out of a page, to be put back when all markup is gone."""

    def __init__(self) -> None:
        self._kept: list[str] = []

    def put(self, text: str) -> str:
        """A placeholder for `text`."""
        self._kept.append(CONTROLS.sub("", text))
        return f"{STASHED}{len(self._kept) - 1}{STASHED_END}"

    def take_out(self, text: str) -> str:
        """Text with placeholders for formulas and code, and marks where things were dropped."""
        parts: list[str] = []
        at = 0
        begins_line = True  # what is at `at`
        unclosed: set[str] = set()  # names without another end tag: searched only once
        while opening := _OPENING.search(text, at):
            before = text[at : opening.start()]
            at = opening.end()
            if opening[1] is None:
                at, left = _after_comments(text, at)
                head = before.rstrip(" \t")
                # A comment alone on its line is dropped with the line.
                begins_line = head.endswith("\n") or (begins_line and not head)
                begins_line = begins_line and text.startswith("\n", at)
                parts.append(head if begins_line else before + left)
                at += begins_line
                continue
            parts.append(before)
            begins_line = False
            name = opening[1].lower()
            closing = None
            if not opening[0].endswith("/>") and name not in unclosed:
                closing = _CLOSING[name].search(text, at)
                if closing is None:
                    unclosed.add(name)
            if closing is None:
                parts.append(gone_after(parts[-1]))
            else:
                contents = self._contents(name, text[at : closing.start()])
                parts.append(contents or gone_after(parts[-1]))
                at = closing.end()
        parts.append(text[at:])
        return "".join(parts)

    def _contents(self, name: str, content: str) -> str:
        if name in _DROPPED or not content.strip():
            return ""
        if name in _FORMULAS:
            return self.put(f"${' '.join(content.split())}$")
        if name in _CODE:
            # In highlighted code entities are shown as they are.
            is_raw = name in _HIGHLIGHTED
            content = content.replace("&", "&amp;") if is_raw else _NOWIKI.sub("", content)
            return f"\n\n{self.put(content.strip(chr(10)).rstrip())}\n\n"
        if name == "poem":
            # Its contents are wikitext; poems are not nested, so one level is enough.
            return self.take_out(content.strip()).replace("\n", BREAK)
        return self.put((_NOWIKI.sub("", content) if name == "code" else content).strip("\n"))

    def put_back(self, text: str) -> str:
        """Text with what was taken out, and with entities decoded."""
        if STASHED in text:
            text = _PUT_BACK.sub(lambda found: self._kept[int(found[1])], text)
        if "&" in text:
            text = _ENTITY.sub(_character, text)
        return text


def _after_comments(text: str, at: int) -> tuple[int, str]:
    """Where a comment, those next to it, and blanks after each end; and the blanks."""
    left: list[str] = []
    while (end := text.find("-->", at)) >= 0:
        blanks = _BLANKS.match(text, end + 3)
        at = blanks.end() if blanks else end + 3
        left.append(text[end + 3 : at])
        if not text.startswith("<!--", at):
            return at, "".join(left)
        at += 4
    return len(text), "".join(left)


def _character(entity: re.Match[str]) -> str:
    """The character of an entity; an unknown one stays."""
    if entity[1] is not None:
        return html5.get(f"{entity[1]};", entity[0])
    return CONTROLS.sub("", unescape(entity[0]))
