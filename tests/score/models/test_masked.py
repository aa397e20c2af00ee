from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
import transformers
from tokenizers import models, pre_tokenizers, processors

from barrow.score import PROTOCOLS, ModelOptions, open_model
from barrow.score.models.masked import MaskedModel, usable_length
from barrow.score.models.model import ModelInfo
from barrow.tokens import ByteTokenizer

TEXTS = [b"", b"a", "hé, a mound of stones".encode(), b"0123456789" * 2]


@pytest.fixture(scope="module", params=["roberta", "bert"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random RoBERTa or BERT over bytes, with <s> and </s> around a text."""
    path = tmp_path_factory.mktemp("masked") / request.param
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    size |= {"intermediate_size": 32, "vocab_size": 261}
    torch.manual_seed(0)
    config: Any
    if request.param == "roberta":
        config = transformers.RobertaConfig(
            **size, max_position_embeddings=20, pad_token_id=1, type_vocab_size=1
        )
    else:
        config = transformers.BertConfig(**size, max_position_embeddings=18, pad_token_id=1)
    model = transformers.AutoModelForMaskedLM.from_config(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(path)
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: i for i, token in enumerate([*names, *letters])}
    made = tokenizers.Tokenizer(models.BPE(vocab, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_special_tokens(names)
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    (path / "tokenizer.json").write_text(made.to_str())
    (path / "tokenizer_config.json").write_text(
        json.dumps({"mask_token": "<mask>", "pad_token": "<pad>", "bos_token": "<s>"})
    )
    return path


def plain(model: Any, reader: Any, text: bytes) -> float:
    """One token masked at a time, a row at a time, in windows of 16 between <s> and </s>."""
    ids = reader(text.decode(), add_special_tokens=False)["input_ids"]
    nats = 0.0
    for start in range(0, len(ids), 16):
        row = [0, *ids[start : start + 16], 2]
        for place in range(1, len(row) - 1):
            masked = torch.tensor([[*row[:place], 4, *row[place + 1 :]]])
            with torch.no_grad():
                logits = model(masked).logits[0, place].double()
            nats -= float(torch.log_softmax(logits, -1)[row[place]])
    return nats


def test_pseudo_likelihood_as_a_plain_loop_has_it(folder: Path) -> None:
    model = open_model(str(folder))
    assert model.likelihood == "pseudo"
    assert model.window is not None
    assert (model.window.context, model.window.stride, model.window.prefix) == (18, 16, "begin")
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    reader = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    expected = [plain(theirs, reader, text) for text in TEXTS]
    for batch_tokens in (None, 50):
        model = open_model(str(folder), ModelOptions(batch_tokens=batch_tokens))
        found = model.score(TEXTS)  # type: ignore[union-attr]
        for text, score, nats in zip(TEXTS, found, expected, strict=True):
            assert score.nats == pytest.approx(nats, rel=1e-5)
            assert score.tokens == len(text)
            assert score.projection == "bytes"


def test_roberta_uses_two_positions_less_than_it_has() -> None:
    assert usable_length(transformers.RobertaConfig(max_position_embeddings=514)) == 512
    assert usable_length(transformers.BertConfig(max_position_embeddings=512)) == 512


def test_bad_ones() -> None:
    class NoMask(ByteTokenizer):
        mask = None  # type: ignore[assignment]

    class Ends(ByteTokenizer):
        end = 258  # type: ignore[assignment]

    info = ModelInfo("x", "transformers", "id")
    guess: Any = None
    with pytest.raises(ValueError, match="no mask token"):
        MaskedModel(guess, NoMask(), info, PROTOCOLS["barrow"], max_length=16)
    with pytest.raises(ValueError, match="a context of 2 tokens has no room"):
        MaskedModel(guess, Ends(), info, PROTOCOLS["barrow"], max_length=2)
