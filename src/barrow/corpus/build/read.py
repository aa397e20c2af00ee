"""The first stage: raw files to documents with provenance, and rejects with reasons."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from barrow.archive import Document
from barrow.archive.composition import UNKNOWN
from barrow.corpus.build.limits import DocumentLimits, TooSlow
from barrow.corpus.build.parts import Rejecting, quick_writer
from barrow.corpus.build.raw_files import RawFile
from barrow.corpus.build.sources import Source
from barrow.corpus.licences.detect import spdx_expression
from barrow.corpus.readers.reader import Item, Reader, Reject, Span, excerpt
from barrow.corpus.recipe import Recipe
from barrow.corpus.takedown.rules import TAKEN_DOWN, Matcher, load_matcher
from barrow.engine import File, Output, Stage, Task
from barrow.errors import BadRecord, MissingExtra
from barrow.files import write_part


@dataclass(frozen=True)
class Settings:
    """The settings of a domain, its reader, and the limits of a document.

    `names` are those of the files under the root, by group. Without `retrieved`, `dates` has the
    last day that a file of each group changed. With a `span`, only that of the one file is read.
    """

    name: str
    reader: Reader
    extractor: str
    licence: str
    language: str | None
    retrieved: str | None
    names: tuple[tuple[str, ...], ...]
    dates: tuple[str, ...]
    seconds_per_document: float
    memory_per_document: int
    max_text: int
    span: Span | None = None


@dataclass(frozen=True)
class Inputs:
    """Raw files, in groups that are read together; files beside them; what was taken down."""

    groups: tuple[tuple[File, ...], ...]
    beside: tuple[File, ...] = ()
    takedown: File | None = None


class Read(Rejecting):
    """Documents with provenance, and rejects with reasons."""

    documents = Output("documents.jsonl.zst", temporary=True)


# Small files are read together: a task costs some milliseconds.
_BATCH_BYTES = 1 << 26
_BATCH_FILES = 500

# Documents of a reader that are held before they are written.
_AT_ONCE = 64
_AT_ONCE_CHARACTERS = 1 << 18

_OURS = frozenset(
    [
        "pile_set_name",
        "id",
        "source",
        "sources",
        "raw_sha256",
        "extractor",
        "retrieved",
        "retrieved_from",
        "replacement_characters",
        "language_from",
        "decisions",
    ]
)


def read_tasks(
    source: Source,
    recipe: Recipe,
    takedown: File | None = None,
    spans: Mapping[str, Sequence[Span]] | None = None,
) -> list[Task[Read]]:
    """Tasks that read a domain's files, without what was taken down.

    Small files are read together; `spans` are the parts of large ones, by path, one task each.
    """
    spans = spans or {}
    batches: list[tuple[list[list[RawFile]], Span | None]] = [([], None)]
    for group in source.groups:
        if parts := spans.get(group[0].path):
            batches += [([group], span) for span in parts]
            continue
        files, span = batches[-1]
        if files and (span is not None or _is_full([*files, group])):
            batches.append(([], None))
        batches[-1][0].append(group)
    domain = source.domain
    return [
        READ.task(
            f"{source.folder}: {batch[0][0].name}" + (" …" if sum(map(len, batch)) > 1 else ""),
            Settings(
                name=domain.name,
                reader=domain.reader,
                extractor=domain.reader.extractor,
                licence=domain.licence,
                language=domain.language,
                retrieved=domain.retrieved,
                names=tuple(tuple(file.name for file in group) for group in batch),
                dates=()
                if domain.retrieved is not None
                else tuple(max(file.date for file in group) for group in batch),
                seconds_per_document=recipe.seconds_per_document,
                memory_per_document=recipe.memory_per_document,
                max_text=recipe.max_text,
                span=span,
            ),
            Inputs(
                tuple(tuple(file.file for file in group) for group in batch),
                tuple(file.file for file in source.beside),
                takedown,
            ),
            size=sum(file.size for group in batch for file in group)
            // max(1, len(spans.get(batch[0][0].path, ()))),
        )
        for batch, span in batches
        if batch
    ]


def _is_full(batch: list[list[RawFile]]) -> bool:
    files = [file for group in batch for file in group]
    return len(files) > _BATCH_FILES or sum(file.content_size for file in files) > _BATCH_BYTES


def read(settings: Settings, inputs: Inputs, out: Read) -> None:
    """Read groups of raw files of one domain; write documents, rejects and counts."""
    taken = None if inputs.takedown is None else load_matcher(inputs.takedown)
    reader = settings.reader
    counts: Counter[str] = Counter()
    rejects: Counter[str] = Counter()
    with (
        quick_writer(out.documents) as documents,
        quick_writer(out.rejects) as rejected,
        reader.open_beside([file.path for file in inputs.beside]) as read_one,
    ):
        dates = settings.dates or [None] * len(settings.names)
        for names, date, group in zip(settings.names, dates, inputs.groups, strict=True):
            paths = [file.path for file in group]
            items = partial(reader.read_group, paths) if paths[1:] else partial(read_one, paths[0])
            if settings.span is not None:
                items = partial(reader.read_span, paths[0], settings.span)
            origin = _origin(settings, names, date, [file.key for file in group])
            for item in _guarded(
                items, settings.seconds_per_document, settings.memory_per_document
            ):
                outcome, size = _finish(item, origin, settings.max_text, settings.language)
                if taken is not None and _is_taken(outcome, origin, taken):
                    rejects[TAKEN_DOWN] += 1
                    rejected.add(_trace_of(outcome, origin))
                    continue
                if isinstance(outcome, Document):
                    try:
                        documents.add(outcome)
                    except BadRecord as error:
                        own_id = outcome.meta.get("record.id")
                        outcome = Reject(
                            error.reason, error.cause, "", excerpt(outcome.text), own_id
                        )
                if isinstance(outcome, Reject):
                    rejects[outcome.reason] += 1
                    rejected.add(_as_document(outcome, origin))
                else:
                    counts["documents"] += 1
                    counts["bytes"] += size
    counted = {
        "documents": counts["documents"],
        "bytes": counts["bytes"],
        "rejects": dict(sorted(rejects.items())),
    }
    write_part(out.counts.path, json.dumps(counted).encode())
    out.save_frames(out.documents)


READ = Stage("corpus.read", 4, read, Read)


def _origin(
    settings: Settings, names: tuple[str, ...], date: str | None, hashes: list[str]
) -> dict[str, Any]:
    """What every document of a group has in common."""
    origin: dict[str, Any] = {"pile_set_name": settings.name, "source": names[0]}
    if len(names) > 1:
        origin["sources"] = names
    origin["raw_sha256"] = (
        hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()
    )
    origin["extractor"] = settings.extractor
    for key in ("licence", "retrieved"):
        if (value := getattr(settings, key)) is not None:
            origin[key] = value
    if date is not None:
        origin |= {"retrieved": date, "retrieved_from": "file"}
    return origin


def _finish(
    item: Item, origin: Mapping[str, Any], max_text: int, language: str | None
) -> tuple[Item, int]:
    """Give a document its identity and provenance, or the reason to reject it.

    Also the UTF-8 bytes of its text.
    """
    if isinstance(item, Reject):
        return item, 0
    member = str(item.meta.get("member", ""))
    own_id = item.meta.get("id")
    if not item.text or item.text.isspace():
        return Reject("empty", "no text", member, own_id=own_id), 0
    content = item.text.encode("utf-8", "surrogatepass")
    if len(content) > max_text:
        cause = f"{len(content):,} bytes of text, over the limit of {max_text:,}"
        return Reject("too-long", cause, member, excerpt(item.text), own_id), 0
    origin = _of_member(origin, member)
    place = hashlib.sha256(f"{origin['source']}\n{member}".encode("utf-8", "surrogatepass"))
    identity = f"{hashlib.sha256(content).hexdigest()[:16]}-{place.hexdigest()[:8]}"
    own_name = item.domain if not origin["pile_set_name"] else None
    meta = {**origin, "id": identity}
    meta["pile_set_name"] = own_name or origin["pile_set_name"] or UNKNOWN
    for key, value in item.meta.items():
        if value is not None and not (key == "pile_set_name" and own_name):
            # The meta of a record may use our names.
            meta[f"record.{key}" if key in _OURS else key] = value
    if num_replaced := item.text.count("\ufffd"):
        meta["replacement_characters"] = num_replaced
    stated = meta.get("licence")
    if isinstance(stated, str) and (licence := spdx_expression(stated)) != stated:
        meta |= {"licence": licence, "licence_stated": stated}
    if language is not None and "language" not in meta:
        meta |= {"language": language, "language_from": "recipe"}  # until a filter identifies it
    meta["decisions"] = {"read": "keep"}  # the last key: later stages append to it
    return Document(item.text, meta), len(content)


def _of_member(origin: Mapping[str, Any], member: str) -> Mapping[str, Any]:
    """The same, with the source that the member names where there are several."""
    named = [n for n in origin.get("sources", ()) if member and f"/{n}".endswith(f"/{member}")]
    return {**origin, "source": named[0]} if named else origin


def _is_taken(outcome: Item, origin: Mapping[str, Any], taken: Matcher) -> bool:
    meta = outcome.meta if isinstance(outcome, Document) else origin
    text = outcome.text if isinstance(outcome, Document) else outcome.excerpt
    return taken.meta_matches(
        identity=meta.get("id"),
        url=meta.get("url"),
        domain=meta["pile_set_name"],
        licence=meta.get("licence"),
        source=meta["source"],
        member=meta.get("member") if isinstance(outcome, Document) else outcome.member,
    ) or taken.text_matches(text)


def _trace_of(outcome: Item, origin: Mapping[str, Any]) -> Document:
    """A reject for what was taken down: its place, and nothing of its text."""
    cause = "it is on the list of takedowns"
    if isinstance(outcome, Reject):
        return _as_document(Reject(TAKEN_DOWN, cause, outcome.member), origin)
    reject = Reject(TAKEN_DOWN, cause, str(outcome.meta.get("member", "")))
    return Document("", _as_document(reject, origin).meta | {"id": outcome.meta["id"]})


def _as_document(reject: Reject, origin: Mapping[str, Any]) -> Document:
    """A reject, kept as a document: its text is the excerpt."""
    origin = _of_member(origin, reject.member)
    meta = {
        "pile_set_name": origin["pile_set_name"] or UNKNOWN,
        "reason": reject.reason,
        "cause": excerpt(reject.cause),
        "source": origin["source"],
        "member": excerpt(reject.member),
        "extractor": origin["extractor"],
        "stage": "read",
    }
    if isinstance(reject.own_id, str | int):
        meta["record.id"] = excerpt(str(reject.own_id))
    return Document(excerpt(reject.excerpt), meta)


def _guarded(items: Any, seconds: float, memory: int) -> Iterator[Item]:
    """Items of a reader; an exception of the reader ends the file, not the build.

    A few are read at a time: setting a limit takes longer than reading a short document.
    """
    with DocumentLimits(seconds, memory) as limits:
        iterator: Iterator[Item] | None = None
        ready: list[Item] = []
        size = 0
        while True:
            try:
                limits.begin()
                iterator = iterator or iter(items())
                while len(ready) < _AT_ONCE and size < _AT_ONCE_CHARACTERS:
                    limits.next()
                    ready.append(item := next(iterator))
                    size += len(item.text) if isinstance(item, Document) else 0
            except StopIteration:
                limits.end()
                yield from ready
                return
            except MissingExtra:  # no file can be read before this is installed
                raise
            except TooSlow:
                cause = f"more than {seconds:g} s for one document; the rest of the file is lost"
                item = Reject("too-slow", cause)
            except MemoryError:
                cause = f"more than {memory:,} bytes for one document; the rest of the file is lost"
                item = Reject("too-large", cause)
            except Exception as error:  # noqa: BLE001 - any error of a reader is a counted reject
                cause = f"{type(error).__name__}: {error}; the rest of the file is lost"
                item = Reject("reader-error", cause)
            else:
                limits.end()
                yield from ready
                ready, size = [], 0
                continue
            limits.end()
            yield from ready
            yield item
            return
