from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from barrow import config
from barrow.models.card import card


def test_as_transformers_counts(every: str, theirs: Any, folder_of: Callable[..., Path]) -> None:
    folder = folder_of(every)
    found = card(folder)
    assert found.num_params == theirs.num_parameters(every)
    assert found.num_bytes == 4 * found.num_params
    assert found.family == every.split()[0]
    assert found.report.is_exact
    assert not found.has_tokenizer
    (folder / "tokenizer.json").write_text("{}")
    assert card(folder).has_tokenizer
    assert config.to_dict(found)["config"]["vocab_size"] == 97
