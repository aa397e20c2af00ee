from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from barrow import Document, archive
from barrow.engine import Engine
from barrow.errors import StoreError
from barrow.stream import Stream
from barrow.stream.choices import make_stream
from barrow.tokens import open_store, tokenize, train
from barrow.train import Run
from barrow.train.evaluate import held_out_stream
from barrow.train.feed import feed
from barrow.train.program import make_program

pytestmark = pytest.mark.usefixtures("compiled_once")


@pytest.fixture
def evaluated(run: Run, held_out: Path) -> Run:
    return replace(run, held_out=str(held_out), model=replace(run.model, dropout=0.5))


def test_the_mean_over_every_token_once(evaluated: Run, held_out: Path) -> None:
    """FLAX-6: rows that only fill the last batch do not count; nothing is dropped."""
    stream = held_out_stream(evaluated, make_stream(evaluated.store, evaluated.data))
    assert stream is not None
    program = make_program(evaluated)
    state = program.start()
    with feed(stream, program.placement.rows(), vocab_size=259) as batches:
        found = program.evaluate(state, (batch for _, batch in batches))
    store = open_store(held_out)
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


def test_no_store_no_stream(run: Run) -> None:
    assert held_out_stream(run, make_stream(run.store, run.data)) is None


def test_the_batches_are_always_the_same(evaluated: Run, held_out: Path) -> None:
    stream = make_stream(evaluated.store, evaluated.data)
    one, other = (held_out_stream(evaluated, stream) for _ in range(2))
    assert isinstance(one, Stream)
    assert isinstance(other, Stream)
    np.testing.assert_array_equal(one.batch(1).tokens, other.batch(1).tokens)
    assert one.store.folder == held_out


def test_another_tokenizer_is_refused(run: Run, tmp_path: Path) -> None:
    with archive.Writer(tmp_path / "archive") as writer:
        writer.add(Document("stones and carts", {"pile_set_name": "A"}))
    other = train(["stones and carts, stones and carts"], vocab_size=260)
    tokenize(
        tmp_path / "archive", tokenizer=other, out=tmp_path / "store", engine=Engine("local", 0)
    )
    with pytest.raises(StoreError, match="tokenize both alike"):
        held_out_stream(
            replace(run, held_out=str(tmp_path / "store")), make_stream(run.store, run.data)
        )
