"""Hugging Face's config.json of RoBERTa, to a `RobertaConfig` and its head, and back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from barrow.models.huggingface.settings import Settings
from barrow.models.roberta.heads import ClassificationHead, Head, RegressionHead, TokenHead
from barrow.models.roberta.model import RobertaConfig

_MLM = "RobertaForMaskedLM"
_CLASSIFY = "RobertaForSequenceClassification"
_TAG = "RobertaForTokenClassification"
_BARE = "RobertaModel"


def roberta_config(hf: Mapping[str, Any], keys: Collection[str]) -> RobertaConfig:
    """The architecture of a config.json; `keys` of the weights decide what follows the layers."""
    said = Settings(hf)
    said.require("is_decoder", False, default=False)
    said.require("add_cross_attention", False, default=False)
    kind = said.text("position_embedding_type", "absolute")
    if kind != "absolute":
        raise ValueError(
            f"config.json: position_embedding_type {kind!r} is not supported; only 'absolute' is"
        )
    if "quantization_config" in hf:
        raise ValueError(
            "the weights are quantized (quantization_config); use the model before quantization"
        )
    pad = said.get("pad_token_id", 1)
    if isinstance(pad, bool) or not isinstance(pad, int) or pad < 0:
        raise ValueError(f"config.json: pad_token_id must be an id ≥ 0, got {pad!r}")
    return RobertaConfig(
        vocab_size=said.count("vocab_size", 50265),
        width=said.count("hidden_size", 768),
        layers=said.count("num_hidden_layers", 12),
        heads=said.count("num_attention_heads", 12),
        hidden=said.count("intermediate_size", 3072),
        positions=said.count("max_position_embeddings", 512),
        token_types=said.count("type_vocab_size", 2),
        pad=pad,
        # The defaults of their class differ from every published file, and all files set these.
        norm_eps=said.number("layer_norm_eps", 1e-12),
        activation=said.text("hidden_act", "gelu"),
        dropout=said.share("hidden_dropout_prob", 0.1),
        init_std=said.number("initializer_range", 0.02),
        tied=said.flag("tie_word_embeddings", True),
        mlm_head=_architecture(hf) == _MLM or "lm_head.dense.weight" in keys,
        pooler=any(key.endswith("pooler.dense.weight") for key in keys),
    )


def head_of(hf: Mapping[str, Any], config: RobertaConfig, keys: Collection[str]) -> Head | None:
    """The head that a folder has beside that of masked language models."""
    name = _architecture(hf)
    drop = Settings(hf).share("classifier_dropout", config.dropout)
    if name == _TAG or (name is None and "classifier.weight" in keys):
        return TokenHead(len(labels_of(hf)), drop, config.init_std)
    if name == _CLASSIFY or (name is None and "classifier.dense.weight" in keys):
        num = len(labels_of(hf))
        if hf.get("problem_type") == "regression" or num == 1:
            return RegressionHead(num, drop, config.init_std)
        return ClassificationHead(num, drop, config.init_std)
    if name not in (None, _MLM, _BARE):
        raise ValueError(
            f"config.json: architecture {name} is not supported; {_MLM}, {_BARE}, "
            f"{_CLASSIFY} and {_TAG} are"
        )
    return None


def labels_of(hf: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of classes in order; two unnamed ones by default."""
    named = hf.get("id2label")
    if named is None:
        return tuple(f"LABEL_{i}" for i in range(Settings(hf).count("num_labels", 2)))
    try:
        ordered = {int(number): str(name) for number, name in named.items()}
        return tuple(ordered[number] for number in range(len(ordered)))
    except (AttributeError, KeyError, ValueError):
        raise ValueError(
            f"config.json: id2label must name each of 0, 1, 2…, got {named!r}"
        ) from None


def notes_on(config: RobertaConfig, head: Head | None) -> tuple[str, ...]:
    """What the model has and lacks after its layers, in sentences."""
    notes = []
    if head is None:
        notes.append(
            "with a pooler, used by `pooled`"
            if config.pooler
            else "no pooler; hidden states and masked tokens do not need it"
        )
        if not config.mlm_head:
            notes.append("no LM head: hidden states only, no filling of masks")
    return tuple(notes)


def hf_roberta(
    config: RobertaConfig, head: Head | None, labels: Sequence[str] = ()
) -> dict[str, Any]:
    """A config.json under which `transformers` computes the same function."""
    if head is not None and config.mlm_head:
        raise ValueError(
            "transformers has no LM head beside a classification head: pass mlm_head=False"
        )
    if head is None and labels:
        raise ValueError(
            f"got labels {', '.join(labels)} for a model without a classification head"
        )
    names = tuple(labels)
    if head is not None:
        names = names or tuple(f"LABEL_{i}" for i in range(head.num))
        if len(names) != head.num:
            raise ValueError(f"{len(names)} labels for a head of {head.num}")
    table: dict[str, Any] = {
        "architectures": [_name_of(config, head)],
        "model_type": "roberta",
        "vocab_size": config.vocab_size,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.hidden,
        "max_position_embeddings": config.positions,
        "type_vocab_size": config.token_types,
        "pad_token_id": config.pad,
        "layer_norm_eps": config.norm_eps,
        "hidden_act": config.activation,
        "hidden_dropout_prob": config.dropout,
        # Not used here, but expected when training continues in transformers.
        "attention_probs_dropout_prob": config.dropout,
        "initializer_range": config.init_std,
        "tie_word_embeddings": config.tied,
    }
    if head is None:
        return table
    table |= {
        "id2label": {str(number): name for number, name in enumerate(names)},
        "label2id": {name: number for number, name in enumerate(names)},
        "classifier_dropout": head.dropout,
    }
    if isinstance(head, RegressionHead):
        table["problem_type"] = "regression"
    elif isinstance(head, ClassificationHead):
        table["problem_type"] = "single_label_classification"
    return table


def _architecture(hf: Mapping[str, Any]) -> str | None:
    named = hf.get("architectures")
    return str(named[0]) if isinstance(named, list) and named else None


def _name_of(config: RobertaConfig, head: Head | None) -> str:
    if isinstance(head, TokenHead):
        return _TAG
    if head is not None:
        return _CLASSIFY
    return _MLM if config.mlm_head else _BARE
