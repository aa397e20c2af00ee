"""What bench_align.py compares a step of GRPO with: TRL's trainer."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from types import ModuleType
from typing import Any
from unittest import mock

import serve_peers
from barrow.models import DecoderConfig

# TRL imports them at the top; a step over rows in memory needs no more than their names.
UNUSED = {"datasets": (), "pandas": (), "pyarrow": ("compute", "types")}


class Rows(list[dict[str, Any]]):
    """In place of a `datasets.Dataset`."""

    cache_files = ()


def stand_in() -> None:
    """Modules of names alone where a library that TRL imports is not installed."""
    for library, parts in UNUSED.items():
        if importlib.util.find_spec(library) is not None:
            continue
        for name in (library, *(f"{library}.{part}" for part in parts)):
            module: Any = ModuleType(name)
            module.__spec__ = ModuleSpec(name, None, is_package=True)
            module.__getattr__ = lambda _: mock.MagicMock()
            sys.modules[name] = module
        if library == "datasets":
            kinds = ("IterableDataset", "DatasetDict", "IterableDatasetDict")
            vars(sys.modules[library]).update(Dataset=Rows, **{k: type(k, (), {}) for k in kinds})


def grpo(
    config: DecoderConfig,
    prompts: Sequence[Sequence[int]],
    *,
    answers: int,
    tokens: int,
    micro: int,
    dtype: str,
    steps: int = 3,
) -> None:
    """Steps of TRL's trainer: float32 weights, `generate` of all answers as one batch.

    Its first pass takes its own log-probabilities as the old ones, so that nothing is measured.
    """
    stand_in()
    import datasets
    import tokenizers
    import torch
    import transformers
    import trl
    from transformers import PreTrainedTokenizerFast

    words = tokenizers.models.WordLevel(
        {f"t{n}": n for n in range(config.vocab_size)}, unk_token="t1"
    )
    made = tokenizers.Tokenizer(words)
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, pad_token="t0", eos_token="t2")
    rows: Any = [{"prompt": " ".join(f"t{n}" for n in ids)} for ids in prompts] * steps
    rows = datasets.Dataset.from_list(rows) if datasets.Dataset is not Rows else Rows(rows)
    num = len(prompts) * answers
    times, drawing = [], []

    class Timed(transformers.TrainerCallback):  # type: ignore[misc]
        def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
            times.append(time.perf_counter())

        def on_step_end(self, *args: Any, **kwargs: Any) -> None:
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            times[-1] = time.perf_counter() - times[-1]

    def worth(completions: list[str], **_: Any) -> list[float]:
        return [sum(word.endswith("1") for word in text.split()) / tokens for text in completions]

    model = serve_peers.llama(config, "float32")
    torch.set_default_device("cpu")  # the trainer's generators are there
    how = trl.GRPOConfig(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=num // micro,
        num_generations=answers,
        max_completion_length=tokens,
        generation_kwargs={"min_new_tokens": tokens},
        bf16=dtype == "bfloat16",
        gradient_checkpointing=False,
        learning_rate=1e-6,
        max_steps=steps,
        save_strategy="no",
        report_to="none",
        logging_strategy="no",
        disable_tqdm=True,
        use_cpu=not torch.cuda.is_available(),
    )
    trainer = trl.GRPOTrainer(
        model, worth, args=how, train_dataset=rows, processing_class=tokenizer, callbacks=[Timed()]
    )
    generate = trainer._generate_single_turn

    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        found = generate(*args, **kwargs)
        drawing.append(time.perf_counter() - start)
        return found

    trainer._generate_single_turn = timed
    trainer.train()
    seconds, rollouts = min(times[1:]), min(drawing[1:])
    most = torch.cuda.max_memory_allocated() / 1e9 if torch.cuda.is_available() else 0.0
    print(
        f"TRL {version('trl')}, {dtype}, {micro} rows at a time: a step {seconds:.2f} s, rollouts "
        f"{rollouts:.2f} s, memory {most:.1f} GB, {num * tokens / seconds:,.0f} tokens/s",
        flush=True,
    )
