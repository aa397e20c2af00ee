"""Searches whose proxies follow a planted law, so that nothing is trained."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.mix.planted import planted_law

from barrow.mix import search as module
from barrow.mix.law import Law
from barrow.mix.plan import Design
from barrow.mix.proxies import Proxies
from barrow.mix.search import Search
from barrow.mix.swarm import Trained
from barrow.mix.validation import Validation

CARD = "a" * 12


class PlannedStore:
    """A store of which only the sizes are known."""

    def __init__(self, sizes: dict[str, int], *, identity: str = "0" * 64) -> None:
        self.domains, self._sizes = tuple(sizes), list(sizes.values())
        self.identity, self.tokenizer_hash = identity, "1" * 64
        self.vocab_size, self.begin, self.end = 300, 0, None
        self.folder = Path("store")

    def domain_tokens(self, domain: int) -> int:
        return self._sizes[domain]


SIZES = {"a": 5_000_000, "b": 2_000_000, "c": 1_000_000, "d": 500_000}
DESIGN = Design((Proxies(12, 200_000),), seed=1)


def validation(*domains: str, card: str = CARD) -> Validation:
    none = np.zeros(0, np.int64)
    num = len(domains)
    sizes = np.full(num, 1000, np.int64)
    places = np.arange(num)
    return Validation(
        card, domains, 256, places, sizes, np.zeros(num), none.astype(np.int32), none, none, none
    )


class Planted:
    """Patches training and scoring; counts the groups that are trained."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, noise: float = 0.002) -> None:
        self.law: Law = planted_law(6, seed=3)
        self.groups: list[int] = []
        self.diverge: tuple[int, ...] = ()
        self.rng = np.random.default_rng(0)
        self.noise = noise
        monkeypatch.setattr(module, "Swarm", self.swarm)
        monkeypatch.setattr(module, "train_swarm", self.train)
        monkeypatch.setattr(Validation, "nats", self.nats)

    def swarm(self, run: Any, mixtures: list[dict[str, float]], *, store: Any) -> Any:
        del run, store
        names = self.law.domains
        return SimpleNamespace(
            weights=np.array([[mixture.get(name, 0.0) for name in names] for mixture in mixtures])
        )

    def train(self, swarm: Any, folder: Path) -> Trained:
        del folder
        num = len(swarm.weights)
        self.groups.append(num)
        why = tuple("planted" if k in self.diverge else None for k in range(num))
        return Trained({"weights": swarm.weights}, np.zeros((1, num)), why)

    def nats(self, model: Any, params: Any) -> np.ndarray:
        del model
        places = [self.law.domains.index(name) for name in self.scored]
        bits = self.law.predict(np.asarray(params["weights"]))[0][:, places]
        bits = bits + self.noise * self.rng.standard_normal(bits.shape)
        return np.asarray(bits * 1000 * math.log(2))

    scored: tuple[str, ...] = tuple(SIZES)


def planned(folder: Path, sizes: dict[str, int] = SIZES, **options: Any) -> Search:
    return Search(folder, PlannedStore(sizes, **options))  # type: ignore[arg-type]
