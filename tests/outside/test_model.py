"""A model family that barrow does not know: trained, resumed, opened and scored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import barrow
from barrow import config
from barrow.cli.main import run as command
from barrow.errors import ConfigError
from barrow.stream import StreamSettings
from barrow.train import Interrupted, Run, fit

HERE = Path(__file__).parent


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch, store: Path) -> Run:
    monkeypatch.syspath_prepend(str(HERE))
    from mystuff.model import FadingConfig

    data = StreamSettings(seq_len=16, batch=8)
    return Run(FadingConfig(width=16), data, steps=8, store=str(store), log_every=2)


class StopAfter:
    """A tracker that interrupts a run, as Ctrl-C does."""

    def __init__(self, step: int) -> None:
        self.step = step

    def begin(self, run: Any, start: int) -> None: ...

    def log(self, step: int, values: Any) -> None:
        if step >= self.step:
            import os
            import signal

            os.kill(os.getpid(), signal.SIGINT)

    def close(self) -> None: ...


def test_from_python(trained: Run, tmp_path: Path) -> None:
    whole = fit(trained, tmp_path / "whole")
    with pytest.raises(Interrupted):
        fit(trained, tmp_path / "run", trackers=[StopAfter(3)])
    again = fit(trained, tmp_path / "run")
    for ours, theirs in zip(*map(jax.tree.leaves, (again.params, whole.params)), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ConfigError, match="pass --trust mystuff"):
        barrow.models.open(tmp_path / "run")
    loaded = barrow.models.open(tmp_path / "run", trust=["mystuff"])
    assert loaded.family == replace(trained.model, vocab_size=259)
    opening = barrow.score.ModelOptions(trust=("mystuff",))
    model: Any = barrow.score.open_model(str(tmp_path / "run"), opening)
    text = b"stone cart mound"
    (found,) = model.score([text])
    # By hand: the tokenizer's begin token, then the bytes.
    ids = np.array([[256, *text]])
    logits = np.asarray(jax.jit(loaded.model.apply)(loaded.params, ids[:, :-1]), np.float64)[0]
    logits -= logits.max(axis=-1, keepdims=True)
    nats = np.log(np.exp(logits).sum(axis=-1)) - logits[np.arange(len(text)), ids[0, 1:]]
    assert found.nats == pytest.approx(nats.sum(), rel=1e-5)


def test_documents_do_not_see_one_another(trained: Run) -> None:
    module = trained.model.module()
    params = jax.jit(lambda key: module.init(key, *trained.model.example))(jax.random.key(0))
    tokens, run = np.array([[5, 6, 7, 8]]), jax.jit(module.apply)
    row = run(params, tokens, segments=np.array([[1, 1, 2, 2]]))
    alone = run(params, tokens[:, 2:])
    np.testing.assert_allclose(row[:, 2:], alone, atol=1e-5)


def test_from_the_command_line(
    trained: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str], store: Path
) -> None:
    recipe, out = tmp_path / "run.json", tmp_path / "run"
    recipe.write_text(config.to_json(trained))
    assert command(["train", str(recipe), "--out", str(out)]) == 1
    assert "--trust mystuff" in capfd.readouterr().err
    trust = ["--trust", "mystuff"]
    assert command(["train", str(recipe), "--out", str(out), "model.layers=1", *trust]) == 0
    assert f"Next: barrow score {out} CORPUS --trust mystuff" in capfd.readouterr().out
    assert command(["train", str(out), *trust]) == 0, "a finished run is over"
    corpus = str(store.parent / "archive")
    assert command(["score", str(out), corpus, "--out", str(tmp_path / "s"), *trust]) == 0
    assert command(["generate", str(out), *trust]) == 1
    assert "expected a Decoder; use it with `barrow score" in capfd.readouterr().err
