"""A search: a folder of runs of proxies, the law fitted to them, and the mixture it recommends.

search.json            the store, the design, the planned runs
validation.safetensors   windows of the validation text
runs/GROUP/            proxies that are trained together: results.json, params.safetensors
runs.csv               all runs, as `barrow mix fit` reads them
mixture.json           the recommendation
confirmation/          the pair of runs that tests it

Whatever is complete is not done again: an interrupted search resumes, and other targets or bounds
cost seconds.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from barrow import config
from barrow.checkpoint.leaves import leaves
from barrow.errors import ConfigError, NotFound, nearest
from barrow.files import make_folder, write_bytes
from barrow.mix.design import bounds, propose
from barrow.mix.law import Law, fit, interval, needed_runs
from barrow.mix.mixture_file import FILE
from barrow.mix.proxies import Proxies, proxy_config, proxy_run, together
from barrow.mix.recommend import Recommendation, objective_weights, recommend
from barrow.mix.runs import Array, Runs, read_runs, table_of
from barrow.mix.swarm import Swarm, train_swarm
from barrow.mix.validation import Validation
from barrow.nn.tree import from_paths
from barrow.train.run import Run
from barrow.weights.safetensors_read import open_safetensors
from barrow.weights.safetensors_write import write_safetensors

if TYPE_CHECKING:
    from barrow.models.family import CausalModule
    from barrow.stream.store import Store

_PARAMS = "params.safetensors"
_CHANGED = 0.1  # a domain whose tokens change by a larger share is another domain
_ROWS = 4  # that the smallest proxies must be able to read of a domain

Say = Callable[[str], None]


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
        largest = max(proxies.params for proxies in self.design.proxies)
        target = self.design.budget or sum(self.domains.values())
        return max(target, largest * self.design.tokens_per_param)

    def bounds(self, question: Question | None = None) -> tuple[Array, Array]:
        """The lowest and highest weight of every domain."""
        asked = Question() if question is None else question
        return bounds(
            list(self.domains),
            floors=asked.floors,
            ceilings=asked.ceilings,
            tokens=self.domains,
            budget=self.budget,
            max_epochs=self.design.max_epochs,
        )

    def by_size(self) -> Array:
        """Weights in proportion to the tokens of domains."""
        sizes = np.array(list(self.domains.values()), np.float64)
        return np.asarray(sizes / sizes.sum())


class Search:
    """A search in a folder, on a store."""

    def __init__(self, folder: Path, store: Store, *, say: Say = lambda _: None) -> None:
        self.folder, self.store, self.say = folder, store, say

    @cached_property
    def plan(self) -> Plan:
        """What was planned."""
        return read_plan(self.folder)

    @cached_property
    def validation(self) -> Validation:
        """The validation text."""
        return Validation.read(self.folder / "validation.safetensors")

    # The runs ------------------------------------------------------------------------------------

    def prepare(
        self,
        design: Design,
        validation: Validation,
        *,
        question: Question | None = None,
        reuse: Sequence[Path] = (),
    ) -> None:
        """Plan the runs that the folder does not have yet; others of the same design stay.

        A question whose bounds cannot be met is refused before anything is trained.
        """
        sizes = domain_sizes(self.store)
        check_design(design, sizes)
        before = read_plan(self.folder) if (self.folder / "search.json").exists() else None
        if before is not None:
            self._refuse_other(before, design, validation)
        planned = list(before.runs) if before else []
        left_out = dict(before.left_out) if before else {}
        plan = Plan(
            self.store.identity,
            self.store.tokenizer_hash,
            sizes,
            validation.card,
            design,
            tuple(planned),
            left_out,
        )
        plan.bounds(question)
        make_folder(self.folder)
        if before is None:
            validation.write(self.folder / "validation.safetensors")
            for other in reuse:
                taken, refused = self._take_over(other, plan, validation)
                planned += taken
                left_out |= refused
        _, ceilings = plan.bounds()
        prior = plan.by_size() if design.prior is None else _prior(design.prior, sizes)
        for proxies in design.proxies:
            same = [run for run in planned if run.params == proxies.params]
            missing = proxies.number - len(same)
            if missing <= 0:
                continue
            seed = [design.seed, proxies.params, len(same)]
            drawn = propose(
                prior,
                missing,
                ceilings=ceilings,
                seed=int(np.random.SeedSequence(seed).generate_state(1)[0]),
            )
            label = size_label(proxies.params)
            group = together(self._proxy(design, proxies.params), proxies.params)
            for k, row in enumerate(drawn):
                number = len(same) + k
                weights = {n: float(w) for n, w in zip(sizes, row, strict=True) if w}
                place = f"{label}-{len(same):03}-{k // group:02}"
                planned.append(PlannedRun(f"{label}-{number:03}", proxies.params, place, weights))
        needed = needed_runs(len(sizes))
        if len(planned) < needed:
            raise ConfigError(
                f"a law of {len(sizes)} domains needs {needed} runs, got {len(planned)}: "
                "ask for more --proxies"
            )
        plan = replace(plan, runs=tuple(planned), left_out=left_out)
        write_bytes(self.folder / "search.json", config.to_json(plan).encode())
        self.__dict__.pop("plan", None)

    def train(self) -> None:
        """Train and score the groups that have no results yet."""
        groups: dict[str, list[PlannedRun]] = {}
        for run in self.plan.runs:
            groups.setdefault(run.group, []).append(run)
        for number, (name, runs) in enumerate(groups.items(), start=1):
            folder = self.folder / "runs" / name
            if (folder / "results.json").exists():
                continue
            alone = self.proxy(runs[0].params)
            what = f"{len(runs)} proxies of {size_label(runs[0].params)}"
            self.say(f"group {number} of {len(groups)}: {what}, {alone.steps:,} steps")
            make_folder(folder)
            began = time.perf_counter()
            swarm = Swarm(alone, [one.weights for one in runs], store=self.store)
            trained = train_swarm(swarm, folder / "checkpoints")
            validation = self.validation
            nats = validation.nats(self._model(runs[0].params, validation), trained.params)
            bits = validation.bits_per_byte(nats)[: len(runs)]
            stored = {p: np.asarray(x)[: len(runs)] for p, x in leaves(trained.params).items()}
            write_safetensors(folder / _PARAMS, stored)
            about = {
                "steps": alone.steps,
                "tokens": alone.steps * alone.batches[0] * alone.seq_len * len(runs),
                "seconds": time.perf_counter() - began,
                "device": f"{len(jax.devices())} × {jax.devices()[0].device_kind}",
            }
            found = _write_results(folder, runs, bits, trained.diverged, validation, about)
            shutil.rmtree(folder / "checkpoints", ignore_errors=True)
            for one, result in found.items():
                if result["diverged"]:
                    self.say(f"{one} diverged and is left out: {result['diverged']}")

    def proxy(self, params: int, *, seed: int | None = None) -> Run:
        """The run that trains a model of a size on this store."""
        design = self.plan.design
        return self._proxy(design if seed is None else replace(design, seed=seed), params)

    def _proxy(self, design: Design, params: int) -> Run:
        made = proxy_config(params, vocab_size=self.store.vocab_size, context=design.seq_len)
        tokens = design.tokens_per_param * params
        return proxy_run(made, tokens, store=str(self.store.folder), seed=design.seed)

    def results(self) -> dict[str, dict[str, Any]]:
        """Of every run that is done: losses by domain, or why it diverged."""
        groups = read_groups(self.folder, self.plan).values()
        return {name: one for group in groups for name, one in group["runs"].items()}

    def runs(self) -> Runs:
        """All runs that did not diverge; they are written to runs.csv, too."""
        results = self.results()
        good = [run for run in self.plan.runs if results.get(run.name, {}).get("losses")]
        if not good:
            raise ConfigError(f"{self.folder}: no run is done yet: run barrow mix search again")
        scored = list(results[good[0].name]["losses"])
        columns: dict[str, list[object]] = {
            "run": [run.name for run in good],
            "params": [run.params for run in good],
        }
        for name in self.plan.domains:
            columns[f"weight:{name}"] = [float(run.weights.get(name, 0)) for run in good]
        for name in scored:
            columns[f"loss:{name}"] = [float(results[run.name]["losses"][name]) for run in good]
        file = self.folder / "runs.csv"
        write_bytes(file, table_of(columns).encode())
        return read_runs([file])

    # Other searches ------------------------------------------------------------------------------

    def _refuse_other(self, before: Plan, design: Design, validation: Validation) -> None:
        if before.store != self.store.identity:
            raise ConfigError(
                f"{self.folder} is a search on another store ({before.store[:16]}, this is "
                f"{self.store.identity[:16]}): pass another --out, and --reuse {self.folder}"
            )
        if before.card != validation.card:
            raise ConfigError(
                f"{self.folder} has runs scored on other validation text: pass another --out, and "
                f"--reuse {self.folder}"
            )
        for name in ("tokens_per_param", "seq_len", "seed", "prior"):
            if getattr(before.design, name) != getattr(design, name):
                raise ConfigError(
                    f"{self.folder} has runs with {name}={getattr(before.design, name)}, got "
                    f"{getattr(design, name)}: pass the same, or another --out"
                )

    def _take_over(
        self, other: Path, plan: Plan, validation: Validation
    ) -> tuple[list[PlannedRun], dict[str, str]]:
        """Runs of another search that are valid on this store, scored again if need be."""
        old = Search(other, self.store)
        verdicts = {run.name: usable(old.plan, run, plan) for run in old.plan.runs}
        results = old.results()
        taken: list[PlannedRun] = []
        refused = {f"{other}/{n}": why for n, (is_good, why) in verdicts.items() if not is_good}
        for group in dict.fromkeys(run.group for run in old.plan.runs):
            runs = [run for run in old.plan.runs if run.group == group]
            good = [
                place
                for place, run in enumerate(runs)
                if verdicts[run.name][0] and results.get(run.name, {}).get("losses")
            ]
            if not good:
                continue
            name = f"reused-{len(taken):03}-{group}"
            mine = [
                replace(
                    runs[place],
                    name=f"{name}/{runs[place].name}",
                    group=name,
                    reused=verdicts[runs[place].name][1],
                )
                for place in good
            ]
            tensors = open_safetensors(other / "runs" / group / _PARAMS)
            stored = {path: np.asarray(tensors[path])[good] for path in tensors}
            if old.plan.card == plan.card:
                rows = [list(results[runs[place].name]["losses"].values()) for place in good]
                bits = np.array(rows)
            else:
                model = self._model(mine[0].params, validation)
                bits = validation.bits_per_byte(validation.nats(model, from_paths(stored)))
            folder = self.folder / "runs" / name
            make_folder(folder)
            write_safetensors(folder / _PARAMS, stored)
            about = {"steps": 0, "tokens": 0, "seconds": 0.0}
            _write_results(folder, mine, bits, [None] * len(mine), validation, about)
            taken += mine
        again = "" if old.plan.card == plan.card else ", scored again on the new validation text"
        self.say(f"{other}: {len(taken)} runs are reused{again}; {len(refused)} are not valid")
        return taken, refused

    def _model(self, params: int, validation: Validation) -> CausalModule:
        made = proxy_config(params, vocab_size=self.store.vocab_size, context=validation.context)
        return made.module(unroll=True)

    # The answer ----------------------------------------------------------------------------------

    def answer(
        self, question: Question, *, current: Mapping[str, float] | None = None
    ) -> tuple[Law, Recommendation]:
        """Fit the law to all runs, and write the mixture that it recommends."""
        plan = self.plan
        domains = list(plan.domains)
        check_target(question.target, self.validation.domains)
        now = plan.by_size() if current is None else _prior(current, plan.domains)
        floors, ceilings = plan.bounds(question)
        law = fit(self.runs(), seed=plan.design.seed)
        given = recommend(
            law,
            now,
            floors=floors,
            ceilings=ceilings,
            target=question.target,
            max_loss=question.max_loss,
        )
        transfer = law.transfer()
        low, high = interval(transfer)
        uniform = np.full(len(domains), 1 / len(domains))
        others = {"current": now, "by size": plan.by_size(), "uniform": uniform}
        counts = objective_weights(law, question.target)
        made = {
            "format": "barrow-mixture-1",
            # Rounded: the last digits of a minimum differ from one computation to the next.
            "weights": dict(zip(domains, given.weights.round(6).tolist(), strict=True)),
            "low": dict(zip(domains, given.low.tolist(), strict=True)),
            "high": dict(zip(domains, given.high.tolist(), strict=True)),
            "is_supported": given.is_supported,
            "current": dict(zip(domains, now.tolist(), strict=True)),
            "question": question,
            "counts": dict(zip(law.scored, counts.tolist(), strict=True)),
            "params": law.params,
            "expected": {
                name: _expected(law, given.weights, row, counts) for name, row in others.items()
            },
            "best": list(given.objective),
            "transfer": {
                scored: {
                    name: [float(some[place, column]) for some in (transfer[0], low, high)]
                    for column, name in enumerate(law.domains)
                }
                for place, scored in enumerate(law.scored)
            },
            "store": plan.store,
        }
        write_bytes(self.folder / FILE, config.to_json(made).encode())
        return law, given


def read_plan(folder: Path) -> Plan:
    """The search.json of a folder."""
    file = folder / "search.json"
    if not file.is_file():
        raise NotFound(f"{folder} is not a search: it has no search.json")
    return config.from_json(Plan, file.read_text(encoding="utf-8"), where=file)


def read_groups(folder: Path, plan: Plan) -> dict[str, dict[str, Any]]:
    """The results of the groups that are done."""
    names = dict.fromkeys(run.group for run in plan.runs)
    files = {name: folder / "runs" / name / "results.json" for name in names}
    return {n: config.parse_json(f.read_bytes(), f) for n, f in files.items() if f.exists()}


def check_design(design: Design, sizes: Mapping[str, int]) -> None:
    """Raise unless every domain can be read by every proxy."""
    if len(sizes) < 2:
        raise ConfigError(f"a mixture needs ≥ 2 domains, got {len(sizes)}: {', '.join(sizes)}")
    for name, size in sizes.items():
        if design.max_epochs * size < _ROWS * design.seq_len:
            raise ConfigError(
                f"{name} has {size:,} tokens, too few for any proxy: {design.max_epochs:g} times "
                f"that is less than {_ROWS} rows of {design.seq_len}; leave it out of the store, "
                "or pass a smaller --seq-len"
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


def _expected(law: Law, weights: Array, other: Array, counts: Array) -> dict[str, Any]:
    """Changes from one mixture to another, with intervals: of the objective, and by domain."""
    losses = law.predict(np.stack([weights, other]))
    change = losses[:, 0] - losses[:, 1]
    columns = np.concatenate([(change @ counts)[:, None], change], axis=1)
    low, high = interval(columns)
    rows = np.stack([columns[0], low, high], axis=1).tolist()
    return {"objective": rows[0], "domains": dict(zip(law.scored, rows[1:], strict=True))}


def _write_results(
    folder: Path,
    runs: Sequence[PlannedRun],
    bits: Array,
    diverged: Sequence[str | None],
    validation: Validation,
    about: Mapping[str, Any],
) -> dict[str, dict[str, Any]]:
    """The results of a group: bits per byte by run and domain, and what it took."""
    found = {}
    for run, row, why in zip(runs, bits, diverged, strict=True):
        if why is None and not np.isfinite(row).all():
            why = "a validation loss is not finite"
        losses = dict(zip(validation.domains, row.tolist(), strict=True))
        found[run.name] = {"losses": None if why else losses, "diverged": why}
    made = {"card": validation.card, "runs": found, **about}
    write_bytes(folder / "results.json", config.to_json(made).encode())
    return found


def domain_sizes(store: Store) -> dict[str, int]:
    """Tokens of the domains that have any."""
    sizes = {name: store.domain_tokens(d) for d, name in enumerate(store.domains)}
    return {name: size for name, size in sizes.items() if size}


def _prior(weights: Mapping[str, float], domains: Iterable[str]) -> Array:
    names = list(domains)
    for name in weights:
        if name not in names:
            raise ConfigError(f"the mixture names {name!r}; {nearest(name, names)}")
    row = np.array([weights.get(name, 0.0) for name in names])
    return np.asarray(row / row.sum())
