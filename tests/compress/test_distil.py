"""DEEPSPEED-4, ROBERTA-8: students and their loss."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from tests.compress.conftest import CONFIG, ROBERTA, drawn

from barrow.checkpoint.params import load_params
from barrow.compress import distil
from barrow.compress.compressed import Measuring
from barrow.compress.distil import Distil
from barrow.compress.smaller import distil_model
from barrow.compress.student import chosen_layers, distil_run, student_of
from barrow.errors import ConfigError
from barrow.models import Decoder, DecoderConfig, Roberta, save
from barrow.models.keys_report import KeysReport
from barrow.models.load import Loaded
from barrow.models.roberta.model import BASE, DISTIL
from barrow.nn import describe
from barrow.stream import StreamSettings
from barrow.train import AdamW, CheckpointSettings, Constant, Run, fit
from barrow.train.program import make_program
from barrow.train.tasks.task import opened

RNG = np.random.default_rng(0)


def batch(*, masked: bool) -> dict[str, jax.Array]:
    """Two rows of two documents each, with padding."""
    tokens = RNG.integers(2, 40, (2, 12)).astype(np.int32)
    segments = np.array([[1] * 5 + [2] * 6 + [0], [1] * 8 + [2] * 2 + [0] * 2], np.int32)
    positions = np.array([[*range(5), *range(6), 0], [*range(8), 0, 1, 0, 0]], np.int32)
    real = segments > 0
    mask = real & (RNG.random((2, 12)) < 0.4) if masked else real
    targets = RNG.integers(2, 40, (2, 12)).astype(np.int32)
    found = {"tokens": tokens, "targets": targets, "mask": mask}
    return {
        k: jnp.asarray(v)
        for k, v in (found | {"segments": segments, "positions": positions}).items()
    }


def pair(config: Any, tmp_path: Path) -> tuple[Any, Any, Any, Any, str]:
    """A student and its parameters; a teacher, saved, and its parameters."""
    teacher_config = replace(config, layers=4)
    student, teacher = config.module(), teacher_config.module()
    ours, theirs = drawn(student, *config.example), drawn(teacher, *config.example)
    save(tmp_path / "teacher", teacher, theirs)
    return student, ours, teacher, theirs, str(tmp_path / "teacher")


@pytest.mark.parametrize("divergence", ["forward", "reverse"])
def test_an_encoder_s_loss_is_that_of_pytorch(
    divergence: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DistilRoBERTa's three parts by torch.nn; in slices of the length as in one."""
    student, ours, teacher, theirs, path = pair(ROBERTA, tmp_path)
    made = Distil(path, divergence=divergence, masked=0.4)
    given = batch(masked=True)
    read = {"segments": given["segments"], "positions": given["positions"] + 2}
    hidden, seen = (
        jax.jit(m.apply)(p, given["tokens"], **read)
        for m, p in ((student, ours), (teacher, theirs))
    )
    logits = [
        torch.from_numpy(np.array(jax.jit(partial(m.apply, method=m.logits))(p, h))).double()
        for m, p, h in ((student, ours, hidden), (teacher, theirs, seen))
    ]
    real = torch.from_numpy(np.array(given["segments"] > 0))
    mask = torch.from_numpy(np.array(given["mask"]))
    one, other = (torch.log_softmax(x[real] / 2, -1) for x in logits)
    one, other = (one, other) if divergence == "forward" else (other, one)
    kl = torch.nn.KLDivLoss(reduction="batchmean", log_target=True)(one, other) * 4
    targets = torch.from_numpy(np.array(given["targets"])).long()
    nats = torch.nn.functional.cross_entropy(logits[0][mask], targets[mask], reduction="sum")
    states = [torch.from_numpy(np.array(h)).double()[real] for h in (hidden, seen)]
    cosine = torch.nn.CosineEmbeddingLoss()(*states, torch.ones(len(states[0])))
    num = int(real.sum())
    expected = 5 * kl + 2 * nats / 0.4 / num + cosine
    for room in (distil._HELD, 12 * 40):
        monkeypatch.setattr(distil, "_HELD", room)
        objective = made(student, is_training=True, constrain=None)
        loss = jax.jit(objective.loss)(ours, {}, given, jax.random.key(0))
        assert float(loss.weight) == num
        assert float(loss.total) / num == pytest.approx(float(expected), rel=1e-4)


