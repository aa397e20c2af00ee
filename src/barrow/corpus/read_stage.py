"""The first stage: raw files to documents with provenance, and rejects with reasons."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from barrow import config
from barrow.archive import Document, Writer
from barrow.archive.composition import UNKNOWN
from barrow.corpus.document_limits import DocumentLimits, TooSlow
from barrow.corpus.parts import QUICK
from barrow.corpus.reading import Item, Reader, Reject, excerpt
from barrow.corpus.takedown_rules import TAKEN_DOWN, Matcher, load_matcher
from barrow.errors import BadRecord, MissingExtra

VERSION = 1
DOCUMENTS = "documents.jsonl.zst"
REJECTS = "rejects.jsonl.zst"
COUNTS = "counts.json"

_OURS = frozenset(
    [
        "pile_set_name",
        "id",
        "source",
        "sources",
        "raw_sha256",
        "extractor",
        "retrieved",
        "decisions",
    ]
)


@dataclass(frozen=True)
class Chosen:
    """What reads the files."""

    reader: Reader


def chosen_reader(settings: Mapping[str, Any]) -> Reader:
    """What reads the files of a task."""
    chosen = {"reader": settings["reader"]}
    return config.from_dict(Chosen, chosen, trust=settings.get("trust", ())).reader


def read_raw(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """Read groups of raw files of one domain; write documents, rejects and counts.

    The settings are those that `barrow.corpus.build` gives: the domain, the names and hashes of the
    files, which of them form a group, and the limits. Where the corpus has a list of what was taken
    down (`takedown` is its hash), that is the last of the files.
    """
    files = list(files)
    taken = load_matcher(files.pop()) if "takedown" in settings else None
    reader = chosen_reader(settings)
    counts: Counter[str] = Counter()
    rejects: Counter[str] = Counter()
    num_files = len(files) - len(settings.get("beside", ()))
    with (
        Writer(out / DOCUMENTS, level=QUICK) as documents,
        Writer(out / REJECTS, level=QUICK) as rejected,
        reader.open_beside(list(map(Path, files[num_files:]))) as read,
    ):
        for group in settings["groups"]:
            paths = [Path(files[k]) for k in group]
            items = partial(reader.read_group, paths) if paths[1:] else partial(read, paths[0])
            origin = _origin(settings, group, reader.extractor)
            for item in _guarded(
                items, settings["seconds_per_document"], settings["memory_per_document"]
            ):
                outcome, size = _finish(item, origin, settings["max_text"])
                if taken is not None and _is_taken(outcome, origin, taken):
                    rejects[TAKEN_DOWN] += 1
                    rejected.add(_trace_of(outcome, origin))
                    continue
                if isinstance(outcome, Document):
                    try:
                        documents.add(outcome)
                    except BadRecord as error:
                        outcome = Reject(error.reason, error.cause, "", excerpt(outcome.text))
                if isinstance(outcome, Reject):
                    rejects[outcome.reason] += 1
                    rejected.add(_as_document(outcome, origin))
                else:
                    counts["documents"] += 1
                    counts["bytes"] += size
    told = {
        "files": num_files,
        "documents": counts["documents"],
        "bytes": counts["bytes"],
        "rejects": dict(sorted(rejects.items())),
    }
    (out / COUNTS).write_text(json.dumps(told))


def _origin(settings: Mapping[str, Any], group: list[int], extractor: str) -> dict[str, Any]:
    """What every document of a group has in common."""
    names = [settings["names"][k] for k in group]
    hashes = [settings["hashes"][k] for k in group]
    origin: dict[str, Any] = {"pile_set_name": settings["name"], "source": names[0]}
    if len(names) > 1:
        origin["sources"] = names
    origin["raw_sha256"] = (
        hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()
    )
    origin["extractor"] = extractor
    for key in ("licence", "retrieved", "language"):
        if settings[key] is not None:
            origin[key] = settings[key]
    return origin


def _finish(item: Item, origin: Mapping[str, Any], max_text: int) -> tuple[Item, int]:
    """Give a document its identity and provenance, or find the reason why it is none.

    Also the UTF-8 bytes of its text.
    """
    if isinstance(item, Reject):
        return item, 0
    member = str(item.meta.get("member", ""))
    if not item.text or item.text.isspace():
        return Reject("empty", "no text", member), 0
    content = item.text.encode("utf-8", "surrogatepass")
    if len(content) > max_text:
        cause = f"{len(content):,} bytes of text, over the limit of {max_text:,}"
        return Reject("too-long", cause, member, excerpt(item.text)), 0
    place = hashlib.sha256(f"{origin['source']}\n{member}".encode("utf-8", "surrogatepass"))
    identity = f"{hashlib.sha256(content).hexdigest()[:16]}-{place.hexdigest()[:8]}"
    own_name = item.domain if not origin["pile_set_name"] else None
    meta = {**origin, "id": identity}
    meta["pile_set_name"] = own_name or origin["pile_set_name"] or UNKNOWN
    for key, value in item.meta.items():
        if value is not None and not (key == "pile_set_name" and own_name):
            # A record may have keys of its own by names that are ours.
            meta[f"record.{key}" if key in _OURS else key] = value
    meta["decisions"] = {"read": "keep"}  # the last: later stages write on at its end
    return Document(item.text, meta), len(content)


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
    """What is kept of something that was taken down: where it stands, and nothing of its text."""
    cause = "it is on the list of takedowns"
    if isinstance(outcome, Reject):
        return _as_document(Reject(TAKEN_DOWN, cause, outcome.member), origin)
    reject = Reject(TAKEN_DOWN, cause, str(outcome.meta.get("member", "")))
    return Document("", _as_document(reject, origin).meta | {"id": outcome.meta["id"]})


def _as_document(reject: Reject, origin: Mapping[str, Any]) -> Document:
    """A reject, kept as a document: its text is the excerpt."""
    meta = {
        "pile_set_name": origin["pile_set_name"] or UNKNOWN,
        "reason": reject.reason,
        "cause": excerpt(reject.cause),
        "source": origin["source"],
        "member": excerpt(reject.member),
        "extractor": origin["extractor"],
        "stage": "read",
    }
    return Document(excerpt(reject.excerpt), meta)


def _guarded(items: Any, seconds: float, memory: int) -> Iterator[Item]:
    """Items of a reader; a fault of the reader ends the file, not the build."""
    with DocumentLimits(seconds, memory) as limits:
        iterator: Iterator[Item] | None = None
        while True:
            try:
                limits.begin()
                iterator = iterator or iter(items())
                item = next(iterator)
            except StopIteration:
                return
            except MissingExtra:  # no file can be read; somebody has to install something
                raise
            except TooSlow:
                cause = f"more than {seconds:g} s for one document; the rest of the file is lost"
                item = Reject("too-slow", cause)
            except MemoryError:
                cause = f"more than {memory:,} bytes for one document; the rest of the file is lost"
                item = Reject("too-large", cause)
            except Exception as error:  # noqa: BLE001 - any fault of a reader is a counted reject
                cause = f"{type(error).__name__}: {error}; the rest of the file is lost"
                item = Reject("reader-error", cause)
            else:
                limits.end()
                yield item
                continue
            limits.end()
            yield item
            return
