"""Text to calibrate with and text to measure on: so much of each domain, and none of it in both."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from barrow.archive import Document
from barrow.compress.observe import Rows
from barrow.corpus.mixture import SPLITS
from barrow.errors import ScoreError
from barrow.score.scored_corpus import ScoredCorpus, open_corpus

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer

# A corpus is read until each domain has what is wanted, but at least so far.
_LOOK = 20_000


@dataclass(frozen=True)
class Texts:
    """`calibration` are texts by domain; `measured` documents with their domains, none of them
    among the former; `note` says how the domains of the two differ, if they do.
    """

    calibration: Mapping[str, Sequence[bytes]]
    measured: ScoredCorpus
    note: str | None = None


def sample_texts(
    calibrate: str | os.PathLike[str],
    measure: str | os.PathLike[str] | None = None,
    *,
    documents: int = 64,
    most_bytes: int = 16_384,
    text_key: str = "text",
) -> Texts:
    """Up to `documents` of each domain for either purpose, each cut after `most_bytes`.

    Of a corpus with splits, calibration takes the validation split (else train) and measurement the
    test split; of one without, documents of a domain in turn. `measure` is another corpus to
    measure on. A text that calibration has is never measured.
    """
    if documents < 1 or most_bytes < 1:
        raise ValueError(f"documents and bytes must be ≥ 1, got {documents} and {most_bytes}")
    other = open_corpus(calibrate if measure is None else measure, text_key=text_key)
    is_shared = measure is None and other.split is None
    first = other if is_shared else _to_calibrate(calibrate, text_key)
    own = {
        domain: [_cut(text, most_bytes) for text in texts]
        for domain, texts in _by_domain(first, documents * (1 + is_shared)).items()
    }
    if is_shared:
        calibration = {domain: texts[0::2] for domain, texts in own.items()}
        candidates = {domain: texts[1::2] for domain, texts in own.items()}
    else:
        calibration = own
        found = _by_domain(other, documents)
        candidates = {d: [_cut(text, most_bytes) for text in texts] for d, texts in found.items()}
    seen = {hashlib.sha256(text).digest() for texts in calibration.values() for text in texts}
    measured = [
        Document(text.decode(), {"pile_set_name": domain})
        for domain, texts in sorted(candidates.items())
        for text in texts
        if hashlib.sha256(text).digest() not in seen
    ]
    if not measured or not any(calibration.values()):
        raise ScoreError(
            f"{calibrate} has too little text to calibrate with some and measure on the rest"
        )
    domains = {str(one.meta["pile_set_name"]) for one in measured}
    return Texts(
        {domain: texts for domain, texts in calibration.items() if texts},
        ScoredCorpus(other.name, other.split, measured),
        _difference({d for d, texts in calibration.items() if texts}, domains),
    )


def token_rows(
    texts: Mapping[str, Sequence[bytes]], tokenizer: Tokenizer, *, rows: int, length: int
) -> Rows:
    """Rows [rows, length] without padding, as many of each domain as of any other, in turn.

    Documents of a domain follow each other; a domain with less text than its rows repeats it.
    """
    if rows < 1 or length < 1:
        raise ValueError(f"rows and length must be ≥ 1, got {rows} and {length}")
    each = -(-rows // len(texts))
    found = []
    for domain in sorted(texts):
        ids = np.concatenate([_ids(text, tokenizer) for text in texts[domain]])
        found.append(np.resize(ids, (each, length)).astype(np.int32))
    return np.stack(found, axis=1).reshape(-1, length)[:rows]


def _ids(text: bytes, tokenizer: Tokenizer) -> Rows:
    ids = tokenizer.encode(text.decode()).astype(np.int32)
    around = [[] if token is None else [token] for token in (tokenizer.begin, tokenizer.end)]
    return np.concatenate([around[0], ids, around[1]]).astype(np.int32)


def _to_calibrate(path: str | os.PathLike[str], text_key: str) -> ScoredCorpus:
    """The validation split, else that to train on, else all."""
    folder = Path(path)
    splits = [name for name in SPLITS if (folder / name).is_dir()]
    split = "validation" if "validation" in splits else None
    if split is None and (splits or (folder / "manifest.json").is_file()):
        split = "train"
    return open_corpus(path, split=split, text_key=text_key)


def _by_domain(corpus: ScoredCorpus, documents: int) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for domain, text in _texts(corpus, documents, found):
        found.setdefault(domain, []).append(text)
    return found


def _texts(
    corpus: ScoredCorpus, documents: int, found: Mapping[str, Sequence[bytes]]
) -> Iterator[tuple[str, bytes]]:
    texts: Iterable[tuple[int, str, bytes]] = ((t.number, t.domain, t.text) for t in corpus)
    for number, domain, text in texts:
        if text and len(found.get(domain, ())) < documents:
            yield domain, text
        if number >= _LOOK and all(len(held) >= documents for held in found.values()):
            return


def _cut(text: bytes, most: int) -> bytes:
    """The start of a text, without half a character."""
    return text if len(text) <= most else text[:most].decode(errors="ignore").encode()


def _difference(calibration: set[str], measured: set[str]) -> str | None:
    parts = []
    if missing := sorted(measured - calibration):
        parts.append(f"calibration saw no text of {', '.join(missing)}, which is measured")
    if more := sorted(calibration - measured):
        parts.append(f"it saw {', '.join(more)}, which is not")
    return "; ".join(parts) or None
