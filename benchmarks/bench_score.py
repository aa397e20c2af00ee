"""Scoring a GPT-2 of 124M parameters (random weights) beside what others score with.

    python benchmarks/bench_score.py cpu [--documents 24] [--batch 4] [--threads 2]
    python benchmarks/bench_score.py gpu [--documents 400] [--rows 64]

cpu   float32: `barrow score` beside the real `lm_eval` (HFLM.loglikelihood_rolling), the same
      documents, the protocol of the Pile, batches of the same number of windows
gpu   bfloat16: our token model beside the same rolling loop in transformers (batched, windows in
      the order of the documents, padded to the longest, logits to log-probabilities in float32),
      the same windows; runs where only jax, numpy, torch, transformers and safetensors are
      installed, on rows of tokens

Lengths of documents are drawn from a log-normal distribution, about that of web text. Sides take
turns, the quickest of three rounds counts; a first round, which compiles, does not. Both must give
the same bits.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

CONTEXT = 1024
VOCAB = 50257
PREFIX = VOCAB - 1


def rows_of(lengths: Any, seed: int = 0) -> list[Any]:
    """The windows of documents of these lengths under the protocol of the Pile, as rows of ids."""
    from barrow.score.card import Window
    from barrow.score.windows import windows

    rng = np.random.default_rng(seed)
    rows = []
    for length in lengths:
        ids = rng.integers(0, VOCAB - 1, length).astype(np.int32)
        found = windows(int(length), Window(CONTEXT, CONTEXT, "end", "first"))
        for k in range(len(found)):
            prefix = [PREFIX] * int(found.prefixed[k])
            row = np.array([*prefix, *ids[found.begin[k] : found.end[k]]], np.int32)
            rows.append((row, int(found.end[k] - found.first[k])))
    return rows


@dataclass(frozen=True)
class Took:
    """Seconds by the clock, and of all threads together on CPUs; each of its quickest round."""

    clock: float
    cpu: float


def turns(sides: dict[str, Any], rounds: int = 3) -> tuple[dict[str, Took], dict[str, Any]]:
    """What each side took, and what it gave."""
    gave = {name: run() for name, run in sides.items()}
    best = dict.fromkeys(sides, Took(math.inf, math.inf))
    for _ in range(rounds):
        for name, run in sides.items():
            began, before = time.perf_counter(), time.process_time()
            run()
            clock, cpu = time.perf_counter() - began, time.process_time() - before
            best[name] = Took(min(best[name].clock, clock), min(best[name].cpu, cpu))
    return best, gave


def report(best: dict[str, Took], ours: str, num: int, tokens: int) -> None:
    print("\n| side | seconds | documents/s | tokens/s | ratio | CPU seconds | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, took in best.items():
        print(
            f"| {name} | {took.clock:.2f} | {num / took.clock:.2f} | {tokens / took.clock:,.0f} | "
            f"{took.clock / best[ours].clock:.2f}× ours | {took.cpu:.2f} | "
            f"{took.cpu / best[ours].cpu:.2f}× ours |"
        )


def cpu(options: argparse.Namespace) -> None:
    """Whole documents of text, end to end."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    import transformers
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    from barrow import Document
    from barrow.score import PROTOCOLS, ModelOptions, open_model, score
    from barrow.tokens import load

    torch.set_num_threads(options.threads)
    transformers.logging.set_verbosity_error()
    words = ["the", "of", "barrow", "mound", "stone", "carries", "earth", "long", "grave"]
    words += ["chamber", "and", "a", "to", "in", "is", "was"]
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(5.6, 1.1, options.documents), 20, 3000).astype(int)
    texts = [" ".join(rng.choice(words, length)) for length in lengths]
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).eval()
        model.save_pretrained(folder)
        load(options.tokenizer or _word_tokenizer(words, Path(folder))).save(Path(folder))
        reader = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
        theirs = HFLM(
            pretrained=model, tokenizer=reader, batch_size=options.batch, max_length=CONTEXT
        )
        requests = [Instance("loglikelihood_rolling", {}, (t,), i) for i, t in enumerate(texts)]
        opening = ModelOptions(protocol=PROTOCOLS["pile"], batch_tokens=options.batch * CONTEXT)
        ours = open_model(folder, opening)
        documents = [Document(text) for text in texts]
        best, gave = turns(
            {
                "barrow": lambda: score(ours, documents),
                "lm_eval": lambda: theirs.loglikelihood_rolling(requests, disable_tqdm=True),
            },
            options.rounds,
        )
    result = gave["barrow"]
    bits, other = result.overall.nats, -sum(gave["lm_eval"])
    size = result.overall.bytes
    print(f"{options.documents} documents, {size:,} bytes, {result.overall.tokens:,} tokens")
    print(f"bits per byte: {bits / size / math.log(2):.6f} and {other / size / math.log(2):.6f}")
    report(best, "barrow", options.documents, result.overall.tokens)


