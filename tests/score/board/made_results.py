"""Results made up for the tests, in the format that `barrow score` writes."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from barrow.score.card import Card, CorpusDigest, Window
from barrow.score.models.model import ModelInfo
from barrow.score.result import Documents, Result, Row, Weighted, write_result

WINDOW = Window(1024, 512, "begin", protocol="barrow")
DOMAINS = ("ArXiv", "Code", "Law")


def ground(name: str = "pocket", *, digest: str = "d" * 64) -> CorpusDigest:
    return CorpusDigest(name, "test", 300, 3_000_000, digest)


def row(
    name: str,
    bpb: float,
    *,
    spread: float | None = 0.02,
    num_bytes: int = 1_000_000,
    tokens_per_byte: float | None = 0.25,
) -> Row:
    """Figures that fit together; `spread` is half the interval, as a share."""
    nats = bpb * num_bytes * math.log(2)
    tokens = round(num_bytes * (tokens_per_byte or 0))
    return Row(
        name=name,
        documents=100,
        bytes=num_bytes,
        tokens=tokens,
        nats=nats,
        bpb=nats / (num_bytes * math.log(2)),
        low=None if spread is None else bpb * (1 - spread),
        high=None if spread is None else bpb * (1 + spread),
        tokens_per_byte=tokens_per_byte,
        token_perplexity=math.exp(nats / tokens) if tokens else None,
        byte_perplexity=2**bpb,
        seconds=12.5,
    )


def result(
    name: str,
    bpb: float,
    *,
    kind: str = "barrow",
    window: Window | None = WINDOW,
    on: CorpusDigest | None = None,
    params: int | None = None,
    domains: Sequence[str] = DOMAINS,
    spread: float | None = 0.02,
    seed: int = 0,
    about: Mapping[str, Any] | None = None,
    **more: Any,
) -> Result:
    """A result whose domains scatter about `bpb`."""
    rng = random.Random(f"{name} {seed}")
    per_byte = None if kind == "compressor" else 0.25
    shared = {"spread": spread, "tokens_per_byte": per_byte}
    rows = tuple(row(domain, bpb * rng.uniform(0.6, 1.5), **shared) for domain in domains)
    info = ModelInfo(
        name=name,
        kind=kind,
        identity=random.Random(name).randbytes(32).hex(),
        num_params=params,
        size_bytes=None if params is None else 4 * params,
        train_tokens=None if params is None else 20 * params,
        dtype=None if params is None else "float32",
        about=about or {},
    )
    likelihood: Any = "compressed" if kind == "compressor" else "causal"
    made = Result(
        model=info,
        card=Card(on or ground(), likelihood, window),
        domains=rows,
        overall=row("overall", bpb, num_bytes=3_000_000, **shared),
        weighted=Weighted(bpb * 1.05, dict.fromkeys(domains, 1 / max(1, len(domains)))),
        versions={"barrow": "0.1.0", "python": "3.11"},
        settings={"batch": 8},
        seconds=37.5,
    )
    return replace(made, **more)


def write(folder: Path, results: Mapping[str, Result]) -> Path:
    """Results as files of a folder; those with documents have folders of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in results.items():
        if made.documents is None:
            (folder / f"{name}.json").write_text(json.dumps(made.as_dict()))
        else:
            write_result(folder / name, made)
    return folder


def paired(made: Result, *, noise: float = 0.2) -> Result:
    """With the figures of 100 documents of 10 kB in each domain, about those of the domain.

    Overall figures become their sum.
    """
    rng = np.random.default_rng(list(made.model.name.encode()))
    num = len(made.domains)
    means = np.array([row.nats for row in made.domains])
    means *= made.overall.nats / means.sum()
    factors = 1 + noise * rng.standard_normal((num, 100))
    nats = means[:, None] * factors / factors.sum(axis=1, keepdims=True)
    sizes = np.full(100 * num, 10_000, np.int64)
    documents = Documents(
        domains=tuple(row.name for row in made.domains),
        kinds=(),
        domain=np.repeat(np.arange(num, dtype=np.int16), 100),
        bytes=sizes,
        tokens=sizes,
        nats=nats.reshape(-1),
        text=np.random.default_rng(0).integers(0, 256, (100 * num, 16), np.uint8),
        kind_bytes=np.empty((100 * num, 0), np.int64),
        kind_nats=np.empty((100 * num, 0)),
    )
    rows = [
        replace(row, nats=n, bpb=n / (row.bytes * math.log(2)))
        for row, n in zip(made.domains, means.tolist(), strict=True)
    ]
    return replace(
        made,
        domains=tuple(rows),
        overall=replace(made.overall, documents=100 * num),
        documents=documents,
    )


def several() -> dict[str, Result]:
    """Two windows on one ground, what has no windows, and another ground."""
    wide = Window(2048, 2048, "end", protocol="pile")
    contamination = {"ngram": 13, "train": "pocket train", "documents": 2, "share": 0.0123}
    made = {
        "small": result("small", 1.21, params=10_000_000, about={"path": "runs/small"}),
        "medium": result("medium", 1.06, params=40_000_000, contamination=contamination),
        "large": result("large", 1.04, params=160_000_000),
        "pythia": result("pythia-70m", 1.31, kind="transformers", params=70_000_000),
        "xz": result("xz", 2.31, kind="compressor", window=None),
        "zstd": result("zstd:19", 2.4, kind="compressor", window=None),
        "uniform": result("uniform", 8.0, kind="baseline", window=None, spread=0.0),
        "wide": result("medium, wide", 1.01, params=40_000_000, window=wide),
        "other": result("medium", 0.9, params=40_000_000, on=ground("stories", digest="e" * 64)),
    }
    return {name: paired(one) for name, one in made.items()}
