from __future__ import annotations

import pytest

from barrow.errors import ConfigError
from barrow.tokens.train import train_clip

TEXTS = ["The low lower lowest, low!", "new NEWER newest &amp; lower 日本 日本"] * 3


def test_merges_are_learnt_within_words_and_know_their_ends() -> None:
    """CLIP-3: 256 bytes, 256 at the end of a word, merges, start and end."""
    trained = train_clip(TEXTS, vocab_size=530)
    assert trained.vocab_size == 530 == 514 + len(trained.merges)
    assert (trained.start, trained.end) == (528, 529)
    assert len(trained.encode("low")) == 1
    assert len(trained.encode("LOWER")) < 5
    assert trained.decode(trained.encode("Newest lower")) == "newest lower"
    joined = {left + right for left, right in trained.merges}
    assert any(token.endswith("</w>") for token in joined)


def test_the_order_of_texts_does_not_matter() -> None:
    assert train_clip(TEXTS, vocab_size=530).hash == train_clip(TEXTS[::-1], vocab_size=530).hash


def test_fewer_if_nothing_is_left_to_learn() -> None:
    assert train_clip(["ab ab"], vocab_size=600).vocab_size == 515


@pytest.mark.parametrize("size", [514, 49409])
def test_sizes(size: int) -> None:
    with pytest.raises(ConfigError, match=r"must be > 514 .* ≤ 49,408"):
        train_clip(TEXTS, vocab_size=size)


def test_nothing_to_learn() -> None:
    with pytest.raises(ConfigError, match="nothing to learn"):
        train_clip([""], vocab_size=600)
