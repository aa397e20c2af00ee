"""PyTorch and transformers, imported where they are used; the device and type they compute on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from barrow.errors import MissingExtra, TokenizerError
from barrow.tokens import JsonTokenizer, Tokenizer, load
from barrow.tokens.tokenizer_json import check


def import_torch() -> tuple[Any, Any]:
    """PyTorch and transformers."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra(
            "PyTorch and transformers", "transformers", "a model of a family that is not barrow's"
        ) from error
    return torch, transformers


def load_pretrained(kind: str, folder: Path, dtype: str | None) -> tuple[Any, Any]:
    """A model of transformers' class `kind` from a folder, and the device it is on."""
    torch, transformers = import_torch()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if dtype is None and device.type == "cpu":
        dtype = "float32"
    model = getattr(transformers, kind).from_pretrained(
        str(folder), dtype="auto" if dtype is None else getattr(torch, dtype), local_files_only=True
    )
    return model.eval().to(device), device


def tokenizer_of(folder: Path) -> Tokenizer:
    """The tokenizer of a Hugging Face folder; as transformers makes it where we cannot."""
    try:
        return load(folder)
    except (TokenizerError, OSError) as error:
        _, transformers = import_torch()
        try:
            made = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
            text = made.backend_tokenizer.to_str()
        except (ValueError, OSError, AttributeError, ImportError, KeyError):
            raise error from None
        import json

        named = {f"{role}_token": getattr(made, f"{role}_token") for role in ("bos", "pad", "mask")}
        return JsonTokenizer(check(json.loads(text), str(folder)), settings=named)


def refuse_small_vocabulary(tokenizer: Tokenizer, num_rows: int) -> None:
    """Raise where a tokenizer has ids that a model has no rows for."""
    if tokenizer.vocab_size > num_rows:
        raise ValueError(
            f"the tokenizer has ids up to {tokenizer.vocab_size - 1} and the model a vocabulary "
            f"of {num_rows}: they do not belong together"
        )
