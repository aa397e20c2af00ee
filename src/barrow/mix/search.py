"""A search: a folder of runs of proxies, the law fitted to them, and the mixture it recommends.

search.json            the store, the design, the planned runs
validation.safetensors   windows of the validation text
runs/GROUP/            proxies that are trained together: results.json, params.safetensors
runs.csv               all runs, as `barrow mix fit` reads them
mixture.json           the recommendation
confirmation/          the pairs of runs that test it

Whatever is complete is not done again: an interrupted search resumes, and other targets or bounds
cost seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from barrow import config
from barrow.checkpoint.leaves import leaves
from barrow.errors import ConfigError
from barrow.files import make_folder, remove_tree, write_bytes
from barrow.interrupt import check_interrupt
from barrow.mix.law import Law, fit
from barrow.mix.mixture_file import write_mixture
from barrow.mix.plan import (
    Design,
    Plan,
    PlannedRun,
    Question,
    check_design,
    check_number,
    check_target,
    domain_sizes,
    drawn_runs,
    read_plan,
    size_label,
    usable,
    weights_row,
)
from barrow.mix.proxies import proxy_config, proxy_run, together
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

Say = Callable[[str], None]


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
        check_design(design, sizes, question)
        before = read_plan(self.folder) if (self.folder / "search.json").exists() else None
        if before is not None:
            self._refuse_other(before, design, validation)
        planned = list(before.runs) if before else []
        left_out = dict(before.left_out) if before else {}
        store, tokenizer = self.store.identity, self.store.tokenizer_hash
        plan = Plan(store, tokenizer, sizes, validation.card, design, tuple(planned), left_out)
        make_folder(self.folder)
        if before is None:
            validation.write(self.folder / "validation.safetensors")
            for other in reuse:
                taken, refused = self._take_over(other, plan, validation)
                planned += taken
                left_out |= refused
        planned += drawn_runs(plan, planned, lambda n: together(self._proxy(design, n), n))
        check_number(len(planned), len(sizes))
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
            check_interrupt()
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
            write_safetensors(folder / _PARAMS, stored, beside={})
            about = {
                "steps": alone.steps,
                "tokens": alone.steps * alone.batches[0] * alone.seq_len * len(runs),
                "seconds": time.perf_counter() - began,
                "device": f"{len(jax.devices())} × {jax.devices()[0].device_kind}",
            }
            found = _write_results(folder, runs, bits, trained.diverged, validation, about)
            remove_tree(folder / "checkpoints")
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
            write_safetensors(folder / _PARAMS, stored, beside={})
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
        check_target(question.target, self.validation.domains)
        now = plan.by_size() if current is None else weights_row(current, plan.domains)
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
        uniform = np.full(len(plan.domains), 1 / len(plan.domains))
        write_mixture(
            self.folder,
            law,
            given,
            others={"current": now, "by size": plan.by_size(), "uniform": uniform},
            counts=objective_weights(law, question.target),
            about={"question": question, "store": plan.store},
        )
        return law, given


def read_groups(folder: Path, plan: Plan) -> dict[str, dict[str, Any]]:
    """The results of the groups that are done."""
    names = dict.fromkeys(run.group for run in plan.runs)
    files = {name: folder / "runs" / name / "results.json" for name in names}
    return {n: config.parse_json(f.read_bytes(), f) for n, f in files.items() if f.exists()}


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
