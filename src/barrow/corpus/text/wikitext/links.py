"""Links of wikitext, as the words they show."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from barrow.corpus.text.wikitext.marks import GONE
from barrow.corpus.text.wikitext.nesting import replace_pairs

# Most links: a target, and words to show for it.
_PLAIN = re.compile(r"\[\[(?:[^\[\]{}|\n:]*+\||(?! ))([^\[\]{}|\n:]++)(?<! )\]\]")
_FLAT = re.compile(r"\[\[([^\[\]{}\n]++)\]\]")
_EXTERNAL = re.compile(
    r"\[(?:(?:https?|s?ftps?|ircs?|gopher|telnet|nntp|svn|git|ssh|mms)://|//"
    r"|(?:mailto|news|tel|sms|sips?|xmpp|geo|urn|magnet|bitcoin|matrix):)"
    r"[^\s\[\]<>\"]++(?:[^\S\n]++([^\[\]\n]*+))?+\]",
    re.IGNORECASE,
)
# Languages have codes of two or three letters, or longer ones with a hyphen. Links to some other
# sites have such prefixes, too.
_LANGUAGE = re.compile(
    r"(?!(?:doi|irc|mw|rev|rfc|voy|wmf)\s*+:)(?:[a-z]{2,3}|[a-z]{2,8}-[a-z-]{2,12}|simple)\s*+:"
)
_IMAGE_OPTION = re.compile(
    r"(?:thumb|thumbnail|frame|framed|frameless|border|left|right|center|centre|none|upright|sub"
    r"|super|top|middle|bottom|baseline|text-top|text-bottom|[0-9]*x?[0-9]+ ?px"
    r"|(?:alt|link|class|lang|page|upright|thumb|thumbnail|start|end|thumbtime)\s*+=.*+)",
    re.IGNORECASE | re.DOTALL,
)
_QUALIFIER = re.compile(r" ?(?:\([^()]*+\)|（[^（）]*+）)\Z")
_PLACE = re.compile(r"(?: ?\([^()]*+\))?(?:, |，|、)")


class Links(NamedTuple):
    """The names of a wiki's namespaces of files and categories, in lower case.

    Of files the captions are shown, or nothing.
    """

    files: Collection[str] = ("file", "image", "media")
    categories: Collection[str] = ("category",)
    captions: bool = False

    def without_flat(self, text: str) -> str:
        """Text in which links that hold neither links nor templates are the words they show.

        This comes before templates, so that the ``|`` of a link is not taken for one of theirs.
        """
        # `split` gives the text between links, and the words of each: faster than replacing.
        text = "".join(_PLAIN.split(text))
        return _FLAT.sub(lambda found: self._shown(found[1]), text) if "[[" in text else text

    def without_all(self, text: str) -> str:
        """Text without the links that are left: those that hold others, and those to the web."""
        if "[[" in text or "]]" in text:
            text = replace_pairs(
                text, "[]", self._is_kept, self._shown, lambda _text, start, _end: start
            )
        return _EXTERNAL.sub(lambda found: found[1] or GONE, text) if "[" in text else text

    def _is_kept(self, text: str, start: int, end: int) -> bool:
        name = text[start : min(end, start + 60)].partition(":")[0].strip().lower()
        if name in self.files:
            return self.captions
        return name not in self.categories

    def _shown(self, contents: str) -> str:
        target, pipe, label = contents.partition("|")
        prefix, colon, rest = target.partition(":")
        name = prefix.strip().lower()
        if colon and name in self.files:
            return _caption(label) if self.captions else GONE
        if colon and (name in self.categories or (rest and _LANGUAGE.match(target.strip()))):
            return GONE
        target = target.strip().removeprefix(":")
        if not pipe:
            return target
        return label.rpartition("|")[2] or _without_qualifier(target)


def _without_qualifier(target: str) -> str:
    """The words of a link with nothing after the ``|``: the target without its qualifier.

    ``A, B (C)`` is ``A, B``; without a bracket at the end, ``A, B`` is ``A``.
    """
    _, colon, rest = target.partition(":")
    name = (rest if colon else target).strip()
    shown = _QUALIFIER.sub("", name)
    return shown if shown != name else _PLACE.split(name, 1)[0]


def _caption(label: str) -> str:
    parts = [part for part in label.split("|") if not _IMAGE_OPTION.fullmatch(part.strip())]
    caption = parts[-1].strip() if parts else ""
    return f"\n\n{caption}\n\n" if caption else GONE
