"""A file at a URL with a known SHA-256: downloaded, hashed, and kept only if it is that file."""

from __future__ import annotations

import hashlib
import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from barrow.errors import BarrowError, FetchFailed, NotFound
from barrow.files import atomic_file

_SUM = re.compile(r"(?<=/)[0-9a-f]{64}(?=/)")


def sum_in(url: str) -> str | None:
    """The SHA-256 that is a part of a URL's path, as in the addresses of OpenAI's CLIP models."""
    found = _SUM.search(urlsplit(url).path)
    return found[0] if found else None


def place_of(url: str, cache: Path) -> Path:
    """Where the file is kept, whether it is there or not."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"expected an http or https URL, got {url!r}")
    name = re.sub(r"[^\w.-]+", "_", unquote(parts.path).rsplit("/", 1)[-1]).lstrip(".") or "file"
    return cache / "models" / hashlib.sha256(url.encode()).hexdigest()[:16] / name


def download(url: str, target: Path, *, sha256: str, on_bytes: Callable[[int], None]) -> None:
    """Fetch `url` to `target`; nothing is left there unless its SHA-256 is the one given."""
    try:
        # The scheme was checked by place_of.
        with urllib.request.urlopen(url, timeout=30) as answer, atomic_file(target) as file:  # noqa: S310
            while data := answer.read(1 << 20):
                file.write(data)
                on_bytes(len(data))
            if file.written.sha256 != sha256:
                raise FetchFailed(
                    f"{url}: expected SHA-256 {sha256}, got {file.written.sha256} of "
                    f"{file.num_bytes:,} bytes"
                )
    except BarrowError:
        raise
    except urllib.error.HTTPError as error:
        kind = NotFound if error.code in (404, 410) else FetchFailed
        raise kind(f"{url}: HTTP {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException) as error:
        raise FetchFailed(f"{url}: {error}; a proxy is taken from https_proxy") from None
