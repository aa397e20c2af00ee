from __future__ import annotations

from barrow.score import TokenModel
from barrow.tokens import ByteTokenizer


def test_an_object_with_three_names_is_a_token_model() -> None:
    class Written:
        tokenizer = ByteTokenizer()
        max_length = None

        def log_probs(self, rows: object) -> list[object]:
            return []

    assert isinstance(Written(), TokenModel)
    assert not isinstance(ByteTokenizer(), TokenModel)
