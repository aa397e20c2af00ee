from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from barrow.score import ModelOptions, open_model
from barrow.score.models.transformers import max_length_of
from barrow.tokens import ByteTokenizer

TEXTS = [b"", b"a", "héllo wörld, a mound".encode(), b"0123456789" * 9]
SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 259}
MORE = {"max_position_embeddings": 32, "intermediate_size": 32}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": (
        "GPT2Config",
        {"vocab_size": 259, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32},
    ),
    "gpt_neox": ("GPTNeoXConfig", {**SMALL, **MORE}),
    # Families that are not ours, with learned positions and with none.
    "opt": ("OPTConfig", {**SMALL, "ffn_dim": 32, "max_position_embeddings": 32}),
    "bloom": ("BloomConfig", {**SMALL, "n_head": 2, "seq_length": 32}),
}


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A model of `transformers` with random weights, saved with the tokenizer of bytes."""
    made: dict[str, Path] = {}

    def get(family: str) -> Path:
        if family not in made:
            kind, settings = FAMILIES[family]
            config = getattr(transformers, kind)(
                **settings, bos_token_id=256, eos_token_id=256, pad_token_id=257
            )
            torch.manual_seed(0)
            model = transformers.AutoModelForCausalLM.from_config(config)
            for parameter in model.parameters():
                torch.nn.init.normal_(parameter, std=0.3)
            made[family] = tmp_path_factory.mktemp("models") / family
            model.save_pretrained(made[family])
            ByteTokenizer().save(made[family])
        return made[family]

    return get


def plain(model: Any, text: bytes, *, context: int = 32) -> float:
    """Nats by transformers, a window at a time: stride of half a context, prefix in each."""
    ids, nats = list(text), 0.0
    done = 0
    while done < len(ids):
        end = min(len(ids), done + (context // 2 if done else context))
        row = torch.tensor([[256, *ids[max(0, end - context) : end]]])
        with torch.no_grad():
            logs = torch.log_softmax(model(row[:, :-1]).logits.double(), -1)[0]
        chosen = logs.gather(-1, row[0, 1:, None])[:, 0]
        nats -= float(chosen[-(end - done) :].sum())
        done = end
    return nats


@pytest.mark.parametrize("family", list(FAMILIES))
def test_parity_with_transformers(family: str, folder_of: Callable[[str], Path]) -> None:
    """Our decoder where the family is ours, else PyTorch: the same numbers."""
    folder = folder_of(family)
    model = open_model(str(folder))
    assert model.info.kind == ("barrow" if family in ("gpt2", "gpt_neox") else "transformers")
    assert model.info.dtype == "float32"
    assert model.window is not None
    assert model.window.context == 32
    found = model.score(TEXTS)  # type: ignore[union-attr]
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    for text, score in zip(TEXTS, found, strict=True):
        expected = plain(theirs, text)
        assert score.nats == pytest.approx(expected, rel=1e-5, abs=1e-6)
        assert score.tokens == len(text)


def test_batches_of_torch_change_nothing(folder_of: Callable[[str], Path]) -> None:
    expected = open_model(str(folder_of("opt"))).score(TEXTS)  # type: ignore[union-attr]
    small = open_model(str(folder_of("opt")), ModelOptions(batch_tokens=40))
    for a, b in zip(expected, small.score(TEXTS), strict=True):  # type: ignore[union-attr]
        assert a.nats == pytest.approx(b.nats, rel=1e-6)


def test_a_vocabulary_that_is_too_small(folder_of: Callable[[str], Path], tmp_path: Path) -> None:
    config = transformers.OPTConfig(**{**FAMILIES["opt"][1], "vocab_size": 200})
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    ByteTokenizer().save(tmp_path)
    with pytest.raises(ValueError, match="ids up to 258, but the model's vocabulary is 200"):
        open_model(str(tmp_path))


def test_lengths_by_config() -> None:
    assert max_length_of(transformers.GPT2Config(n_positions=77)) == 77
    assert max_length_of(transformers.LlamaConfig(max_position_embeddings=99)) == 99
    assert max_length_of(transformers.MambaConfig()) is None


def test_nats_are_not_above_uniform_by_much(folder_of: Callable[[str], Path]) -> None:
    """A sanity bound: probabilities sum to one, so some byte is at least 1/259."""
    model = open_model(str(folder_of("gpt2")))
    texts = [bytes([value]) for value in range(256)]
    nats = [score.nats for score in model.score(texts)]  # type: ignore[union-attr]
    assert math.fsum(np.exp(-np.array(nats))) <= 1 + 1e-6
