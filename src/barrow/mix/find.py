"""The whole search: propose mixtures, train proxies, fit the law, recommend, confirm."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barrow import config
from barrow.errors import NotFound
from barrow.files import local_path, locked, make_folder
from barrow.mix.confirm import Verdict, confirm, read_verdict
from barrow.mix.mixture_file import FILE
from barrow.mix.plan import (
    Design,
    Plan,
    Question,
    check_design,
    check_number,
    check_target,
    domain_sizes,
    read_plan,
)
from barrow.mix.search import Say, Search, read_groups
from barrow.mix.validation import Validation, validation_texts

if TYPE_CHECKING:
    from barrow.score.scored_corpus import ScoredCorpus


def find(
    store: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    design: Design,
    question: Question | None = None,
    validation: ScoredCorpus,
    current: Mapping[str, float] | None = None,
    confirm_at: int | None = None,
    reuse: Sequence[str | os.PathLike[str]] = (),
    say: Say = lambda _: None,
) -> Found:
    """Search for the best mixture of a store's domains; what `out` has already is not done again.

    `current` are the present weights, by default by size. `confirm_at` is the size of the models of
    the confirmation; None leaves it out. Runs of other searches in `reuse` are taken over where
    they are valid.
    """
    from barrow.tokens import load, open_store

    opened, folder, asked = open_store(store), local_path(out), question or Question()
    sizes = domain_sizes(opened)
    check_design(design, sizes, asked)
    if not reuse and not folder.exists():
        check_number(sum(proxies.number for proxies in design.proxies), len(sizes))
    texts = validation_texts(validation, most_bytes=design.validation_bytes)
    check_target(asked.target, sorted({text.domain for text in texts}))
    tokenizer = load(opened.tokenizer_folder)
    make_folder(folder)
    with locked(folder, others="searching there"):
        search = Search(folder, opened, say=say)
        windows = Validation.of(texts, tokenizer, context=design.seq_len)
        search.prepare(design, windows, question=asked, reuse=[Path(one) for one in reuse])
        search.train()
        _, given = search.answer(asked, current=current)
        found = read_found(folder)
        if confirm_at is not None and given.is_supported:
            confirm(
                search,
                texts,
                params=confirm_at,
                weights=found.mixture["weights"],
                current=found.mixture["current"],
                counts=found.mixture["counts"],
                seconds=found.seconds,
            )
    return read_found(folder)


@dataclass(frozen=True)
class Found:
    """What a search found: its plan, the results of its runs and groups, mixture.json, and the
    verdict on that mixture, or None.
    """

    plan: Plan
    runs: dict[str, dict[str, Any]]
    groups: dict[str, dict[str, Any]]
    mixture: dict[str, Any]
    verdict: Verdict | None

    def objective(self, losses: Mapping[str, float]) -> float:
        """The weighted mean of the domains' bits per byte."""
        counts: Mapping[str, float] = self.mixture["counts"]
        return sum(counts[name] * losses[name] for name in counts)

    @property
    def seconds(self) -> float:
        """That the runs took."""
        return sum(float(group["seconds"]) for group in self.groups.values())

    @property
    def tokens(self) -> int:
        """That the runs were trained on."""
        return sum(int(group["tokens"]) for group in self.groups.values())


def read_found(folder: str | os.PathLike[str]) -> Found:
    """What the search in a folder found."""
    place = Path(folder)
    plan = read_plan(place)
    file = place / FILE
    if not file.exists():
        raise NotFound(f"{place} has no recommendation yet: run barrow mix search again")
    mixture = config.parse_json(file.read_bytes(), file)
    groups = read_groups(place, plan)
    runs = {name: one for group in groups.values() for name, one in group["runs"].items()}
    verdict = read_verdict(place)
    if verdict is not None and verdict.weights != mixture["weights"]:
        verdict = None  # of an earlier recommendation
    return Found(plan, runs, groups, mixture, verdict)
