"""Proxies in one program: the same as alone, resumed exactly, one failing alone (BEYOND-6)."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.mix.conftest import MIXTURES, remembered

from barrow.errors import ConfigError
from barrow.mix import swarm as swarm_module
from barrow.mix.swarm import Swarm, Trained, train_swarm
from barrow.models.roberta.model import RobertaConfig
from barrow.train import Interrupted, Run
from barrow.train.trackers import read_log


@pytest.fixture(scope="session")
def swarmed(tiny: Run, programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """On one device."""
    with remembered(programs):
        return train_swarm(Swarm(tiny, MIXTURES), tmp_path_factory.mktemp("swarm"))


def numbers(tree: Any) -> np.ndarray:
    """All parameters by proxy."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    return np.concatenate([leaf.reshape(len(leaf), -1) for leaf in leaves], axis=1)


def test_a_proxy_equals_the_same_run_of_train(
    swarmed: Trained, alone: list[tuple[Path, Any]]
) -> None:
    losses = [[line["loss"] for line in read_log(folder / "log.jsonl")] for folder, _ in alone]
    np.testing.assert_allclose(swarmed.losses, np.transpose(losses), atol=1e-5)
    # They differ from each other by far more.
    assert np.abs(np.diff(swarmed.losses[-1])).min() > 1e-2
    stacked = jax.tree.map(lambda *x: np.stack(x), *(state.params for _, state in alone))
    np.testing.assert_allclose(numbers(swarmed.params), numbers(stacked), atol=1e-5)
    assert swarmed.diverged == (None,) * 3


def test_proxies_are_divided_over_devices_and_mapped(
    swarmed: Trained, tiny: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three over two devices: the last fills up, and its copy is dropped. `vmap` as on
    accelerators; CPUs take one proxy after the other.
    """
    some = jax.devices()[:2]
    monkeypatch.setattr(jax, "devices", lambda: some)
    assert swarm_module.in_turn()
    monkeypatch.setattr(swarm_module, "in_turn", lambda: False)
    swarm = Swarm(tiny, MIXTURES)
    state = swarm.start()
    assert len(state.proxies.step) == 4
    assert {len(leaf.sharding.device_set) for leaf in jax.tree.leaves(state.proxies)} == {2}
    found = train_swarm(swarm, tmp_path)
    np.testing.assert_allclose(found.losses, swarmed.losses, atol=1e-5)
    np.testing.assert_allclose(numbers(found.params)[:3], numbers(swarmed.params), atol=1e-5)


@pytest.mark.usefixtures("one_device")
def test_an_interrupted_swarm_resumes_with_the_same_bits(
    swarmed: Trained, tiny: Run, tmp_path: Path
) -> None:
    def interrupt(done: int) -> None:
        if done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="stopped after step 2, 5 left"):
        train_swarm(Swarm(tiny, MIXTURES), tmp_path, on_step=interrupt)
    with pytest.raises(ConfigError, match="other settings"):
        train_swarm(Swarm(replace(tiny, seed=1), MIXTURES), tmp_path)
    started: list[int] = []
    found = train_swarm(Swarm(tiny, MIXTURES), tmp_path, on_step=started.append)
    assert started[0] == 4
    np.testing.assert_array_equal(found.losses, swarmed.losses)
    np.testing.assert_array_equal(numbers(found.params), numbers(swarmed.params))


@pytest.mark.usefixtures("one_device")
def test_a_proxy_that_diverges_harms_no_other(
    swarmed: Trained, tiny: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Swarm.start

    def spoilt(self: Swarm) -> Any:
        state = start(self)
        params = jax.tree.map(lambda x: x.at[1].set(jnp.nan), state.proxies.params)
        return replace(state, proxies=replace(state.proxies, params=params))

    monkeypatch.setattr(Swarm, "start", spoilt)
    found = train_swarm(Swarm(tiny, MIXTURES), tmp_path)
    assert found.diverged == (None, "8 steps had a loss or gradient that is not finite", None)
    np.testing.assert_array_equal(found.losses[:, [0, 2]], swarmed.losses[:, [0, 2]])


def test_a_rising_loss_is_divergence() -> None:
    from barrow.mix.swarm import _diverged

    assert _diverged(np.array([5.0, 4.0, 6.0]), 0) == (
        "the loss rose from 5.000 to 6.000 nats per token"
    )
    assert _diverged(np.array([5.0, np.nan]), 1) == "the last loss is not finite"
    assert _diverged(np.array([5.0, 4.0]), 2) is None


def test_other_models_are_refused(tiny: Run) -> None:
    from barrow.stream import Mlm

    masked = replace(tiny, model=RobertaConfig(), data=replace(tiny.data, mlm=Mlm()))
    with pytest.raises(ConfigError, match="causal language models"):
        Swarm(masked, MIXTURES)