def _word_tokenizer(words: list[str], folder: Path) -> Path:
    """Byte-level BPE trained here, with <|endoftext|> as the last id it has."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([" ".join(words)] * 10, trainer)
    file = folder / "made.json"
    file.write_text(made.to_str())
    return file


def gpu(options: argparse.Namespace) -> None:
    """Rows of tokens, from the host and back to it."""
    # JAX would take three quarters of the GPU's memory at once, and PyTorch needs its part.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import torch
    import transformers

    from barrow.models.load import load
    from barrow.score.models.decoder import DecoderTokenModel
    from barrow.tokens import ByteTokenizer

    class Gpt2Ids(ByteTokenizer):
        vocab_size = VOCAB

    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(6.2, 1.1, options.documents), 20, 20000).astype(int)
    rows = rows_of(lengths)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config())
        model.save_pretrained(folder)
        loaded = load(folder, dtype="bfloat16", unstack=True)
        exact = load(folder, dtype="float32", unstack=True)
    model = model.to(device, torch.bfloat16).eval()
    ours = DecoderTokenModel(
        loaded.model, loaded.params, Gpt2Ids(), batch_tokens=options.batch_tokens
    )

    def barrow() -> float:
        found = ours.log_probs([row for row, _ in rows])
        return -sum(
            float(np.asarray(logs[len(logs) - charged :], np.float64).sum())
            for logs, (_, charged) in zip(found, rows, strict=True)
        )

    def loop(order: Any) -> float:
        total = 0.0
        for start in range(0, len(rows), options.rows):
            batch = [rows[i] for i in order[start : start + options.rows]]
            longest = max(len(row) for row, _ in batch)
            ids = np.zeros((len(batch), longest), np.int64)
            for k, (row, _) in enumerate(batch):
                ids[k, : len(row)] = row
            given = torch.from_numpy(ids).to(device)
            with torch.inference_mode():
                logits = model(given[:, :-1], use_cache=False).logits
                logs = torch.log_softmax(logits.float(), -1)
                chosen = logs.gather(-1, given[:, 1:, None])[..., 0].double().cpu().numpy()
            for k, (row, charged) in enumerate(batch):
                total -= float(chosen[k, len(row) - 1 - charged : len(row) - 1].sum())
        return total

    in_order = list(range(len(rows)))
    by_length = sorted(in_order, key=lambda i: -len(rows[i][0]))
    sides = {
        "barrow": barrow,
        "transformers, rolling loop": lambda: loop(in_order),
        "transformers, sorted by length": lambda: loop(by_length),
    }
    best, gave = turns(sides, options.rounds)
    tokens = sum(charged for _, charged in rows)
    print(f"{options.documents} documents, {len(rows)} windows, {tokens:,} tokens charged")
    for name, nats in gave.items():
        print(f"{name}: {nats / tokens:.6f} nats per token")
    few = [row for row, _ in rows[:64]]
    wide = DecoderTokenModel(exact.model, exact.params, Gpt2Ids(), batch_tokens=16384)
    pairs = zip(ours.log_probs(few), wide.log_probs(few), strict=True)
    apart = [abs(float((a - b).mean())) for a, b in pairs if len(a)]
    print(f"bfloat16 beside float32: mean difference of a row {np.mean(apart):.2e} nats")
    print(f"JAX devices: {jax.devices()}")
    report(best, "barrow", options.documents, tokens)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["cpu", "gpu"])
    parser.add_argument("--documents", type=int)
    parser.add_argument("--batch", type=int, default=4, help="windows a batch, cpu")
    parser.add_argument("--rows", type=int, default=64, help="windows a batch of theirs, gpu")
    parser.add_argument("--batch-tokens", type=int, default=65536, help="tokens of ours, gpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokenizer")
    options = parser.parse_args()
    options.documents = options.documents or (24 if options.part == "cpu" else 400)
    names = ("jax", "torch", "transformers", "lm_eval")
    found = []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, ",
        end="",
    )
    print(", ".join(found))
    {"cpu": cpu, "gpu": gpu}[options.part](options)


if __name__ == "__main__":
    main()
