"""The package of an EPUB: its path, its metadata, the order of its files."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from barrow.corpus.text.encoding import decode
from barrow.corpus.text.xml.events import BadXml, End, Event, Start, Text, xml_events
from barrow.corpus.text.xml.repair import declared_encoding, readable_xml

# These two only obfuscate fonts, not text.
_FONTS_ONLY = frozenset(("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"))

_METADATA = frozenset(("title", "creator", "language", "date", "identifier", "publisher", "rights"))


@dataclass
class Package:
    """A book's metadata, as lists of values by their names, and its files in reading order.

    `roles` has the role of some files (``cover``, ``toc``, ``nav``, ``copyright-page``).
    """

    metadata: dict[str, list[str]] = field(default_factory=dict)
    spine: list[str] = field(default_factory=list)
    not_linear: set[str] = field(default_factory=set)
    roles: dict[str, str] = field(default_factory=dict)

    def first(self, name: str) -> str:
        """The first value of a name; empty without one."""
        return next(iter(self.metadata.get(name, ())), "")


def package_place(container: bytes) -> str:
    """The package named in META-INF/container.xml; empty without one."""
    for event in _events(container):
        if isinstance(event, Start) and _local(event.name) == "rootfile":
            return unquote(event.attributes.get("full-path", ""))
    return ""


def is_encrypted(encryption: bytes) -> bool:
    """Whether META-INF/encryption.xml names more than obfuscated fonts."""
    in_data = False
    for event in _events(encryption):
        if isinstance(event, Start):
            in_data = in_data or _local(event.name) == "EncryptedData"
            is_method = in_data and _local(event.name) == "EncryptionMethod"
            if is_method and event.attributes.get("Algorithm", "") not in _FONTS_ONLY:
                return True
        elif isinstance(event, End) and _local(event.name) == "EncryptedData":
            in_data = False
    return False


def parse_package(data: bytes, place: str) -> Package:
    """The package document (OPF) at `place`, as far as it can be read."""
    package = Package()
    files: dict[str, str] = {}
    folder = posixpath.dirname(place)
    metadata: str | None = None
    pieces: list[str] = []
    in_metadata = False
    for event in _events(data):
        if isinstance(event, Text):
            pieces.append(event.data)
            continue
        name = _local(event.name)
        if isinstance(event, End):
            if in_metadata and metadata == name:
                value = " ".join("".join(pieces).split())
                package.metadata.setdefault(name, []).extend([value] if value else [])
                metadata = None
            in_metadata = in_metadata and name != "metadata"
            continue
        attributes = event.attributes
        if name == "metadata":
            in_metadata = True
        elif in_metadata and metadata is None and name in _METADATA:
            metadata, pieces = name, []
        elif name in ("item", "reference"):
            path = resolved(folder, attributes.get("href", ""))
            if name == "item":
                files[attributes.get("id", "")] = path
                if "nav" in attributes.get("properties", "").split():
                    package.roles[path] = "nav"
            else:
                package.roles.setdefault(path, attributes.get("type", "").lower())
        elif name == "itemref" and (path := files.get(attributes.get("idref", ""), "")):
            if path not in package.spine:
                package.spine.append(path)
            if attributes.get("linear", "").lower() == "no":
                package.not_linear.add(path)
    return package


def resolved(folder: str, link: str) -> str:
    """The file in the book that a link in a file of that folder points to."""
    return posixpath.normpath(posixpath.join(folder, unquote(link.partition("#")[0]))).lstrip("/")


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _events(data: bytes) -> Iterator[Event]:
    """Events up to the first error."""
    found = decode(data, declared_encoding(data))
    try:
        yield from xml_events(readable_xml(found[0])) if found else ()
    except BadXml:
        return
