"""Losses and gradients against TRL's trainers, on fixed batches (DEEPSPEED-6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.align import trl_peers as peers

from barrow.align.lora import Lora
from barrow.align.model import BASE, REFERENCE, Aligned, AlignedConfig
from barrow.align.objectives import Preference, Rewards, Sft, answer_logprobs
from barrow.align.policy_losses import grpo, rloo
from barrow.models.huggingface.names import lines_of
from barrow.models.open_model import open_model
from barrow.nn.tree import Tree, paths

torch = peers.torch
ROWS, LENGTH = 4, 11
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A policy and a reference, as theirs and as ours."""
    found: dict[str, Any] = {"folder": tmp_path_factory.mktemp("trl")}
    for name, seed in (("policy", 0), ("reference", 1)):
        found[name] = peers.llama(seed)
        found[name].save_pretrained(found["folder"] / name)
        found[f"our {name}"] = open_model(found["folder"] / name, dtype="float32")
    return found


def theirs(config: Any, grads: Any) -> dict[str, np.ndarray]:
    """Our gradients under their names."""
    leaves, found = paths(grads), {}
    for line in lines_of("llama", config):
        for layer in range(config.layers if line.is_layered else 1):
            at = (layer,) * line.is_layered
            found[line.key.format(layer)] = line.theirs(
                [np.asarray(leaves[p])[at] for p in line.paths]
            )
    return found


def same(ours: dict[str, Any], others: dict[str, Any], *, scale: float = 1.0) -> None:
    assert set(ours) == set(others)
    assert max(np.abs(x).max() for x in others.values()) > 1e-3
    for name, x in ours.items():
        np.testing.assert_allclose(x / scale, others[name], err_msg=name, **CLOSE)


