"""Marks inside lines: quotes for bold and italics, HTML tags, magic words."""

from __future__ import annotations

import re

from barrow.corpus.text.wikitext.marks import BREAK, GONE

# An apostrophe, then italics: l'''Iliade'', dell'''Iliade''.
_ELIDED = re.compile(
    r"'''(?:(?<=\b[a-zA-Z]''')|(?<=ll'''))(?<!'[a-zA-Z]''')(?=\w)([^'\n]*+)''(?!')"
)
_QUOTES = re.compile(r"'{2,}+")
_MAGIC = re.compile(r"__[^\W\d_]{3,30}__")
_SIGNATURE = re.compile(r"~{3,5}")
_VARIANTS = re.compile(r"-\{([^{}]*+)\}-")
# Codes of scripts and regions: zh, zh-hans, sr-ec. In words, ";" is an ordinary character.
_VARIANT = re.compile(r"\s*+[a-z]{2,3}(?:-[a-z]{2,5}){0,2}+\s*+:", re.IGNORECASE)
_NEXT_VARIANT = re.compile(rf";(?={_VARIANT.pattern}|\s*+\Z)", re.IGNORECASE)
# Rules for the rest of the page, or for its title.
_HIDDEN = frozenset("HT-")

_TAG = re.compile(r"<(/?[a-zA-Z][a-zA-Z0-9]{0,15}+)(?=[\s/>])[^<>]*+>")
_RAISED = re.compile(
    r"<sup>(?<=[\w)]<sup>)([+\-\u2212\u2013]?[0-9]{1,6}|[a-z])</sup>", re.IGNORECASE
)
# Of HTML and of MediaWiki; other things that look like a tag are part of the text.
_INLINE = frozenset(
    re.findall(
        r"\S+",
        """
    b i u s em strong small big sub sup span font tt code kbd samp var abbr cite q del ins strike
    bdi bdo dfn mark a wbr ruby rb rt rp rtc data time link meta img noinclude onlyinclude nowiki
    includeonly ref references poem math gallery pre source syntaxhighlight tbody thead tfoot td
    th colgroup col translate tvar section indicator templatestyles
    """,
    )
)
_BLOCKS = frozenset(
    re.findall(r"\S+", "p div center blockquote ul ol dl dt dd tr table caption h1 h2 h3 h4 h5 h6")
)


def without_apostrophes(text: str) -> str:
    """Text without the marks of bold and italics."""
    if "''" not in text:
        return text
    text = _ELIDED.sub(r"'\1", text)
    if "'''''''" in text:
        return _QUOTES.sub(_literal, text)
    # Up to six: the same, and faster.
    return text.replace("'''''", "").replace("'''", "").replace("''", "")


def _literal(row: re.Match[str]) -> str:
    """Four are a bold mark after an apostrophe; of more than five the last five are marks."""
    number = len(row[0])
    return "'" if number == 4 else "'" * (number - 5)


def without_magic_words(text: str) -> str:
    """Text without ``__TOC__`` and the like, signatures, and variants of a script."""
    if "__" in text:
        text = _MAGIC.sub(lambda found: "" if found[0].isupper() else found[0], text)
    if "~~~" in text:
        text = _SIGNATURE.sub(GONE, text)
    if "-{" in text:
        text = _VARIANTS.sub(lambda found: _variant(found[1]), text)
    return text


def _variant(rules: str) -> str:
    """The first of ``zh-hans:网络; zh-hant:網路;``, the words of ``A|words``, none of ``H|…``."""
    flags, pipe, rest = rules.partition("|")
    if pipe and _HIDDEN.intersection(flag.strip() for flag in flags.split(";")):
        return GONE
    words = rest if pipe else flags
    named = _VARIANT.match(words)
    if named is None:
        return words.strip()
    return _NEXT_VARIANT.split(words[named.end() :], 1)[0].strip()


def without_tags(text: str) -> str:
    """Text without HTML tags; ``<br>`` breaks the line, blocks begin a new one."""
    if "<" not in text:
        return text
    if "<sup>" in text or "<SUP>" in text:
        text = _RAISED.sub(r"^\1", text)
    return _TAG.sub(_without_tag, text)


def _without_tag(tag: re.Match[str]) -> str:
    name = tag[1].lower()
    plain = name.removeprefix("/")
    if plain == "br":
        return BREAK
    if plain in _INLINE:
        return ""
    if name == "li":
        return "\n* "
    if plain == "hr":
        return "\n\n"
    if plain in _BLOCKS:
        return "\n"
    return "" if plain == "li" else tag[0]
