"""Whether a model and what it is trained on go together, and what is known of the batches."""

from __future__ import annotations

from barrow.models.checkpoint_model import ModelConfig
from barrow.models.clip_config import ClipConfig
from barrow.models.decoder import DecoderConfig
from barrow.models.roberta import RobertaConfig
from barrow.stream.choices import Choices
from barrow.stream.pairs.choices import PairChoices

DataChoices = Choices | PairChoices


def refuse_mismatch(model: ModelConfig, data: DataChoices) -> None:
    """Raise unless batches of these data are what the model learns from."""
    if isinstance(model, ClipConfig):
        if not isinstance(data, PairChoices):
            raise ValueError("CLIP learns from image–text pairs: data=PairChoices(batch=…)")
        batches_of(data)
        return
    if not isinstance(data, Choices):
        raise ValueError(
            "a language model learns from a token store: data=Choices(seq_len=…, batch=…)"
        )
    if isinstance(model, DecoderConfig) and data.mlm is not None:
        raise ValueError("a decoder guesses the next token: leave out data.mlm")
    if isinstance(model, RobertaConfig):
        if data.mlm is None:
            raise ValueError("a masked model guesses hidden tokens: say how, data.mlm={}")
        if not model.mlm_head:
            raise ValueError("guessing hidden tokens takes a head: model.mlm_head=true")
    seq_len = seq_len_of(data)
    if seq_len > model.context:
        more = (
            f"model.context={seq_len}"
            if isinstance(model, DecoderConfig)
            else f"model.positions={model.positions + seq_len - model.context}"
        )
        raise ValueError(
            f"rows have {seq_len} tokens and the model {model.context} positions: "
            f"data.seq_len={model.context}, or {more}"
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
    if data.batch is None:
        raise ValueError("say data.batch: the pairs of a step")
    return (data.batch,)
