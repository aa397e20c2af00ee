"""Writing: frames, shards, archives; a name appears only when what it names is complete."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import math
import os
import re
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import xxhash
import zstandard

from barrow.archive import format as layout
from barrow.archive.catalog import Catalog, ShardEntry, read_catalog, sync_folder, write_catalog
from barrow.archive.document import Document
from barrow.archive.piece import MAX_DOCUMENT, MAX_FRAME_SIZE, PIECE_SIZE
from barrow.archive.storage import CATALOG_NAME, is_url
from barrow.errors import BadRecord, WriteFailed

SHARD_SUFFIX = ".jsonl.zst"
SHARD_SIZE = 1 << 29

UNFINISHED = ".unfinished"

_WRITING = ".writing"
_SHARD_NAME = re.compile(r"\d{5,}" + re.escape(SHARD_SUFFIX))


class Writer:
    """Writes documents to a shard (a path ending in ``.jsonl.zst``) or to an archive (a folder).

    Use it as a context manager. Nothing appears under its final name before it is complete and on
    the disk; an exception inside the ``with`` leaves everything as it was.

    `level` is zstandard's. `shard_size` and `frame_size` count bytes of JSON lines; a shard and a
    frame are closed by the document that reaches them, so the bytes written depend on the documents
    and these sizes alone, not on `threads`. ``append=True`` adds shards to an archive;
    ``overwrite=True`` replaces a single shard.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        level: int = 3,
        shard_size: int = SHARD_SIZE,
        frame_size: int = PIECE_SIZE,
        threads: int = 1,
        append: bool = False,
        overwrite: bool = False,
        max_document: int = MAX_DOCUMENT,
    ) -> None:
        name = os.fspath(path)
        if is_url(name):
            raise ValueError(f"{name}: archives are written to local paths; upload them afterwards")
        if min(frame_size, shard_size, threads) < 1:
            raise ValueError("frame_size, shard_size and threads are at least 1")
        low, high = -(1 << 17), zstandard.MAX_COMPRESSION_LEVEL
        if not low <= level <= high:
            raise ValueError(f"level is a zstandard level from {low} to {high}, not {level}")
        if frame_size > MAX_FRAME_SIZE:
            raise ValueError(f"frame_size is at most {MAX_FRAME_SIZE:,}")
        if max_document + frame_size > layout.MAX_FRAME:
            raise ValueError(f"max_document is at most {layout.MAX_FRAME - frame_size:,}")
        self._frame = _FrameBuffer(frame_size, max_document)
        self._frames = _Compression(level, threads)
        self._is_folder = not name.endswith(SHARD_SUFFIX)
        self._shard_size = shard_size
        self._shard: _ShardFile | None = None
        self._done: list[ShardEntry] = []
        self.num_documents = 0
        self._process = os.getpid()
        target = Path(name)
        self._target: _ArchiveFolder | _SingleFile
        if self._is_folder:
            if overwrite:
                raise ValueError(f"{name}: overwrite is for one shard; remove the folder yourself")
            self._target = _ArchiveFolder(target, append=append)
        else:
            if append:
                raise ValueError(
                    f"{name}: one shard cannot grow; append to a folder of shards instead"
                )
            if target.exists() and not overwrite:
                raise FileExistsError(f"{name} exists; pass overwrite=True to replace it")
            self._target = _SingleFile(target, may_replace=overwrite)
        self._state = "open"

    def add(self, document: Document) -> None:
        """Write one document. A document that cannot be written is refused and leaves no trace."""
        if self._state != "open":
            raise ValueError(f"this writer is {self._state}")
        self._frame.add(document, self._target.name, self.num_documents)
        self.num_documents += 1
        if self._frame.is_full:
            with self._or_discard():
                self._flush()
                if self._is_folder and self._frames.content_bytes >= self._shard_size:
                    self._finish_shard()

    @property
    def entries(self) -> tuple[ShardEntry, ...]:
        """The shards finished so far, as a catalog lists them."""
        return tuple(self._done)

    def extend(self, documents: Iterable[Document]) -> None:
        """Write many documents."""
        for document in documents:
            self.add(document)

    def close(self) -> None:
        """Finish what is open and give everything its name."""
        if self._state != "open" or self._process != os.getpid():
            return
        with self._or_discard():
            self._flush()
            if self._frames.num_documents or not self._is_folder:
                self._finish_shard()
            self._target.commit(self._done)
        self._state = "closed"
        self._release()

    def discard(self) -> None:
        """Give up: leave nothing of what was written since the writer was opened."""
        # A forked child inherits the writer, but not what it writes.
        if self._state != "open" or self._process != os.getpid():
            return
        self._state = "discarded"
        self._frames.abandon()
        if self._shard is not None:
            self._shard.remove()
        self._target.roll_back(self._done)
        self._release()

    @contextlib.contextmanager
    def _or_discard(self) -> Iterator[None]:
        """After a failed write nothing more can be written: what is there may be half a frame."""
        try:
            yield
        except FileExistsError:
            self.discard()
            raise
        except OSError as error:
            self.discard()
            raise WriteFailed(
                f"cannot write {self._target.name}: {error.strerror or error}; nothing was left "
                "under its name. Free some space or choose another place, and write again"
            ) from error
        except BaseException:
            self.discard()
            raise

    def _release(self) -> None:
        self._frames.close()
        self._target.release()

    def _flush(self) -> None:
        if self._frame.num_documents:
            content, num_documents = self._frame.take()
            self._frames.put(content, num_documents)
        self._write(self._frames.ready())

    def _write(self, frames: Iterable[_Frame]) -> None:
        for frame in frames:
            self._open_shard().add(frame)

    def _open_shard(self) -> _ShardFile:
        if self._shard is None:
            self._shard = _ShardFile(
                self._target.path_of(len(self._done)), replace=self._target.may_replace
            )
        return self._shard

    def _finish_shard(self) -> None:
        self._write(self._frames.all())
        self._done.append(self._open_shard().finish())
        self._shard = None
        self._frames.start_shard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError):  # of a writer that was refused
            self.discard()


