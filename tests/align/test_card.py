"""The card of a run: what it cost by domain, how its answers changed (DEEPSPEED-6, BEYOND-8)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import scipy.special
from tests.align.data_files import chats, write
from tests.places import naming

from barrow.align.card.card import make_card
from barrow.align.card.samples import divergence, style
from barrow.align.lora import Lora
from barrow.align.rollouts.sampler import Drawn
from barrow.align.runs import _optimizer, align_run, sft_settings
from barrow.archive import Document, Writer
from barrow.cli.main import run as command
from barrow.models.open_model import open_model
from barrow.score import ModelOptions, open_corpus, score
from barrow.score import open_model as open_scorer
from barrow.train import fit


def drawn(ids: list[int], reason: str) -> Drawn:
    return Drawn(np.array(ids, np.int32), np.zeros(len(ids), np.float32), reason)


def test_length_and_repetition() -> None:
    first = drawn([1, 2, 3, 4, 1, 2, 3, 4], "length")
    second = drawn([5, 6, 7], "stop")
    found = style([first, second])
    assert (found.length, found.ended) == (5.0, 0.5)
    assert found.repeated == pytest.approx(1 / 5)


def test_divergence_is_the_difference_of_log_probabilities(chat_model: Path) -> None:
    one = open_model(chat_model, dtype="float32")
    other = replace(one, params=jax.tree.map(lambda x: x * 1.1, one.params))
    prompts, answers = [[3, 4, 5]], [drawn([6, 7, 8], "stop")]
    total = 0.0
    for sign, loaded in ((1, one), (-1, other)):
        model: Any = loaded.model
        logits, _ = model.apply(loaded.params, np.array([[3, 4, 5, 6, 7, 8]]))
        logs = scipy.special.log_softmax(np.float64(logits[0]), -1)
        total += sign * (logs[2, 6] + logs[3, 7] + logs[4, 8])
    assert divergence(one, other, prompts, answers) == pytest.approx(total, abs=1e-4)
    assert divergence(one, one, prompts, answers) == 0


@pytest.mark.usefixtures("one_device")
def test_the_card_of_a_run(
    chat_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Writer(tmp_path / "held") as writer:
        for n in range(6):
            name = ("law", "maths")[n % 2]
            writer.add(Document(f"text {n} of {name}. " * 3, {"pile_set_name": name}))
    settings = sft_settings(write(tmp_path / "chats.jsonl", chats(16)))
    settings = replace(
        settings,
        data=replace(settings.data, length=64, batch=8),
        steps=3,
        optimizer=_optimizer(2e-2),
        lora=Lora(4, 8.0),
    )
    run = align_run(settings, str(chat_model))
    fit(run, tmp_path / "run")
    card = make_card(run, tmp_path / "run", corpus=str(tmp_path / "held"), num=3, max_tokens=6)
    assert card.tax is not None
    assert {row.name for row in card.tax.domains} == {"law", "maths"}
    figures = []
    for path in (str(tmp_path / "run"), str(chat_model)):
        found = score(open_scorer(path, ModelOptions()), open_corpus(str(tmp_path / "held")))
        assert found is not None
        figures.append({row.name: row.bpb for row in found.domains})
    for row in card.tax.domains:
        assert row.difference == pytest.approx(figures[0][row.name] - figures[1][row.name])
        assert row.difference != 0
    assert card.divergence > 0.01
    assert all(sample.prompt.startswith("<|begin|><|start|>user") for sample in card.samples)
    assert card.style_after.length <= 6
    page = (tmp_path / "run" / "card.html").read_text()
    assert "Samples side by side" in page
    assert "maths" in page
    saved = json.loads((tmp_path / "run" / "card.json").read_text())
    assert (saved["before"], saved["after"]) == (chat_model.name, "run")
    assert naming(tmp_path.parent, [tmp_path / "run"]) == ["run.json"]
    assert saved["tax"]["overall"]["difference"] == card.tax.overall.difference
    assert command(["align", "card", str(tmp_path / "run"), "--prompts", "2"]) == 0
    said = capsys.readouterr().out
    assert "nats per answer" in said
    assert "not measured; pass --corpus" in said
