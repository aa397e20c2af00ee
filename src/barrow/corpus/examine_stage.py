"""The second stage: look at every document once. Which go, and what later stages must know.

Nothing is rewritten here but the texts that rewriters change: what stays is decided globally, and
written once.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import barrow.archive
from barrow import config
from barrow.archive import Document, Writer
from barrow.archive.block import Block
from barrow.corpus.decontaminate import Match, NgramIndex, find_matches, load_index
from barrow.corpus.dedup.exact import content_hashes
from barrow.corpus.dedup.minhash import band_hashes, shingle_hashes
from barrow.corpus.facts import Facts, identity_of, save_facts
from barrow.corpus.filters.choice import Filters
from barrow.corpus.filters.deciding import KEEP
from barrow.corpus.filters.texts import Texts
from barrow.corpus.parts import QUICK
from barrow.corpus.reading import EXCERPT, excerpt
from barrow.corpus.scratch import Scratch

VERSION = 1
FACTS = "facts.safetensors"
CHANGED = "changed.jsonl.zst"
REJECTS = "rejects.jsonl.zst"
COUNTS = "counts.json"


def examine(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """Examine documents `start` to `stop` of a file; `files` may have an n-gram index as well.

    `settings` has filters for documents of some domains by name, and under ``""`` for all others.
    """
    start, stop = settings["start"], settings["stop"]
    archive = barrow.archive.open(files[0], threads=1)[start:stop]
    index = load_index(files[1]) if len(files) > 1 else None
    examiner = _Examiner(
        facts=replace(Facts.blank(stop - start), languages=[""]),
        filters={
            name: config.from_dict(Filters, told) for name, told in settings["filters"].items()
        },
        index=index,
        min_ngrams=settings["min_ngrams"],
    )
    with (
        Writer(out / CHANGED, level=QUICK) as changed,
        Writer(out / REJECTS, level=QUICK) as rejects,
    ):
        at = 0
        for block in archive.blocks():
            examiner.examine(block, at, changed, rejects)
            at += len(block)
    save_facts(examiner.facts, out / FACTS)
    (out / COUNTS).write_text(json.dumps(examiner.counts(), sort_keys=True))


@dataclass
class _Examiner:
    facts: Facts
    filters: dict[str, Filters]
    index: NgramIndex | None
    min_ngrams: int
    _scratch: Scratch = field(default_factory=Scratch)
    _tally: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def examine(self, block: Block, at: int, changed: Writer, rejects: Writer) -> None:
        texts = Texts.of_block(block, self._scratch)
        names = [meta["pile_set_name"] for meta in texts.metas]
        here = slice(at, at + len(texts))
        self.facts.domain[here] = [_place(name, self.facts.domains) for name in names]
        self.facts.identity[here] = [identity_of(meta["id"]) for meta in texts.metas]
        sizes = texts.sizes.tolist()
        rewritten = self._rewrite(texts, names)
        if rewritten:
            texts = texts.replaced(rewritten)
            self.facts.changed[at + np.array(list(rewritten))] = True
        told = _Told([""] * len(texts), [""] * len(texts))
        self._look(texts, names, here, told)
        for i, name in enumerate(names):
            tally = self._tally[name]
            tally["documents"] += 1
            tally["bytes"] += sizes[i]
            for name_of_set in told.matches.get(i, ()):
                tally[f"matches.{name_of_set}"] += 1
            if told.reasons[i]:
                tally[f"rejects.{told.reasons[i]}"] += 1
                rejects.add(_reject(texts, i, told))
            else:
                tally["kept"] += 1
                tally["kept_bytes"] += int(self.facts.size[at + i])
                if i in rewritten:
                    tally["changed"] += 1
                    changed.add(Document(rewritten[i], texts.metas[i]))

    def _filters_of(self, name: str) -> Filters:
        return self.filters.get(name, self.filters[""])

    def _look(self, texts: Texts, names: list[str], here: slice, told: _Told) -> None:
        """Everything that is asked of texts as they are; the answers go to their places."""
        facts = self.facts
        facts.size[here] = texts.sizes
        for i in np.flatnonzero(texts.sizes == 0).tolist():  # a rewriter left nothing
            told.reasons[i], told.causes[i] = "empty", "no text"
        facts.content[here] = content_hashes(texts.text, texts.offsets)
        facts.bands[here] = band_hashes(shingle_hashes(texts.words, self._scratch))
        for filters in {id(f): f for f in map(self._filters_of, dict.fromkeys(names))}.values():
            concerned = np.array([self._filters_of(name) is filters for name in names])
            self._describe(texts, filters, here, concerned)
            for chosen in filters.deciding:
                code, value = chosen.decide(texts)
                for i in np.flatnonzero((code != KEEP) & concerned).tolist():
                    if not told.reasons[i]:
                        told.reasons[i] = chosen.reasons[code[i] - 1]
                        told.causes[i] = chosen.cause(told.reasons[i], float(value[i]))
        if self.index is not None:
            for match in find_matches(texts.words, self.index):
                if match.num_ngrams >= self.min_ngrams:
                    told.matches.setdefault(match.document, set()).add(match.name)
                    if not told.reasons[match.document]:
                        told.reasons[match.document] = "contaminated"
                        told.causes[match.document] = _in_words(match, self.index.ngram)
        facts.kept[here] = [not reason for reason in told.reasons]

    def _describe(
        self,
        texts: Texts,
        filters: Filters,
        here: slice,
        concerned: npt.NDArray[np.bool_],
    ) -> None:
        """What filters found out about texts that later stages and the report want to know."""
        if filters.language is not None:
            codes = filters.language.identified(texts).codes
            for code in np.unique(codes[concerned]).tolist():
                mine = concerned & (codes == code)
                self.facts.language[here][mine] = _place(code, self.facts.languages)
        if filters.quality is not None:
            self.facts.quality[here][concerned] = filters.quality.scores(texts)[concerned]

    def _rewrite(self, texts: Texts, names: list[str]) -> dict[int, str]:
        """New texts, by their places in the block."""
        rewritten: dict[int, str] = {}
        for filters in {id(f): f for f in map(self._filters_of, dict.fromkeys(names))}.values():
            concerned = np.array([self._filters_of(name) is filters for name in names])
            for rewriter in filters.rewriters:
                touched = np.flatnonzero(rewriter.touches(texts) & concerned).tolist()
                before = [i for i in rewritten if concerned[i]]
                for i in sorted({*touched, *before}):
                    text = rewritten[i] if i in rewritten else texts.text_of(i)
                    new = rewriter.rewrite(text, texts.metas[i])
                    for name, number in new.found.items():
                        self._tally[names[i]][f"found.{name}"] += number
                    if new.text != text:
                        rewritten[i] = new.text
        return rewritten

    def counts(self) -> dict[str, dict[str, int]]:
        """What was counted, by domain."""
        return {name: dict(sorted(tally.items())) for name, tally in sorted(self._tally.items())}


def _place(name: str, names: list[str]) -> int:
    """Where a name is in a list that it is added to if need be."""
    if name not in names:
        names.append(name)
    return names.index(name)


@dataclass
class _Told:
    """Reasons against texts, and causes in words; empty where there is none. Evaluation sets that
    texts have something of.
    """

    reasons: list[str]
    causes: list[str]
    matches: dict[int, set[str]] = field(default_factory=dict)


def _in_words(match: Match, ngram: int) -> str:
    return f"{match.num_ngrams} times {ngram} words in a row of {match.name}, item {match.number}"


def _reject(texts: Texts, i: int, told: _Told) -> Document:
    meta = texts.metas[i]
    kept = ("pile_set_name", "id", "source", "member", "url", "licence", "language", "extractor")
    shown = {key: meta[key] for key in kept if key in meta}
    shown |= {"reason": told.reasons[i], "cause": told.causes[i], "stage": "filter"}
    start = texts.offsets[i]
    beginning = texts.text[start : min(start + 4 * EXCERPT, texts.offsets[i + 1])]
    return Document(excerpt(beginning.tobytes().decode("utf-8", "ignore")), shown)
