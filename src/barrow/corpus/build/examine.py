"""The second stage: filter every document once, and compute what later stages need.

Only texts that rewriters change are written here: which documents stay is decided globally, and
they are written once.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import barrow.archive
from barrow.archive import Document, Writer
from barrow.archive.block import Block
from barrow.archive.document import identity_of
from barrow.corpus.build.decontaminate import Match, NgramIndex, find_matches, load_index
from barrow.corpus.build.facts import Facts, save_facts
from barrow.corpus.build.parts import Part, Rejecting, quick_writer
from barrow.corpus.dedup.exact import content_hashes
from barrow.corpus.dedup.minhash import band_hashes, shingle_hashes
from barrow.corpus.filters.filter import KEEP, Filter, Rewriter, Step
from barrow.corpus.filters.language import UNDETERMINED
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.readers.reader import EXCERPT, rejected
from barrow.corpus.recipe import Recipe
from barrow.engine import File, Output, Stage, Task
from barrow.files import write_part

# Texts are copied for a filter if they are at most this part of what it would look at otherwise.
_WORTH_COPYING = 0.7


@dataclass(frozen=True)
class Settings:
    """Documents `start` to `stop` of a file, and filters by domain; those under ``""`` are for all
    other domains. A document with `min_ngrams` n-grams of evaluation sets is rejected.
    """

    start: int
    stop: int
    filters: dict[str, tuple[Step, ...]]
    min_ngrams: int = 1


@dataclass(frozen=True)
class Inputs:
    """Documents as they were read, and the index of evaluation sets."""

    documents: File
    evaluation: File | None = None


class Findings(Rejecting):
    """Facts of every document, the names of domains in them, the rewritten documents, and the
    rejects.
    """

    facts = Output("facts.safetensors", temporary=True)
    domains = Output("domains.json")
    changed = Output("changed.jsonl.zst", temporary=True)

    def load_domains(self) -> tuple[str, ...]:
        """The domains of the documents, in the order of the facts."""
        return tuple(json.loads(self.domains.path.read_text()))


def examine_tasks(
    parts: Sequence[Part], recipe: Recipe, evaluation: File | None
) -> list[Task[Findings]]:
    """A task for each part."""
    decontamination = recipe.decontamination
    filters = {
        folder: {
            name: tuple(step.resolved() for step in steps)
            for name, steps in {"": domain.filters, **domain.filters_of}.items()
        }
        for folder, domain in recipe.domains.items()
    }
    min_ngrams = decontamination.min_ngrams if decontamination is not None else 1
    return [
        EXAMINE.task(
            part.label,
            Settings(part.start, part.stop, filters[part.domain], min_ngrams),
            Inputs(part.file, evaluation),
            size=part.size,
        )
        for part in parts
    ]


def examine(settings: Settings, inputs: Inputs, out: Findings) -> None:
    """Examine documents of a file."""
    archive = barrow.archive.open(inputs.documents, threads=1)[settings.start : settings.stop]
    examiner = _Examiner(
        facts=replace(Facts.blank(settings.stop - settings.start), languages=[""]),
        filters=settings.filters,
        index=None if inputs.evaluation is None else load_index(inputs.evaluation.path),
        min_ngrams=settings.min_ngrams,
    )
    with (
        quick_writer(out.changed) as changed,
        quick_writer(out.rejects) as rejects,
    ):
        at = 0
        for block in archive.blocks():
            examiner.examine(block, at, changed, rejects)
            at += len(block)
    save_facts(examiner.facts, out.facts)
    write_part(out.domains.path, json.dumps(examiner.facts.domains).encode())
    write_part(out.counts.path, json.dumps(examiner.counts(), sort_keys=True).encode())
    out.save_frames()


EXAMINE = Stage("corpus.examine", 5, examine, Findings)


@dataclass
class _Examiner:
    facts: Facts
    filters: Mapping[str, tuple[Step, ...]]
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
        rejections = _Rejections.none(len(texts))
        texts, rewritten = self._refine(texts, names, here, rejections)
        if rewritten:
            self.facts.changed[at + np.array(list(rewritten))] = True
        self._look(texts, here, rejections)
        for i, name in enumerate(names):
            tally = self._tally[name]
            tally["documents"] += 1
            tally["bytes"] += sizes[i]
            for name_of_set in rejections.matches.get(i, ()):
                tally[f"matches.{name_of_set}"] += 1
            language = self.facts.languages[self.facts.language[at + i]]
            if language:
                tally[f"languages.{language}"] += 1
                tally[f"languages_kept.{language}"] += not rejections.reasons[i]
            if rejections.reasons[i]:
                tally[f"rejects.{rejections.reasons[i]}"] += 1
                language = self.facts.languages[self.facts.language[at + i]]
                rejects.add(_reject(texts, i, rejections, language))
            else:
                tally["kept"] += 1
                tally["kept_bytes"] += int(self.facts.size[at + i])
                if i in rewritten:
                    tally["changed"] += 1
                    changed.add(Document(rewritten[i], texts.metas[i]))

    def _refine(
        self, texts: Texts, names: list[str], here: slice, rejections: _Rejections
    ) -> tuple[Texts, dict[int, str]]:
        """The texts after all filters, and the rewritten ones by their index in the block."""
        chosen = [self.filters.get(name, self.filters[""]) for name in names]
        chains = [
            (_passes(steps), np.array([other is steps for other in chosen]))
            for steps in {id(steps): steps for steps in chosen}.values()
        ]
        rewritten: dict[int, str] = {}
        # All domains pass together: their texts share a buffer and its statistics.
        for k in range(max(len(passes) for passes, _ in chains)):
            new: dict[int, str] = {}
            for passes, concerned in chains:
                if k < len(passes):
                    left = concerned & rejections.stays
                    new |= self._rewrite(texts, passes[k].rewriters, names, left)
            if new:
                texts = texts.replaced(new)
                rewritten |= new
            for i in np.flatnonzero(texts.sizes == 0).tolist():  # a rewriter left nothing
                if not rejections.reasons[i]:
                    rejections.reject(i, "empty", "no text")
            for passes, concerned in chains:
                if k < len(passes):
                    self._decide(texts, passes[k].filters, here, concerned, rejections)
        return texts, rewritten

    def _rewrite(
        self,
        texts: Texts,
        rewriters: Sequence[Rewriter],
        names: list[str],
        concerned: npt.NDArray[np.bool_],
    ) -> dict[int, str]:
        """New texts, by their index in the block."""
        rewritten: dict[int, str] = {}
        for rewriter in rewriters:
            touched = np.flatnonzero(rewriter.touches(texts) & concerned).tolist()
            for i in sorted({*touched, *rewritten}):
                text = rewritten[i] if i in rewritten else texts.text_of(i)
                new = rewriter.rewrite(text, texts.metas[i])
                for name, number in new.found.items():
                    self._tally[names[i]][f"found.{name}"] += number
                if new.text != text:
                    rewritten[i] = new.text
        return rewritten

    def _decide(
        self,
        texts: Texts,
        filters: Sequence[Filter],
        here: slice,
        concerned: npt.NDArray[np.bool_],
        rejections: _Rejections,
    ) -> None:
        """Reasons to reject texts, and what else filters report about them."""
        facts = self.facts
        some, rows = texts, np.arange(len(texts))
        for chosen in filters:
            if type(chosen).describe is not Filter.describe:
                some, rows = texts, np.arange(len(texts))
                languages, quality = chosen.describe(texts)
                if languages is not None:
                    for code in np.unique(languages[concerned]).tolist():
                        mine = concerned & (languages == code)
                        facts.language[here][mine] = _place(code, facts.languages)
                if quality is not None:
                    facts.quality[here][concerned] = quality[concerned]
            else:
                left = np.flatnonzero(concerned & rejections.stays)
                if not len(left):
                    continue
                if texts.sizes[left].sum() < _WORTH_COPYING * some.sizes.sum():
                    some, rows = texts.chosen(left), left
            code, value = chosen.decide(some)
            for k in np.flatnonzero((code != KEEP) & concerned[rows]).tolist():
                if not rejections.reasons[i := int(rows[k])]:
                    reason = chosen.reasons[code[k] - 1]
                    rejections.reject(i, reason, chosen.cause(reason, float(value[k])))

    def _look(self, texts: Texts, here: slice, rejections: _Rejections) -> None:
        """Fill in the facts that later stages need of the texts."""
        facts = self.facts
        facts.size[here] = texts.sizes
        left = np.flatnonzero(rejections.stays)
        if len(left):
            some = texts if len(left) == len(texts) else texts.chosen(left)
            rows = here.start + left
            facts.content[rows] = content_hashes(some.text, some.offsets)
            facts.bands[rows] = band_hashes(shingle_hashes(some.words, some.scratch))
            if self.index is not None:
                for match in find_matches(some.text, some.offsets, self.index):
                    if match.num_ngrams >= self.min_ngrams:
                        i = int(left[match.document])
                        rejections.matches.setdefault(i, set()).add(match.name)
                        if not rejections.reasons[i]:
                            cause = _in_words(match, self.index.ngram)
                            rejections.reject(i, "contaminated", cause)
        facts.kept[here] = rejections.stays

    def counts(self) -> dict[str, dict[str, int]]:
        """What was counted, by domain."""
        return {name: dict(sorted(tally.items())) for name, tally in sorted(self._tally.items())}


class _Pass(NamedTuple):
    """Rewriters in a row, and the filters after them."""

    rewriters: list[Rewriter]
    filters: list[Filter]


def _passes(steps: Iterable[Step]) -> list[_Pass]:
    passes = [_Pass([], [])]
    for step in steps:
        if not isinstance(step, Rewriter):
            passes[-1].filters.append(step)
            continue
        if passes[-1].filters:
            passes.append(_Pass([], []))
        passes[-1].rewriters.append(step)
    return passes


def _place(name: str, names: list[str]) -> int:
    """The index of a name in a list; it is appended if it is not there."""
    if name not in names:
        names.append(name)
    return names.index(name)


@dataclass
class _Rejections:
    """Reasons to reject texts and their causes, empty for texts that stay, and the evaluation sets
    that texts match.
    """

    reasons: list[str]
    causes: list[str]
    stays: npt.NDArray[np.bool_]
    matches: dict[int, set[str]] = field(default_factory=dict)

    @classmethod
    def none(cls, num_texts: int) -> _Rejections:
        return cls([""] * num_texts, [""] * num_texts, np.ones(num_texts, np.bool_))

    def reject(self, i: int, reason: str, cause: str) -> None:
        self.reasons[i], self.causes[i], self.stays[i] = reason, cause, False


def _in_words(match: Match, ngram: int) -> str:
    return f"{match.num_ngrams} times {ngram} words in a row of {match.name}, item {match.number}"


def _reject(texts: Texts, i: int, rejections: _Rejections, language: str) -> Document:
    start = texts.offsets[i]
    data = texts.text[start : min(start + 4 * EXCERPT, texts.offsets[i + 1])].tobytes()
    why = {"reason": rejections.reasons[i], "cause": rejections.causes[i], "stage": "filter"}
    meta = texts.metas[i]
    if language not in ("", UNDETERMINED) and meta.get("language_from") == "recipe":
        meta = {**meta, "language": language}
    return rejected(data.decode("utf-8", "ignore"), meta, **why)
