from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from tests.goldens import golden
from tests.models import roberta_models

from barrow import nn
from barrow.models import Roberta, RobertaConfig, save
from barrow.models.load import load
from barrow.models.roberta.heads import (
    ClassificationHead,
    RegressionHead,
    RobertaWithHead,
    TokenHead,
)

TOKENS = np.random.default_rng(0).integers(4, 329, (2, 9)).astype(np.int32)


@partial(jax.jit, static_argnames=("model",))
def run(model: Any, params: Any, tokens: Any) -> Any:
    return model.apply(params, tokens)


@golden("torch", "transformers", atol=1e-5)
def by_transformers(kind: str, folder: Path) -> Any:
    """Logits of a folder that barrow wrote, and what its configuration says."""
    import torch
    import transformers

    model, told = getattr(transformers, roberta_models.CLASSES[kind]).from_pretrained(
        folder, output_loading_info=True
    )
    assert not any(told.values()), told
    with torch.no_grad():
        logits = model.eval()(torch.tensor(TOKENS).long()).logits
    return logits, list(model.config.id2label.values()), model.config.problem_type


@golden("torch", "transformers", atol=1e-5)
def logits_of(kind: str) -> Any:
    import torch

    with torch.no_grad():
        return roberta_models.make(kind)(torch.tensor(TOKENS).long()).logits


@pytest.mark.parametrize(
    ("kind", "head"),
    [("classify", ClassificationHead), ("tag", TokenHead), ("regress", RegressionHead)],
)
def test_checkpoints_of_transformers_open_and_go_back(
    kind: str,
    head: type,
    roberta_folder: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    """ROBERTA-3, ROBERTA-4: the same logits as transformers, before and after saving."""
    loaded = load(roberta_folder(kind))
    assert isinstance(loaded.model, RobertaWithHead)
    assert isinstance(loaded.model.head, head)
    assert loaded.report.is_exact
    assert not loaded.report.ignored
    expected = logits_of(kind)
    ours = run(loaded.model, loaded.params, TOKENS)
    np.testing.assert_allclose(ours, expected[:, 0] if kind == "regress" else expected, atol=1e-4)
    save(tmp_path / "out", loaded.model, loaded.params, labels=loaded.labels)
    again, labels, problem = by_transformers(kind, tmp_path / "out")
    np.testing.assert_allclose(again, expected, atol=1e-5)
    assert tuple(labels) == loaded.labels
    assert (problem == "regression") == (kind == "regress")


def test_labels(roberta_folder: Callable[[str], Path], tmp_path: Path) -> None:
    loaded = load(roberta_folder("classify"))
    assert loaded.labels == ("good", "bad", "neither")
    assert loaded.model.head == ClassificationHead(3, dropout=0.2, init_std=0.3)
    with pytest.raises(ValueError, match="2 labels for a head of 3"):
        save(tmp_path / "a", loaded.model, loaded.params, labels=("x", "y"))
    body = load(roberta_folder("mlm"))
    with pytest.raises(ValueError, match="labels x for a model without a classification head"):
        save(tmp_path / "b", body.model, body.params, labels=("x",))


def test_a_pretrained_body_is_taken_over_by_name() -> None:
    config = RobertaConfig(50, 16, 2, 2, 16, 20, mlm_head=False)
    model = RobertaWithHead(Roberta(config), TokenHead(3))
    shape = jax.ShapeDtypeStruct((1, 4), np.int32)
    of_body = nn.describe(Roberta(config), shape)
    of_both = nn.describe(model, shape)
    assert set(of_both) - set(of_body) == {"classifier/kernel", "classifier/bias"}
    assert all(of_both[path] == spec for path, spec in of_body.items())


def test_two_numbers_and_one() -> None:
    hidden = np.ones((3, 4, 8), np.float32)
    for num, shape in ((1, (3,)), (2, (3, 2))):
        head = RegressionHead(num)
        params = head.init(jax.random.key(0), hidden)
        assert head.apply(params, hidden).shape == shape


def test_a_head_and_an_lm_head_are_two_models(tmp_path: Path) -> None:
    model = RobertaWithHead(Roberta(RobertaConfig(50, 16, 1, 2, 16, 20)), ClassificationHead(2))
    with pytest.raises(ValueError, match="pass mlm_head=False"):
        save(tmp_path / "x", model, {})
