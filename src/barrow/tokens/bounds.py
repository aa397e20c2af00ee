"""Bounds on a `tokenizer.json`, which a stranger may have made, before a library opens it.

A part that makes a thousand letters of one, three times in a row, takes all memory, and the Rust
library then ends the process; so do some damaged tables. What the parts of each kind can make of
one byte is the product over them, in UTF-8.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.errors import TokenizerError

_MOST = {"normalizer": 64, "pre_tokenizer": 16, "decoder": 64}
# The most that Unicode's own forms make of a byte. Every tokenizer may use one of them.
_FORMS = {"NFC": 3.0, "NFD": 3.0, "NFKC": 11.0, "NFKD": 11.0}
_OTHERS = {"BertNormalizer": 3.0, "Lowercase": 1.5, "BPEDecoder": 2.0, "CTC": 2.0, "WordPiece": 2.0}
# Matches at least a character: it begins with one, or one or more, and has no alternatives.
_CONSUMES = re.compile(
    r"(?:[^\\\[\](){}*+?.^$|]|\\[sSdDwWnrt])(?:\+|\{[1-9]\d*,\d*\})?(?![*+?{])[^|]*"
)
_MOST_CHARSMAP = 1 << 22
# Tokens that a template puts around a text.
_MOST_AROUND = 64


class UnsafeTokenizer(TokenizerError):
    """A file that could end the process or take all memory: no library must open it."""


def refuse_unsafe(data: Mapping[str, Any], where: str) -> None:
    """Raise where a `tokenizer.json` is out of bounds."""
    for kind, most in _MOST.items():
        links = list(_links(data.get(kind), f"{where}: the {kind}"))
        forms = [_FORMS[link["type"]] for link in links if link["type"] in _FORMS]
        others = [_growth(link, where) for link in links if link["type"] not in _FORMS]
        made = math.prod(forms) / max(forms, default=1) * math.prod(others)
        if made > most:
            raise UnsafeTokenizer(
                f"{where}: the {kind} can make {made:,.0f} bytes of one, at most {most} are "
                "allowed: texts could take all memory; use another tokenizer"
            )
    for link in _links(data.get("post_processor"), f"{where}: the post_processor"):
        if link["type"] == "TemplateProcessing" and isinstance(link.get("single"), list):
            texts = [item for item in link["single"] if "Sequence" in item]
            if len(texts) != 1 or "A" not in str(texts):
                raise UnsafeTokenizer(
                    f"{where}: the template of the post_processor must have the text A once, got "
                    f"{str(texts)[:80]}"
                )
            if (num := _num_around(link)) > _MOST_AROUND:
                raise UnsafeTokenizer(
                    f"{where}: the template of the post_processor puts {num:,} tokens around a "
                    f"text, at most {_MOST_AROUND} are allowed; use another tokenizer"
                )
    _refuse_other_prefix(data.get("model"), where)


def _num_around(template: Mapping[str, Any]) -> int:
    """The tokens that a template puts around a text: each special token may be many of them."""
    tokens = template.get("special_tokens")
    sizes = {
        name: len(one["ids"])
        for name, one in (tokens.items() if isinstance(tokens, Mapping) else ())
        if isinstance(one, Mapping) and isinstance(one.get("ids"), list)
    }
    named = (item["SpecialToken"] for item in template["single"] if "SpecialToken" in item)
    return sum(sizes.get(str(one.get("id")), 1) for one in named if isinstance(one, Mapping))


def _refuse_other_prefix(model: Any, where: str) -> None:
    """Refuse a prefix that its merges lack: the library cuts its length off their second token."""
    prefix = model.get("continuing_subword_prefix") if isinstance(model, Mapping) else None
    merges = model.get("merges") if prefix else None
    for number, merge in enumerate(merges if isinstance(merges, list) else ()):
        right = merge.rpartition(" ")[2] if isinstance(merge, str) else merge[-1:]
        right = "".join(map(str, right))
        if not right.startswith(str(prefix)):
            raise UnsafeTokenizer(
                f"{where}: the second token of merge {number} must begin with the prefix "
                f"{prefix!r}, got {right!r}"
            )


def _links(part: Any, what: str) -> Iterator[Mapping[str, Any]]:
    """The parts of a sequence, one after another. The library guesses types that are not given."""
    if part is None:
        return
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise UnsafeTokenizer(f"{what} has a part without a type: {str(part)[:80]}")
    if part["type"] != "Sequence":
        yield part
        return
    for value in part.values():
        for item in value if isinstance(value, list) else ():
            yield from _links(item, what)


def _growth(link: Mapping[str, Any], where: str) -> float:
    """The most bytes that a part makes of one byte."""
    match link["type"]:
        case "Prepend":
            return 1 + _size(link.get("prepend"))
        case "Metaspace":
            return 1 + _size(link.get("replacement"))
        case "ByteLevel":
            return 4 if link.get("add_prefix_space") else 2
        case "Replace":
            return _replaced(link)
        case "Precompiled":
            return _charsmap_growth(link.get("precompiled_charsmap"), where)
        case kind:
            return _OTHERS.get(kind, 1)


def _size(text: Any) -> int:
    return len(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else 0


def _replaced(link: Mapping[str, Any]) -> float:
    size, pattern = _size(link.get("content")), link.get("pattern")
    found = pattern if isinstance(pattern, Mapping) else {}
    regex, text = found.get("Regex"), _size(found.get("String"))
    if isinstance(regex, str) and _CONSUMES.fullmatch(regex):
        text = 1
    # What matches nothing is found between all characters.
    return max(1, size / text) if text else 1 + size


def _charsmap_growth(encoded: Any, where: str) -> float:
    """The most bytes that a SentencePiece table of characters makes of one byte.

    The table is a trie (Darts' double array: units of 32 bits) of what is replaced, preceded by its
    size in bytes, and the texts that replace it, each ended by a zero.
    """
    try:
        data = base64.b64decode(encoded, validate=True)
        start = 4 + int.from_bytes(data[:4], "little")
        units = np.frombuffer(data[4:start], "<u4").astype(np.int64)
        texts = np.frombuffer(data[start:], np.uint8)
        data[start:].decode()
        if not len(units) or start > len(data) or len(data) > _MOST_CHARSMAP:
            raise ValueError(f"of {len(data):,} bytes")
    except (TypeError, ValueError) as error:
        raise UnsafeTokenizer(
            f"{where}: the precompiled_charsmap of the normalizer is damaged ({error})"
        ) from None
    ends = np.append(np.flatnonzero(texts == 0), len(texts))
    most, seen, depth = 1.0, np.zeros(len(units), bool), 0
    places = _offsets(units[:1])
    while len(places):
        depth += 1
        inner = [_children(units, some) for some in np.array_split(places, len(places) // 1024 + 1)]
        nodes = np.unique(np.concatenate(inner))
        nodes = nodes[~seen[nodes]]
        seen[nodes] = True
        places, is_end = nodes ^ _offsets(units[nodes]), (units[nodes] >> 8 & 1).astype(bool)
        # The library replaces the shortest match, so nothing below it counts.
        values = units[_within(units, places[is_end])] & 0x7FFFFFFF
        values = values[values < len(texts)]
        sizes = ends[np.searchsorted(ends, values)] - values
        most, places = max(most, sizes.max(initial=0) / depth), places[~is_end]
    return most


def _offsets(units: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    offsets: npt.NDArray[np.int64] = units >> 10 << ((units & 512) >> 6)
    return offsets


def _within(units: npt.NDArray[np.int64], places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return places[places < len(units)]


def _children(units: npt.NDArray[np.int64], places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The nodes below: a unit has the byte that leads to it in its lowest bits."""
    labels = np.tile(np.arange(1, 256), len(places))
    nodes = np.repeat(places, 255) ^ labels
    labels, nodes = labels[nodes < len(units)], _within(units, nodes)
    found: npt.NDArray[np.int64] = nodes[units[nodes] & 0x800000FF == labels]
    return found
