"""The errors callers catch.

    BarrowError
    ├── ArchiveError        what is on disk is not what it should be; says shard, frame, document
    │   ├── BadRecord       one record is wrong; its neighbours are fine
    │   └── DamagedShard    bytes are missing, changed or swapped
    ├── BadImage            an image that cannot be used; has its name and a reason (a ValueError)
    ├── BudgetExceeded      a stage would remove more of a domain or language than it may
    ├── CheckpointError     a checkpoint is damaged, or of another model; says folder
    ├── ConfigError         a setting that does not exist or has the wrong type (a ValueError)
    ├── Diverged            NaN or a jump of the loss in training; has step and documents
    ├── FetchFailed         a download failed, or has other content than expected (an OSError)
    ├── MissingExtra        a library that an extra installs (an ImportError)
    ├── NotFound            a path, glob or URL that names nothing (a FileNotFoundError)
    ├── PeerFailed          another process of a run failed, or is gone
    ├── ScoreError          a document that could not be scored, or an invalid result
    ├── StoreError          a token store or index of pairs is damaged; has file and reason
    ├── TaskFailed          a task of a build failed; what was done before stays done
    ├── TokenizerError      a file that is not a valid tokenizer, or lacks a feature (a ValueError)
    ├── UnsafeName          a name in a file that leads out of its folder (a ValueError)
    ├── WeightsError        a file of weights is not what it should be; says file and tensor
    └── WriteFailed         writing to disk failed (an OSError)

Wrong arguments to a function are plain `ValueError` and `TypeError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from os import PathLike

_LISTED = 40


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: the nearest known one, or all of them."""
    import difflib

    names = list(known)
    if close := difflib.get_close_matches(name, names, n=1, cutoff=0.5):
        return f"did you mean {close[0]!r}?"
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return f"there are {', '.join(names[:_LISTED])}{more}"


def nearest_path(path: str | PathLike[str]) -> str:
    """The end of an error about a missing path: the nearest that exists, or nothing.

    One of its names may be misspelt; the others must be there.
    """
    import difflib
    from pathlib import Path

    wrong, rest = Path(path), Path()
    while not wrong.parent.is_dir():
        wrong, rest = wrong.parent, wrong.name / rest
    try:
        siblings = [name for one in wrong.parent.iterdir() if (name := one.name)[0] != "."]
    except OSError:  # a folder that may not be read
        return ""
    for close in difflib.get_close_matches(wrong.name, siblings):
        if (found := wrong.with_name(close) / rest).exists():
            return f"did you mean {found}?"
    return ""


class BarrowError(Exception):
    """Root of every error barrow raises on purpose."""


class ArchiveError(BarrowError):
    """A place in an archive, a named reason, and a cause in words.

    `reason` is one of a small fixed set of names (see the archive page of the documentation), the
    same that ``on_bad="count"`` counts under. `document` is the number within the shard, from 0;
    `num_documents` says how many documents are concerned, where that is known.
    """

    def __init__(
        self,
        cause: str,
        *,
        reason: str,
        shard: str,
        frame: int | None = None,
        document: int | None = None,
        num_documents: int | None = None,
        raw: bytes | None = None,
    ) -> None:
        self.cause = cause
        self.reason = reason
        self.shard = shard
        self.frame = frame
        self.document = document
        self.num_documents = num_documents
        self.raw = raw
        place = shard
        if frame is not None:
            place += f", frame {frame}"
        if document is not None:
            place += f", document {document}"
        super().__init__(f"{place}: {cause}")

    def __reduce__(self) -> tuple[Callable[..., ArchiveError], tuple[str]]:
        # Errors cross processes; the default pickling would lose all but the message.
        fields = {name: value for name, value in vars(self).items() if name != "cause"}
        return partial(type(self), **fields), (self.cause,)


class BadRecord(ArchiveError):
    """One record is wrong; its neighbours are fine."""


class DamagedShard(ArchiveError):
    """Bytes of a shard are missing, changed or swapped."""


