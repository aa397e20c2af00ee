"""Tokenize a small archive, mix its domains into batches, stop, resume elsewhere, trace rows."""

import tempfile
from pathlib import Path

import numpy as np

import barrow
from barrow import Document
from barrow.engine import Engine
from barrow.stream import Mixture, Mlm, Phase, Stream
from barrow.tokens import load, tokenize

folder = Path(tempfile.mkdtemp())

with barrow.archive.Writer(folder / "corpus") as writer:
    for n in range(400):
        domain = "Prose" if n % 4 else "Code"
        meta = {"pile_set_name": domain, "id": f"{n + 1:016x}-{n:08x}", "licence": "CC0-1.0"}
        writer.add(Document(f"Document {n}. " * (n % 17), meta))

tokenizer = load("bytes")
store = tokenize(
    folder / "corpus", tokenizer=tokenizer, out=folder / "store", engine=Engine("local", 0)
)

# Two rows of code for each row of prose; code at most three times.
weights = {"Code": 2.0, "Prose": 1.0}
stream = Stream(store, seq_len=64, batch=8, seed=1, weights=weights, max_epochs={"Code": 3.0})
batch = stream.batch(0)
print("tokens", batch.tokens.shape, "documents of row 0:", batch.documents[0])
row = batch.tokens[0][batch.segments[0] == 1]
print("row 0, first document:", repr(bytes(row[row < 256].astype(np.uint8))))

# Save at step 5 on 4 ranks, resume on 2: only the step is needed.
stream.save(folder / "run.json")
resumed = Stream.load(folder / "run.json")
halves = [resumed.batch(5, rank=rank, of=2).tokens for rank in range(2)]
print("same batch:", bool((np.concatenate(halves) == stream.batch(5).tokens).all()))

# A later phase: prose only, and rows half as long. Steps before it do not change.
longer = stream.then(Phase(10, 32, 16, Mixture(weights={"Prose": 1.0})))
print("step 9", longer.batch(9).tokens.shape, "step 10", longer.batch(10).tokens.shape)

# Whole documents in rows of 128, and masked language modelling.
packed = Stream(store, seq_len=128, batch=4, seed=1, packing="fit", mlm=Mlm(whole_word=True))
batch = packed.batch(3)
print(f"{batch.num_tokens / batch.tokens.size:.1%} filled, {batch.mask.sum()} tokens to guess")

with stream.prefetch(0, 3) as batches:
    print("ahead:", [step for step, _ in batches])

for seen in stream.explain(7, row=2):
    print("step 7, row 2:", seen.domain, seen.identity, f"tokens {seen.first} to {seen.stop}")
print("steps that saw it:", [one.step for one in stream.steps_of(seen.document, until=40)])
