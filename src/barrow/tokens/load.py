"""Open a tokenizer, whichever files it comes in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from barrow.config import parse_json
from barrow.errors import NotFound, TokenizerError
from barrow.tokens.byte_tokenizer import ByteTokenizer
from barrow.tokens.formats.llama2c import read_llama2c_file
from barrow.tokens.formats.merges_files import read_merges_files
from barrow.tokens.formats.rank_file import read_rank_file
from barrow.tokens.json_tokenizer import JSON_NAME, SETTINGS_NAME, JsonTokenizer
from barrow.tokens.roles import flagged
from barrow.tokens.tokenizer import Tokenizer
from barrow.tokens.tokenizer_json import check

_TWO_FILES = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
_KNOWN = (
    "tokenizer.json, vocab.json and merges.txt, encoder.json and vocab.bpe, a .tiktoken file or a "
    "llama2.c .bin file"
)


def load(path: str | Path, *, pattern: str | None = None, fast: bool = True) -> Tokenizer:
    """Open a tokenizer: a file, or a folder that holds one; ``"bytes"`` is the built-in one.

    `pattern` is how a `.tiktoken` file's texts are cut (`gpt2`, `cl100k`, …), by
    default guessed from its size. Without `fast`, the library `tokenizers` encodes, even if a
    faster one is installed.
    """
    if path == "bytes":
        return ByteTokenizer()
    path = Path(path)
    if not path.exists():
        raise NotFound(f"{path} does not exist; pass a file, a folder, or the word bytes")
    file = _in_folder(path) if path.is_dir() else path
    settings = _settings(file.parent)
    contents = check(_contents(file, pattern), str(file))
    tokenizer = JsonTokenizer(contents, settings=settings, fast=fast)
    if file.name != JSON_NAME and contents.data.get("post_processor") is None:
        tokenizer = tokenizer.with_around(*flagged(settings, tokenizer.specials))
    built_in = ByteTokenizer()
    same = tokenizer.vocab_size == built_in.vocab_size and tokenizer.hash == built_in.hash
    return built_in.with_around(*tokenizer.around) if same else tokenizer


def _in_folder(folder: Path) -> Path:
    names = (JSON_NAME, *(name for pair in _TWO_FILES for name in pair), "tokenizer.bin")
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is not None:
        return found
    others = [*sorted(folder.glob("*.tiktoken")), *sorted(folder.glob("tok*.bin"))]
    if len(others) != 1:
        count = f"{len(others)} of them" if others else "none"
        raise TokenizerError(f"{folder} must contain one tokenizer ({_KNOWN}), found {count}")
    return others[0]


def _contents(file: Path, pattern: str | None) -> Any:
    for vocab, merges in _TWO_FILES:
        if file.name in (vocab, merges):
            return _of_two_files(file.with_name(vocab), file.with_name(merges))
    data = file.read_bytes()
    if data.lstrip()[:1] == b"{":
        return parse_json(data, file, error=TokenizerError)
    if file.suffix == ".bin":
        return read_llama2c_file(data, str(file))
    first = data[:200].split(b"\n")[0].split()
    if file.suffix == ".tiktoken" or (len(first) == 2 and first[1].isdigit()):
        return read_rank_file(data, str(file), pattern=pattern)
    raise TokenizerError(
        f"{file} is not a tokenizer that barrow knows: {_KNOWN}; a SentencePiece .model "
        "becomes a tokenizer.json when transformers loads and saves it"
    )


def _of_two_files(vocab: Path, merges: Path) -> dict[str, Any]:
    for file, other in ((vocab, merges), (merges, vocab)):
        if not file.is_file():
            raise NotFound(f"{file} does not exist; {other.name} alone is half a tokenizer")
    return read_merges_files(vocab.read_bytes(), merges.read_bytes(), str(vocab.parent))


def _settings(folder: Path) -> dict[str, Any]:
    file = folder / SETTINGS_NAME
    if not file.is_file():
        return {}
    settings = parse_json(file.read_bytes(), file, error=TokenizerError)
    if not isinstance(settings, dict):
        raise TokenizerError(f"{file} is not a JSON object")
    return settings
