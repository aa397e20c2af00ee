"""Small token stores and runs; small models, and trials of steps on meshes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import barrow
from barrow import Document, nn
from barrow.engine import Engine
from barrow.models.decoder.model import Decoder, DecoderConfig
from barrow.nn.attention.rotary import Rotary
from barrow.parallel import ZERO, constrainer, make_mesh
from barrow.stream import StreamSettings
from barrow.tokens import load, tokenize
from barrow.train import (
    AdamW,
    CheckpointSettings,
    Constant,
    Cosine,
    Placement,
    Run,
    StepSettings,
    TrainState,
    causal_objective,
    init_state,
    make_step,
)

TOKENS = jax.ShapeDtypeStruct((1, 8), jnp.int32)
GPT2 = DecoderConfig(vocab_size=96, width=32, layers=2, heads=4, hidden=64, context=16)
LLAMA = replace(
    GPT2,
    kv_heads=2,
    norm="rms",
    activation="silu",
    gated=True,
    rotary=Rotary(),
    attention_bias=False,
    out_bias=False,
    mlp_bias=False,
    tied=False,
)


@dataclass(frozen=True)
class Trial:
    """A model with its step, and the state it begins with."""

    state: TrainState
    step: Any
    placement: Placement | None

    def run(self, *batches: Any) -> tuple[TrainState, list[Any]]:
        """The state after all batches, and the metrics of each."""
        state, found = self.state, []
        for batch in batches:
            state, metrics = self.step(state, batch)
            found.append(jax.device_get(metrics))
        return state, found


@pytest.fixture(scope="session")
def configs() -> dict[str, DecoderConfig]:
    return {"gpt2": GPT2, "llama": LLAMA}


@pytest.fixture(scope="session")
def batch_of() -> Callable[..., dict[str, Any]]:
    """Rows of random tokens of ragged lengths."""

    def make(rows: int = 16, *, seed: int = 0, length: int = 16, vocab: int = 96) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        ids = rng.integers(0, vocab, (rows, length + 1)).astype(np.int32)
        mask = np.arange(length) < rng.integers(1, length + 1, rows)[:, None]
        return {"tokens": ids[:, :-1], "targets": ids[:, 1:], "mask": mask.astype(np.float32)}

    return make


@pytest.fixture(scope="session")
def trial() -> Callable[..., Trial]:
    def make(
        config: DecoderConfig = GPT2,
        settings: StepSettings = StepSettings(),  # noqa: B008 frozen
        *,
        mesh: tuple[int, int] | None = None,
        stage: int = 0,
        rate: float = 1e-3,
        eps: float = 1e-6,
        offload: Any = "none",
        masters: bool = False,
        **how: Any,
    ) -> Trial:
        model = Decoder(config, **how)
        optimizer = AdamW(Constant(peak=rate), eps=eps).make(100)
        placement = constrain = None
        if mesh is not None:
            laid = make_mesh(data=mesh[0], fsdp=mesh[1], devices=jax.devices()[: mesh[0] * mesh[1]])
            shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), TOKENS))
            cast = nn.paths(jax.eval_shape(settings.precision.cast, shapes))
            outside = {path: x.dtype for path, x in cast.items()} if masters else {}
            placement = Placement(
                laid, ZERO[stage], nn.axes(model, TOKENS), offload, masters=outside
            )
            constrain = constrainer(placement.zero.activations, laid)
        objective = causal_objective(model, mask_documents=False, constrain=constrain)
        state = init_state(
            lambda key: model.init(key, TOKENS),
            optimizer,
            settings,
            jax.random.key(0),
            placement=placement,
        )
        return Trial(
            state, make_step(objective, optimizer, settings, placement=placement), placement
        )

    return make


def _apart(ours: Any, theirs: Any) -> float:
    """The largest distance between numbers of two trees."""
    pairs = zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True)
    return max(float(np.max(np.abs(jax.device_get(a) - jax.device_get(b)))) for a, b in pairs)


@pytest.fixture(scope="session")
def apart() -> Callable[[Any, Any], float]:
    return _apart


def make_store(folder: Path, *, seed: int, num: int = 60) -> Path:
    """A store of bytes, of two domains whose texts are easy to guess."""
    rng = random.Random(seed)
    with barrow.archive.Writer(folder / "archive") as writer:
        for number in range(num):
            words = rng.choices(["stone", "cart", "mound", "barrow"], k=5 + number % 13)
            meta = {"pile_set_name": "AB"[number % 2], "id": f"{number + 1:016x}-{seed:08x}"}
            writer.add(Document(" ".join(words), meta))
    tokenize(
        folder / "archive", tokenizer=load("bytes"), out=folder / "store", engine=Engine("local", 0)
    )
    return folder / "store"


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("train"), seed=1)


@pytest.fixture(scope="session")
def validation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("validation"), seed=2, num=13)


@pytest.fixture
def run(store: Path) -> Run:
    """Eight steps of a model of some thousand parameters."""
    return Run(
        model=DecoderConfig(vocab_size=259, width=16, layers=1, heads=2, hidden=32, context=16),
        data=StreamSettings(seq_len=16, batch=8, seed=3),
        steps=8,
        store=str(store),
        optimizer=AdamW(Cosine(peak=1e-2, warmup=2)),
        checkpoint=CheckpointSettings(every=3),
        log_every=2,
    )


class Told:
    """A tracker that remembers."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def begin(self, run: Any, start: int) -> None:
        self.calls.append(("begin", run, start))

    def log(self, step: int, values: Any) -> None:
        self.calls.append((step, dict(values)))

    def close(self) -> None:
        self.calls.append("close")


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def with_model(run: Run) -> Callable[..., Run]:
    """The run with other settings of its model."""
    return lambda **changes: replace(run, model=replace(run.model, **changes))


@pytest.fixture(scope="session")
def compiled_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture(scope="module")
def compiled_once(compiled_folder: Path) -> Iterator[Path]:
    """Programs that were compiled once are kept on disk: runs of the same settings share them."""
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    wanted = {
        "jax_compilation_cache_dir": str(compiled_folder),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in wanted}
    for name, value in wanted.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    yield compiled_folder
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
