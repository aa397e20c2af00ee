"""Samples of every kind of reject, from one pass over the archive of rejects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

import barrow.archive
from barrow.archive.block import Block
from barrow.pages.escape import one_line, shown

_NUM_SAMPLES = 3
_CHARACTERS = 400
_LINES = 12


@dataclass(frozen=True)
class Sample:
    """A reject: where it was found, why it was dropped, and how it begins; safe to show."""

    domain: str
    place: str
    cause: str
    beginning: str


# By the stage and the reason.
Samples = Mapping[tuple[str, str], tuple[Sample, ...]]


class _Kind(msgspec.Struct):
    """The keys of a reject's meta that make its kind."""

    reason: str
    pile_set_name: str
    stage: str = "read"


_KINDS = msgspec.json.Decoder(list[_Kind])


@dataclass
class _Kept:
    """The first samples, and the first of each of the first domains; numbered."""

    first: dict[int, Sample] = field(default_factory=dict)
    by_domain: dict[str, tuple[int, Sample]] = field(default_factory=dict)

    def wants(self, domain: str, most: int) -> bool:
        return len(self.first) < most or (
            domain not in self.by_domain and len(self.by_domain) < most
        )

    def add(self, number: int, sample: Sample, domain: str, most: int) -> None:
        if len(self.first) < most:
            self.first[number] = sample
        if len(self.by_domain) < most:
            self.by_domain.setdefault(domain, (number, sample))

    def chosen(self, most: int) -> tuple[Sample, ...]:
        spread = dict(self.by_domain.values())
        rest = {number: sample for number, sample in self.first.items() if number not in spread}
        chosen = dict([*spread.items(), *rest.items()][:most])
        return tuple(sample for _, sample in sorted(chosen.items(), key=lambda item: item[0]))


def sample_rejects(folder: Path, *, most: int = _NUM_SAMPLES) -> Samples:
    """The first `most` rejects by stage and reason.

    Those that have a text come before those that have none, and they are of different domains
    where there are several. Memory does not grow with the number of rejects.
    """
    if not (folder / "archive.json").exists():
        return {}
    kept: dict[tuple[str, str], tuple[_Kept, _Kept]] = {}
    number = 0
    for block in barrow.archive.open(folder, threads=1).blocks():
        for i, kind in enumerate(_KINDS.decode(block.meta_array()) if len(block) else ()):
            empty, filled = kept.setdefault((kind.stage, kind.reason), (_Kept(), _Kept()))
            mine = filled if block.offsets[i + 1] > block.offsets[i] else empty
            if mine.wants(kind.pile_set_name, most):
                mine.add(number + i, _sample(block, i), kind.pile_set_name, most)
        number += len(block)
    return {
        key: (*filled.chosen(most), *empty.chosen(most))[:most]
        for key, (empty, filled) in sorted(kept.items(), key=lambda item: item[0])
    }


def _sample(block: Block, i: int) -> Sample:
    raw = block.meta[block.meta_offsets[i] : block.meta_offsets[i + 1] - 1].tobytes()
    meta: dict[str, Any] = msgspec.json.decode(raw)
    start = block.offsets[i]
    # As many bytes as the characters may need; a character cut off at the end is dropped.
    stop = min(start + 4 * _CHARACTERS + 4, block.offsets[i + 1])
    text = block.text[start:stop].tobytes().decode("utf-8", "ignore")
    lines = shown(text[:_CHARACTERS]).strip("\n").split("\n")
    cut = len(text) > _CHARACTERS or len(lines) > _LINES
    place = " ".join(str(meta[key]) for key in ("source", "member") if meta.get(key))
    return Sample(
        one_line(str(meta["pile_set_name"])),
        one_line(place, most=300),
        one_line(str(meta.get("cause", ""))),
        "\n".join(lines[:_LINES]) + ("…" if cut else ""),
    )
