"""The stage that cuts repeated passages from the documents of a part."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.archive import Document, Writer
from barrow.archive.document import name_of
from barrow.archive.shard import shard_lines
from barrow.corpus.build.facts import Facts, load_facts, save_facts
from barrow.corpus.build.parts import PartFiles, Rejecting, quick_writer
from barrow.corpus.dedup.exact import content_hashes
from barrow.corpus.dedup.minhash import band_hashes, shingle_hashes
from barrow.corpus.dedup.numbering import load_arrays
from barrow.corpus.dedup.passages.buckets import load_part
from barrow.corpus.dedup.passages.part_texts import PartTexts, part_texts
from barrow.corpus.dedup.passages.units import unit_spans
from barrow.corpus.dedup.passages.windows import Places
from barrow.corpus.dedup.settings import Keep, Unit
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.readers.reader import rejected
from barrow.engine import File, Output, Stage
from barrow.files import write_part

REASON = "repeated-passage"
REASON_LINES = "repeated-lines"  # or sentences, or paragraphs

# Owners named in the record of a cut.
_NAMED = 5
_WHITE = bytes(range(0x21))
BREAK = b"\n\n"


@dataclass(frozen=True)
class Settings:
    """A part: its number among parts and its first document in the file; the `Passages` settings.

    `min_words` is the length of a passage in units.
    """

    part: int
    start: int
    min_words: int
    min_rest: int
    unit: Unit = "word"
    keep: Keep = "one"


@dataclass(frozen=True)
class Inputs:
    """The texts of a part, its windows, and those whose owner is elsewhere."""

    part: PartFiles
    windows: File
    owners: tuple[File, ...]


class Cut(Rejecting):
    """New facts and rewritten documents of a part, and a record of every passage."""

    facts = Output("facts.safetensors", temporary=True)
    changed = Output("changed.jsonl.zst", temporary=True)


def cut_passages(settings: Settings, inputs: Inputs, out: Cut) -> None:
    """Write new facts and changed documents of a part, and a record of every passage cut."""
    changed = inputs.part.changed
    assert changed is not None, "a part of this build"
    facts = load_facts(inputs.part.facts)
    redundant = _redundant(inputs, facts, settings)
    cutter = _Cutter(facts, redundant, settings)
    wanted = np.zeros(len(facts), np.bool_)
    wanted[redundant.runs.document] = True
    old_rows = iter(np.flatnonzero(facts.changed & facts.kept).tolist())
    old = zip(old_rows, shard_lines(changed), strict=True)
    with (
        quick_writer(out.changed) as writer,
        quick_writer(out.rejects) as rejects,
    ):
        waiting = next(old, None)
        for texts in part_texts(inputs.part, settings.start, wanted):
            for row, document in cutter.cut(texts, rejects):
                while waiting is not None and waiting[0] < row:
                    writer.add_line(waiting[1])
                    waiting = next(old, None)
                if waiting is not None and waiting[0] == row:
                    waiting = next(old, None)
                if document is not None:
                    writer.add(document)
        while waiting is not None:
            writer.add_line(waiting[1])
            waiting = next(old, None)
    save_facts(facts, out.facts)
    counts = {name: dict(sorted(tally.items())) for name, tally in sorted(cutter.tally.items())}
    write_part(out.counts.path, json.dumps(counts).encode())
    out.save_frames()


CUT = Stage("corpus.passage_cut", 4, cut_passages, Cut)


@dataclass(frozen=True)
class _Redundant:
    """Runs of words to cut, the id of the owner of every window in them, and the documents that
    keep a window which others may have lost.
    """

    runs: Runs
    identity: npt.NDArray[np.uint64]
    keepers: frozenset[int]

    def owners(self, run: int) -> list[str]:
        """Ids of the documents that keep the passages of a run, each once, in order."""
        first, last = int(self.runs.first[run]), int(self.runs.last[run])
        theirs = self.identity[first:last]
        change = np.r_[True, (theirs[1:] != theirs[:-1]).any(axis=1)]
        return list(dict.fromkeys(name_of(identity) for identity in theirs[change]))


def _redundant(inputs: Inputs, facts: Facts, settings: Settings) -> _Redundant:
    """A window with an owner elsewhere is cut, unless it overlaps that owner.

    If none is kept, every window is cut that occurs twice.
    """
    windows, min_words = load_arrays(inputs.windows), settings.min_words
    rows, starts = windows["rows"], windows["starts"]
    identity = facts.identity[rows]
    is_lost = np.zeros(len(rows), np.bool_)
    for file in inputs.owners:
        lost = load_part(file, "lost", settings.part)
        is_lost[lost] = True
        identity[lost] = load_part(file, "of_identity", settings.part)
    row, start, group = windows["others"]
    if settings.keep == "none":
        is_lost[group] = True
    apart = (row != rows[group]) | (start >= starts[group] + min_words)
    goes = is_lost[group] | apart
    document = np.r_[rows[is_lost], row[goes]]
    begin = np.r_[starts[is_lost], start[goes]]
    theirs = np.r_[identity[is_lost], identity[group[goes]]]
    order = np.lexsort((begin, document))
    runs = join_windows(document[order], begin[order], min_words)
    return _Redundant(runs, theirs[order], frozenset(rows[~is_lost].tolist()))


@dataclass
class _Cutter:
    facts: Facts
    redundant: _Redundant
    settings: Settings
    tally: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _scratch: Scratch = field(default_factory=Scratch)

    def cut(self, texts: PartTexts, rejects: Writer) -> Iterator[tuple[int, Document | None]]:
        """Rows with their new documents, or None where too little is left."""
        unit = self.settings.unit
        spans = unit_spans(unit, texts.text, texts.offsets, self._scratch)
        runs = self.redundant.runs
        stayed: list[tuple[int, Document]] = []
        for i, (row, meta) in enumerate(zip(texts.rows.tolist(), texts.metas(), strict=True)):
            words = slice(spans.offsets[i], spans.offsets[i + 1])
            starts = spans.starts[words] - texts.offsets[i]
            ends = spans.ends[words] - texts.offsets[i]
            first, last = np.searchsorted(runs.document, (row, row + 1)).tolist()
            theirs = [(int(runs.start[k]), int(runs.stop[k])) for k in range(first, last)]
            rest, passages = cut_runs(texts.text_of(i), starts, ends, theirs, unit=unit)
            whole = len(rest) < self.settings.min_rest and not self._stays(row, theirs, len(starts))
            for k, passage in zip(range(first, last), passages, strict=True):
                rejects.add(self._record(k, passage, meta, whole))
            self._count(row, theirs, 0 if whole else len(rest), whole)
            if whole:
                self.facts.kept[row] = False
                yield row, None
            else:
                document = Document(rest.decode(), meta)
                stayed.append((row, document))
                yield row, document
        self._describe(stayed)

    def _stays(self, row: int, runs: list[tuple[int, int]], num_words: int) -> bool:
        """Whether a run as long as a passage is left; of lines, one that others lost."""
        edges = [0, *(edge for run in runs for edge in run), num_words]
        is_left = any(
            stop - start >= self.settings.min_words
            for start, stop in zip(edges[::2], edges[1::2], strict=True)
        )
        return is_left and (self.settings.unit == "word" or row in self.redundant.keepers)

    def _count(self, row: int, runs: list[tuple[int, int]], size: int, whole: bool) -> None:
        tally = self.tally[self.facts.domains[self.facts.domain[row]]]
        tally["passages"] += len(runs)
        tally["words"] += sum(stop - start for start, stop in runs)
        tally["bytes"] += int(self.facts.size[row]) - size
        tally["whole" if whole else "documents"] += 1

    def _describe(self, stayed: list[tuple[int, Document]]) -> None:
        """The facts that depend on the text."""
        if not stayed:
            return
        rows = np.array([row for row, _ in stayed])
        texts = Texts.of_strings([document.text for _, document in stayed], [], self._scratch)
        self.facts.changed[rows] = True
        self.facts.size[rows] = texts.sizes
        self.facts.content[rows] = content_hashes(texts.text, texts.offsets)
        self.facts.bands[rows] = band_hashes(shingle_hashes(texts.words, self._scratch))

    def _record(self, run: int, passage: bytes, meta: dict[str, Any], whole: bool) -> Document:
        unit, keeps = self.settings.unit, self.settings.keep == "one"
        owners = self.redundant.owners(run) if keeps else []
        start, stop = int(self.redundant.runs.start[run]), int(self.redundant.runs.stop[run])
        more = f" and {len(owners) - 1} other{'s' * (len(owners) > 2)}" if len(owners) > 1 else ""
        where = f"stay in {owners[0]}{more}" if keeps else "are repeated"
        rest = "; too little is left" if whole else ""
        return rejected(
            passage.decode(),
            meta,
            reason=REASON if unit == "word" else REASON_LINES,
            cause=f"{stop - start} {unit}s from {unit} {start} on {where}{rest}",
            stage="deduplicate",
            **{f"{unit}s": [start, stop]},
            kept_in=owners[:_NAMED],
            whole=whole,
        )


class Runs(NamedTuple):
    """Words `start` to `stop` of a document are cut, because of windows ``first`` to ``last``."""

    document: Places
    start: Places
    stop: Places
    first: Places
    last: Places


def join_windows(document: Places, start: Places, min_words: int) -> Runs:
    """Join windows that overlap or touch, sorted by document and start, to runs."""
    apart = (document[1:] != document[:-1]) | (start[1:] > start[:-1] + min_words)
    first = np.flatnonzero(np.r_[True, apart][: len(start)])
    last = np.r_[first[1:], len(start)][: len(first)].astype(np.int64)
    return Runs(document[first], start[first], start[last - 1] + min_words, first, last)


def cut_runs(
    text: bytes,
    starts: Places,
    ends: Places,
    runs: Sequence[tuple[int, int]],
    *,
    unit: Unit = "word",
) -> tuple[bytes, list[bytes]]:
    """A text without some runs of its words, and what these were.

    `starts` and `ends` are those of all words, `runs` are in order and disjoint. Marks directly
    before or after a word (a quotation mark, a full stop) go with it; marks between two words
    without white space go with the first. Where a run was, the text has a paragraph break, or
    between lines and sentences the larger of the breaks that were around it; the rest is as it was,
    indentation included.
    """
    view = np.frombuffer(text, np.uint8)
    kept: list[bytes] = []
    passages: list[bytes] = []
    at = 0
    for first, stop in runs:
        begin, end = int(starts[first]), int(ends[stop - 1])
        before = int(ends[first - 1]) if first > 0 else 0
        white = _white(view[before:begin])
        if len(white):
            begin = before + int(white[-1]) + 1
        elif first == 0:
            begin = 0
        after = int(starts[stop]) if stop < len(starts) else len(text)
        white = _white(view[end:after])
        end = end + int(white[0]) if len(white) else after
        kept.append(text[at:begin])
        passages.append(text[begin:end])
        at = end
    kept.append(text[at:])
    return _joined(kept, unit), passages


def _joined(kept: Sequence[bytes], unit: Unit) -> bytes:
    """What is left between cuts as one text; white space at its end stays if a cut is not there."""
    pieces: list[bytes] = []
    gap = b""  # white space since the last text
    for k, piece in enumerate(kept):
        bare = piece.rstrip(_WHITE)
        if not bare:
            gap += piece
            continue
        if pieces:
            lead = bare[: len(bare) - len(bare.lstrip(_WHITE))]
            pieces.append(BREAK if unit == "word" else _break(gap, lead))
        pieces.append(_from_first_line(bare) if k else bare)
        gap = piece[len(bare) :]
    return b"".join(pieces) + (gap if len(kept) == 1 or kept[-1].strip(_WHITE) else b"")


def _break(before: bytes, after: bytes) -> bytes:
    lines = max(before.count(b"\n"), after.count(b"\n"))
    return BREAK[:lines] if lines else b" " if before or after else b""


def _white(gap: npt.NDArray[np.uint8]) -> Places:
    return np.flatnonzero(gap <= 0x20)


def _from_first_line(piece: bytes) -> bytes:
    """Without leading white space, except the indentation of the first line with text."""
    black = piece.lstrip(_WHITE)
    if not black:
        return b""
    line_start = piece.rfind(b"\n", 0, len(piece) - len(black)) + 1
    return piece[line_start:] if line_start else black
