from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from barrow.errors import MissingExtra, NotFound, TokenizerError
from barrow.score.models.transformers import import_torch, refuse_small_vocabulary, tokenizer_of
from barrow.tokens import ByteTokenizer


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any) -> Any:
        if name == "torch":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtra, match=r"pip install '.\[transformers\]'"):
        import_torch()


def test_a_folder_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises((TokenizerError, NotFound), match="must contain one tokenizer"):
        tokenizer_of(tmp_path)
    ByteTokenizer().save(tmp_path)
    assert tokenizer_of(tmp_path).hash == ByteTokenizer().hash


def test_a_small_vocabulary() -> None:
    refuse_small_vocabulary(ByteTokenizer(), 259)
    with pytest.raises(ValueError, match="ids up to 258, but the model's vocabulary is 258"):
        refuse_small_vocabulary(ByteTokenizer(), 258)
