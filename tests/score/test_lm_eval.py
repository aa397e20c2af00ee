"""Against the real `lm_eval`: its rolling log-likelihood, offline, of the same documents."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

from barrow import Document
from barrow.score import PROTOCOLS, Opening, open_model, score
from barrow.tokens import ByteTokenizer

SIZE: dict[str, Any] = {"vocab_size": 259, "bos_token_id": 256, "eos_token_id": 256}
CONFIGS = {
    "gpt2": transformers.GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=24, **SIZE),
    "pythia": transformers.GPTNeoXConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=24,
        **SIZE,
    ),
}


@pytest.mark.parametrize("family", list(CONFIGS))
def test_the_pile_protocol_equals_lm_eval(family: str, few: list[Document], tmp_path: Path) -> None:
    """Bits of every document within 1e-4, several windows long, shorter than one, one byte."""
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(CONFIGS[family])
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    model.save_pretrained(tmp_path)
    ByteTokenizer().save(tmp_path)
    reader = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path)
    theirs = HFLM(pretrained=model, tokenizer=reader, batch_size=3, device="cpu", max_length=24)
    assert theirs.prefix_token_id == 256
    # lm_eval cannot take an empty document.
    documents = [document for document in few if document.text]
    requests = [
        Instance("loglikelihood_rolling", {}, (document.text,), i)
        for i, document in enumerate(documents)
    ]
    expected = -np.array(theirs.loglikelihood_rolling(requests, disable_tqdm=True)) / math.log(2)
    result = score(open_model(str(tmp_path), Opening(protocol=PROTOCOLS["pile"])), documents)
    assert result is not None
    assert result.documents is not None
    bits = result.documents.nats / math.log(2)
    sizes = result.documents.bytes
    np.testing.assert_allclose(bits / sizes, expected / sizes, atol=1e-4)
    assert result.overall.bpb == pytest.approx(expected.sum() / sizes.sum(), abs=1e-4)
    assert max(sizes) > 5 * 24
