"""Pretrain a small encoder, fine-tune it to tell who has the thing, and predict."""

import itertools
import json
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import barrow
from barrow import Document
from barrow.engine import Engine
from barrow.models import RobertaConfig
from barrow.models.convert import convert
from barrow.recipes import roberta
from barrow.stream import StreamSettings
from barrow.stream.labelled.examples import Example
from barrow.stream.rows.masking import Mlm
from barrow.tokens import tokenize, train
from barrow.train import fit, for_store
from barrow.train.finetune.finetune import finetune, finetune_run
from barrow.train.finetune.predict import open_finetuned, predictions
from barrow.train.finetune.settings import (
    FinetuneSettings,
    LabelledRows,
    Labels,
    usual_optimizer,
)

folder = Path(tempfile.mkdtemp())

# The label depends on word order only: a bag of words has both names.
NAMES, THINGS = ["Ann", "Bob", "Cleo", "Dan"], ["stone", "cart", "spade", "rope", "lamp", "map"]
rows = []
for a, b in itertools.permutations(NAMES, 2):
    for thing in THINGS:
        rows.append({"text": f"{a} gave {b} the {thing}", "label": b})
        rows.append({"text": f"{a} took the {thing} from {b}", "label": a})
(folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def make_store():
    """A tokenizer, and a token store of the texts."""
    with barrow.archive.Writer(folder / "corpus") as writer:
        for n, row in enumerate(rows):
            meta = {"pile_set_name": "Things", "id": f"{n:016x}-{n:08x}"}
            writer.add(Document(row["text"], meta))
    specials = ("<|endoftext|>", "<|pad|>", "<|mask|>")
    tokenizer = train([row["text"] for row in rows], vocab_size=300, specials=specials)
    tokenizer.save(folder / "tokenizer")
    engine = Engine("local", 0)
    return tokenize(folder / "corpus", tokenizer=tokenizer, out=folder / "store", engine=engine)


# An encoder that has learned to predict masked words.
store = make_store()
run = replace(
    roberta.tiny(),
    model=RobertaConfig(width=32, layers=2, heads=4, hidden=64, positions=34),
    data=StreamSettings(seq_len=32, batch=16, mlm=Mlm()),
    steps=60,
    log_every=60,
)
fit(for_store(run, store.folder), folder / "masked")
convert(folder / "masked", folder / "masked-hf", to="hf")

# The head is new; a quarter of the rows is for validation; the best epoch's model is kept.
usual = usual_optimizer()
settings = FinetuneSettings(
    LabelledRows(str(folder / "rows.jsonl"), "classify", validation=0.25, epochs=40),
    objective=Labels(patience=10),
    optimizer=replace(usual, schedule=replace(usual.schedule, peak=5e-3)),
)
tuning = finetune_run(settings, str(folder / "masked-hf"))
warnings.filterwarnings("ignore", "init=")  # fit warns that the head is new
done = finetune(tuning, folder / "run")
print(f"best by {done.progress.metric}: {done.progress.best:.3f} of the rows kept apart")

# `barrow model predict` does this for files; transformers opens the same folder.
asked = [Example("here", "Cleo gave Dan the rope"), Example("here", "Cleo took the rope from Dan")]
for one, said in predictions(open_finetuned(done.folder), asked):
    print(f"{one.text}: {said['label']} ({said['score']:.2f})")
