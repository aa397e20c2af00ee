"""Score a model on a corpus: documents in order, totals in float64, killed runs resumed."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from barrow.archive import Archive, Document
from barrow.errors import ScoreError
from barrow.files import remove
from barrow.interrupt import check_interrupt
from barrow.score.card import VERSION, Card, CorpusDigest
from barrow.score.kinds import KINDS, totals
from barrow.score.models.model import DomainModel, Model, TextScore
from barrow.score.part_file import PartFile, Scored, held, read_part
from barrow.score.result import Result, versions, write_result
from barrow.score.score_domains import score_domains
from barrow.score.scored_corpus import ScoredCorpus, Text
from barrow.score.scored_table import ScoredTable
from barrow.score.summary import RESAMPLES, SEED, check_weights, rows_of, weighted_mean

_GROUP_DOCUMENTS = 4096


@dataclass(frozen=True)
class Share:
    """One of several processes that score together: its number, and how many there are.

    Process 0 joins the parts beside the result, and waits `patience` seconds for them.
    """

    rank: int = 0
    of: int = 1
    patience: float = 3600.0

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.of:
            raise ValueError(f"rank must be from 0 to {self.of - 1}, got {self.rank}")


def score(
    model: Model | DomainModel,
    corpus: ScoredCorpus | Archive | Iterable[Document],
    *,
    out: str | os.PathLike[str] | None = None,
    weights: Mapping[str, float] | None = None,
    contamination: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    share: Share | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Result | None:
    """The figures of a model on every document of a corpus, by domain and overall.

    With `out` they are written to its scores.json and documents.safetensors, and progress to its
    scores.part, from which a killed run resumes. `weights` are for the mean over domains.
    `contamination` (the receipt) and `settings` are kept with the result. `on_progress` gets the
    bytes of text that are done. With a `share`, documents are divided among processes by number,
    `out` must be reachable by all, and only process 0 returns a result.
    """
    if not isinstance(corpus, ScoredCorpus):
        corpus = ScoredCorpus("documents", None, corpus)
    share = Share() if share is None else share
    if share.of > 1 and out is None:
        raise ValueError("several processes exchange results through files: pass out=")
    if weights is not None and iter(corpus.documents) is not corpus.documents:
        check_weights({text.domain for text in corpus}, weights)  # rather than after hours
    if isinstance(model, DomainModel) and share.rank:
        return None
    parts = _parts(out, share)
    began = time.perf_counter()
    with held(None if parts is None else parts[share.rank]):
        if isinstance(model, DomainModel):
            result = score_domains(model, corpus, settings=settings, on_progress=on_progress)
            if out is not None:
                write_result(out, result)
            return result
        part = None if parts is None else PartFile(parts[share.rank], _about(model, corpus, share))
        done = ScoredTable()
        try:
            before: Iterator[list[Scored]] = iter(()) if part is None else part.before()
            for group in _groups(corpus, model.group_bytes, share):
                scored = next(before, None)
                if scored is not None:
                    _refuse_changed(scored, group)
                else:
                    scored = _score_group(model, group)
                    if part is not None:
                        part.add(scored)
                done.add(scored)
                check_interrupt()
                if on_progress is not None:
                    on_progress(sum(text.bytes for text in scored))
        except BaseException:
            if part is not None:
                part.close()
            raise
        if part is not None:
            part.end()
        if share.rank:
            return None
        if parts is not None:
            for others in _others(parts, model, corpus, share):
                done.add(others)
        result = joined(model, corpus, done)
        result = _completed(result, weights, contamination, settings, time.perf_counter() - began)
        if out is not None and parts is not None:
            write_result(out, result)
            for path in parts:
                remove(path)
        return result


def _completed(
    result: Result,
    weights: Mapping[str, float] | None,
    contamination: Mapping[str, Any] | None,
    settings: Mapping[str, Any] | None,
    seconds: float,
) -> Result:
    return replace(
        result,
        weighted=None if weights is None else weighted_mean(result.domains, weights),
        contamination=contamination,
        settings={**(settings or {}), **result.settings},
        seconds=seconds,
    )


def _parts(out: str | os.PathLike[str] | None, share: Share) -> list[Path] | None:
    """The part file of each process."""
    if out is None:
        return None
    part = Path(out) / "scores.part"
    if share.of == 1:
        return [part]
    return [part.with_suffix(f".part-{rank:05}-of-{share.of:05}") for rank in range(share.of)]


def _about(model: Model, corpus: ScoredCorpus, share: Share, rank: int | None = None) -> Any:
    """What must be the same to resume: the card, the model, and how work is divided."""
    return {
        "model": model.info.identity,
        "tokenizer": model.info.tokenizer,
        "dtype": model.info.dtype,
        "likelihood": model.likelihood,
        "window": None if model.window is None else list(model.window.facts),
        "corpus": corpus.name,
        "split": corpus.split,
        "limit": corpus.limit,
        "group": model.group_bytes,
        "process": [share.rank if rank is None else rank, share.of],
        "kinds": list(KINDS),
        "version": VERSION,
    }


def _groups(corpus: ScoredCorpus, group_bytes: int, share: Share) -> Iterator[list[Text]]:
    """Documents of this process, about so many bytes of them at a time."""
    held: list[Text] = []
    size = 0
    for text in corpus:
        if text.number % share.of != share.rank:
            continue
        held.append(text)
        size += len(text.text)
        if size >= group_bytes or len(held) == _GROUP_DOCUMENTS:
            yield held
            held, size = [], 0
    if held:
        yield held


def _score_group(model: Model, group: list[Text]) -> list[Scored]:
    began = time.perf_counter()
    found = model.score([text.text for text in group])
    if len(found) != len(group):
        raise ScoreError(
            f"{model.info.name} returned {len(found)} results for {len(group)} documents"
        )
    for text, one in zip(group, found, strict=True):
        _refuse_bad(text, one, model)
    kinds = [totals(t.text, s.byte_nats) for t, s in zip(group, found, strict=True)]
    seconds = time.perf_counter() - began
    size = sum(len(text.text) for text in group)
    return [
        Scored(
            number=text.number,
            domain=text.domain,
            sha256=hashlib.sha256(text.text).hexdigest(),
            bytes=len(text.text),
            tokens=one.tokens,
            nats=one.nats,
            projection=one.projection,
            seconds=seconds * len(text.text) / size if size else 0.0,
            kind_bytes=tuple(kind_bytes.tolist()),
            kind_nats=tuple(kind_nats.tolist()),
        )
        for text, one, (kind_bytes, kind_nats) in zip(group, found, kinds, strict=True)
    ]


def _refuse_bad(text: Text, one: TextScore, model: Model) -> None:
    if not math.isfinite(one.nats):
        raise ScoreError(
            f"{text}: {model.info.name} gives {one.nats} nats; a probability is NaN or 0. "
            "Check its weights, or try --dtype float32"
        )
    if not text.text and (one.nats or one.tokens):
        raise ScoreError(f"{text} is empty, but got {one.nats} nats")
    if text.text and not one.tokens and model.likelihood != "compressed":
        raise ScoreError(
            f"{text}: no token of its {len(text.text):,} bytes was scored; the tokenizer "
            "drops the whole text"
        )
    if one.byte_nats is not None and len(one.byte_nats) != len(text.text):
        raise ScoreError(
            f"{text} has {len(text.text):,} bytes, and {model.info.name} gives nats for "
            f"{len(one.byte_nats):,}"
        )


def _refuse_changed(before: list[Scored], group: list[Text]) -> None:
    for scored, text in zip(before, group, strict=False):
        known = (scored.number, scored.domain, scored.sha256)
        if known != (text.number, text.domain, hashlib.sha256(text.text).hexdigest()):
            raise ScoreError(
                f"{text} differs from what this run scored before: the corpus changed. To "
                "start again, remove the .part file"
            )
    if len(before) != len(group):
        raise ScoreError(
            "this run scored other documents before: the corpus changed. To start again, "
            "remove the .part file"
        )


def _others(
    parts: Sequence[Path], model: Model, corpus: ScoredCorpus, share: Share
) -> Iterator[list[Scored]]:
    """The parts of the other processes, when they are complete."""
    deadline = time.monotonic() + share.patience
    for rank, path in enumerate(parts):
        if rank == share.rank:
            continue
        about = _about(model, corpus, share, rank)
        while (theirs := read_part(path, about)) is None:
            if time.monotonic() > deadline:
                raise ScoreError(
                    f"process {rank} of {share.of} has not finished {path} after "
                    f"{share.patience:g} seconds; start it again, then this one: finished "
                    "work is kept"
                )
            time.sleep(min(1.0, share.patience / 20))
        yield from theirs


def joined(model: Model, corpus: ScoredCorpus, done: ScoredTable) -> Result:
    """The result of a model on all the documents of a corpus, in their order."""
    if not done.num_bytes:
        what = f"{len(done)} documents, all of them empty" if len(done) else "no documents"
        raise ScoreError(f"{corpus.name} has {what}; there is nothing to score")
    documents, seconds = done.documents()
    ground = CorpusDigest(corpus.name, corpus.split, len(done), done.num_bytes, done.digest)
    rows, overall = rows_of(documents, seconds)
    return Result(
        model=model.info,
        card=Card(ground, model.likelihood, model.window, model.scope),
        domains=rows,
        overall=overall,
        versions=versions(),
        settings={
            "bootstrap": {"resamples": RESAMPLES, "seed": SEED},
            "projection": done.projections,
        },
        documents=documents,
    )
