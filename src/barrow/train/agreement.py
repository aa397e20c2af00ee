"""What is known of the batches of a run, and whether a model can take them."""

from __future__ import annotations

from barrow.stream import StreamSettings
from barrow.stream.pairs import PairSettings
from barrow.train.own_data import Batches, BatchSizes

DataOf = StreamSettings | PairSettings | Batches | BatchSizes


def token_settings(data: DataOf) -> StreamSettings:
    """The settings of a token stream; others are refused."""
    if not isinstance(data, StreamSettings):
        raise ValueError(
            "a language model learns from a token store: data=StreamSettings(seq_len=…, batch=…)"
        )
    return data


def refuse_long_rows(length: int, context: int, more: str) -> None:
    """Raise if rows have more tokens than the model positions; `more` gives it enough."""
    if length > context:
        raise ValueError(
            f"rows have {length} tokens and the model {context} positions: "
            f"data.seq_len={context}, or {more}"
        )


def batches_of(data: DataOf) -> tuple[int, ...]:
    """Rows of the global batches, of all phases."""
    return () if isinstance(data, Batches) else data.batches
