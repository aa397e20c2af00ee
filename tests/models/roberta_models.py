"""Small RoBERTas of `transformers` with random weights and a tokenizer trained on a few lines."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from tests.goldens import golden
from tests.models.drawn import opened, saved, write_model

LINES = [
    "Paris is the capital of France.",
    "A barrow is a mound raised stone by stone, and the cart that carries the stones.",
    "The quick brown fox jumps over the lazy dog; naïve cafés, 日本語, 🙂.",
    "Berlin is the capital of Germany, and Rome is the capital of Italy.",
]
VOCAB = 330
SMALL = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 66,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-5,
    "initializer_range": 0.3,
    "bos_token_id": 0,
    "pad_token_id": 1,
    "eos_token_id": 2,
}
CLASSES = {
    "mlm": "RobertaForMaskedLM",
    "bare": "RobertaModel",
    "classify": "RobertaForSequenceClassification",
    "tag": "RobertaForTokenClassification",
    "regress": "RobertaForSequenceClassification",
    "untied": "RobertaForMaskedLM",
    "types": "RobertaForMaskedLM",
}
SETTINGS: dict[str, dict[str, Any]] = {
    "classify": {"id2label": {0: "good", 1: "bad", 2: "neither"}, "classifier_dropout": 0.2},
    "tag": {"num_labels": 5},
    "regress": {"num_labels": 1},
    "untied": {"tie_word_embeddings": False, "hidden_act": "relu"},
    "types": {"type_vocab_size": 2},
}


def parts(kind: str) -> tuple[str, str, dict[str, Any]]:
    """Names of its class and its configuration's class, and the settings."""
    return CLASSES[kind], "RobertaConfig", {**SMALL, **SETTINGS.get(kind, {})}


def make(kind: str) -> Any:
    """The model of a kind in `transformers`, for references."""
    return opened(*parts(kind))


def num_parameters(kind: str) -> int:
    return int(saved(*parts(kind))["parameters"])


def make_tokenizer() -> Any:
    """RoBERTa's kind of tokenizer: byte-level BPE, `<s> … </s>`, a mask that takes its space."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
    from tokenizers.trainers import BpeTrainer

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = BpeTrainer(
        vocab_size=VOCAB - 1,
        special_tokens=names,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    made.train_from_iterator(LINES, trainer)
    made.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    made.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=False
    )
    import transformers

    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        cls_token="<s>",
        sep_token="</s>",
        unk_token="<unk>",
        mask_token=AddedToken("<mask>", lstrip=True, special=True),
    )


@golden("transformers")
def _tokenizer_folder() -> Path:
    folder = Path(tempfile.mkdtemp())
    make_tokenizer().save_pretrained(folder)
    return folder


@golden("transformers")
def tokenized(*texts: Any, words: bool = False, **options: Any) -> Any:
    """What the tokenizer makes of texts, pairs or words: ids, and the word of each."""
    tokenizer = make_tokenizer()
    if words:
        from tokenizers import pre_tokenizers

        tokenizer._tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        options["is_split_into_words"] = True
    found = tokenizer(*texts, **options)
    ids = found["input_ids"]
    return {"ids": ids, "words": None if isinstance(ids[0], list) else found.word_ids()}


@golden("torch", "transformers")
def filled(text: str, top_k: int) -> Any:
    """What the pipeline of the masked language model gives."""
    import transformers

    pipeline = transformers.pipeline(
        "fill-mask", model=make("mlm"), tokenizer=make_tokenizer(), device="cpu"
    )
    return pipeline(text, top_k=top_k)


@golden("torch", "transformers", atol=1e-5)
def outputs(kind: str, text: str) -> Any:
    """Logits of a text, and attention maps."""
    import torch

    ids = make_tokenizer()(text, return_tensors="pt")
    with torch.no_grad():
        found = make(kind)(**ids, output_attentions=True)
    return {"ids": ids["input_ids"][0], "logits": found.logits[0], "maps": found.attentions}


def save(folder: Path, kind: str) -> Path:
    """A folder as `transformers` writes it, with the tokenizer; every number is drawn."""
    write_model(folder, *parts(kind))
    shutil.copytree(_tokenizer_folder(), folder, dirs_exist_ok=True)
    return folder
