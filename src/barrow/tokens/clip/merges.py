"""CLIP's vocabulary file: a list of merges, from which everything else follows."""

from __future__ import annotations

import gzip
import importlib.util
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from barrow.config import parse_json
from barrow.errors import NotFound, TokenizerError
from barrow.tokens.byte_alphabet import LETTERS

FILE_NAME = "bpe_simple_vocab_16e6.txt.gz"
NUM_MERGES = 48_894  # the file of OpenAI has five times as many; these are used
END_OF_WORD = "</w>"
# Packages that contain the file, and where.
_PACKAGES = ("open_clip", "clip")
_MAX_BYTES = 64 << 20

Merge = tuple[str, str]


def read_merges(path: str | Path) -> tuple[Merge, ...]:
    """Merges of OpenAI's file (.gz or not), a merges.txt, a tokenizer.json, or a folder of one."""
    path = Path(path)
    if path.is_dir():
        path = _in_folder(path)
    if not path.is_file():
        raise NotFound(f"{path} does not exist; {_HOW}")
    text = _text(path)
    lines = _of_json(text, path) if path.suffix == ".json" else _of_lines(text)
    merges = [_merge(parts, number, path) for number, parts in enumerate(lines, start=1)]
    # A byte-only tokenizer has no merges, but its file is a file of merges.
    if not merges and path.suffix != ".json" and not text.startswith("#version"):
        raise TokenizerError(f"{path} has no merges; {_HOW}")
    kept = merges[:NUM_MERGES]
    if len(set(kept)) != len(kept):
        raise TokenizerError(f"{path}: duplicate merge")
    return _checked(kept, path)


def find_merges(folders: Sequence[Path]) -> Path:
    """The vocabulary file: in one of some folders, or in an installed package that ships it."""
    places = [folder / FILE_NAME for folder in folders]
    for package in _PACKAGES:
        try:
            spec = importlib.util.find_spec(package)
        except (ImportError, ValueError):
            spec = None
        places += [Path(p) / FILE_NAME for p in (spec and spec.submodule_search_locations) or ()]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        looked = ", ".join(str(folder) for folder in folders) or "no folder"
        raise NotFound(f"no {FILE_NAME}: not in {looked} nor in installed packages; {_HOW}")
    return found


_HOW = (
    f"CLIP's vocabulary is {FILE_NAME} of OpenAI's CLIP repository (open_clip_torch ships it), a "
    "Hugging Face folder with merges.txt, or the output of `barrow tokens train --clip`: "
    "pass its path with --tokenizer"
)


def _in_folder(folder: Path) -> Path:
    names = ("merges.txt", "tokenizer.json", FILE_NAME)
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None:
        raise NotFound(f"{folder} has none of {', '.join(names)}; {_HOW}")
    return found


def _text(path: Path) -> str:
    data = path.read_bytes()
    try:
        if data[:2] == b"\x1f\x8b":
            data = _inflated(data, path)
        return data.decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise TokenizerError(f"{path} is not a CLIP vocabulary: {error}") from None


def _inflated(data: bytes, path: Path) -> bytes:
    import io

    with gzip.open(io.BytesIO(data)) as file:
        found = file.read(_MAX_BYTES + 1)
    if len(found) > _MAX_BYTES:
        raise TokenizerError(f"{path} inflates to more than {_MAX_BYTES:,} bytes")
    return found


def _of_lines(text: str) -> list[list[str]]:
    """Two tokens a line, after a version line."""
    lines = text.split("\n")
    first = lines[0]
    begins = first.startswith(("#version", '"bpe_simple', '"#version')) or len(first.split()) != 2
    return [line.split() for line in lines[1 if begins else 0 :] if line.strip()]


def _of_json(text: str, path: Path) -> list[list[str]]:
    try:
        model: Any = parse_json(text, path)["model"]
        merges: list[Any] = model["merges"]
        is_ours = model.get("end_of_word_suffix") == END_OF_WORD
    except (ValueError, KeyError, TypeError, AttributeError):
        raise TokenizerError(f"{path} is not a tokenizer.json with merges") from None
    if not is_ours:
        raise TokenizerError(
            f"{path}: expected words of CLIP's vocabulary to end with {END_OF_WORD}"
        )
    return [merge.split() if isinstance(merge, str) else list(merge) for merge in merges]


def _merge(parts: list[str], number: int, path: Path) -> Merge:
    if len(parts) != 2:
        raise TokenizerError(
            f"{path}: merge {number} must be two tokens, got {' '.join(parts)[:60]!r}"
        )
    return parts[0], parts[1]


def _checked(merges: list[Merge], path: Path) -> tuple[Merge, ...]:
    known = {*LETTERS, *(letter + END_OF_WORD for letter in LETTERS)}
    for number, (left, right) in enumerate(merges, start=1):
        for token in (left, right):
            if token not in known:
                raise TokenizerError(
                    f"{path}: merge {number} joins {token!r}, which is neither a byte nor "
                    "an earlier merge"
                )
        known.add(left + right)
    return tuple(merges)
