"""What bench_serve.py compares with: transformers, and llama.cpp for orientation."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from barrow.models import DecoderConfig
from barrow.serve import Request


def llama(config: DecoderConfig, dtype: str) -> Any:
    """The model of transformers, with random weights."""
    import torch
    import transformers

    described = transformers.LlamaConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.width,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.num_kv_heads,
        intermediate_size=config.hidden,
        max_position_embeddings=config.context,
        tie_word_embeddings=config.tied,
        eos_token_id=None,
        pad_token_id=0,
    )
    torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")
    return transformers.LlamaForCausalLM(described).to(getattr(torch, dtype)).eval()


def _report(name: str, num: int, seconds: float, used: float) -> None:
    print(
        f"{name}: {num} tokens in {seconds:.2f} s ({used:.2f} of processors), "
        f"{num / seconds:,.0f} tokens/s",
        flush=True,
    )


def generate(config: DecoderConfig, requests: Sequence[Request], dtype: str) -> None:
    """Transformers' `generate` of all requests as one batch; they have the same lengths."""
    import torch

    model = llama(config, dtype)
    ids = torch.tensor([list(request.prompt) for request in requests])
    num = requests[0].max_tokens

    def once(num: int) -> None:
        with torch.inference_mode():
            model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=num,
                min_new_tokens=num,
                do_sample=False,
            )

    once(4)
    for _ in range(2):
        start, used = time.perf_counter(), time.process_time()
        once(num)
        seconds, used = time.perf_counter() - start, time.process_time() - used
        name = f"transformers {version('transformers')} generate, {dtype}"
        _report(name, num * len(requests), seconds, used)


def generate_batch(
    config: DecoderConfig, requests: Sequence[Request], dtype: str, most: int, patience: float
) -> None:
    """Transformers' continuous batching, as `generate_batch` sets it up, `most` requests at a time.

    After `patience` seconds the tokens that are there are counted. Without flash-attn every token
    of a batch is multiplied with the keys of all requests (`paged|sdpa`), so that fewer at a time
    can be faster than all.
    """
    import transformers
    from transformers.generation.configuration_utils import ContinuousBatchingConfig
    from transformers.generation.continuous_batching.utils import WorkloadHints

    model = llama(config, dtype)
    how = transformers.GenerationConfig(
        max_new_tokens=1024, do_sample=False, eos_token_id=-1, pad_token_id=0
    )
    hints = WorkloadHints(
        max_prompt_length=max(len(request.prompt) for request in requests),
        max_generated_length=max(request.max_tokens for request in requests),
        num_requests=len(requests),
    )
    manager = model.init_continuous_batching(
        generation_config=how,
        workload_hints=hints,
        continuous_batching_config=ContinuousBatchingConfig(max_requests_per_batch=most),
    )
    manager.warmup()
    manager.start()

    def once(requests: Sequence[Request], name: str) -> None:
        start, used = time.perf_counter(), time.process_time()
        for number, request in enumerate(requests):
            manager.add_request(
                list(request.prompt),
                request_id=f"{name} {number}",
                max_new_tokens=request.max_tokens,
            )
        num, left = 0, len(requests)
        while left and manager.is_running() and time.perf_counter() - start < patience:
            result = manager.get_result(timeout=5)
            if result is not None and result.is_finished():
                num += len(result.generated_tokens)
                left -= 1
        seconds, used = time.perf_counter() - start, time.process_time() - used
        if left:
            states = manager.batch_processor.scheduler.active_requests.values()
            num += sum(len(state.generated_tokens) for state in states)
            name += f", {left} unfinished"
        attention = model.config._attn_implementation
        full = (
            f"transformers {version('transformers')} generate_batch ({attention}, {most} at a time)"
        )
        full += f", {name}"
        _report(full, num, seconds, used)

    once([Request(request.prompt, 8) for request in requests[:16]], "first")
    once(requests, dtype)
    sys.stdout.flush()
    os._exit(0)  # its thread may still be at work
