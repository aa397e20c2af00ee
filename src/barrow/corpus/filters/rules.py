"""Rules about a document's metadata: its licence, and its URL.

Patterns have ``*`` and ignore case; `licence_matches` defines those of licences.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from barrow.corpus.filters.filter import Decisions, Filter
from barrow.corpus.filters.texts import Texts
from barrow.corpus.filters.url_hosts import (
    host_suffixes,
    hosts_sha256,
    parse_host,
    read_hosts,
    split_url,
)
from barrow.corpus.licences.detect import UNKNOWN
from barrow.corpus.licences.expressions import expression_holds
from barrow.errors import ConfigError

_UNKNOWN = (UNKNOWN.lower(), "unknown", "noassertion")
_REJECTED = 1
# Values of decisions that no single entry of a rule made.
_KEPT, _NOT_LISTED, _MISSING = -1, -2, -3


@dataclass(frozen=True)
class LicenceRule(Filter):
    """Keeps documents by their licence: patterns for the SPDX expression in `meta`.

    A licence is allowed when a pattern of `allow` matches it (see `licence_matches`), or `allow` is
    empty, and no pattern of `deny` does: ``("CC-BY-*", "MIT")``. Of ``A OR B`` one must be allowed,
    of ``A AND B`` both. A licence with an exception matches by its own name and by the whole.
    `unknown` decides about documents without a licence, or with ``LicenseRef-unknown``.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    unknown: Literal["reject", "keep"] = "reject"

    version = 2

    def __post_init__(self) -> None:
        if self.unknown not in ("reject", "keep"):
            raise ConfigError(f"unknown must be 'reject' or 'keep', got {self.unknown!r}")
        if not all(pattern.strip() for pattern in (*self.allow, *self.deny)):
            raise ConfigError("a licence pattern must not be empty")

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names to count by."""
        return ("licence-not-allowed",)

    def decide(self, texts: Texts) -> Decisions:
        """Keep, or a reason, for each text."""
        answers: dict[str, int] = {}
        figures = np.empty(len(texts), np.float64)
        for i, meta in enumerate(texts.metas):
            licence = meta.get("licence")
            licence = licence if isinstance(licence, str) else ""
            answer = answers.get(licence)
            if answer is None:
                answer = answers[licence] = self._figure(licence)
            figures[i] = answer
        return _decisions(figures)

    def cause(self, reason: str, value: float) -> str:
        """A decision in words."""
        del reason
        if value == _MISSING:
            return "its licence is unknown"
        return "its licence is not allowed"

    def _figure(self, licence: str) -> int:
        if licence.strip().lower() in ("", *_UNKNOWN):
            return _MISSING if self.unknown == "reject" else _KEPT
        return _KEPT if expression_holds(licence, self._allows) else _NOT_LISTED

    def _allows(self, name: str) -> bool:
        forms = (name, name.partition(" with ")[0])
        if name in _UNKNOWN:  # a part of an expression
            return self.unknown == "keep"
        return (not self.allow or _any_matches(self.allow, forms)) and not _any_matches(
            self.deny, forms
        )


@dataclass(frozen=True)
class UrlRule(Filter):
    """Keeps documents by the URL in `meta`: lists of hosts, and patterns.

    A host in `deny_hosts`, in a file of `deny_files` (one per line) or below one of these is
    blocked, and so is a URL that a pattern of `deny_patterns` matches: host, path and query without
    the scheme, as in ``*/wp-login.php*``. With `allow_hosts`, any other host is blocked too. A host
    may contain ``*``. `without_url` decides about documents without a URL.

    `file_sha256` are those of the files: equal settings then mean equal decisions.
    """

    deny_hosts: tuple[str, ...] = ()
    deny_patterns: tuple[str, ...] = ()
    allow_hosts: tuple[str, ...] = ()
    deny_files: tuple[Path, ...] = ()
    without_url: Literal["keep", "reject"] = "keep"
    file_sha256: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.without_url not in ("reject", "keep"):
            raise ConfigError(f"without_url must be 'reject' or 'keep', got {self.without_url!r}")
        for host in (*self.deny_hosts, *self.allow_hosts):
            parse_host(host)
        if not all(pattern.strip() for pattern in self.deny_patterns):
            raise ConfigError("a URL pattern must not be empty")

    def resolved(self) -> UrlRule:
        """The same with the files' `file_sha256`, for the key of a task."""
        hashes = tuple(hosts_sha256(path) for path in self.deny_files)
        if self.file_sha256 not in (None, hashes):
            raise ConfigError(
                f"{', '.join(map(str, self.deny_files))}: a block list has changed; "
                f"expected sha256 {self.file_sha256}, got {hashes}"
            )
        return replace(self, file_sha256=hashes)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names to count by."""
        return ("blocked-url",)

    def decide(self, texts: Texts) -> Decisions:
        """Keep, or a reason, for each text; the value is the entry that matched."""
        if self.file_sha256 is not None:
            self.resolved()
        denied = _Hosts(self.deny_hosts)
        allowed = _Hosts(self.allow_hosts)
        lists = [read_hosts(path) for path in self.deny_files]
        patterns = [pattern.strip().lower() for pattern in self.deny_patterns]
        figures = np.empty(len(texts), np.float64)
        for i, meta in enumerate(texts.metas):
            url = meta.get("url")
            if not isinstance(url, str) or not url.strip():
                figures[i] = _KEPT if self.without_url == "keep" else _MISSING
                continue
            host, path = split_url(url)
            suffixes = host_suffixes(host)
            figure = denied.find(host, suffixes)
            if figure == _KEPT:
                for number, pattern in enumerate(patterns, len(self.deny_hosts)):
                    if glob_matches(pattern, host + path):
                        figure = number
                        break
            if figure == _KEPT:
                for number, hosts in enumerate(lists, len(self.deny_hosts) + len(patterns)):
                    if not hosts.isdisjoint(suffixes):
                        figure = number
                        break
            if figure == _KEPT and self.allow_hosts and allowed.find(host, suffixes) == _KEPT:
                figure = _NOT_LISTED
            figures[i] = figure
        return _decisions(figures)

    def cause(self, reason: str, value: float) -> str:
        """A decision in words."""
        del reason
        if value == _MISSING:
            return "it has no URL"
        if value == _NOT_LISTED:
            return "its host is not among those allowed"
        entries = (*self.deny_hosts, *self.deny_patterns, *self.deny_files)
        return f"its URL is blocked by {entries[int(value)]}"


class _Hosts:
    """Hosts of a rule, with their indices."""

    def __init__(self, hosts: tuple[str, ...]) -> None:
        self._exact: dict[str, int] = {}
        self._patterns: list[tuple[str, int]] = []
        for number, text in enumerate(hosts):
            host = parse_host(text)
            if "*" in host:
                self._patterns.append((host, number))
            else:
                self._exact.setdefault(host, number)

    def find(self, host: str, suffixes: list[str]) -> int:
        """The number of the first entry that a host is, or is below."""
        found = [self._exact[suffix] for suffix in suffixes if suffix in self._exact]
        for pattern, number in self._patterns:
            if glob_matches(pattern, host) or glob_matches("*." + pattern, host):
                found.append(number)
                break
        return min(found, default=_KEPT)


def _any_matches(patterns: tuple[str, ...], names: tuple[str, ...]) -> bool:
    return any(licence_matches(pattern, name) for pattern in patterns for name in names)


def _decisions(figures: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Decisions:
    decisions = Decisions.keep_all(len(figures))
    decisions.reject(_REJECTED, figures != _KEPT, figures)
    return decisions


# The terms of a Creative Commons licence, in any order, then its version and the country it is for,
# or that later versions may be chosen.
_CC_TERMS = r"(?:licenseref-)?(cc(?:-(?:by|nc|nd|sa))+)"
_CC_NAME = re.compile(_CC_TERMS + r"(?:-[0-9.]+(?:-(?:(?!nc|nd|sa)[a-z]{2}|igo))?(?:-or-later)?)?")
_CC_ANY_VERSION = re.compile(_CC_TERMS + r"-?\*")


def licence_matches(pattern: str, name: str) -> bool:
    """Tell whether a pattern matches the name of one licence; case makes no difference.

    - Without ``*`` it is the name: ``CC-BY-4.0`` is that licence in that version and no other.
    - ``CC-BY-*`` is Creative Commons Attribution in any version, for any country, or without a
      version, and has no other terms (SA, NC, ND). So it is with other terms before the star:
      ``CC-BY-NC-*`` is CC-BY-NC alone, not CC-BY-NC-SA.
    - Any other star between hyphens, or at an end, is any words or none: ``*-NC-*`` is every
      licence with the word NC in its name, and ``GPL-*`` every version of the GPL, not the LGPL.
    - A star beside other characters is any characters: ``*GPL*`` is all of GPL, LGPL, AGPL.

    A final ``+`` is read as ``-or-later``. Creative Commons licences that SPDX has no identifier
    for are read without ``LicenseRef-`` too: ``LicenseRef-CC-BY`` is CC-BY without a version.
    """
    pattern, name = _spelled(pattern), _spelled(name)
    licence = _CC_NAME.fullmatch(name)
    if asked := _CC_ANY_VERSION.fullmatch(pattern):
        return licence is not None and set(licence[1].split("-")) == set(asked[1].split("-"))
    names = {name, name.removeprefix("licenseref-")} if licence else {name}
    return any(glob_matches(_words(pattern), _words(one)) for one in names)


def _spelled(name: str) -> str:
    return re.sub(r"\+(?= |$)", "-or-later", " ".join(name.lower().split()))


def _words(name: str) -> str:
    """A name with two hyphens between words, so that a star alone matches whole words."""
    return "".join("*" if word == "*" else f"-{word}-" for word in name.split("-"))


def glob_matches(pattern: str, text: str) -> bool:
    """Whether a pattern matches the whole of a text, without backtracking."""
    first, *others = pattern.split("*")
    if not others:
        return pattern == text
    last = others.pop()
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in others:
        # The earliest place leaves the most room for the rest.
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
