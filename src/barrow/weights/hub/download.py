"""Published models: a Hugging Face repository in the hub's own cache, or a file at a URL.

`huggingface_hub` downloads and caches repositories, and compares sizes. Here each file is hashed
once after its download: the cache names a large file by its SHA-256, a small one by git's SHA-1.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from barrow.errors import BarrowError, FetchFailed, MissingExtra, NotFound, nearest
from barrow.files import atomic_file, remove, sha256_of, write_bytes
from barrow.weights.hub.known import KNOWN, known
from barrow.weights.safetensors_read import read_index

_REPOSITORY = re.compile(r"([A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,96})(?:@([\w.-][\w./-]{0,200}))?")
_CONFIG, _INDEX = "config.json", "model.safetensors.index.json"
_SINGLE, _PICKLED = "model.safetensors", "pytorch_model.bin"
# Beside configuration and weights, where a repository has them.
_SMALL = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json"),
    *("merges.txt", "vocab.txt", "generation_config.json"),
)
_SUM = re.compile(r"(?<=/)[0-9a-f]{64}(?=/)")


@dataclass(frozen=True)
class Fetched:
    """A model on this machine: `path` is its one file, or the folder of its several."""

    what: str
    path: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """Its files."""
        if self.path.is_file():
            return (self.path,)
        return tuple(file for file in sorted(self.path.iterdir()) if file.is_file())

    @property
    def num_bytes(self) -> int:
        """Bytes of all its files."""
        return sum(file.stat().st_size for file in self.files)


def source_of(what: str) -> str:
    """The source of a known name; a URL, OWNER/MODEL or OWNER/MODEL@REVISION as it is."""
    if (entry := known(what)) is not None:
        return entry.source
    if "://" in what or (_REPOSITORY.fullmatch(what) and ".." not in what):
        return what
    hint = nearest(what, (entry.name for entry in KNOWN))
    raise ValueError(f"expected a known name, a URL or OWNER/MODEL, got {what!r}; {hint}")


def fetch(
    what: str,
    *,
    cache: Path,
    sha256: str | None = None,
    verify: bool = False,
    on_bytes: Callable[[int], None] = lambda _: None,
) -> Fetched:
    """The model of a name, URL or repository id, downloaded if it is not there yet.

    A URL needs a `sha256`, unless its path has one. Files are hashed once after the download, and
    again with `verify`. `cache` keeps files of URLs, and which files were hashed.
    """
    source = source_of(what)
    if "://" in source:
        return Fetched(what, _url_file(source, cache, sha256, verify, on_bytes))
    if sha256 is not None:
        raise ValueError(f"sha256 is for one file, but {what} is a repository of several")
    found = Fetched(what, _repository(source, local=False))
    for file in found.files:
        _check(file, cache / "hashed", again=verify)
    return found


def where(what: str, *, cache: Path) -> Fetched:
    """The model on this machine; NotFound where it is not. Nothing is hashed."""
    source = source_of(what)
    path = place_of(source, cache) if "://" in source else _repository(source, local=True)
    if not path.exists():
        raise NotFound(
            f"{what} is not in the cache ({path}); to download it: barrow model get {what}"
        )
    return Fetched(what, path)


def cached(cache: Path) -> list[Fetched]:
    """Every whole model on this machine."""
    names = {place_of(k.source, cache): k.name for k in KNOWN if "://" in k.source}
    files = sorted((cache / "models").glob("*/[!.]*"))
    found = [Fetched(names.get(file, file.name), file) for file in files]
    try:
        from huggingface_hub import constants, scan_cache_dir
    except ImportError:
        return found
    if not Path(constants.HF_HUB_CACHE).is_dir():
        return found
    repositories = scan_cache_dir(constants.HF_HUB_CACHE).repos
    for repository in sorted(repositories, key=lambda repository: repository.repo_id):
        for revision in repository.revisions if repository.repo_type == "model" else ():
            name = min(revision.refs, default=revision.commit_hash)
            what = repository.repo_id + ("" if name == "main" else f"@{name}")
            if not _missing(Path(revision.snapshot_path)):
                found.append(Fetched(what, Path(revision.snapshot_path)))
    return found


def known_sum(file: Path) -> str | None:
    """The SHA-256 that a file of the hub's cache must have, where it is known."""
    name = file.resolve().name
    return name if re.fullmatch("[0-9a-f]{64}", name) else None


