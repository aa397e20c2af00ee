"""Personal data: found, and either replaced by its category or counted against the document.

A window of `barrow.corpus.filters.pii.anchors` is given to the check of its kind; what overlaps an
earlier find is dropped. So a text is scanned once, fast, and checked closely in a few places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.filter import Decisions, Filter, Rewriter, Rewritten
from barrow.corpus.filters.pii import anchors as anchors
from barrow.corpus.filters.pii.account_numbers import check_account, check_iban
from barrow.corpus.filters.pii.credentials import check_key, check_key_block
from barrow.corpus.filters.pii.found import CATEGORIES, Found
from barrow.corpus.filters.pii.ip_addresses import check_ipv4, check_ipv6
from barrow.corpus.filters.pii.mail_addresses import check_mail
from barrow.corpus.filters.pii.phone_numbers import check_phone
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError

_Check = Callable[[bytes, int, int], Found | None]
_CHECKS: dict[int, tuple[_Check, ...]] = {
    anchors.MAIL: (check_mail,),
    anchors.IPV4: (check_ipv4,),
    anchors.IPV6: (check_ipv6,),
    anchors.NUMBER: (check_account, check_phone),
    anchors.IBAN: (check_iban,),
    anchors.KEY: (check_key,),
    anchors.KEY_BLOCK: (check_key_block,),
}


def find_pii(text: str) -> list[Found]:
    """The personal data in a text, by place; places are in its UTF-8 bytes."""
    data = text.encode()
    offsets = np.array([0, len(data)], np.int64)
    windows = anchors.find_windows(np.frombuffer(data, np.uint8), offsets, Scratch())
    return _checked(data, windows.kinds, windows.starts, windows.stops, 0)


def _checked(
    data: bytes,
    kinds: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    begin: int,
) -> list[Found]:
    found: list[Found] = []
    for kind, start, stop in zip(kinds.tolist(), starts.tolist(), stops.tolist(), strict=True):
        for check in _CHECKS[kind]:
            one = check(data, start - begin, stop - begin)
            if one is not None:
                if not found or one.start >= found[-1].stop:
                    found.append(one)
                break
    return found


def _known(names: Mapping[str, Any] | tuple[str, ...]) -> None:
    for name in names:
        if name not in CATEGORIES:
            raise ConfigError(f"categories must be among {', '.join(CATEGORIES)}, got {name!r}")


@dataclass(frozen=True)
class RedactPii(Rewriter):
    """Replaces personal data by a placeholder of its category: <EMAIL>, <PHONE>, <IP> …"""

    categories: tuple[str, ...] = CATEGORIES

    def __post_init__(self) -> None:
        _known(self.categories)

    def touches(self, texts: Texts) -> npt.NDArray[np.bool_]:
        return anchors.have_windows(texts.text, texts.offsets)

    def rewrite(self, text: str, meta: Mapping[str, Any]) -> Rewritten:  # noqa: ARG002
        wanted = [one for one in find_pii(text) if one.category in self.categories]
        if not wanted:
            return Rewritten(text, {})
        data = text.encode()
        parts: list[bytes] = []
        counts: dict[str, int] = {}
        done = 0
        for one in wanted:
            parts += (data[done : one.start], b"<%s>" % one.category.upper().encode())
            counts[one.category] = counts.get(one.category, 0) + 1
            done = one.stop
        parts.append(data[done:])
        return Rewritten(b"".join(parts).decode(), counts)


@dataclass(frozen=True)
class RejectPii(Filter):
    """Rejects texts with too much personal data: by category, `max_count` or `max_per_kb`.

    `max_per_kb` is per 1,000 bytes; shorter texts count as 1,000. Other categories are ignored.
    """

    max_count: dict[str, int] = field(default_factory=lambda: {"card": 3, "bank": 3, "ssn": 3})
    max_per_kb: dict[str, float] = field(
        default_factory=lambda: {"email": 10.0, "phone": 10.0, "ip": 10.0}
    )

    def __post_init__(self) -> None:
        _known(self.max_count)
        _known(self.max_per_kb)

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(f"pii-{category}" for category in CATEGORIES)

    def decide(self, texts: Texts) -> Decisions:
        counts = self._counts(texts)
        kilobytes = np.maximum(texts.sizes, 1000) / 1000
        decisions = Decisions.keep_all(len(texts))
        for k, category in enumerate(CATEGORIES):
            if category in self.max_count:
                decisions.reject(k + 1, counts[k] > self.max_count[category], counts[k])
            if category in self.max_per_kb:
                over = counts[k] > self.max_per_kb[category] * kilobytes
                decisions.reject(k + 1, over, counts[k])
        return decisions

    def cause(self, reason: str, value: float) -> str:
        category = reason.removeprefix("pii-")
        limits = []
        if category in self.max_count:
            limits.append(f"{self.max_count[category]:,}")
        if category in self.max_per_kb:
            limits.append(f"{self.max_per_kb[category]:g} in 1,000 bytes")
        return f"{value:,.0f} of {category}, more than {' or '.join(limits)}"

    def _counts(self, texts: Texts) -> npt.NDArray[np.int64]:
        counts = np.zeros((len(CATEGORIES), len(texts)), np.int64)
        windows = anchors.find_windows(texts.text, texts.offsets, texts.scratch)
        bounds = np.searchsorted(windows.documents, np.arange(len(texts) + 1))
        for i in np.unique(windows.documents).tolist():
            span = slice(bounds[i], bounds[i + 1])
            begin, end = int(texts.offsets[i]), int(texts.offsets[i + 1])
            data = texts.text[begin:end].tobytes()
            for one in _checked(
                data, windows.kinds[span], windows.starts[span], windows.stops[span], begin
            ):
                counts[CATEGORIES.index(one.category), i] += 1
        return counts
