from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.goldens import golden
from tests.models import roberta_models

from barrow.models.huggingface.names import Line
from barrow.models.load import load
from barrow.models.roberta.heads import RobertaWithHead
from barrow.models.roberta.names import roberta_lines
from barrow.nn.layers.repeat import put_together
from barrow.nn.tree import Tree, paths
from barrow.train.finetune.layer_groups import LayerGroups, grouped_optimizer
from barrow.train.objectives.labelled import labelled_objective
from barrow.train.optimizers import AdamW
from barrow.train.schedules import Constant
from barrow.train.state import TrainState
from barrow.train.step import StepSettings, make_step

RATE, DECAY = 1e-3, 0.1
LENGTHS = np.array([9, 4, 16, 7], np.int32)


def batch_of(kind: str, num: int) -> dict[str, Any]:
    """Three rows of several lengths, and one of mask 0 that fills up."""
    rng = np.random.default_rng(0)
    tokens = rng.integers(4, 329, (4, 16)).astype(np.int32)
    inside = np.arange(16) < LENGTHS[:, None]
    tokens = np.where(inside, tokens, 1)
    shape = (4, 16) if kind == "tag" else (4,)
    mask = np.ones(shape, np.float32)
    if kind == "tag":
        mask = (inside & (np.arange(16) % 2 == 1)).astype(np.float32)
    mask[3] = 0
    targets: Any = rng.integers(0, num, shape).astype(np.int32)
    if kind == "regress":
        targets = rng.standard_normal(shape).astype(np.float32)
    return {"tokens": tokens, "lengths": LENGTHS, "targets": targets, "mask": mask}


@golden("torch", "transformers")
def torch_step(kind: str, batch: dict[str, Any]) -> Any:
    """A step of PyTorch's AdamW on the three rows, as people fine-tune: loss, accuracy, weights."""
    import torch

    model = roberta_models.make(kind)
    model.config.problem_type = "regression" if kind == "regress" else None
    tokens = torch.tensor(batch["tokens"][:3]).long()
    mask = torch.arange(16) < torch.tensor(batch["lengths"][:3])[:, None]
    targets = torch.tensor(batch["targets"][:3])
    if kind == "tag":
        targets = torch.where(torch.tensor(batch["mask"][:3]) > 0, targets, -100)
    targets = targets if kind == "regress" else targets.long()
    no_decay = [p for n, p in model.named_parameters() if n.endswith("bias") or "LayerNorm" in n]
    decay = [p for p in model.parameters() if all(p is not other for other in no_decay)]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": DECAY}, {"params": no_decay, "weight_decay": 0.0}],
        lr=RATE,
        betas=(0.9, 0.98),
        eps=1e-6,
    )
    found = model(tokens, attention_mask=mask.long(), labels=targets)
    right = (found.logits.argmax(-1) == targets)[targets != -100].float().mean()
    loss = found.loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach()), float(right), dict(model.state_dict())


@pytest.mark.parametrize(
    "kind",
    ["classify", *(pytest.param(kind, marks=pytest.mark.soak) for kind in ("tag", "regress"))],
)
def test_a_step_is_that_of_pytorch(kind: str, roberta_folder: Callable[[str], Path]) -> None:
    """ROBERTA-3: loss and all updated weights to 1e-5, dropout 0, float32."""
    loaded = load(roberta_folder(kind), unstack=True)
    assert isinstance(loaded.model, RobertaWithHead)
    model = replace(
        loaded.model,
        body=replace(loaded.model.body, config=replace(loaded.model.config, dropout=0.0)),
        head=replace(loaded.model.head, dropout=0.0),
    )
    groups = LayerGroups(2)
    settings = AdamW(Constant(peak=RATE), beta2=0.98, eps=1e-6, weight_decay=DECAY)
    optimizer = grouped_optimizer(settings, 10, groups)
    state = TrainState(
        jnp.int32(0), loaded.params, Tree(), optimizer.init(loaded.params), jax.random.key(0)
    )
    step = make_step(labelled_objective(model, groups), optimizer, StepSettings(clip=1.0))
    batch = batch_of(kind, model.head.num)
    expected, right, named = torch_step(kind, batch)
    state, metrics = step(state, batch)
    assert float(metrics.loss.value) == pytest.approx(expected, abs=1e-5)
    if kind != "regress":
        assert float(metrics.metrics["accuracy"].value) == pytest.approx(right)
    ours = paths(put_together(state.params, "layers"))
    for line in roberta_lines(model.config, model.head):
        for layer in range(2) if line.is_layered else (None,):
            found = named[line.key if layer is None else line.key.format(layer)]
            np.testing.assert_allclose(_theirs(line, ours, layer), found, atol=1e-5)


def _theirs(line: Line, ours: Any, layer: int | None) -> Any:
    held = [ours[path] if layer is None else ours[path][layer] for path in line.paths]
    return line.theirs([np.asarray(x) for x in held])


def test_dropout_is_on(roberta_folder: Callable[[str], Path]) -> None:
    loaded = load(roberta_folder("classify"), unstack=True)
    assert isinstance(loaded.model, RobertaWithHead)
    told = json.loads((roberta_folder("classify") / "config.json").read_text())
    assert told["hidden_dropout_prob"] == loaded.model.config.dropout == 0.1
    objective = labelled_objective(loaded.model, LayerGroups(2))
    batch = batch_of("classify", 3)
    loss = jax.jit(lambda key: objective.loss(loaded.params, Tree(), batch, key).total)
    first, second = float(loss(jax.random.key(0))), float(loss(jax.random.key(1)))
    assert first != second
    assert first == float(loss(jax.random.key(0)))
