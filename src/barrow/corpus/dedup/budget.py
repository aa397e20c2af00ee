"""The limit of deduplication: no domain loses more of its documents than its budget."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

import barrow.archive
from barrow.archive.document import name_of
from barrow.corpus.build.facts import load_facts
from barrow.corpus.build.parts import Examined
from barrow.corpus.dedup.numbering import Removals, removal_cause
from barrow.corpus.dedup.settings import Deduplication
from barrow.engine import File, Output, Outputs, Stage, Stages
from barrow.errors import BudgetExceeded
from barrow.files import write_part

_NUM_SAMPLES = 3
_SAMPLE_CHARACTERS = 300


@dataclass(frozen=True)
class Inputs:
    """Facts of parts, and what deduplication removed."""

    facts: tuple[File, ...]
    removals: Removals


class Losses(Outputs):
    """By domain: documents before, how many of them were removed, and numbers of a few."""

    losses = Output("losses.json")


def count_losses(sizes: tuple[int, ...], inputs: Inputs, out: Losses) -> None:
    """Count the documents that deduplication removed."""
    numbers = np.concatenate([arrays["removed"] for _, arrays in inputs.removals])
    before: dict[str, int] = {}
    gone: dict[str, int] = {}
    samples: dict[str, list[int]] = {}
    for file, offset in zip(inputs.facts, accumulate(sizes, initial=0), strict=False):
        facts = load_facts(file)
        mine = numbers[(numbers >= offset) & (numbers < offset + len(facts))] - offset
        for k, name in enumerate(facts.domains):
            before[name] = before.get(name, 0) + int((facts.kept & (facts.domain == k)).sum())
            theirs = mine[facts.domain[mine] == k]
            gone[name] = gone.get(name, 0) + len(theirs)
            samples.setdefault(name, []).extend((np.sort(theirs) + offset).tolist()[:_NUM_SAMPLES])
    found = {name: (before[name], gone[name], samples[name][:_NUM_SAMPLES]) for name in before}
    write_part(out.losses.path, json.dumps(found).encode())


LOSSES = Stage("corpus.losses", 1, count_losses, Losses)


def check_budget(
    own: Sequence[Examined], removals: Removals, settings: Deduplication, stages: Stages
) -> None:
    """Raise `BudgetExceeded`, with samples, if a domain would lose too many documents."""
    inputs = Inputs(tuple(examined.files.facts for examined in own), removals)
    (counted,) = stages.run("Clusters", [LOSSES.task("losses", tuple(map(len, own)), inputs)])
    losses = json.loads(counted.losses.path.read_text())
    for name, (total, gone, samples) in losses.items():
        budget = settings.budgets.get(name, settings.budget)
        if budget is not None and total and gone > budget * total:
            stages.restore(examined.files.documents for examined in own)
            shown = [_sample(number, own, removals) for number in samples]
            raise BudgetExceeded(
                f"deduplication would remove {gone:,} of {total:,} documents of {name} "
                f"({gone / total:.0%}), more than its budget of {budget:.0%}. For instance:\n"
                + "\n".join(shown)
                + "\nIf they are copies, raise deduplication.budget or budgets; if not, raise "
                "deduplication.similarity"
                + (", or leave deduplication.url unset." if settings.url is not None else ".")
            )


def _sample(number: int, own: Sequence[Examined], removals: Removals) -> str:
    offsets = list(accumulate(map(len, own), initial=0))
    k = int(np.searchsorted(offsets, number, side="right")) - 1
    part = own[k].part
    document = barrow.archive.open(part.file, threads=1)[part.start + number - offsets[k]]
    for reason, arrays in removals:
        at = np.flatnonzero(arrays["removed"] == number)
        if len(at):
            kept = name_of(arrays["of_identity"][at[0]])
            why = removal_cause(reason, float(arrays["similarity"][at[0]]), kept)
            text = " ".join(document.text[:_SAMPLE_CHARACTERS].split())
            return f"  {document.meta['id']} is {why}: {text}"
    raise AssertionError("a sample is of what was removed")
