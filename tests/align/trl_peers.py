"""TRL's trainers on tiny models, whose losses are computed on fixed batches."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
)

VOCAB = 53


def llama(seed: int, kind: Any = LlamaForCausalLM, **more: Any) -> Any:
    """A random Llama with large weights, so that log-probabilities differ much."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        tie_word_embeddings=False,
        initializer_range=0.3,
        pad_token_id=0,
        **more,
    )
    return kind(config).train()


def tokenizer() -> PreTrainedTokenizerFast:
    """Words w2 to w52."""
    words = {"<pad>": 0, "<eos>": 1} | {f"w{i}": i for i in range(2, VOCAB)}
    inner = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>")


_ROWS = {
    "sft": [{"prompt": "w2 w3", "completion": "w4 w5"}] * 4,
    "pairs": [{"prompt": "w2 w3", "chosen": "w4 w5", "rejected": "w6"}] * 4,
    "kto": [
        {"prompt": "w2 w3", "completion": "w4 w5", "label": True},
        {"prompt": "w3 w3", "completion": "w6 w5", "label": False},
    ]
    * 2,
    "prompts": [{"prompt": "w2 w3"}] * 4,
}


def trainer(kind: str, folder: Path, model: Any, reference: Any = None, **settings: Any) -> Any:
    """A trainer of TRL's, not yet run: sft, reward, dpo, kto, grpo or rloo."""
    import trl

    names = {
        "sft": "SFT",
        "reward": "Reward",
        "dpo": "DPO",
        "kto": "KTO",
        "grpo": "GRPO",
        "rloo": "RLOO",
    }
    rows = {"sft": "sft", "kto": "kto", "reward": "pairs", "dpo": "pairs"}.get(kind, "prompts")
    args = getattr(trl, f"{names[kind]}Config")(
        output_dir=str(folder),
        per_device_train_batch_size=4,
        use_cpu=True,
        bf16=False,
        report_to=[],
        gradient_checkpointing=False,
        **settings,
    )
    more: dict[str, Any] = {}
    if kind in ("dpo", "kto"):
        more["ref_model"] = reference
    if kind in ("grpo", "rloo"):
        more["reward_funcs"] = lambda completions, **_: [0.0] * len(completions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(trl, f"{names[kind]}Trainer")(
            model=model,
            args=args,
            train_dataset=Dataset.from_list(_ROWS[rows]),
            processing_class=tokenizer(),
            **more,
        )


def gradients(model: Any) -> dict[str, np.ndarray]:
    """Of all parameters, after `backward`."""
    return {
        name: np.asarray(p.grad) if p.grad is not None else np.zeros(p.shape, np.float32)
        for name, p in model.named_parameters()
    }


__all__ = [
    "VOCAB",
    "LlamaForSequenceClassification",
    "gradients",
    "llama",
    "tokenizer",
    "torch",
    "trainer",
]
