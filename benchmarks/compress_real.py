"""Real models made smaller: what quantization, pruning and distillation cost by domain.

    python benchmarks/compress_real.py PHASE FOLDER [--small]

`compress_real_data.py` made the text, FOLDER/corpus.tar. A phase is a process of its own: `unpack`,
`train` (a decoder of 12 layers), `quantize`, `prune`, `distil`, `scratch`, `students`, `budget`,
`speed`; `encoder` (12 layers), `encoder-distil`, `encoder-scratch`, `encoder-students`, `finetune`,
`onnx`. Tables are printed, cards are in FOLDER/cards. `--small` is a trial on a CPU.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import sys
import tarfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from barrow.archive import Document, Writer
from barrow.compress.budget import within_budget
from barrow.compress.card import Card
from barrow.compress.compressed import Measuring, compared, compress, open_original, texts_for
from barrow.compress.export.onnx import export_onnx
from barrow.compress.prune import Pruning
from barrow.compress.scheme import Scheme, default_scheme
from barrow.compress.smaller import distil_model, prune_model
from barrow.config import to_json
from barrow.engine import Engine
from barrow.errors import ScoreError
from barrow.models.compile_cache import keep_compiled
from barrow.models.decoder.next_token_nats import next_token_nats
from barrow.models.open_model import open_model
from barrow.models.roberta.model import RobertaConfig
from barrow.recipes.llama import SHAPE
from barrow.score.diff import Comparison
from barrow.stream import StreamSettings
from barrow.stream.labelled.examples import read_examples
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
from barrow.train.trackers import terminal


@dataclass(frozen=True)
class Amounts:
    """How much is done: rows of a decoder's batch have `length` tokens, an encoder's half of it."""

    width: int = 768
    steps: int = 2400
    student_steps: int = 500
    encoder_steps: int = 1200
    documents: int = 24
    masked_documents: int = 8
    rows: int = 32
    length: int = 1024
    precision: Literal["fp32", "bf16"] = "bf16"
    epochs: int = 2
    workers: int = 16


SMALL = Amounts(64, 40, 10, 10, 2, 1, 8, 64, "fp32", 1, 2)


@dataclass(frozen=True)
class Bench:
    """The phases, in a folder."""

    folder: Path
    amounts: Amounts

    def unpack(self) -> None:
        """The corpus as archives, the task, and a store of tokens for either vocabulary."""
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
        for kind in ("gpt2", "roberta"):
            store = tokenize(
                self._corpus / "train",
                tokenizer=load_tokenizer(self._task / kind),
                out=self.folder / f"store-{kind}",
                engine=Engine(self.amounts.workers),
                sizes=Sizes(part_bytes=1 << 23),
            )
            print(f"{kind}: {store.num_tokens:,} tokens, {len(store.domains)} domains")

    # A decoder

    def train(self) -> None:
        """The decoder that the others start from."""
        self._fit(self._decoder(12, self.amounts.steps), "decoder")

    def quantize(self) -> None:
        """int8 and int4, each with its card."""
        for bits in ("int8", "int4"):
            scheme = default_scheme(bits)
            out = self.folder / bits
            self._show(
                compress(
                    self.folder / "decoder",
                    out,
                    scheme,
                    self._corpus,
                    measuring=self._measuring(),
                    say=_say,
                )
            )

    def prune(self, peak: float = 5e-4) -> None:
        """A quarter of heads and channels removed; a tenth of the tokens recovers it."""
        amounts = self.amounts
        steps = max(1, 2 * (amounts.steps // 10))
        run = self._decoder(12, steps, peak=peak)
        run = replace(
            run,
            data=replace(run.data, batch=amounts.rows // 2, seed=1),
            optimizer=AdamW(schedule=Linear(peak=peak, warmup=max(1, steps // 20))),
            unroll=False,
        )
        card = prune_model(
            self.folder / "decoder",
            self.folder / f"pruned-{peak:g}",
            Pruning(heads=0.25, channels=0.25),
            self._corpus,
            measuring=self._measuring(),
            recover=run,
            trackers=[terminal(sys.stderr)],
            say=_say,
        )
        self._show(card, f"pruned-{peak:g}")

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
        self._beside("student", "scratch", self._measuring())

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
        """Tokens a second of the decoder and the pruned one: forward, in rows as in training."""
        found = {}
        for name in ("decoder", *sorted(p.name for p in self.folder.glob("pruned-*"))[:1]):
            loaded = open_model(self.folder / name, dtype="bfloat16", unstack=True)
            model: Any = replace(loaded.model, unroll=True, dtype="bfloat16")  # type: ignore[call-arg]
            params = jax.tree.map(jnp.asarray, loaded.params)
            run = jax.jit(lambda params, rows, m=model: next_token_nats(m, params, rows).sum())
            for rows in (self.amounts.rows, 4 * self.amounts.rows):
                shape = (rows, self.amounts.length)
                ids = np.random.default_rng(0).integers(0, model.config.vocab_size, shape)
                given = (params, jnp.asarray(ids, jnp.int32))
                took = _least(partial(lambda f, x: jax.block_until_ready(f(*x)), run, given))
                found[name, rows] = ids.size / took
                num = sum(x.size for x in jax.tree.leaves(params))
                print(f"{name}: {num:,} parameters, {rows}×{shape[1]}: {ids.size / took:,.0f}/s")
        for (name, rows), speed in found.items():
            print(f"{name}, {rows} rows: {speed / found['decoder', rows]:.2f} times the decoder")

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
        run = replace(self._encoder(6, self.amounts.student_steps), unroll=False)
        self._fit(replace(run, data=replace(run.data, seed=1)), "encoder-scratch")

    def encoder_students(self) -> None:
        """The student beside the one from scratch, by pseudo-likelihood."""
        measuring = replace(self._measuring(), documents=self.amounts.masked_documents)
        self._beside("encoder-student", "encoder-scratch", measuring)

    def finetune(self) -> None:
        """The distilled encoder learns which domain of The Pile a passage is from."""
        task = self._task
        rows = LabelledRows(
            str(task / "train.jsonl"),
            "classify",
            str(task / "validation.jsonl"),
            batch=64,
            epochs=self.amounts.epochs,
        )
        optimizer = usual_optimizer()
        optimizer = replace(optimizer, schedule=replace(optimizer.schedule, peak=1e-4))
        settings = FinetuneSettings(rows, optimizer=optimizer, step=self._step())
        model = "encoder-student" if (self.folder / "encoder-student").exists() else "encoder"
        run = finetune_run(settings, str(self.folder / model))
        done = run_finetune(run, self.folder / "finetuned", trackers=[terminal(sys.stderr)])
        print(f"best epoch {done.progress.best_epoch}: {dict(done.metrics)}")

    def onnx(self) -> None:
        """Exported in float32 and int8, on the test rows, by this machine's processor."""
        best = self.folder / "finetuned" / "best"
        small = self.folder / "finetuned-int8"
        card = compress(
            best, small, Scheme("int8", "mse"), self._corpus, measuring=self._measuring(), say=_say
        )
        print(f"bytes: {card.bytes_before:,} → {card.bytes_after:,}")
        for path, name in ((best, "float32"), (small, "int8")):
            export_onnx(path, self.folder / f"{name}.onnx")
        rows = list(read_examples(str(self._task / "test.jsonl"), "classify"))
        found = {}
        for name, at, num in (
            ("JAX float32", best, self.amounts.rows * 8),
            ("ONNX float32", self.folder / "float32.onnx", len(rows)),
            ("ONNX int8", self.folder / "int8.onnx", len(rows)),
        ):
            opened = open_finetuned(at)
            tally = Tally(opened.kind, opened.labels)
            began = time.perf_counter()
            said = predictions(opened, rows[:num], tally=tally)
            found[name] = np.array([list(one["scores"].values()) for _, one in said])
            took = time.perf_counter() - began
            print(f"{name}: {len(found[name]):,} rows in {took:.1f} s: {dict(tally.metrics())}")
        ours, graph, small_graph = found.values()
        apart = np.abs(np.log(ours) - np.log(graph[: len(ours)])).max()
        print(f"log-probabilities of ONNX float32 and JAX are at most {apart:.1e} apart")
        same = np.mean(graph.argmax(axis=1) == small_graph.argmax(axis=1))
        print(f"int8 says the same as float32 for {same:.2%} of the rows")

    # What the phases share

    @property
    def _corpus(self) -> Path:
        return self.folder / "corpus"

    @property
    def _task(self) -> Path:
        return self.folder / "texts" / "task"

    def _measuring(self) -> Measuring:
        length = min(512, self.amounts.length)
        return Measuring(documents=self.amounts.documents, length=length, speeds=False)

    def _step(self) -> StepSettings:
        return StepSettings(precision=Precision(self.amounts.precision))

    def _decoder(self, layers: int, steps: int, *, peak: float = 1e-3) -> Run:
        amounts, store = self.amounts, open_store(self.folder / "store-gpt2")
        model = replace(
            SHAPE,
            vocab_size=store.vocab_size,
            width=amounts.width,
            layers=layers,
            heads=12 if amounts.width % 12 == 0 else 4,
            hidden=8 * amounts.width // 3,
            context=amounts.length,
        )
        return Run(
            model=model,
            data=StreamSettings(seq_len=amounts.length, batch=amounts.rows),
            steps=steps,
            store=str(store.folder),
            optimizer=AdamW(schedule=Cosine(peak=peak, warmup=max(1, steps // 20))),
            step=self._step(),
            log_every=max(1, steps // 20),
            mask_documents=False,
            unroll=True,
        )

    def _encoder(self, layers: int, steps: int) -> Run:
        amounts, store = self.amounts, open_store(self.folder / "store-roberta")
        length = amounts.length // 2
        model = RobertaConfig(
            vocab_size=store.vocab_size,
            width=amounts.width,
            layers=layers,
            heads=12 if amounts.width % 12 == 0 else 4,
            hidden=4 * amounts.width,
            positions=max(length, 512) + 2,
            dropout=0.0,
        )
        optimizer = Muon(
            schedule=Cosine(peak=2e-2, warmup=max(1, steps // 20)), momentum=0.98, beta2=0.98
        )
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
        fit(run, self.folder / name, trackers=[terminal(sys.stderr)])
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
            trackers=[terminal(sys.stderr)],
            say=_say,
        )

    def _beside(self, first: str, second: str, measuring: Measuring) -> None:
        opened = open_original(self.folder / first)
        texts = texts_for(opened.loaded, self._corpus, measuring)
        found = compared(
            self.folder / second, self.folder / first, texts.measured, opened.loaded.tokenizer
        )
        self._table(found, f"{first} less {second}")
        self._write(found, first)

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


def _decompress(path: Path) -> None:
    path.with_suffix("").write_bytes(lzma.decompress(path.read_bytes()))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _least(run: Callable[[], Any], seconds: float = 3.0) -> float:
    run()
    least, until = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < until:
        began = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - began)
    return least


def main() -> None:
    """Run one phase."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("phase")
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--peak", type=float, help="prune: of the rate that recovers")
    arguments.add_argument("--small", action="store_true")
    arguments.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="of Amounts")
    given = arguments.parse_args()
    changes = {k: json.loads(v) for k, v in (one.split("=", 1) for one in given.set)}
    bench = Bench(given.folder, replace(SMALL if given.small else Amounts(), **changes))
    keep_compiled(given.folder / "compiled")
    began = time.perf_counter()
    more = {} if given.peak is None else {"peak": given.peak}
    getattr(bench, given.phase.replace("-", "_"))(**more)
    print(f"[{given.phase}: {time.perf_counter() - began:.0f} s]", flush=True)


if __name__ == "__main__":
    main()
