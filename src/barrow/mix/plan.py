"""The plan of a search: its design, the runs to be made, and what may be asked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from barrow import config
from barrow.errors import ConfigError, NotFound, nearest
from barrow.files import inside
from barrow.mix.design import bounds, propose
from barrow.mix.law import needed_runs
from barrow.mix.proxies import Proxies
from barrow.mix.runs import Array

if TYPE_CHECKING:
    from barrow.stream.store import Store

_CHANGED = 0.1  # a domain whose tokens change by a larger share is another domain
_ROWS = 4  # that the smallest proxies must be able to read of a domain


@dataclass(frozen=True)
class Design:
    """What determines the runs of a search.

    - `proxies`: how many of which size; `tokens_per_param`: that each is trained on.
    - `max_epochs`: a mixture may read no domain more often, in `budget` tokens; 0 is as many tokens
      as the store has. Proxies that read more than the budget count instead.
    - `prior`: weights that the mixtures are spread around; None is by size.
    - `seq_len`: tokens of a row; `seed`: of mixtures, models and batches.
    - `validation_bytes`: of each domain that are scored.
    """

    proxies: tuple[Proxies, ...]
    tokens_per_param: float = 20.0
    max_epochs: float = 4.0
    budget: int = 0
    prior: dict[str, float] | None = None
    seq_len: int = 256
    seed: int = 0
    validation_bytes: int = 1_000_000

    def __post_init__(self) -> None:
        for name in ("tokens_per_param", "max_epochs", "seq_len", "validation_bytes"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} must be > 0, got {getattr(self, name)}")
        if not self.proxies:
            raise ConfigError("a search needs proxies, as 68x2M,8x30M")

    def budget_of(self, sizes: Mapping[str, int]) -> float:
        """Tokens at which repetitions count, of a store's domains."""
        largest = max(proxies.params for proxies in self.proxies)
        return max(self.budget or sum(sizes.values()), largest * self.tokens_per_param)


@dataclass(frozen=True)
class Question:
    """What is asked of the runs: `target` (how much each domain counts; None is all the same),
    bounds of weights, and how much a domain may lose (None is no limit).
    """

    target: dict[str, float] | None = None
    floors: dict[str, float] = field(default_factory=dict)
    ceilings: dict[str, float] = field(default_factory=dict)
    max_loss: float | None = None


@dataclass(frozen=True)
class PlannedRun:
    """A proxy, the group it is trained with, its weights, and why it was taken over, if it was."""

    name: str
    params: int
    group: str
    weights: dict[str, float]
    reused: str = ""


@dataclass(frozen=True)
class Plan:
    """search.json. `domains` have the tokens of the store; `card` is the validation text's."""

    store: str
    tokenizer: str
    domains: dict[str, int]
    card: str
    design: Design
    runs: tuple[PlannedRun, ...]
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def budget(self) -> float:
        """Tokens at which repetitions count."""
        return self.design.budget_of(self.domains)

    def bounds(self, question: Question | None = None) -> tuple[Array, Array]:
        """The lowest and highest weight of every domain."""
        return limits(self.design, self.domains, question)

    def by_size(self) -> Array:
        """Weights in proportion to the tokens of domains."""
        sizes = np.array(list(self.domains.values()), np.float64)
        return np.asarray(sizes / sizes.sum())


def drawn_runs(
    plan: Plan, have: Sequence[PlannedRun], group_of: Callable[[int], int]
) -> list[PlannedRun]:
    """The runs of the design that are missing, in groups of `group_of(params)`."""
    design, sizes = plan.design, plan.domains
    _, ceilings = plan.bounds()
    prior = plan.by_size() if design.prior is None else weights_row(design.prior, sizes)
    made = []
    for proxies in design.proxies:
        first = sum(run.params == proxies.params for run in have)
        if first >= proxies.number:
            continue
        seed = np.random.SeedSequence([design.seed, proxies.params, first]).generate_state(1)[0]
        drawn = propose(prior, proxies.number - first, ceilings=ceilings, seed=int(seed))
        label, group = size_label(proxies.params), group_of(proxies.params)
        for k, row in enumerate(drawn):
            weights = {n: float(w) for n, w in zip(sizes, row, strict=True) if w}
            place = f"{label}-{first:03}-{k // group:02}"
            made.append(PlannedRun(f"{label}-{first + k:03}", proxies.params, place, weights))
    return made


