"""Figures of scored documents as columns: about 250 bytes a document, however long it is."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from barrow.errors import ScoreError
from barrow.score.card import CorpusHash
from barrow.score.kinds import KINDS
from barrow.score.part_file import Scored
from barrow.score.result import Documents

_MOST_DOMAINS = int(np.iinfo(np.int16).max)


class ScoredTable:
    """Receives documents in any order; `documents` has them by number."""

    def __init__(self) -> None:
        self._numbers, self._bytes, self._tokens = array("q"), array("q"), array("q")
        self._nats, self._seconds = array("d"), array("d")
        self._domain, self._projection = array("l"), array("b")
        self._text = bytearray()
        self._kind_bytes, self._kind_nats = array("q"), array("d")
        self._domains: dict[str, int] = {}
        self._projections: dict[str, int] = {}
        self._ground = CorpusHash()

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def num_bytes(self) -> int:
        """Of all texts."""
        return int(np.frombuffer(self._bytes, np.int64).sum()) if self._bytes else 0

    @property
    def digest(self) -> str:
        """The digest of what was scored; see `card.CorpusDigest`."""
        return self._ground.hexdigest()

    @property
    def projections(self) -> dict[str, int]:
        """The number of documents by kind of projection."""
        counts = np.bincount(np.frombuffer(self._projection, np.int8))
        return {how: int(counts[place]) for how, place in sorted(self._projections.items())}

    def add(self, group: Iterable[Scored]) -> None:
        """Take some documents."""
        for scored in group:
            sha256 = bytes.fromhex(scored.sha256)
            self._numbers.append(scored.number)
            self._bytes.append(scored.bytes)
            self._tokens.append(scored.tokens)
            self._nats.append(scored.nats)
            self._seconds.append(scored.seconds)
            self._domain.append(self._domains.setdefault(scored.domain, len(self._domains)))
            how = self._projections.setdefault(scored.projection, len(self._projections))
            self._projection.append(how)
            self._text += sha256[:16]
            self._kind_bytes.extend(scored.kind_bytes)
            self._kind_nats.extend(scored.kind_nats)
            self._ground.add(scored.domain, sha256)

    def documents(self) -> tuple[Documents, npt.NDArray[np.float64]]:
        """All documents by their numbers, and the seconds of each."""
        if len(self._domains) > _MOST_DOMAINS:
            raise ScoreError(f"too many domains for a result: {len(self._domains):,}")
        order = np.argsort(np.array(self._numbers), kind="stable")
        names = sorted(self._domains)
        place_of = np.zeros(len(names), np.int16)
        for place, name in enumerate(names):
            place_of[self._domains[name]] = place
        documents = Documents(
            domains=tuple(names),
            kinds=tuple(KINDS),
            domain=place_of[np.array(self._domain)[order]],
            bytes=np.array(self._bytes, np.int64)[order],
            tokens=np.array(self._tokens, np.int64)[order],
            nats=np.array(self._nats)[order],
            text=np.frombuffer(bytes(self._text), np.uint8).reshape(-1, 16)[order],
            kind_bytes=np.array(self._kind_bytes, np.int64).reshape(-1, len(KINDS))[order],
            kind_nats=np.array(self._kind_nats).reshape(-1, len(KINDS))[order],
        )
        return documents, np.array(self._seconds)[order]
