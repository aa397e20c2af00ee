"""Stretches of a page in which wikitext is not wikitext: comments, notes, formulas, code."""

from __future__ import annotations

import html
import re

from barrow.corpus.wikitext.marks import BREAK, CONTROLS, STASHED, STASHED_END, gone_after

# Tags whose contents are not read: notes, pictures, diagrams, data of the software.
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
_CODE = frozenset(["pre", "syntaxhighlight", "source"])
_OTHER = frozenset(["nowiki", "code", "poem"])
_NAMES = sorted(_DROPPED | _FORMULAS | _CODE | _OTHER)
_OPENING = re.compile(
    rf"<!--|<({'|'.join(_NAMES)})(?=[\s/>])(?:[^<>\"]++|\"[^\"<>]*+\"|\")*+>", re.IGNORECASE
)
_CLOSING = {name: re.compile(rf"</{name}\s*+>", re.IGNORECASE) for name in _NAMES}
_PUT_BACK = re.compile(f"{STASHED}([0-9]+){STASHED_END}")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


class Stash:
    """What was taken out of a page, to be put back when all markup is gone."""

    def __init__(self) -> None:
        self._kept: list[str] = []

    def put(self, text: str) -> str:
        """A place holder for `text`."""
        self._kept.append(CONTROLS.sub("", text))
        return f"{STASHED}{len(self._kept) - 1}{STASHED_END}"

    def take_out(self, text: str) -> str:
        """Text with place holders for formulas and code, and marks where things were dropped."""
        parts: list[str] = []
        at = 0
        unclosed: set[str] = set()  # names of which no end tag is left: looked for only once
        while opening := _OPENING.search(text, at):
            parts.append(text[at : opening.start()])
            at = opening.end()
            if opening[1] is None:
                end = text.find("-->", at)
                at = len(text) if end < 0 else end + 3
                # A comment on a line of its own takes the line with it.
                if (not parts[-1] or parts[-1][-1] == "\n") and text[at : at + 1] == "\n":
                    at += 1
                continue
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
            return f"\n\n{self.put(content.strip(chr(10)).rstrip())}\n\n"
        if name == "poem":
            return content.strip().replace("\n", BREAK)
        return self.put(content.strip("\n"))

    def put_back(self, text: str) -> str:
        """Text with what was taken out, and entities as the characters they stand for."""
        if STASHED in text:
            text = _PUT_BACK.sub(lambda found: self._kept[int(found[1])], text)
        if "&" in text:
            text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
        return text
