"""A code repository: a folder, or a .tar (compressed or not) or .zip of one.

Each text file is a document, its text as it is but for line ends and byte order mark. Left out are
what the Pile left out (binary files and those of 100 kB and more) and what is not source code of
the repository: vendored folders, lock files, source maps, minified and generated files, tables of
numbers. Code is not tidied: blanks and blank lines may mean something in it.

Licence: that of the repository, from the licence files and package metadata in its top folder; a
file's own ``SPDX-License-Identifier`` comes first. Where none is recognised the meta has no
``licence``, and there is no permission to use the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from barrow.archive import Document
from barrow.corpus.input.unpack import BadArchive, Limits, Member, kind_of, members, walk
from barrow.corpus.licences.detect import (
    is_licence_file,
    is_metadata_file,
    licence_of_metadata,
    licence_of_repository,
    licence_of_text,
    licence_tag,
)
from barrow.corpus.readers.github.languages import programming_language
from barrow.corpus.readers.github.source_files import unwanted_by_name, unwanted_by_text
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.text.encoding import decode

_MAX_LICENCE = 1 << 17
_MAX_LICENCE_FILES = 100
_SUFFIXES = (".tar", ".tgz", ".tbz2", ".txz", ".zip", ".gz", ".bz2", ".xz", ".zst", ".tzst")
# Control characters that texts have: backspace and escape in terminal recordings, form feeds.
_CONTROLS = dict.fromkeys(set(range(32)) - set(b"\t\n\r\f\x08\x1b") | {127})


@dataclass(frozen=True)
class GitHub(Reader):
    """Git repositories (archives or folders): a document per source file, without vendored code.

    Files of `max_bytes` and more are left out, and those with lines longer than `max_line`
    characters or `max_mean_line` on average (prose excepted), and those over 1,000 characters where
    the share of digits, hex and base64 among letters and digits is over `max_data`.
    """

    max_bytes: int = 100_000
    max_mean_line: float = 100
    max_line: int = 1_000
    max_data: float = 0.5
    limits: Limits | None = None

    extractor = "github/2"
    patterns = ("*.tar", "*.tar.*", "*.tgz", "*.tbz2", "*.txz", "*.zip")
    folders = True

    def read(self, path: Path) -> Iterator[Item]:
        try:
            top, licence = _survey(path, self.limits)
            for item in _entries(path, self.limits):
                if isinstance(item, Reject):
                    yield item
                    continue
                name = item.name.removeprefix(top)
                found = _text(item, name, self.max_bytes)
                if isinstance(found, Reject):
                    yield found
                    continue
                unwanted = unwanted_by_text(
                    name,
                    found,
                    max_mean_line=self.max_mean_line,
                    max_line=self.max_line,
                    max_data=self.max_data,
                )
                if unwanted is not None:
                    yield Reject(*unwanted, name, excerpt(found))
                else:
                    yield _document(path, name, found, licence)
        except BadArchive as error:
            yield error.as_reject()


def _entries(path: Path, limits: Limits | None) -> Iterator[Member | Reject]:
    entries = walk if kind_of(path) == "folder" else members
    return entries(path, limits=limits)


def _survey(path: Path, limits: Limits | None) -> tuple[str, str | None]:
    """The folder that contains everything (empty without one) and the licence.

    A first pass over all names. A licence counts if it is in the top folder.
    """
    tops: set[str] = set()
    texts: list[tuple[int, str]] = []
    metadata: list[tuple[int, str]] = []
    try:
        for item in _entries(path, limits):
            if isinstance(item, Reject):
                continue
            *folders, name = item.name.split("/")
            if len(tops) < 2:
                tops.add(f"{folders[0]}/" if folders else "")
            if len(folders) > 1 or len(texts) + len(metadata) >= _MAX_LICENCE_FILES:
                continue
            if is_licence_file(name) and (licence := licence_of_text(_beginning(item))):
                texts.append((len(folders), licence))
            elif is_metadata_file(name) and (
                licence := licence_of_metadata(name, _beginning(item))
            ):
                metadata.append((len(folders), licence))
    except BadArchive:
        pass  # the second pass meets and reports the same error
    # A folder on disk is the repository; a packed one usually has one folder inside.
    top = tops.pop() if len(tops) == 1 and not path.is_dir() else ""
    depth = 1 if top else 0
    licence = licence_of_repository(
        (licence for at, licence in texts if at == depth),
        (licence for at, licence in metadata if at == depth),
    )
    return top, licence


def _beginning(member: Member) -> str:
    try:
        found = decode(member.read(_MAX_LICENCE))
    except BadArchive:
        return ""
    return found[0] if found else ""


def _text(member: Member, name: str, max_bytes: int) -> str | Reject:
    """The text of a file, or why it has none."""
    if unwanted := unwanted_by_name(name):
        return Reject(*unwanted, name)
    if member.size >= max_bytes:
        return Reject("too-large", f"{member.size:,} bytes", name)
    try:
        data = member.read(max_bytes)
    except BadArchive as error:
        return error.as_reject(name)
    if not data.strip():
        return Reject("empty", "nothing but white space", name)
    found = decode(data)
    if found is None or _looks_binary(found[0]):
        return Reject("binary", "not text in any encoding", name, excerpt(data))
    text = found[0].replace("\r\n", "\n").replace("\r", "\n")
    return text if text.strip() else Reject("empty", "nothing but white space", name)


def _looks_binary(text: str) -> bool:
    if "\0" in text:
        return True
    num_controls = len(text) - len(text.translate(_CONTROLS))
    # In an eight-bit encoding any bytes are text; these characters show random ones.
    num_controls += sum(text.count(chr(code)) for code in range(0x80, 0xA0))
    return num_controls > len(text) // 200


def _document(path: Path, name: str, text: str, licence: str | None) -> Document:
    meta = {"repository": _repository(path), "member": name}
    if own := licence_tag(text[:4000]) or licence:
        meta["licence"] = own
    if language := programming_language(name, text):
        meta["programming_language"] = language
    return Document(text, meta)


def _repository(path: Path) -> str:
    name = path.name or path.resolve().name
    while name.lower().endswith(_SUFFIXES):
        name = name[: name.rindex(".")]
    return excerpt(name)
