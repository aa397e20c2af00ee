"""Train a small model on a small store, stop, resume, and look at the run's folder."""

import os
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import barrow
from barrow import Document
from barrow.checkpoint import Checkpoints
from barrow.engine import Engine
from barrow.models import DecoderConfig
from barrow.recipes import gpt2
from barrow.stream import Stream, StreamSettings
from barrow.tokens import load, tokenize
from barrow.train import CheckpointSettings, EvaluationSettings, Interrupted, fit, for_store
from barrow.train.tasks.token_data import unigram_entropy
from barrow.train.trackers import Lines, read_log

folder = Path(tempfile.mkdtemp())


def make_store(name, numbers):
    """Sums of small numbers, spelt out, as a token store."""
    words = ["nought", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    with barrow.archive.Writer(folder / name) as writer:
        for n in numbers:
            lines = [f"{words[a]} and {words[n % 10]} are {a + n % 10}." for a in range(10)]
            meta = {"pile_set_name": "Sums", "id": f"{n:016x}-{n:08x}"}
            writer.add(Document("\n".join(lines), meta))
    out = folder / f"{name}_store"
    return tokenize(folder / name, tokenizer=load("bytes"), out=out, engine=Engine("local", 0))


# One store for training, one for validation.
store = make_store("train", range(0, 100, 2))
validation = make_store("validation", range(1, 100, 10))

# A recipe is settings: take one, change it, fit it to a store.
run = replace(
    gpt2.tiny(),
    model=DecoderConfig(width=32, layers=2, heads=2, hidden=64, context=64),
    data=StreamSettings(seq_len=64, batch=8),
    steps=120,
    evaluation=EvaluationSettings(every=60),
    checkpoint=CheckpointSettings(every=40),
    log_every=30,
)
run = for_store(run, store.folder, validation=validation.folder)
print(f"{run.model.vocab_size} ids, rows of {run.seq_len}")


class StopAt:
    """A tracker is three functions; this one presses Ctrl-C."""

    def begin(self, run, start):
        print(f"begins at step {start} of {run['steps']}")

    def log(self, step, values):
        if step == 59 and "validation_loss" in values:
            os.kill(os.getpid(), signal.SIGINT)

    def close(self):
        pass


try:
    fit(run, folder / "run", trackers=[Lines(sys.stdout), StopAt()])
except Interrupted as stopped:
    print(str(stopped).partition(";")[0])
state = fit(run, folder / "run", trackers=[Lines(sys.stdout)])

last = read_log(folder / "run" / "log.jsonl")[-1]
entropy = unigram_entropy(store)
print(
    f"validation loss {last['validation_loss']:.3f}, unigram entropy {entropy:.3f} nats per token"
)
print(
    "checkpoints:", Checkpoints(folder / "run" / "checkpoints").steps(), "at step", int(state.step)
)

# Which documents did step 7 see?
stream = Stream.load(folder / "run")
print("step 7, row 0:", [one.identity for one in stream.explain(7, row=0)])