class _FrameBuffer:
    """JSON lines of the frame being filled."""

    def __init__(self, frame_size: int, max_document: int) -> None:
        self._encoder = msgspec.json.Encoder()
        self._lines = bytearray()
        self._frame_size = frame_size
        self._max_document = max_document
        self.num_documents = 0

    @property
    def is_full(self) -> bool:
        return len(self._lines) >= self._frame_size

    def add(self, document: Document, shard: str, number: int) -> None:
        if not isinstance(document, Document):
            raise TypeError(f"expected a barrow.Document, got {type(document).__name__}")
        lines = self._lines
        start = len(lines)
        text: object = document.text  # annotations are not checked when a Document is made
        meta: object = document.meta
        try:
            if not isinstance(text, str):
                kind = type(text).__name__
                raise _Refused("text-not-string", f"text should be a str, not {kind}")
            if not isinstance(meta, dict):
                kind = type(meta).__name__
                raise _Refused("meta-not-object", f"meta should be a dict, not {kind}")
            if not all(isinstance(key, str) for key in meta):
                raise _Refused("not-json", "the keys of meta should be strings")
            self._encoder.encode_into(document, lines, -1)
            size = len(lines) - start
            if size > self._max_document:
                raise _Refused("too-long", f"{size:,} bytes, over the limit {self._max_document:,}")
            if lines.find(b"\n", start) >= 0:
                raise _Refused("not-json", "meta holds raw JSON with a line break")
            # JSON has no NaN, and the encoder writes null for it: look where a null was written.
            if lines.find(b"null", start) >= 0 and (key := _not_finite(document.meta)) is not None:
                raise _Refused("not-finite", f"meta {key} is not a finite number")
        except (_Refused, TypeError, ValueError, RecursionError) as error:
            del lines[start:]
            raise _refusal(error, shard, number) from None
        lines.append(0x0A)
        self.num_documents += 1

    def take(self) -> tuple[bytes, int]:
        content, num_documents = bytes(self._lines), self.num_documents
        self._lines.clear()
        self.num_documents = 0
        return content, num_documents


class _Refused(Exception):
    def __init__(self, reason: str, cause: str) -> None:
        super().__init__(cause)
        self.reason = reason