def test_a_decoder_s_loss_and_that_nothing_is_lost_at_the_teacher(tmp_path: Path) -> None:
    config = replace(CONFIG, vocab_size=40)
    student, ours, teacher, theirs, path = pair(config, tmp_path)
    given = batch(masked=False)
    made = Distil(path, temperature=1.0, soft=1.0, hard=0.0, cosine=0.0)
    of_student = made(student, is_training=True, constrain=None).loss
    logits = [
        jax.jit(m.apply)(
            p, given["tokens"], segments=given["segments"], positions=given["positions"]
        )[0]
        for m, p in ((student, ours), (teacher, theirs))
    ]
    logs = [np.asarray(jax.nn.log_softmax(x), np.float64) for x in logits]
    each = (np.exp(logs[1]) * (logs[1] - logs[0])).sum(-1)[np.asarray(given["mask"])]
    loss = jax.jit(of_student)(ours, {}, given, jax.random.key(0))
    assert float(loss.total) == pytest.approx(each.sum(), rel=1e-4)
    # The teacher as its own student loses nothing, and has no gradient.
    of_teacher = made(teacher, is_training=True, constrain=None).loss
    take = jax.value_and_grad(lambda p: of_teacher(p, {}, given, jax.random.key(0)).total)
    total, grads = jax.jit(take)(theirs)
    assert abs(float(total)) < 1e-4
    assert max(float(np.abs(g).max()) for g in jax.tree.leaves(grads)) < 1e-4


def test_the_teacher_is_an_argument_of_the_step(folder: Path, store: str, tmp_path: Path) -> None:
    """A program with the teacher inside would hold its numbers in hexadecimal."""
    program = make_program(distil_run(folder, recipe(store), tmp_path / "x"))
    data, _ = opened(program.task)
    batch = data.place(0, program.placement.rows())
    text = program.advance.lower(program.shapes, batch).as_text()  # type: ignore[attr-defined]
    assert "dense<" in text
    assert 'dense<"0x' not in text


def test_layers_of_a_student() -> None:
    assert chosen_layers(12, 6) == (0, 2, 4, 7, 9, 11)
    assert chosen_layers(24, 1) == (0,)
    with pytest.raises(
        ValueError, match="student of 5 layers does not divide the teacher's 12; 1, 2"
    ):
        chosen_layers(12, 5)
    params = {"layers": {"x": jnp.arange(12)}, "norm": jnp.ones(3)}
    teacher = Loaded(Roberta(BASE), params, KeysReport())  # type: ignore[arg-type]
    config, found = student_of(teacher, 6)
    assert config == DISTIL
    assert found["layers"]["x"].tolist() == [0, 2, 4, 7, 9, 11]
    specs = describe(Roberta(config), *config.example).values()
    assert sum(int(np.prod(spec.shape)) for spec in specs) == 82_170_201


def recipe(store: str, *, layers: int = 1, steps: int = 4) -> Run:
    return Run(
        model=replace(CONFIG, layers=layers),
        data=StreamSettings(seq_len=16, batch=8),
        steps=steps,
        store=store,
        optimizer=AdamW(Constant(peak=3e-3)),
        checkpoint=CheckpointSettings(every=2),
        log_every=1,
    )


def test_a_student_is_trained_scored_and_resumed_exactly(
    folder: Path, corpus: Path, store: str, tmp_path: Path
) -> None:
    few = Measuring(documents=2, rows=2, length=16, speeds=False)
    card = distil_model(folder, tmp_path / "whole", recipe(store), calibrate=corpus, measuring=few)
    assert card is not None
    assert card.scheme == "distilled, 1 of 2 layers, 4 steps"
    assert card.bytes_after < card.bytes_before
    assert card.comparison is not None
    assert (tmp_path / "whole" / "card.json").is_file()
    whole = load_params(tmp_path / "whole")
    # Stopped after two steps, and resumed with the same command.
    part = tmp_path / "part"
    run = distil_run(folder, recipe(store), part)
    fit(replace(run, steps=2), part)
    assert distil_model(folder, part, recipe(store)) is None
    again = load_params(part)
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(again), strict=True):
        assert np.array_equal(one, other)


def test_bad_students(folder: Path, store: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="student of 3 layers does not divide the teacher's 2"):
        distil_run(folder, recipe(store, layers=3), tmp_path / "x")
    made = Distil(str(folder))
    other = Decoder(DecoderConfig(vocab_size=99, width=16, layers=1, heads=2, hidden=8, context=8))
    with pytest.raises(ConfigError, match="99 ids and the teacher 259"):
        made(other, is_training=True, constrain=None)
    wide = Decoder(replace(CONFIG, width=32))
    with pytest.raises(ConfigError, match="cosines need the same; set objective.cosine=0"):
        made(wide, is_training=True, constrain=None)
    with pytest.raises(ConfigError, match="the student is a RobertaConfig and the teacher a Decod"):
        made(Roberta(ROBERTA), is_training=True, constrain=None)
    with pytest.raises(ValueError, match="temperature must be > 0, got 0"):
        Distil("x", temperature=0)
    with pytest.raises(ValueError, match="divergence must be forward or reverse"):
        Distil("x", divergence="both")  # type: ignore[arg-type]
