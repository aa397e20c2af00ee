"""Which documents are to be taken down: rules, and the list of them that a corpus remembers."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow import config
from barrow.archive.block import Block
from barrow.corpus.filters.rules import glob_matches
from barrow.corpus.readers.reader import excerpt
from barrow.corpus.takedown.texts import TextMatcher, TextRule, words_scheme
from barrow.errors import ConfigError

LIST = "takedown.json"
TAKEN_DOWN = "taken-down"

_ID = re.compile(r"[0-9a-f]{16}-[0-9a-f]{8}")
_HOST = re.compile(r"[^/?]*")


@dataclass(frozen=True)
class Rules:
    """A document is taken down if any of these is true of it.

    `ids`: its id is listed. `contents`: the first half of its id is, a hash of the text as read.
    `places`: it was read from there (see `place_of`), whatever the text. `urls`: its address
    matches one (see `url_matches`). `domains`, `licences`: its domain or licence is listed.
    `texts`: it contains one.
    """

    ids: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    licences: tuple[str, ...] = ()
    texts: tuple[TextRule, ...] = ()

    def __post_init__(self) -> None:
        for name in self.ids:
            if not _ID.fullmatch(name):
                raise ConfigError(
                    f"expected an id (16 hexadecimal digits, a hyphen, 8 more), got {name!r}"
                )
        for kind in ("urls", "domains", "licences"):
            if not all(value.strip() for value in getattr(self, kind)):
                raise ConfigError(f"one of the {kind} is empty")

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))

    def __or__(self, other: Rules) -> Rules:
        """The union of both, sorted, so that their order does not matter."""
        return Rules(
            **{
                field.name: tuple(
                    sorted({*getattr(self, field.name), *getattr(other, field.name)}, key=str)
                )
                for field in fields(self)
            }
        )


@dataclass(frozen=True)
class TakedownList:
    """`takedown.json`: what must not come back, and the version of the corpus since.

    `scheme` names the hash of words that `texts` were made with.
    """

    version: int
    rules: Rules
    scheme: str = ""

    def __post_init__(self) -> None:
        if self.rules.texts and self.scheme != words_scheme():
            raise ConfigError(
                f"{LIST} holds texts hashed by another version of barrow; "
                "take them down again by --match in a copy of the corpus without it"
            )


def load_list(corpus: Path) -> TakedownList | None:
    """The list of a corpus, if anything was ever taken down."""
    path = corpus / LIST
    return config.from_json(TakedownList, path.read_text(), where=path) if path.exists() else None


def load_matcher(path: str | PathLike[str]) -> Matcher:
    """The rules of a list, to be applied."""
    return Matcher(config.from_json(TakedownList, Path(path).read_text(), where=path).rules)


class Matcher:
    """Applies rules to documents."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.ids = frozenset(rules.ids)
        self.contents = frozenset(rules.contents)
        self._places = frozenset(rules.places)
        self._urls = [url_key(url) for url in rules.urls]
        self._domains, self._licences = frozenset(rules.domains), frozenset(rules.licences)
        self._texts = TextMatcher(rules.texts) if rules.texts else None

    @property
    def needs_documents(self) -> bool:
        """Whether the rules need more than ids and domains, which the index has."""
        return bool(self._places or self._urls or self._licences or self._texts)

    def meta_matches(
        self,
        *,
        identity: Any = None,
        url: Any = None,
        domain: Any = None,
        licence: Any = None,
        source: Any = None,
        member: Any = None,
    ) -> bool:
        """Whether a document's meta matches."""
        if isinstance(identity, str) and (
            identity in self.ids or identity.partition("-")[0] in self.contents
        ):
            return True
        if domain in self._domains or licence in self._licences:
            return True
        if self._places and place_of(source, member) in self._places:
            return True
        if self._urls and isinstance(url, str):
            key = url_key(url)
            return any(key_matches(key, pattern) for pattern in self._urls)
        return False

    def texts_match(self, block: Block, *, any_ngram: bool = False) -> npt.NDArray[np.bool_]:
        """Which documents contain one of the texts, or with `any_ngram` an n-gram of one."""
        if self._texts is None:
            return np.zeros(len(block), np.bool_)
        return self._texts.contains(block.text, block.offsets, any_ngram=any_ngram)

    def text_matches(self, text: str) -> bool:
        """Whether one text contains one of the texts."""
        if self._texts is None:
            return False
        data = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
        return bool(self._texts.contains(data, np.array([0, len(data)], np.int64))[0])


def place_of(source: Any, member: Any) -> str:
    """A hash of where a document was read; rejects have a member cut to the size of an excerpt."""
    place = f"{source}\n{excerpt(str('' if member is None else member))}"
    return hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def url_key(url: str) -> str:
    """An address without scheme, www, default port and fragment, its host in lower case."""
    url = url.strip().partition("#")[0]
    scheme, found, rest = url.partition("://")
    if found and scheme.lower() not in ("http", "https"):
        return url
    if found:
        url = rest
    match = _HOST.match(url)
    assert match is not None, "it may be empty"
    host = match[0].rpartition("@")[2].lower().removesuffix(":80").removesuffix(":443")
    return host.removeprefix("www.") + url[match.end() :]


def url_matches(url: str, pattern: str) -> bool:
    """Whether an address is the one named, or one below it.

    Below ``example.com/a`` are ``example.com/a/b`` and ``example.com/a?b``, not ``example.com/ab``.
    A pattern with ``*``, for any characters, must match the whole address.
    """
    return key_matches(url_key(url), url_key(pattern))


def key_matches(key: str, pattern: str) -> bool:
    """`url_matches`, of what `url_key` gave."""
    if "*" not in pattern:
        if not key.startswith(pattern):
            return key == pattern.removesuffix("/")
        return len(key) == len(pattern) or pattern.endswith("/") or key[len(pattern)] in "/?"
    return glob_matches(pattern, key)