def read_plan(folder: Path) -> Plan:
    """The search.json of a folder."""
    file = folder / "search.json"
    if not file.is_file():
        raise NotFound(f"{folder} is not a search: it has no search.json")
    plan = config.from_json(Plan, file.read_text(encoding="utf-8"), where=file)
    for run in plan.runs:
        inside(folder, f"runs/{run.group}")
    return plan


def limits(
    design: Design, sizes: Mapping[str, int], question: Question | None = None
) -> tuple[Array, Array]:
    """The lowest and highest weight of every domain; raises where they cannot be met."""
    asked = Question() if question is None else question
    return bounds(
        list(sizes),
        floors=asked.floors,
        ceilings=asked.ceilings,
        tokens=sizes,
        budget=design.budget_of(sizes),
        max_epochs=design.max_epochs,
    )


def check_design(
    design: Design, sizes: Mapping[str, int], question: Question | None = None
) -> None:
    """Raise unless every proxy can read every domain, within the bounds of a question."""
    if len(sizes) < 2:
        raise ConfigError(f"a mixture needs ≥ 2 domains, got {len(sizes)}: {', '.join(sizes)}")
    for name, size in sizes.items():
        if design.max_epochs * size < _ROWS * design.seq_len:
            raise ConfigError(
                f"{name} has {size:,} tokens, too few for any proxy: {design.max_epochs:g} times "
                f"that is less than {_ROWS} rows of {design.seq_len}; leave it out of the store, "
                "or pass a smaller --seq-len"
            )
    limits(design, sizes, question)


def check_number(runs: int, domains: int) -> None:
    """Raise unless a law of so many domains can be fitted to so many runs."""
    needed = needed_runs(domains)
    if runs < needed:
        raise ConfigError(
            f"a law of {domains} domains needs {needed} runs, got {runs}: ask for more --proxies"
        )


def check_target(target: Mapping[str, float] | None, scored: Sequence[str]) -> None:
    """Raise if a target domain has no validation text."""
    for name in target or ():
        if name not in scored:
            raise ConfigError(f"target {name!r} has no validation text; {nearest(name, scored)}")


def usable(before: Plan, run: PlannedRun, now: Plan) -> tuple[bool, str]:
    """Whether a run of one plan is valid in another, and why."""
    if before.tokenizer != now.tokenizer:
        return False, "the tokenizer differs"
    for name in ("tokens_per_param", "seq_len"):
        old, new = getattr(before.design, name), getattr(now.design, name)
        if old != new:
            return False, f"{name} was {old:g}, not {new:g}"
    changed = []
    for name in run.weights:
        if name not in now.domains:
            return False, f"it read {name}, which the store does not have"
        share = now.domains[name] / before.domains[name] - 1
        if abs(share) > _CHANGED:
            return False, f"it read {name}, whose tokens changed by {share:+.0%}"
        changed += [f"{name} {share:+.1%}"] if share else []
    fresh = [name for name in now.domains if name not in before.domains]
    reasons = [f"domains changed little: {', '.join(changed)}"] if changed else []
    reasons += [f"without {', '.join(fresh)}, which is new"] if fresh else []
    return True, "; ".join(reasons) or "its domains are the same"


def size_label(params: int) -> str:
    """As it is written in --proxies: 2M."""
    for unit, letter in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if params >= unit:
            return f"{params / unit:g}{letter}"
    return str(params)


def domain_sizes(store: Store) -> dict[str, int]:
    """Tokens of the domains that have any."""
    sizes = {name: store.domain_tokens(d) for d, name in enumerate(store.domains)}
    return {name: size for name, size in sizes.items() if size}


def weights_row(weights: Mapping[str, float], domains: Iterable[str]) -> Array:
    names = list(domains)
    for name in weights:
        if name not in names:
            raise ConfigError(f"the mixture names {name!r}; {nearest(name, names)}")
    row = np.array([weights.get(name, 0.0) for name in names])
    return np.asarray(row / row.sum())