def batch_of(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids and masks of answers [rows, LENGTH]; right-padded, prompts of different lengths."""
    ids = rng.integers(2, peers.VOCAB, (rows, LENGTH))
    lengths = rng.integers(6, LENGTH + 1, rows)
    real = np.arange(LENGTH) < lengths[:, None]
    answer = real & (np.arange(LENGTH) >= rng.integers(1, 4, rows)[:, None])
    return np.where(real, ids, 0), real.astype(np.int64), answer.astype(np.int64)


def shifted(ids: np.ndarray, answer: np.ndarray, *shape: int) -> dict[str, jax.Array]:
    """Tokens, targets and mask, as our batches have them."""
    arrays = {"tokens": ids[:, :-1], "targets": ids[:, 1:], "mask": answer[:, 1:]}
    return {name: jnp.asarray(x.reshape(*shape, LENGTH - 1)) for name, x in arrays.items()}


def value_and_gradient(objective: Any, params: Any, frozen: Any, batch: Any) -> tuple[Any, Any]:
    def mean(params: Any) -> Any:
        loss = objective.loss(params, frozen, batch, jax.random.key(0))
        return loss.total / loss.weight

    return jax.jit(jax.value_and_grad(mean))(params)


def module(made: dict[str, Any], **more: Any) -> Aligned:
    return AlignedConfig(made["our policy"].model.config, **more).module()


def test_sft_is_trls(made: dict[str, Any], tmp_path: Path) -> None:
    model = made["policy"]
    trainer = peers.trainer("sft", tmp_path, model)
    ids, real, answer = batch_of(np.random.default_rng(0), ROWS)
    labels = torch.tensor(np.where(answer, ids, -100))
    model.zero_grad()
    given = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(real), "labels": labels}
    loss = trainer.compute_loss(model, given)
    loss.backward()
    batch = shifted(ids, answer, ROWS)
    batch |= {
        "segments": jnp.asarray(real[:, :-1]),
        "positions": jnp.tile(jnp.arange(LENGTH - 1), (ROWS, 1)),
    }
    ours = Sft()(module(made), is_training=True, constrain=None)
    value, grads = value_and_gradient(ours, made["our policy"].params, Tree(), batch)
    np.testing.assert_allclose(value, loss.item(), **CLOSE)
    same(theirs(made["our policy"].model.config, grads), peers.gradients(model))


@pytest.mark.parametrize("loss", ["dpo", "ipo"])
def test_preferences_are_trls(loss: str, made: dict[str, Any], tmp_path: Path) -> None:
    model = made["policy"]
    kind = {"dpo": "sigmoid", "ipo": "ipo"}[loss]
    trainer = peers.trainer("dpo", tmp_path, model, made["reference"], loss_type=kind, beta=0.3)
    ids, real, answer = batch_of(np.random.default_rng(1), 2 * ROWS)
    model.zero_grad()
    given = {"input_ids": ids, "attention_mask": real, "completion_mask": answer}
    found = trainer._compute_loss(model, {k: torch.tensor(x) for k, x in given.items()}, False)
    found.backward()
    # Theirs are all chosen, then all rejected; ours are pairs.
    order = np.arange(2 * ROWS).reshape(2, ROWS).T.reshape(-1)
    batch = shifted(ids[order], answer[order], ROWS, 2) | {"real": jnp.ones(ROWS)}
    frozen = Tree({REFERENCE: made["our reference"].params})
    ours = Preference(loss, beta=0.3)(
        module(made, reference=True), is_training=True, constrain=None
    )
    value, grads = value_and_gradient(ours, made["our policy"].params, frozen, batch)
    np.testing.assert_allclose(value, found.item(), **CLOSE)
    same(theirs(made["our policy"].model.config, grads), peers.gradients(model))


def test_kto_is_trls(made: dict[str, Any], tmp_path: Path) -> None:
    model = made["policy"]
    trainer = peers.trainer(
        "kto", tmp_path, model, made["reference"], beta=0.3, desirable_weight=1.5
    )
    rng = np.random.default_rng(2)
    ids, real, answer = batch_of(rng, ROWS)
    others = batch_of(rng, ROWS)
    good = np.array([True, False, False, True])
    given = {"input_ids": ids, "attention_mask": real, "completion_mask": answer, "label": good}
    names = ("KL_input_ids", "KL_attention_mask", "KL_completion_mask")
    given |= dict(zip(names, others, strict=True))
    model.zero_grad()
    found = trainer._compute_loss(model, {k: torch.tensor(x) for k, x in given.items()}, False)
    found.backward()
    both, masks = (
        np.stack(x, 1).reshape(-1, LENGTH) for x in ((ids, others[0]), (answer, others[2]))
    )
    batch = shifted(both, masks, ROWS, 2) | {"real": jnp.ones(ROWS), "good": jnp.asarray(good)}
    frozen = Tree({REFERENCE: made["our reference"].params})
    ours = Preference("kto", beta=0.3, good=1.5)(
        module(made, reference=True), is_training=True, constrain=None
    )
    assert not ours.is_sum_over_rows
    value, grads = value_and_gradient(ours, made["our policy"].params, frozen, batch)
    np.testing.assert_allclose(value, found.item(), **CLOSE)
    same(theirs(made["our policy"].model.config, grads), peers.gradients(model))


def test_rewards_are_trls(made: dict[str, Any], tmp_path: Path) -> None:
    model = peers.llama(3, peers.LlamaForSequenceClassification, num_labels=1)
    trainer = peers.trainer("reward", tmp_path, model, center_rewards_coefficient=0.1)
    ids, real, _ = batch_of(np.random.default_rng(3), 2 * ROWS)
    found = trainer.compute_loss(
        model, {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(real)}
    )
    found.backward()
    model.model.save_pretrained(tmp_path / "trunk")
    weights = dict(model.state_dict())
    whole = peers.llama(3)
    whole.model.load_state_dict(model.model.state_dict())
    whole.save_pretrained(tmp_path / "whole")
    params = open_model(tmp_path / "whole", dtype="float32").params
    params = params | {"score": {"kernel": jnp.asarray(weights["score.weight"].numpy().T)}}
    order = np.arange(2 * ROWS).reshape(2, ROWS).T.reshape(-1)
    batch = {
        "whole": jnp.asarray(ids[order].reshape(ROWS, 2, LENGTH)),
        "lengths": jnp.asarray(real[order].sum(1).reshape(ROWS, 2)),
        "real": jnp.ones(ROWS),
    }
    ours = Rewards(0.1)(module(made, head="reward"), is_training=True, constrain=None)
    value, grads = value_and_gradient(ours, params, Tree(), batch)
    np.testing.assert_allclose(value, found.item(), **CLOSE)
    others = peers.gradients(model)
    np.testing.assert_allclose(grads["score"]["kernel"].T, others.pop("score.weight"), **CLOSE)
    mine = theirs(made["our policy"].model.config, grads)
    assert not mine.pop("lm_head.weight").any()
    same(mine, others)


def policies(
    made: dict[str, Any], tmp_path: Path, kind: str, *, kl: float = 0.0, **settings: Any
) -> tuple[Any, Any, dict[str, Any]]:
    """TRL's loss of rollouts, its gradients, and what ours needs for the same."""
    model = made["policy"]
    trainer = peers.trainer(kind, tmp_path, model, num_generations=2, beta=0.0, **settings)
    trainer.current_gradient_accumulation_steps = 1
    trainer.beta = kl  # a reference by name is not needed: its log-probabilities are given
    rng = np.random.default_rng(4)
    prompt = 3
    ids = rng.integers(2, peers.VOCAB, (ROWS, LENGTH))
    mask = np.arange(LENGTH - prompt) < rng.integers(3, LENGTH - prompt + 1, ROWS)[:, None]
    ids[:, prompt:] *= mask
    noise = rng.normal(0, 0.3, (2, *mask.shape)).astype(np.float32)
    with torch.no_grad():
        logits = model(torch.tensor(ids)).logits[:, prompt - 1 : -1].log_softmax(-1)
        now = logits.gather(2, torch.tensor(ids[:, prompt:, None]))[..., 0].numpy()
    given = {
        "prompt_ids": ids[:, :prompt],
        "prompt_mask": np.ones((ROWS, prompt), np.int64),
        "completion_ids": ids[:, prompt:],
        "completion_mask": mask.astype(np.int64),
        "advantages": rng.normal(0, 1, ROWS).astype(np.float32),
        "old_per_token_logps": now + noise[0],
        "ref_per_token_logps": now + noise[1],
        "old_logps": ((now + noise[0] / 4) * mask).sum(1),
    }
    model.zero_grad()
    loss = trainer._compute_loss(model, {k: torch.tensor(x) for k, x in given.items()})
    loss.backward()
    answer = np.concatenate([np.zeros((ROWS, prompt)), mask], axis=1)
    given["batch"] = shifted(ids, answer, ROWS)
    pad = ((0, 0), (prompt - 1, 0))
    given["old"] = jnp.asarray(np.pad(now + noise[0] / (4 if kind == "rloo" else 1), pad))
    given["reference"] = jnp.asarray(np.pad(now + noise[1], pad))
    return loss.item(), peers.gradients(model), given


@pytest.mark.parametrize(
    ("kind", "by", "unbiased"),
    [
        ("grpo", "rows", True),
        ("bnpo", "tokens", False),
        pytest.param("dr_grpo", "length", True, marks=pytest.mark.soak),
    ],
)
def test_grpo_is_trls(
    kind: str, by: str, unbiased: bool, made: dict[str, Any], tmp_path: Path
) -> None:
    value, others, given = policies(
        made,
        tmp_path,
        "grpo",
        loss_type=kind,
        kl=0.1,
        epsilon_high=0.3,
        max_completion_length=LENGTH - 1,
        use_bias_correction_kl=unbiased,
    )
    ours = module(made)

    how: dict[str, Any] = {"by": by, "unbiased": unbiased}

    def mean(params: Any) -> Any:
        now, _, _ = answer_logprobs(ours, params, given["batch"])
        found = grpo(
            now,
            given["old"],
            jnp.asarray(given["advantages"])[:, None],
            given["batch"]["mask"],
            reference=given["reference"],
            kl=0.1,
            high=0.3,
            **how,
        )
        return found.total / found.weight

    mine, grads = jax.jit(jax.value_and_grad(mean))(made["our policy"].params)
    np.testing.assert_allclose(mine, value, err_msg=kind, **CLOSE)
    same(theirs(made["our policy"].model.config, grads), others)


def test_rloo_is_trls(made: dict[str, Any], tmp_path: Path) -> None:
    value, others, given = policies(made, tmp_path, "rloo")
    ours = module(made)

    def mean(params: Any) -> Any:
        now, _, _ = answer_logprobs(ours, params, given["batch"])
        advantages = jnp.asarray(given["advantages"])[:, None]
        found = rloo(now, given["old"], advantages, given["batch"]["mask"])
        return found.total / found.weight

    mine, grads = jax.jit(jax.value_and_grad(mean))(made["our policy"].params)
    np.testing.assert_allclose(mine, value, **CLOSE)
    same(theirs(made["our policy"].model.config, grads), others)


def test_under_lora_the_base_is_the_reference(made: dict[str, Any]) -> None:
    """Without a step, policy and reference are the same model: every ratio is 1."""
    ids, _, answer = batch_of(np.random.default_rng(5), 2 * ROWS)
    batch = shifted(ids, answer, ROWS, 2) | {"real": jnp.ones(ROWS)}
    model = module(made, lora=Lora(2, 4.0))
    params = model.init(jax.random.key(0), *model.config.example)
    ours = Preference(beta=0.3)(model, is_training=True, constrain=None)
    value, grads = value_and_gradient(ours, params, Tree({BASE: made["our policy"].params}), batch)
    np.testing.assert_allclose(value, np.log(2), rtol=1e-6)
    assert float(jnp.abs(grads["layers"]["attention"]["q"]["kernel"]["up"]).max()) > 1e-3
