"""What is known of the batches of a run, and whether a model can take them."""

from __future__ import annotations

from barrow.stream.choices import Choices
from barrow.stream.pairs.choices import PairChoices
from barrow.train.own_data import Batches, DataSettings

DataChoices = Choices | PairChoices | Batches | DataSettings


def token_choices(data: DataChoices) -> Choices:
    """The settings of a token stream; others are refused."""
    if not isinstance(data, Choices):
        raise ValueError(
            "a language model learns from a token store: data=Choices(seq_len=…, batch=…)"
        )
    return data


def refuse_long_rows(length: int, context: int, more: str) -> None:
    """Raise if rows have more tokens than the model positions; `more` gives it enough."""
    if length > context:
        raise ValueError(
            f"rows have {length} tokens and the model {context} positions: "
            f"data.seq_len={context}, or {more}"
        )


def seq_len_of(data: DataChoices) -> int:
    """Tokens of the longest row of a token stream."""
    assert isinstance(data, Choices)
    if data.schedule is not None:
        return max(phase.seq_len for phase in data.schedule.phases)
    if data.seq_len is None or data.batch is None:
        raise ValueError("say data.seq_len and data.batch, or data.schedule")
    return data.seq_len


def batches_of(data: DataChoices) -> tuple[int, ...]:
    """Rows of the global batches, of all phases."""
    if isinstance(data, Choices) and data.schedule is not None:
        return tuple(phase.batch for phase in data.schedule.phases)
    if isinstance(data, Batches):
        return ()
    if not isinstance(data, Choices | PairChoices):
        return data.batches
    if data.batch is None:
        raise ValueError("say data.batch: the pairs of a step")
    return (data.batch,)