def _refusal(error: Exception, shard: str, number: int) -> BadRecord:
    """What `add` raises when a document cannot be written."""
    if isinstance(error, _Refused):
        reason, cause = error.reason, str(error)
    elif isinstance(error, UnicodeEncodeError):
        reason = "unpaired-surrogate"
        cause = (
            f"an unpaired surrogate (U+{ord(error.object[error.start]):04X}) is not text; replace "
            "it first: text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        )
    else:
        reason, cause = "not-json", f"meta cannot be written as JSON ({error})"
    return BadRecord(cause, reason=reason, shard=shard, document=number, num_documents=1)


def _not_finite(value: Any, path: str = "") -> str | None:
    """Path of a NaN or infinity inside a JSON-like value."""
    if isinstance(value, float):
        return None if math.isfinite(value) else path or "value"
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list | tuple | set | frozenset):
        items = enumerate(value)
    for key, inner in items:
        if (found := _not_finite(inner, f"{path}[{key!r}]")) is not None:
            return found
    return None


class _Frame(msgspec.Struct, frozen=True):
    compressed: bytes
    content_size: int
    checksum: int
    num_documents: int


class _ThreadCompressor(threading.local):
    def __init__(self, level: int) -> None:
        self.zstd = zstandard.ZstdCompressor(
            level=level, write_checksum=True, write_content_size=True
        )


class _Compression:
    """Frames compressed here or on threads, and given back in order."""

    def __init__(self, level: int, threads: int) -> None:
        self._compressor = _ThreadCompressor(level)
        self._pool = (
            ThreadPoolExecutor(threads, thread_name_prefix="barrow-write") if threads > 1 else None
        )
        self._most_waiting = 2 * threads
        self._waiting: deque[Future[_Frame]] = deque()
        self._finished: list[_Frame] = []
        self.start_shard()

    def start_shard(self) -> None:
        self.content_bytes = 0
        self.num_documents = 0

    def put(self, content: bytes, num_documents: int) -> None:
        self.content_bytes += len(content)
        self.num_documents += num_documents
        if self._pool is None:
            self._finished.append(self._compress(content, num_documents))
        else:
            self._waiting.append(self._pool.submit(self._compress, content, num_documents))

    def _compress(self, content: bytes, num_documents: int) -> _Frame:
        return _Frame(
            self._compressor.zstd.compress(content),
            len(content),
            layout.content_checksum(content),
            num_documents,
        )

    def ready(self) -> list[_Frame]:
        """Frames that are done, and no more waiting than the threads can be busy with."""
        while self._waiting and (
            self._waiting[0].done() or len(self._waiting) > self._most_waiting
        ):
            self._finished.append(self._waiting.popleft().result())
        finished, self._finished = self._finished, []
        return finished

    def all(self) -> list[_Frame]:
        """Every frame put so far."""
        self._finished += [future.result() for future in self._waiting]
        self._waiting.clear()
        return self.ready()

    def abandon(self) -> None:
        for future in self._waiting:
            future.cancel()
        self._waiting.clear()
        self._finished.clear()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True)


class _ShardFile:
    """A shard on its way: under a temporary name until `finish`."""

    def __init__(self, path: Path, *, replace: bool) -> None:
        self._path = path
        self._replace = replace
        name = f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}{_WRITING}"
        self._temporary = path.with_name(name)
        self._file = self._temporary.open("xb", buffering=0)
        self._sha256 = hashlib.sha256()
        self._xxh64 = xxhash.xxh64()
        self._size = 0
        self._entries: list[layout.Entry] = []
        self._documents: list[int] = []
        self._put(layout.EMPTY_FRAME)
        self._put(layout.MARKER)

    def add(self, frame: _Frame) -> None:
        self._put(frame.compressed, frame.content_size, frame.checksum)
        self._documents.append(frame.num_documents)

    def _put(self, data: bytes, content_size: int = 0, checksum: int = 0) -> None:
        self._entries.append(layout.Entry(len(data), content_size, checksum))
        self._write(data)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._sha256.update(data)
        self._xxh64.update(data)
        self._size += len(data)

    def finish(self) -> ShardEntry:
        """Write index and seek table, put it all on the disk, and give the shard its name."""
        hash_before = self._xxh64.intdigest()
        self._put(layout.pack_index(layout.Index(tuple(self._documents), hash_before)))
        self._write(layout.pack_seek_table(self._entries))
        os.fsync(self._file.fileno())
        self._file.close()
        if self._replace:
            self._temporary.replace(self._path)
        else:
            self._publish()
        sync_folder(self._path.parent)
        return ShardEntry(
            name=self._path.name,
            documents=sum(self._documents),
            bytes=self._size,
            content_bytes=sum(entry.content_size for entry in self._entries),
            xxh64=f"{hash_before:016x}",
            sha256=self._sha256.hexdigest(),
        )

    def _publish(self) -> None:
        """Give the shard its name, unless something else has it by now."""
        try:
            os.link(self._temporary, self._path)
        except FileExistsError:
            raise FileExistsError(
                f"{self._path} was made by somebody else meanwhile; it was left as it is"
            ) from None
        except OSError:  # a file system without links
            if self._path.exists():
                raise FileExistsError(f"{self._path} was made by somebody else meanwhile") from None
            self._temporary.replace(self._path)
        else:
            self._temporary.unlink()

    def remove(self) -> None:
        self._file.close()
        self._temporary.unlink(missing_ok=True)


