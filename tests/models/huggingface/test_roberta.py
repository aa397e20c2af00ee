from __future__ import annotations

from typing import Any

import pytest
from tests.goldens import golden, settings_of

from barrow.models.huggingface.roberta import head_of, hf_roberta, labels_of, roberta_config
from barrow.models.roberta.heads import TokenHead
from barrow.models.roberta.model import SIZES, RobertaConfig

MLM = {"architectures": ["RobertaForMaskedLM"]}


@golden("transformers")
def full_config(settings: dict[str, Any]) -> Any:
    import transformers

    return settings_of(transformers.RobertaConfig(**settings))


@pytest.mark.parametrize("config", SIZES.values(), ids=list(SIZES))
def test_there_and_back(config: RobertaConfig) -> None:
    assert roberta_config(hf_roberta(config, None), ()) == config


def test_what_transformers_makes_of_it() -> None:
    made = full_config(hf_roberta(SIZES["roberta-large"], None))
    names = ("hidden_size", "num_hidden_layers", "intermediate_size", "max_position_embeddings")
    assert tuple(made[name] for name in names) == (1024, 24, 4096, 514)
    assert roberta_config(made, ()) == SIZES["roberta-large"]


def test_absent_keys_are_the_defaults_of_their_class() -> None:
    made = full_config({})
    assert roberta_config(MLM, ()) == roberta_config({**made, **MLM}, ())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"position_embedding_type": "relative_key"}, "position_embedding_type 'relative_key'"),
        ({"is_decoder": True}, "is_decoder must be False, got True"),
        ({"quantization_config": {}}, "the weights are quantized"),
        ({"hidden_dropout_prob": 1.5}, "hidden_dropout_prob must be ≥ 0 and < 1, got 1.5"),
        ({"pad_token_id": -1}, "pad_token_id must be an id ≥ 0, got -1"),
        ({"hidden_act": "swosh"}, "no activation 'swosh'"),
    ],
)
def test_what_cannot_be_expressed(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        roberta_config({**MLM, **settings}, ())


def test_other_heads_do_not_open() -> None:
    with pytest.raises(ValueError, match="architecture RobertaForMultipleChoice is not supported"):
        head_of({"architectures": ["RobertaForMultipleChoice"]}, RobertaConfig(), ())


def test_names_of_labels() -> None:
    assert labels_of({"id2label": {"1": "b", "0": "a"}}) == ("a", "b")
    assert labels_of({}) == ("LABEL_0", "LABEL_1")
    with pytest.raises(ValueError, match="id2label must name each of 0, 1, 2…"):
        labels_of({"id2label": {"1": "b"}})
    written = hf_roberta(RobertaConfig(mlm_head=False), TokenHead(2), ("x", "y"))
    assert written["id2label"] == {"0": "x", "1": "y"}
    assert written["label2id"] == {"x": 0, "y": 1}
