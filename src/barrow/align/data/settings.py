"""Settings of the data of alignment runs; each opens itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from barrow.align.data.batches import AlignData, Order, PackedRows, PairedRows, fingerprint
from barrow.align.data.records import Bad, OnBad, answered, labelled, pair, read
from barrow.align.data.rows import EARLIER, Begin, Words, answer_rows, pair_rows


@dataclass(frozen=True)
class Chats:
    """Chats, or prompts with completions: {"messages": […]} or {"prompt": …, "completion": …}.

    - `path`: a .jsonl or .parquet file, or an archive; `validation`: another; "" for none.
    - `length`: tokens of a row; longer chats are cut; `batch`: rows of a step.
    - `packed`: several chats share a row, masked from each other.
    - `template`: a Jinja file, where the model has no chat template; `tokenizer`: as `template`.
    - `on_bad`: raise stops at a bad record; count leaves it out.
    - `seed`: of the order.
    - `begin`: plain prompts begin as the tokenizer says, or always with its begin token.
    """

    path: str
    validation: str = ""
    length: int = 1024
    batch: int = 16
    packed: bool = True
    template: str = ""
    tokenizer: str = ""
    on_bad: OnBad = "raise"
    seed: int = 0
    begin: Begin = "tokenizer"

    # Rows are padded to a multiple of devices and micro-batches.
    earlier = EARLIER
    batches = ()
    task = "barrow.align.tasks.static:StaticTask"

    def __post_init__(self) -> None:
        check(self)

    def open(self, words: Words, bad: Bad, *, path: str, loss: str, parts: int) -> AlignData:
        """The batches of a file."""
        del loss
        found = answer_rows(words, read(path, answered, bad), bad, length=self.length)
        rows = [row for row, _ in found]
        packed = PackedRows(rows, self.length, self.packed)
        return AlignData(
            Order(len(packed.places), self.batch, self.seed),
            packed,
            packed.places,
            fingerprint(rows, self.length, self.packed),
            words.about(),
            parts,
        )


@dataclass(frozen=True)
class Pairs:
    """Pairs of answers: {"prompt": …, "chosen": …, "rejected": …}.

    For kto also single ones: {"prompt": …, "completion": …, "label": true or false}.

    - `path`: a .jsonl or .parquet file, or an archive; `validation`: another; "" for none.
    - `length`: tokens of a row; longer texts are cut; `batch`: pairs of a step.
    - `template`: a Jinja file, where the model has no chat template; `tokenizer`: as `template`.
    - `on_bad`: raise stops at a bad record; count leaves it out.
    - `seed`: of the order.
    - `begin`: plain prompts begin as the tokenizer says, or always with its begin token.
    """

    path: str
    validation: str = ""
    length: int = 1024
    batch: int = 8
    template: str = ""
    tokenizer: str = ""
    on_bad: OnBad = "raise"
    seed: int = 0
    begin: Begin = "tokenizer"

    earlier = EARLIER
    batches = ()
    task = "barrow.align.tasks.static:StaticTask"

    def __post_init__(self) -> None:
        check(self)

    def open(self, words: Words, bad: Bad, *, path: str, loss: str, parts: int) -> AlignData:
        """The batches of a file; for kto, of single answers."""
        good = None
        if loss == "kto":
            if self.batch < 2:
                raise ValueError("kto needs data.batch ≥ 2: answers are compared within a batch")
            records = [one for some in read(path, labelled, bad) for one in some]
            kept = answer_rows(words, records, bad, length=self.length)
            rows = [(row, row) for row, _ in kept]
            good = [bool(record.is_good) for _, record in kept]
        else:
            rows = pair_rows(words, read(path, pair, bad), bad, length=self.length)
        return AlignData(
            Order(len(rows), self.batch, self.seed),
            PairedRows(rows, self.length, good),
            [[one.place] for one, _ in rows],
            fingerprint([row for both in rows for row in both], self.length, good),
            words.about(),
            parts,
        )


def check(data: Any) -> None:
    """Raise for settings out of range."""
    for name in ("length", "batch"):
        if getattr(data, name, 1) < 1:
            raise ValueError(f"data.{name} must be ≥ 1, got {getattr(data, name)}")
    if data.begin not in ("tokenizer", "always"):
        raise ValueError(f"data.begin must be tokenizer or always, got {data.begin!r}")
    if data.on_bad not in ("raise", "count"):
        raise ValueError(f"data.on_bad must be raise or count, got {data.on_bad!r}")
