from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from barrow.tokens import open_store
from barrow.train import Run
from barrow.train.fit import feed
from barrow.train.program import make_program
from barrow.train.tasks.token_data import TokenData

pytestmark = pytest.mark.usefixtures("compiled_once")


@pytest.fixture
def evaluated(run: Run, validation: Path) -> Run:
    return replace(run, validation=str(validation), model=replace(run.model, dropout=0.5))


def test_the_mean_over_every_token_once(evaluated: Run, validation: Path) -> None:
    """FLAX-6: rows that only fill the last batch do not count; nothing is dropped."""
    program = make_program(evaluated)
    data = program.task.validation(program.task.data())
    assert isinstance(data, TokenData)
    stream, state = data.stream, program.start()
    with feed(data, program.placement.rows()) as batches:
        found = program.evaluate(state, (batch for _, batch in batches))["loss"]
    store = open_store(validation)
    assert found.weight == store.num_tokens
    assert stream.num_steps is not None
    assert stream.num_steps * 8 * 16 > store.num_tokens  # some of the last batch is padding
    total = 0.0
    model = replace(program.model, config=replace(evaluated.model, dropout=0.0))
    params = jax.tree.map(np.asarray, state.params)
    for step in range(stream.num_steps):
        batch = stream.batch(step)
        logits, _ = model.apply(
            params, batch.tokens, positions=batch.positions, segments=batch.segments
        )
        wide = np.asarray(logits, np.float64)
        norms = np.log(np.exp(wide).sum(-1))
        chosen = np.take_along_axis(wide, batch.targets[..., None], -1)[..., 0]
        total += ((norms - chosen) * batch.mask).sum()
    assert float(found.total) == pytest.approx(total, rel=1e-6)
    assert float(found.value) == pytest.approx(total / store.num_tokens, rel=1e-6)


def test_one_batch_and_none(evaluated: Run) -> None:
    program = make_program(evaluated)
    data = program.task.validation(program.task.data())
    assert data is not None
    with feed(data, program.placement.rows(), stop=1) as batches:
        (batch,) = [batch for _, batch in batches]
    assert program.evaluate(program.start(), [batch])["loss"].weight == batch["mask"].sum()
    assert program.evaluate(program.start(), [])["loss"].weight == 0
