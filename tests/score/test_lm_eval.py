"""Against the real `lm_eval`: its rolling log-likelihood, offline, of the same documents."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

from barrow import Document
from barrow.score import PROTOCOLS, ModelOptions, Protocol, open_model, score
from barrow.score.conformance.models import split_tokenizer
from barrow.tokens import ByteTokenizer, Tokenizer

CONTEXT = 24


def gpt2(size: dict[str, Any]) -> Any:
    return transformers.GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=CONTEXT, **size)


def pythia(size: dict[str, Any]) -> Any:
    return transformers.GPTNeoXConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=CONTEXT,
        **size,
    )


PILE = PROTOCOLS["pile"]
# lm_eval's prefix begins a text where a tokenizer has both: there it is asked for.
BEGINNING = PILE.changed(prefix="begin")


@pytest.mark.parametrize(
    ("config", "tokenizer", "protocol"),
    [
        pytest.param(gpt2, split_tokenizer(), BEGINNING, id="gpt2-split"),
        pytest.param(pythia, ByteTokenizer(), PILE, id="pythia-bytes"),
        pytest.param(gpt2, ByteTokenizer(), PILE, id="gpt2-bytes", marks=pytest.mark.soak),
        pytest.param(
            pythia, split_tokenizer(), BEGINNING, id="pythia-split", marks=pytest.mark.soak
        ),
    ],
)
def test_the_pile_protocol_equals_lm_eval(
    config: Callable[..., Any],
    tokenizer: Tokenizer,
    protocol: Protocol,
    few: list[Document],
    tmp_path: Path,
) -> None:
    """Bits of every document: many windows, fewer tokens than one, one token, split characters."""
    torch.manual_seed(0)
    begin = tokenizer.begin
    size = {"vocab_size": tokenizer.vocab_size, "bos_token_id": begin, "eos_token_id": begin}
    model = transformers.AutoModelForCausalLM.from_config(config(size))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    model.save_pretrained(tmp_path)
    tokenizer.save(tmp_path)
    name = next(name for name, token in tokenizer.specials.items() if token == begin)
    reader = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "tokenizer.json"), bos_token=name
    )
    theirs = HFLM(
        pretrained=model, tokenizer=reader, batch_size=3, device="cpu", max_length=CONTEXT
    )
    assert theirs.prefix_token_id == begin
    # lm_eval cannot take an empty document.
    documents = [d for d in [*few, Document("the", {}), Document("é é 日", {})] if d.text]
    requests = [
        Instance("loglikelihood_rolling", {}, (document.text,), i)
        for i, document in enumerate(documents)
    ]
    expected = -np.array(theirs.loglikelihood_rolling(requests, disable_tqdm=True)) / math.log(2)
    opened = open_model(str(tmp_path), ModelOptions(protocol=protocol))
    assert opened.info.kind == "barrow"
    result = score(opened, documents)
    assert result is not None
    assert result.documents is not None
    bits = result.documents.nats / math.log(2)
    sizes, tokens = result.documents.bytes, result.documents.tokens
    # A document of 1,000 bits has that many in float32, which both compute in, to 1e-4.
    np.testing.assert_allclose(bits, expected, atol=1e-4, rtol=5e-7)
    np.testing.assert_allclose(bits / sizes, expected / sizes, atol=1e-6)
    assert result.overall.bpb == pytest.approx(expected.sum() / sizes.sum(), abs=1e-6)
    assert max(tokens) > 5 * CONTEXT
    assert min(tokens) == 1