def _url_file(
    url: str, cache: Path, sha256: str | None, verify: bool, on_bytes: Callable[[int], None]
) -> Path:
    target, expected = place_of(url, cache), (sha256 or sum_in(url) or "").lower()
    if not re.fullmatch("[0-9a-f]{64}", expected):
        raise ValueError(f"{url} needs the SHA-256 of its file, 64 hexadecimal digits: --sha256")
    if target.exists():
        if (verify or sha256) and (found := sha256_of(target)) != expected:
            raise FetchFailed(f"{target}: expected SHA-256 {expected}, got {found}: delete it")
    else:
        if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
            raise FetchFailed(f"{url} is not in the cache, and HF_HUB_OFFLINE is set")
        download(url, target, sha256=expected, on_bytes=on_bytes)
    return target


def _repository(source: str, *, local: bool) -> Path:
    """The folder of a repository's configuration, weights and tokenizer."""
    name, _, revision = source.partition("@")
    folder = _snapshot(name, revision or "main", (_CONFIG, _INDEX, *_SMALL), local=local)
    _snapshot(name, folder.name, _weights(folder) or (_SINGLE,), local=local)
    if not _weights(folder):
        _snapshot(name, folder.name, (_PICKLED,), local=local)
    if missing := _missing(folder):
        raise NotFound(f"{source} has no {missing}: is it a model in a known format?")
    return folder


def _weights(folder: Path) -> tuple[str, ...]:
    """Names of the files of weights that a folder has or, by its index, should have."""
    if (folder / _INDEX).is_file():
        return tuple(sorted(set(read_index(folder / _INDEX)[0].values())))
    return tuple(name for name in (_SINGLE, _PICKLED) if (folder / name).is_file())[:1]


def _missing(folder: Path) -> str | None:
    names = (_CONFIG, *(_weights(folder) or (f"{_INDEX}, {_SINGLE} or {_PICKLED}",)))
    return next((name for name in names if not (folder / name).is_file()), None)


def _snapshot(name: str, revision: str, files: Iterable[str], *, local: bool) -> Path:
    try:
        import huggingface_hub
        from huggingface_hub import errors
    except ImportError:
        raise MissingExtra("huggingface_hub", "hub", "downloading a model") from None
    try:
        return Path(
            huggingface_hub.snapshot_download(
                name, revision=revision, allow_patterns=list(files), local_files_only=local
            )
        )
    except Exception as error:  # noqa: BLE001 - those of the HTTP library below it too
        words = " ".join(str(error).split())
        if local:
            raise NotFound(
                f"{name} is not in the hub's cache; to download it: barrow model get {name}"
            ) from None
        if isinstance(error, errors.GatedRepoError):
            raise FetchFailed(f"{name}: permission denied; set HF_TOKEN ({words})") from None
        if isinstance(error, errors.RepositoryNotFoundError | errors.RevisionNotFoundError):
            raise NotFound(f"{name} at {revision} does not exist ({words})") from None
        raise FetchFailed(f"{name}: {words or type(error).__name__}") from None


def _check(file: Path, marks: Path, *, again: bool) -> None:
    blob = file.resolve()
    expected, status = blob.name, blob.stat()
    if not re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", expected):
        return  # another kind of hub, which gives no sum
    mark, stamp = marks / expected, f"{status.st_size} {status.st_mtime_ns}"
    if not again and mark.is_file() and mark.read_text() == stamp:
        return
    digest = hashlib.sha256() if len(expected) == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(b"" if len(expected) == 64 else b"blob %d\0" % status.st_size)
    with blob.open("rb") as opened:
        while data := opened.read(1 << 20):
            digest.update(data)
    if digest.hexdigest() != expected:
        remove(file)
        remove(blob)
        raise FetchFailed(
            f"{file}: expected {digest.name} {expected}, got {digest.hexdigest()}; deleted, run "
            "again to download it"
        )
    write_bytes(mark, stamp.encode())


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
