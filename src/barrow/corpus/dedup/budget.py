"""The limit of deduplication: no domain loses more of its documents than its budget."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

import barrow.archive
from barrow.archive.document import name_of
from barrow.corpus.build.facts import load_facts
from barrow.corpus.build.parts import Examined
from barrow.corpus.dedup.numbering import Arrays, Removals, removal_cause
from barrow.corpus.dedup.settings import Deduplication
from barrow.errors import BudgetExceeded

_NUM_SAMPLES = 3
_SAMPLE_CHARACTERS = 300


def check_budget(own: Sequence[Examined], removals: Removals, settings: Deduplication) -> None:
    """Raise `BudgetExceeded`, with samples, if a domain would lose too many documents."""
    removed = list(removals)
    numbers = np.concatenate([arrays["removed"] for _, arrays in removed])
    before: dict[str, int] = {}
    gone: dict[str, int] = {}
    samples: dict[str, list[int]] = {}
    offsets = list(accumulate(map(len, own), initial=0))
    for examined, offset in zip(own, offsets, strict=False):
        facts = load_facts(examined.files.facts)
        mine = numbers[(numbers >= offset) & (numbers < offset + len(facts))] - offset
        for k, name in enumerate(facts.domains):
            before[name] = before.get(name, 0) + int((facts.kept & (facts.domain == k)).sum())
            theirs = mine[facts.domain[mine] == k]
            gone[name] = gone.get(name, 0) + len(theirs)
            samples.setdefault(name, []).extend((np.sort(theirs) + offset).tolist()[:_NUM_SAMPLES])
    for name, total in before.items():
        budget = settings.budgets.get(name, settings.budget)
        if budget is not None and total and gone[name] > budget * total:
            shown = [
                _sample(number, own, offsets, removed) for number in samples[name][:_NUM_SAMPLES]
            ]
            raise BudgetExceeded(
                f"deduplication would remove {gone[name]:,} of {total:,} documents of {name} "
                f"({gone[name] / total:.0%}), more than its budget of {budget:.0%}. For instance:\n"
                + "\n".join(shown)
                + "\nIf they are copies, raise deduplication.budget or budgets; if not, raise "
                "deduplication.similarity"
                + (", or leave deduplication.url unset." if settings.url is not None else ".")
            )


def _sample(
    number: int,
    own: Sequence[Examined],
    offsets: list[int],
    removed: Sequence[tuple[str, Arrays]],
) -> str:
    k = int(np.searchsorted(offsets, number, side="right")) - 1
    part = own[k].part
    document = barrow.archive.open(part.file, threads=1)[part.start + number - offsets[k]]
    for reason, arrays in removed:
        at = np.flatnonzero(arrays["removed"] == number)
        if len(at):
            kept = name_of(arrays["of_identity"][at[0]])
            why = removal_cause(reason, float(arrays["similarity"][at[0]]), kept)
            text = " ".join(document.text[:_SAMPLE_CHARACTERS].split())
            return f"  {document.meta['id']} is {why}: {text}"
    raise AssertionError("a sample is of what was removed")
