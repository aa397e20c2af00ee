"""Writing frames, shards and archives; a name appears only when its content is complete."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import zstandard

from barrow.archive import format as layout
from barrow.archive.catalog import Catalog, ShardEntry, read_catalog, write_catalog
from barrow.archive.document import Document
from barrow.archive.piece import MAX_DOCUMENT, MAX_FRAME_SIZE, PIECE_SIZE
from barrow.archive.shard_file import Compression, Frame, FrameBuffer, ShardFile
from barrow.archive.storage import CATALOG_NAME
from barrow.errors import WriteFailed
from barrow.files import (
    local_path,
    locked,
    make_folder,
    remove,
    remove_folder,
    remove_left_of,
    remove_unfinished,
    write_part,
)

SHARD_SUFFIX = ".jsonl.zst"
SHARD_SIZE = 1 << 29

UNFINISHED = ".unfinished"

_SHARD_NAME = re.compile(r"\d{5,}" + re.escape(SHARD_SUFFIX))


class Writer:
    """Writes documents to a shard (a path ending in ``.jsonl.zst``) or to an archive (a folder).

    Use it as a context manager. Nothing appears under its final name before it is complete and on
    the disk; an exception inside the ``with`` leaves everything as it was.

    `level` is zstandard's. `shard_size` and `frame_size` count bytes of JSON lines; a shard and a
    frame are closed by the document that reaches them, so the bytes written depend on the documents
    and these sizes alone, not on `threads`. ``append=True`` adds shards to an archive;
    ``overwrite=True`` replaces a single shard. With ``hashed=False`` the entry of a shard has no
    sha256, which takes as long as a fast compression: for files that no catalog will list.
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
        hashed: bool = True,
    ) -> None:
        name = str(local_path(path))
        if min(frame_size, shard_size, threads) < 1:
            raise ValueError("frame_size, shard_size and threads must be ≥ 1")
        low, high = -(1 << 17), zstandard.MAX_COMPRESSION_LEVEL
        if not low <= level <= high:
            raise ValueError(f"level must be a zstandard level from {low} to {high}, got {level}")
        if frame_size > MAX_FRAME_SIZE:
            raise ValueError(f"frame_size must be ≤ {MAX_FRAME_SIZE:,}, got {frame_size:,}")
        if max_document + frame_size > layout.MAX_FRAME:
            raise ValueError(f"max_document must be ≤ {layout.MAX_FRAME - frame_size:,}")
        self._frame = FrameBuffer(frame_size, max_document)
        self._frames = Compression(level, threads)
        self._is_folder = not name.endswith(SHARD_SUFFIX)
        self._hashed = hashed
        self._shard_size = shard_size
        self._shard: ShardFile | None = None
        self._done: list[ShardEntry] = []
        self.num_documents = 0
        self._process = os.getpid()
        target = Path(name)
        self._target: _ArchiveFolder | _SingleFile
        if self._is_folder:
            if overwrite:
                raise ValueError(
                    f"{name}: overwrite=True is for a single shard; remove the folder yourself"
                )
            self._target = _ArchiveFolder(target, append=append)
        else:
            if append:
                raise ValueError(
                    f"{name}: one shard cannot grow; append to a folder of shards instead"
                )
            if target.exists() and not overwrite:
                remove_left_of(target)
                raise FileExistsError(f"{name} exists; pass overwrite=True to replace it")
            self._target = _SingleFile(target, may_replace=overwrite)
        self._state = "open"

    def add(self, document: Document) -> None:
        """Write one document. A document that cannot be written is refused and leaves no trace."""
        self._be_open()
        self._frame.add(document, self._target.name, self.num_documents)
        self._count()

    def add_line(self, line: bytes) -> None:
        """Write a document that is a JSON line already, as `shard_lines` gives them."""
        self._be_open()
        self._frame.add_line(line)
        self._count()

    def end_frame(self) -> None:
        """Begin a new frame with the next document."""
        self._be_open()
        with self._or_discard():
            self._flush()

    def _be_open(self) -> None:
        if self._state != "open":
            raise ValueError(f"this writer is {self._state}")

    def _count(self) -> None:
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
        """Finish open shards and publish everything."""
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
        """Remove everything written since the writer was opened."""
        # A forked child inherits the writer, but must not touch its files.
        if self._state != "open" or self._process != os.getpid():
            return
        self._state = "discarded"
        if self._shard is not None:
            self._shard.remove()
        self._target.roll_back(self._done)
        self._release()

    @contextlib.contextmanager
    def _or_discard(self) -> Iterator[None]:
        """After a failed write discard everything: the last frame may be incomplete."""
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

    def _write(self, frames: Iterable[Frame]) -> None:
        for frame in frames:
            self._open_shard().add(frame)

    def _open_shard(self) -> ShardFile:
        if self._shard is None:
            self._shard = ShardFile(
                self._target.path_of(len(self._done)),
                replace=self._target.may_replace,
                hashed=self._hashed,
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


class _SingleFile:
    """Where one shard goes."""

    def __init__(self, path: Path, *, may_replace: bool) -> None:
        self.name = path.name
        self.may_replace = may_replace
        self._path = path
        if not path.parent.is_dir():
            raise FileNotFoundError(f"the folder {path.parent} does not exist; create it first")

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

    While a writer is open the folder has a file `UNFINISHED`. If it is there and no process holds
    the lock, the writer was killed, and shards that no catalog lists are its leftovers.
    """

    may_replace = False

    def __init__(self, folder: Path, *, append: bool) -> None:
        self.name = folder.name
        self._folder = folder
        self._made = not folder.exists()
        make_folder(folder)
        self._lock = contextlib.ExitStack()
        try:
            self._lock.enter_context(locked(folder))
            self._old = self._read_old(append=append)
            if (folder / UNFINISHED).exists():
                self._remove_leftovers(self._old)
            write_part(folder / UNFINISHED, b"")
            self._first = self._next_number()
        except BaseException:
            self._lock.close()
            raise

    def _read_old(self, *, append: bool) -> Catalog:
        if (self._folder / CATALOG_NAME).exists():
            if append:
                return read_catalog(str(self._folder))
            if (self._folder / UNFINISHED).exists():  # the writer was killed when it had committed
                self._remove_leftovers(read_catalog(str(self._folder)))
                remove(self._folder / UNFINISHED)
            raise FileExistsError(
                f"{self._folder} is already an archive; pass append=True to add to it, or remove it"
            )
        others = sorted(path.name for path in self._folder.iterdir())
        if others and UNFINISHED not in others:
            raise FileExistsError(
                f"{self._folder} contains other files ({others[0]}); choose an empty folder"
            )
        return Catalog()

    def _remove_leftovers(self, old: Catalog) -> None:
        listed = {shard.name for shard in old.shards}
        remove_unfinished(self._folder)
        for path in self._folder.iterdir():
            if _SHARD_NAME.fullmatch(path.name) and path.name not in listed:
                remove(path)

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
            remove(self._folder / UNFINISHED)

    def roll_back(self, done: list[ShardEntry]) -> None:
        # Once the catalog lists them they belong to the archive, whatever fails later.
        listed = set()
        if (self._folder / CATALOG_NAME).exists():
            listed = {shard.name for shard in read_catalog(str(self._folder)).shards}
        for shard in done:
            if shard.name not in listed:
                remove(self._folder / shard.name)
        remove(self._folder / UNFINISHED)
        if self._made:
            with contextlib.suppress(OSError):
                remove_folder(self._folder)

    def release(self) -> None:
        self._lock.close()
