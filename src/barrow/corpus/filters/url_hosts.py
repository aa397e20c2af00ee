"""The host in a URL, and lists of hosts in files."""

from __future__ import annotations

import hashlib
import io
import re
from functools import lru_cache
from pathlib import Path

from barrow.errors import ConfigError
from barrow.files import Version, version_of

_MAX_HOST = 253  # a longer name is not a host; its end is enough
_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//")
_END = re.compile(r"[/?#\\]")
_PORT = re.compile(r":\d*$")
_ADDRESS = re.compile(r"[0-9.]+|[0-9a-f:]*::?[0-9a-f:]*")
_HOST = re.compile(r"[^\s/?#@:]+")


def split_url(url: str) -> tuple[str, str]:
    """Host, and the rest of the URL, both in lower case; the host is empty if there is none.

    The scheme may be missing, user names and ports are dropped, and hosts beyond ASCII are in
    DNS's form (``xn--``).
    """
    url = url.strip().lower()
    match = _SCHEME.match(url)
    rest = url[match.end() :] if match else url
    end = _END.search(rest)
    place = end.start() if end else len(rest)
    host, path = rest[:place].rpartition("@")[2], rest[place:]
    host = _PORT.sub("", host[-_MAX_HOST:]).strip("[]").rstrip(".")
    if not match and "." not in host:
        return "", url
    return _as_dns(host), path


def host_suffixes(host: str) -> list[str]:
    """A host and the domains it belongs to: a.b.c, b.c, c."""
    labels = host.split(".")
    return [".".join(labels[i:]) for i in range(len(labels))]


def parse_host(text: str) -> str:
    """A host as people write it in lists: with ``*.`` or a dot before it, or as a whole URL."""
    host = text.strip().lower()
    if _SCHEME.match(host):
        host, path = split_url(host)
        if path not in ("", "/"):
            host = ""
    host = host.removeprefix("*.").strip(".")
    if not _HOST.fullmatch(host):
        raise ConfigError(f"expected a host such as example.org, got {text.strip()!r}")
    return _as_dns(host)


def read_hosts(path: Path) -> frozenset[str]:
    """The hosts of a file, one per line; read again only when the file has changed.

    Blank lines and comments (``#``) are ignored; lines of hosts files (``0.0.0.0 example.org``)
    are understood.
    """
    return _read(path, version_of(path))[0]


def hosts_sha256(path: Path) -> str:
    """The hash of a list, for the key of a task."""
    return _read(path, version_of(path))[1]


@lru_cache(maxsize=16)
def _read(path: Path, version: Version) -> tuple[frozenset[str], str]:
    del version
    hosts = set()
    data = path.read_bytes()
    with io.TextIOWrapper(io.BytesIO(data), "utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            fields = line.partition("#")[0].split()
            if len(fields) == 2 and _ADDRESS.fullmatch(fields[0].lower()):
                del fields[0]
            if not fields:
                continue
            try:
                hosts.add(parse_host(" ".join(fields)))
            except ConfigError as error:
                raise ConfigError(f"{path}, line {number}: {error}") from None
    return frozenset(hosts), hashlib.sha256(data).hexdigest()


def _as_dns(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return host
