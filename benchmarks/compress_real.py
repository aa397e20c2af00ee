"""Real models made smaller: what quantization, pruning and distillation cost by domain.

    python benchmarks/compress_real.py PHASE FOLDER [--small]

`compress_real_data.py` made the text, FOLDER/corpus.tar. A phase is a process of its own: `unpack`,
`tokens --of gpt2`, `train` (a decoder of 12 layers), `quantize`, `prune`, `distil`, `scratch`,
`students`, `budget`, `cards`, `speed`; `tokens --of roberta`, `encoder` (12 layers),
`encoder-distil`, `encoder-scratch`, `encoder-students`, `finetune`, `onnx --of float32` (and int8),
`agreement`. Tables are printed, cards are in FOLDER/cards. `--small` is a trial on a CPU; `random`
models in another folder and `--rehearse` compile ahead.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import sys
import tarfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from barrow.archive import Document, Writer
from barrow.checkpoint.params import save_params
from barrow.compress.budget import within_budget
from barrow.compress.card import Card
from barrow.compress.card import _times as times
from barrow.compress.compressed import (
    Measuring,
    Original,
    compress,
    open_original,
    texts_for,
)
from barrow.compress.export.onnx import export_onnx
from barrow.compress.prune import Pruning
from barrow.compress.quantize import quantized
from barrow.compress.scheme import Scheme, default_scheme
from barrow.compress.smaller import distil_model, prune_model
from barrow.compress.texts import Texts, token_rows
from barrow.config import to_json
from barrow.engine import Engine
from barrow.errors import ScoreError
from barrow.models.compile_cache import keep_compiled
from barrow.models.decoder.model import DecoderConfig
from barrow.models.family import family_table
from barrow.models.roberta.labelled_rows import Limit
from barrow.models.roberta.model import RobertaConfig
from barrow.nn.dot import as_array
from barrow.nn.weights.kernels import is_weight, with_weights
from barrow.recipes.llama import SHAPE
from barrow.score.diff import Comparison, compare
from barrow.score.models.decoder import DecoderTokenModel
from barrow.stream import StreamSettings
from barrow.stream.labelled.examples import Example, read_examples
from barrow.stream.rows.masking import Mlm
from barrow.tokens.load import load as load_tokenizer
from barrow.tokens.store.build import tokenize
from barrow.tokens.store.store import open_store
from barrow.tokens.store.store_file import Sizes
from barrow.train.finetune.finetune import finetune as run_finetune
from barrow.train.finetune.finetune import finetune_run
from barrow.train.finetune.predict import Tally, open_finetuned, predictions
from barrow.train.finetune.settings import FinetuneSettings, LabelledRows, usual_optimizer
from barrow.train.fit import fit
from barrow.train.optimizers import AdamW, Muon
from barrow.train.precision import Precision
from barrow.train.run import Run
from barrow.train.schedules import Cosine, Linear
from barrow.train.step import StepSettings
from barrow.train.trackers import Tracker, terminal
from bench_quantize import SCHEMES, THEIRS, by_gguf, scored


@dataclass(frozen=True)
class Amounts:
    """How much is done: rows of a decoder's batch have `length` tokens, an encoder's half of it."""

    width: int = 768
    steps: int = 2000
    student_steps: int = 500
    encoder_steps: int = 1800
    documents: int = 16
    masked_documents: int = 8
    rows: int = 32
    length: int = 1024
    precision: Literal["fp32", "bf16"] = "bf16"
    epochs: int = 4
    workers: int = 16


_PEAK = 5e-4  # of the rate that recovers a pruned model
_TOKENS = 64  # of a labelled row
_SHORT = Limit(_TOKENS, truncate=True)
# Each of ours beside GGUF's of as many bits.
_VARIANTS = (
    *("int4 gptq", "GGUF Q4_0", "int4 mse", "int4 nearest"),
    *("int8 mse", "GGUF Q8_0", "int8 nearest"),
)
SMALL = Amounts(64, 40, 10, 10, 2, 1, 8, 64, "fp32", 1, 2)


class Rehearsed(Exception):
    """The first step was done."""


class Stop:
    """Ends a run after its first step."""

    def begin(self, run: Any, start: int) -> None:
        """See `Tracker`."""

    def log(self, step: int, values: Any) -> None:
        """End it."""
        raise Rehearsed

    def close(self) -> None:
        """See `Tracker`."""


@dataclass(frozen=True)
class Bench:
    """The phases, in a folder."""

    folder: Path
    amounts: Amounts
    is_rehearsal: bool = False

    def unpack(self) -> None:
        """The corpus as archives, and the task."""
        texts = self.folder / "texts"
        with tarfile.open(self.folder / "corpus.tar") as tar:
            tar.extractall(texts, filter="data")
        with ThreadPoolExecutor(self.amounts.workers) as threads:
            list(threads.map(_decompress, texts.rglob("*.xz")))
        for split in ("train", "validation", "test"):
            with Writer(self._corpus / split, level=1, threads=self.amounts.workers) as writer:
                for path in sorted((texts / split).glob("*.jsonl")):
                    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1]):
                        domain, text = json.loads(line)
                        name = hashlib.blake2b(f"{domain} {number}".encode(), digest_size=8)
                        identity = f"{name.hexdigest()}-{number:08x}"
                        writer.add(Document(text, {"pile_set_name": domain, "id": identity}))

    def tokens(self, kind: str) -> None:
        """Those of the decoder (gpt2) or of the encoder (roberta)."""
        store = tokenize(
            self._corpus / "train",
            tokenizer=load_tokenizer(self._task / kind),
            out=self.folder / f"store-{kind}",
            engine=Engine(self.amounts.workers),
            sizes=Sizes(part_bytes=1 << 23),
        )
        print(f"{kind}: {store.num_tokens:,} tokens, {len(store.domains)} domains")

    def random(self) -> None:
        """Models with random weights, to rehearse with: what that compiles is found again."""
        for name, run in (
            ("decoder", self._decoder(12, 1)),
            ("encoder", self._encoder(12, 1)),
        ):
            self._random(run, name)

    # A decoder

    def train(self) -> None:
        """The decoder that the others start from."""
        self._fit(self._decoder(12, self.amounts.steps), "decoder")

    def quantize(self) -> None:
        """int8 and int4 beside round-to-nearest and GGUF's types, by domain."""
        opened, texts, rows = self._opened("decoder")
        before = scored(opened, opened.params, texts)
        print(f"{before.overall.bpb:.4f} bits per byte of {before.overall.bytes:,} bytes")
        for name, small in variants(opened, rows):
            found = compare(scored(opened, small, texts), before, num_worst=0)
            self._table(found, name)
            self._write(found, name)
            if self.is_rehearsal:
                return

    def cards(self) -> None:
        """int8 and int4 as `barrow compress` makes them."""
        for bits in ("int8", "int4"):
            out, scheme = self.folder / bits, default_scheme(bits)
            measuring = self._measuring()
            self._show(
                compress(self.folder / "decoder", out, scheme, self._corpus, measuring=measuring)
            )

    def prune(self) -> None:
        """A quarter of heads and channels removed; a tenth of the tokens recovers it."""
        amounts = self.amounts
        steps = max(1, 2 * (amounts.steps // 10))
        run = self._decoder(12, steps)
        run = replace(
            run,
            data=replace(run.data, batch=amounts.rows // 2, seed=1),
            optimizer=AdamW(schedule=Linear(peak=_PEAK, warmup=max(1, steps // 20))),
            unroll=False,
        )
        card = prune_model(
            self.folder / "decoder",
            self.folder / "pruned",
            Pruning(heads=0.25, channels=0.25),
            self._corpus,
            measuring=self._measuring(),
            recover=run,
            trackers=self._trackers(),
            say=_say,
        )
        self._show(card, "pruned")

    def distil(self) -> None:
        """Six of twelve layers, taught."""
        run = replace(self._decoder(6, self.amounts.student_steps), unroll=False)
        self._show(self._distilled("decoder", "student", run))

    def scratch(self) -> None:
        """The same six layers from random weights, as many tokens."""
        run = replace(self._decoder(6, self.amounts.student_steps), unroll=False)
        self._fit(replace(run, data=replace(run.data, seed=1)), "scratch")

    def students(self) -> None:
        """The student beside the one from scratch."""
        self._beside(self._measuring(), "student", "scratch")

    def budget(self) -> None:
        """The smallest that loses at most 0.01 bits per byte in every domain."""
        limit = 0.01
        try:
            card = within_budget(
                self.folder / "decoder",
                self.folder / "smallest",
                limit,
                self._corpus,
                measuring=self._measuring(),
                say=_say,
            )
        except ScoreError as error:
            print(error)
        else:
            self._show(card, "smallest")

    def speed(self) -> None:
        """Tokens a second of the decoder and the pruned one, in bfloat16 and with random weights:
        the program of `barrow score`, by itself and from tokens to nats on the host.
        """
        config, tokenizer = self._shape(12, 8192), load_tokenizer(self._task / "gpt2")
        heads, hidden = config.heads * 3 // 4, config.hidden * 3 // 4
        small = replace(config, heads=heads, head_dim=config.size_of_head, hidden=hidden)
        programs, wholes = [], []
        for one in (config, small):
            model = one.module(dtype="bfloat16")
            params = jax.jit(model.init)(jax.random.key(0), *one.example)
            params = jax.tree.map(lambda x: x.astype("bfloat16"), params)
            print(f"{sum(x.size for x in jax.tree.leaves(params)):,} parameters")
            scorer = DecoderTokenModel(model, params, tokenizer)
            rows, length = scorer.batch_tokens // one.context, one.context + 1
            ids = np.random.default_rng(0).integers(0, 8192, (rows, length), np.int32)
            programs.append(partial(_done, scorer._nats, scorer._params, jnp.asarray(ids)))
            wholes.append(partial(scorer.log_probs, list(ids)))
        for what, runs in (("program", programs), ("with transfers", wholes)):
            before, after = (rows * (length - 1) / seconds for seconds in times(runs))
            speeds = f"{before:,.0f} tokens a second, pruned {after:,.0f}"
            print(f"{what}, {rows}×{length - 1}: {speeds}, {after / before:.3f} times", flush=True)

    # An encoder

    def encoder(self) -> None:
        """An encoder of twelve layers, by masked tokens."""
        self._fit(self._encoder(12, self.amounts.encoder_steps), "encoder")

    def encoder_distil(self) -> None:
        """Six of its layers, taught: DistilRoBERTa's recipe."""
        run = replace(self._encoder(6, self.amounts.student_steps), unroll=False)
        self._distilled("encoder", "encoder-student", run, card=False)

    def encoder_scratch(self) -> None:
        """The same six layers from random weights, as many tokens."""
        # So short a run from random weights learns more at a higher rate.
        run = replace(self._encoder(6, self.amounts.student_steps, peak=3.84), unroll=False)
        self._fit(replace(run, data=replace(run.data, seed=1)), "encoder-scratch")

    def encoder_students(self) -> None:
        """The student beside the one from scratch and its teacher, by pseudo-likelihood."""
        measuring = replace(self._measuring(), documents=self.amounts.masked_documents)
        self._beside(measuring, "encoder-student", "encoder-scratch", "encoder")

    def finetune(self, name: str = "encoder-student") -> None:
        """An encoder of six layers learns which domain of The Pile a passage is from."""
        task = self._task
        rows = LabelledRows(
            str(task / "train.jsonl"),
            "classify",
            str(task / "validation.jsonl"),
            batch=64,
            epochs=self.amounts.epochs,
            limit=_SHORT,
        )
        optimizer = usual_optimizer()
        peak = 0.0768 / self.amounts.width
        optimizer = replace(optimizer, schedule=replace(optimizer.schedule, peak=peak))
        settings = FinetuneSettings(rows, optimizer=optimizer, step=self._step())
        is_there = not self.is_rehearsal
        model = self.folder / name if is_there else self._random(self._encoder(6, 1), "six-layers")
        run = finetune_run(settings, str(model))
        done = run_finetune(run, self.folder / "finetuned", trackers=self._trackers())
        print(f"best epoch {done.progress.best_epoch}: {dict(done.metrics)}")

    def onnx(self, kind: str) -> None:
        """Exported as float32 or int8, on the test rows, by this machine's processor."""
        best = source = self.folder / "finetuned" / "best"
        if kind == "int8":
            source = self.folder / "finetuned-int8"
            measuring = replace(self._measuring(), rows=16, length=_TOKENS)
            card = compress(best, source, Scheme("int8", "mse"), self._corpus, measuring=measuring)
            print(f"bytes: {card.bytes_before:,} → {card.bytes_after:,}")
        export_onnx(source, self.folder / f"{kind}.onnx")
        rows = list(read_examples(str(self._task / "test.jsonl"), "classify"))
        found = self._predicted(f"ONNX {kind}", self.folder / f"{kind}.onnx", rows)
        np.save(self.folder / f"{kind}.npy", found)
        if kind == "float32":
            ours = self._predicted("JAX float32", best, rows[::16])
            apart = np.abs(np.log(ours) - np.log(found[::16])).max()
            print(f"log-probabilities of ONNX float32 and JAX are at most {apart:.1e} apart")

    def _predicted(self, name: str, path: Path, rows: list[Example]) -> Any:
        opened = open_finetuned(path)
        tally = Tally(opened.kind, opened.labels)
        began = time.perf_counter()
        said = predictions(opened, rows, limit=_SHORT, tally=tally)
        found = np.array([list(one["scores"].values()) for _, one in said])
        took = time.perf_counter() - began
        print(f"{name}: {len(rows):,} rows in {took:.1f} s: {dict(tally.metrics())}", flush=True)
        return found

    def agreement(self) -> None:
        """How often int8 says what float32 says."""
        first, second = (np.load(self.folder / f"{k}.npy") for k in ("float32", "int8"))
        same = np.mean(first.argmax(axis=1) == second.argmax(axis=1))
        print(f"int8 says the same as float32 for {same:.2%} of {len(first):,} rows")

    # What the phases share

    @property
    def _corpus(self) -> Path:
        return self.folder / "corpus"

    @property
    def _task(self) -> Path:
        return self.folder / "texts" / "task"

    def _random(self, run: Run, name: str) -> Path:
        model: Any = run.model
        params = jax.jit(model.module().init)(jax.random.key(0), *model.example)
        store = open_store(run.store)
        about = {"model": family_table(model), "tokenizer": str(store.tokenizer_folder)}
        save_params(self.folder / name, params, about | {"begin": store.begin})
        return self.folder / name

    def _trackers(self) -> list[Tracker]:
        return [terminal(sys.stderr), *([Stop()] if self.is_rehearsal else [])]

    def _opened(self, name: str) -> tuple[Original, Texts, Any]:
        opened, measuring = open_original(self.folder / name), self._measuring()
        texts = texts_for(opened.loaded, self._corpus, measuring)
        rows = token_rows(
            texts.calibration, opened.tokenizer, rows=measuring.rows, length=measuring.length
        )
        return opened, texts, rows

    def _measuring(self) -> Measuring:
        length = min(512, self.amounts.length)
        return Measuring(documents=self.amounts.documents, length=length, speeds=False)

    def _step(self) -> StepSettings:
        return StepSettings(precision=Precision(self.amounts.precision))

    def _shape(self, layers: int, vocab_size: int) -> DecoderConfig:
        width = self.amounts.width
        return replace(
            SHAPE,
            vocab_size=vocab_size,
            width=width,
            layers=layers,
            heads=12 if width % 12 == 0 else 4,
            hidden=8 * width // 3,
            context=self.amounts.length,
        )

    def _decoder(self, layers: int, steps: int) -> Run:
        amounts, store = self.amounts, open_store(self.folder / "store-gpt2")
        model = self._shape(layers, store.vocab_size)
        return Run(
            model=model,
            data=StreamSettings(seq_len=amounts.length, batch=amounts.rows),
            steps=steps,
            store=str(store.folder),
            optimizer=AdamW(schedule=Cosine(peak=1e-3, warmup=max(1, steps // 20))),
            step=self._step(),
            log_every=max(1, steps // 20),
            mask_documents=False,
            unroll=True,
        )

    def _encoder(self, layers: int, steps: int, *, peak: float = 2.3) -> Run:
        amounts, store = self.amounts, open_store(self.folder / "store-roberta")
        length, rate = amounts.length // 2, min(2e-2, peak / amounts.width)
        model = RobertaConfig(
            vocab_size=store.vocab_size,
            width=amounts.width,
            layers=layers,
            heads=12 if amounts.width % 12 == 0 else 4,
            hidden=4 * amounts.width,
            positions=max(length, 512) + 2,
            dropout=0.0,
        )
        optimizer = Muon(schedule=Cosine(peak=rate, warmup=max(1, steps // 10)), beta2=0.98)
        return Run(
            model=model,
            data=StreamSettings(seq_len=length, batch=2 * amounts.rows, mlm=Mlm(), pad=model.pad),
            steps=steps,
            store=str(store.folder),
            optimizer=optimizer,
            step=self._step(),
            log_every=max(1, steps // 20),
            mask_documents=False,
            unroll=True,
        )

    def _fit(self, run: Run, name: str) -> None:
        began = time.perf_counter()
        fit(run, self.folder / name, trackers=self._trackers())
        took = time.perf_counter() - began
        tokens = run.steps * run.data.batch * run.data.seq_len  # type: ignore[union-attr]
        print(f"{name}: {tokens:,} tokens in {took:.0f} s with compilation")

    def _distilled(self, teacher: str, name: str, run: Run, *, card: bool = True) -> Any:
        return distil_model(
            self.folder / teacher,
            self.folder / name,
            replace(run, data=replace(run.data, seed=1)),
            calibrate=self._corpus if card else None,
            measuring=self._measuring(),
            trackers=self._trackers(),
            say=_say,
        )

    def _beside(self, measuring: Measuring, first: str, *others: str) -> None:
        results = []
        for name in (first, *others):
            opened = open_original(self.folder / name)
            texts = texts_for(opened.loaded, self._corpus, measuring)
            results.append(scored(opened, opened.params, texts))
        for name, other in zip(others, results[1:], strict=True):
            found = compare(results[0], other, num_worst=0)
            self._table(found, f"{first} less {name}")
            self._write(found, f"{first}-less-{name}")

    def _show(self, card: Card, name: str | None = None) -> None:
        print(f"{card.scheme}: {card.bytes_before:,} bytes to {card.bytes_after:,}")
        assert card.comparison is not None
        self._table(card.comparison, card.scheme)
        self._write(card, name or card.scheme.split(",")[0])

    def _table(self, found: Comparison, what: str) -> None:
        rows = sorted(found.domains, key=lambda row: -(row.difference or 0.0))
        for row in (found.overall, *rows):
            print(f"  {row.name:24} {row.first:8.4f} {row.second:8.4f} {row.difference:+8.4f}")
        print(f"{what}: {found.overall.difference:+.4f}, worst {rows[0].difference:+.4f}")

    def _write(self, found: Any, name: str) -> None:
        folder = self.folder / "cards"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.json").write_text(to_json(found))


def variants(opened: Original, rows: Any) -> Iterator[tuple[str, Any]]:
    """Parameters as each method leaves them, expanded."""
    table = quantized(opened.model, opened.params, SCHEMES["int8 nearest"])["embed"]["table"]
    for name in _VARIANTS:
        if name in THEIRS:
            yield name, with_weights(opened.params, partial(by_gguf, THEIRS[name], as_array(table)))
        else:
            small = quantized(opened.model, opened.params, SCHEMES[name], rows)
            yield name, jax.tree.map(as_array, small, is_leaf=is_weight)


def _decompress(path: Path) -> None:
    path.with_suffix("").write_bytes(lzma.decompress(path.read_bytes()))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _done(program: Any, *given: Any) -> None:
    jax.block_until_ready(program(*given))


def main() -> None:
    """Run one phase."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("phase")
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--of", help="which model, or kind")
    arguments.add_argument("--wait", type=Path, help="begin when this is there")
    arguments.add_argument("--small", action="store_true")
    arguments.add_argument("--rehearse", action="store_true", help="end runs after a step")
    arguments.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    given = arguments.parse_args()
    changes = {k: json.loads(v) for k, v in (one.split("=", 1) for one in given.set)}
    amounts = replace(SMALL if given.small else Amounts(), **changes)
    bench = Bench(given.folder, amounts, given.rehearse)
    keep_compiled((given.folder / "compiled").resolve())  # a link: programs are known by its path
    if given.wait is not None:
        jax.devices()  # takes seconds
        while not given.wait.exists():
            time.sleep(0.1)
    began = time.perf_counter()
    with suppress(Rehearsed):
        getattr(bench, given.phase.replace("-", "_"))(*filter(None, [given.of]))
    print(f"[{given.phase}: {time.perf_counter() - began:.0f} s]", flush=True)


if __name__ == "__main__":
    main()