class BadImage(BarrowError, ValueError):
    """An image that cannot be used: its name, a named reason, and a cause in words.

    `reason` is ``missing``, ``outside``, ``changed``, ``empty``, ``not-an-image``, ``bomb``,
    ``truncated``, ``corrupt`` or ``unsupported``.
    """

    def __init__(self, cause: str, *, reason: str, name: str) -> None:
        self.cause = cause
        self.reason = reason
        self.name = name
        super().__init__(f"{name}: {cause}")

    def __reduce__(self) -> tuple[Callable[..., BadImage], tuple[str]]:
        return partial(BadImage, reason=self.reason, name=self.name), (self.cause,)


class BudgetExceeded(BarrowError):
    """A stage would remove more documents of a domain or a language than it may."""


class CheckpointError(BarrowError):
    """A folder of a checkpoint, a named reason, and a cause in words.

    `reason` is one of a small fixed set of names (see the page on checkpoints).
    """

    def __init__(self, cause: str, *, reason: str, folder: str | PathLike[str]) -> None:
        self.cause = cause
        self.reason = reason
        self.folder = str(folder)
        super().__init__(f"{self.folder}: {cause}")

    def __reduce__(self) -> tuple[Callable[..., CheckpointError], tuple[str]]:
        return partial(CheckpointError, reason=self.reason, folder=self.folder), (self.cause,)


class ConfigError(BarrowError, ValueError):
    """A setting that does not exist or has the wrong type."""


class Diverged(BarrowError):
    """A loss or gradient is not finite, or the loss jumped; the last checkpoint is good.

    `step` is the one whose batch caused it; the message lists its documents.
    """

    def __init__(self, message: str, *, step: int) -> None:
        self.step = step
        super().__init__(message)

    def __reduce__(self) -> tuple[Callable[..., Diverged], tuple[str]]:
        return partial(Diverged, step=self.step), (str(self),)


class FetchFailed(BarrowError, OSError):
    """A download failed, or has other content than expected."""


class MissingExtra(BarrowError, ImportError):
    """A library is not installed; the message names the extra that installs it."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        self._arguments = (library, extra, purpose)
        how = f"pip install '.[{extra}]' in a checkout of barrow"
        super().__init__(f"{purpose} needs {library}: {how}")

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str, str]]:
        return MissingExtra, self._arguments


class NotFound(BarrowError, FileNotFoundError):
    """A path, glob or URL that names nothing."""


class PeerFailed(BarrowError):
    """Another process of a run failed or is gone, and this one cannot continue without it."""


class ScoreError(BarrowError):
    """A document that could not be scored, or invalid results."""


class StoreError(BarrowError):
    """A file of a token store or an index of pairs, a named reason, and a cause in words.

    `reason` is one of a small fixed set of names (see the tokens page of the documentation).
    """

    def __init__(self, cause: str, *, reason: str, file: str) -> None:
        self.cause = cause
        self.reason = reason
        self.file = file
        super().__init__(f"{file}: {cause}")

    def __reduce__(self) -> tuple[Callable[..., StoreError], tuple[str]]:
        return partial(StoreError, reason=self.reason, file=self.file), (self.cause,)


class TaskFailed(BarrowError):
    """A task of a build failed; what was done before stays done."""


class TokenizerError(BarrowError, ValueError):
    """A file that is not a valid tokenizer, or a tokenizer without a requested feature."""


class UnsafeName(BarrowError, ValueError):
    """A name that was read from a file leads out of the folder it belongs to."""


class WeightsError(BarrowError):
    """An invalid file of weights: the file, the tensor, expected and found."""

    def __init__(self, cause: str, *, path: str | PathLike[str], tensor: str | None = None) -> None:
        self.cause = cause
        self.path = str(path)
        self.tensor = tensor
        place = self.path if tensor is None else f"{self.path}, tensor {tensor!r}"
        super().__init__(f"{place}: {cause}")

    def __reduce__(self) -> tuple[Callable[..., WeightsError], tuple[str]]:
        return partial(type(self), path=self.path, tensor=self.tensor), (self.cause,)


class WriteFailed(BarrowError, OSError):
    """Writing to disk failed; nothing is left under the final name."""