class _SingleFile:
    """Where one shard goes."""

    def __init__(self, path: Path, *, may_replace: bool) -> None:
        self.name = path.name
        self.may_replace = may_replace
        self._path = path
        if not path.parent.is_dir():
            raise FileNotFoundError(f"the folder {path.parent} does not exist; make it first")

    def path_of(self, _: int) -> Path:
        return self._path

    def commit(self, done: list[ShardEntry]) -> None:
        pass  # the shard's own rename was the commit

    def roll_back(self, done: list[ShardEntry]) -> None:
        pass

    def release(self) -> None:
        pass


class _ArchiveFolder:
    """Where the shards of an archive go: numbered files, which count once the catalog lists them.

    While a writer is at work the folder holds a file `UNFINISHED`. Where one is found and nobody
    holds the lock, its writer was killed, and the shards that no catalog lists are its leftovers.
    """

    may_replace = False

    def __init__(self, folder: Path, *, append: bool) -> None:
        self.name = folder.name
        self._folder = folder
        self._made = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        # One writer at a time; the lock goes when the process does.
        self._lock = os.open(folder, os.O_RDONLY)
        try:
            self._take_lock()
            self._old = self._read_old(append=append)
            if (folder / UNFINISHED).exists():
                self._remove_leftovers()
            (folder / UNFINISHED).touch()
            self._first = self._next_number()
        except BaseException:
            os.close(self._lock)
            raise

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileExistsError(f"{self._folder}: another process is writing to it") from None

    def _read_old(self, *, append: bool) -> Catalog:
        if (self._folder / CATALOG_NAME).exists():
            if append:
                return read_catalog(str(self._folder))
            raise FileExistsError(
                f"{self._folder} holds an archive; pass append=True to add to it, or remove it"
            )
        others = sorted(path.name for path in self._folder.iterdir())
        if others and UNFINISHED not in others:
            raise FileExistsError(
                f"{self._folder} holds other files ({others[0]}); choose an empty folder"
            )
        return Catalog()

    def _remove_leftovers(self) -> None:
        listed = {shard.name for shard in self._old.shards}
        for path in self._folder.iterdir():
            if path.name.endswith(_WRITING) or (
                _SHARD_NAME.fullmatch(path.name) and path.name not in listed
            ):
                path.unlink()

    def _next_number(self) -> int:
        names = {shard.name for shard in self._old.shards} | {
            path.name for path in self._folder.iterdir()
        }
        numbers = [int(name.split(".")[0]) for name in names if _SHARD_NAME.fullmatch(name)]
        return max(numbers, default=-1) + 1

    def path_of(self, k: int) -> Path:
        return self._folder / f"{self._first + k:05d}{SHARD_SUFFIX}"

    def commit(self, done: list[ShardEntry]) -> None:
        write_catalog(self._folder, Catalog(shards=(*self._old.shards, *done)))
        with contextlib.suppress(OSError):
            (self._folder / UNFINISHED).unlink()

    def roll_back(self, done: list[ShardEntry]) -> None:
        # Once the catalog lists them they belong to the archive, whatever came after.
        listed = set()
        if (self._folder / CATALOG_NAME).exists():
            listed = {shard.name for shard in read_catalog(str(self._folder)).shards}
        for shard in done:
            if shard.name not in listed:
                (self._folder / shard.name).unlink(missing_ok=True)
        (self._folder / UNFINISHED).unlink(missing_ok=True)
        if self._made:
            with contextlib.suppress(OSError):
                self._folder.rmdir()

    def release(self) -> None:
        os.close(self._lock)
