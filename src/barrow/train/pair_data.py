"""Image–text pairs as training reads them: looked through on the host, described, saved."""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from barrow import config
from barrow.errors import ConfigError
from barrow.models.clip_load import named_tokenizer
from barrow.stream.pairs import ClipTexts, PairChoices, PairStream, make_pairs, pairs_at
from barrow.stream.pairs.saved import check_index, read_saved, saved_pairs
from barrow.train.run import Run

if TYPE_CHECKING:
    from jax.sharding import Sharding

    from barrow.models.clip_config import ClipConfig


@dataclass(frozen=True)
class PairData:
    """A stream of pairs; `tokenizer` is the name of the one that its captions are encoded with."""

    stream: PairStream
    tokenizer: str

    @property
    def num_steps(self) -> int | None:
        """Steps until all has been read."""
        return self.stream.num_steps

    @property
    def identity(self) -> str:
        """Of the index and of the encoder of its texts."""
        stream = self.stream
        return f"index {stream.index.identity[:16]}, texts {stream.texts.hash[:16]}"

    def place(self, step: int, sharding: Sharding) -> dict[str, Any]:
        """The batch of a step on the devices; an image that cannot be read is named."""
        return self.stream.place(step, sharding)

    def describe(self, step: int) -> list[str]:
        """The images of a step and their texts."""
        return [str(seen) for seen in pairs_at(self.stream, step)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the stream."""
        self.stream.save(path)

    def check(self, path: str | os.PathLike[str]) -> None:
        """Raise unless index and tokenizer are those that a stream was saved with."""
        check_index(read_saved(path), self.stream.index, self.stream.texts, name=str(path))

    def about(self) -> dict[str, Any]:
        """Which tokenizer and which pairs."""
        stream = self.stream
        saved = saved_pairs(stream.index, stream.texts, stream.settings)
        return {"tokenizer": self.tokenizer, "pairs": config.to_dict(saved)}

    def baseline(self) -> str:
        """What guessing gives, and captions that the first batch has more than once.

        The last batch of a stream that ends may have fewer pairs.
        """
        stream = self.stream
        rows = [stream.shape(step)[0] for step in range((stream.num_steps or 1) - 1)]
        rows.append(int((stream.pairs(len(rows)) >= 0).sum()))
        nats = sum(n * math.log(n) for n in rows) / sum(rows)
        among = f"{rows[0]:,}" if len(set(rows)) == 1 else f"{max(rows):,} or fewer"
        counts = Counter(seen.text for seen in pairs_at(stream, 0))
        again = {text: num for text, num in counts.items() if num > 1}
        line = f"a guess among {among} pairs: {nats:.4f} nats per pair"
        if not again:
            return line
        text = max(again, key=lambda text: again[text])
        return (
            f"{line}\n{sum(again.values()):,} of the first {counts.total():,} pairs share their "
            f"caption with another, {again[text]:,} of them {text[:60]!r}: no model can tell them "
            "apart by it"
        )


def pair_data(run: Run, model: ClipConfig) -> PairData:
    """What a run trains on."""
    if not run.pairs:
        raise ConfigError(
            "a run of this model needs an index of image–text pairs: pairs=INDEX, which barrow "
            "pairs index makes"
        )
    data = _opened(run, model, run.pairs, _choices(run))
    held, most = data.stream.index.num_pairs, max(run.batches)
    if most > held:
        raise ConfigError(
            f"a batch of {most:,} pairs, and the index has {held:,}: the same pairs would be there "
            f"several times and be told apart from themselves; data.batch={held} or less"
        )
    return data


def held_out_pairs(run: Run, model: ClipConfig) -> PairData | None:
    """The held-out index, each of its pairs once: squares from the middle, first captions."""
    if run.held_out is None:
        return None
    choices = _choices(run)
    calm = replace(choices, crop="centre", min_area=1.0, caption="first", templates=())
    natural = _opened(run, model, run.held_out, replace(calm, weights=None, epochs=None))
    names = natural.stream.index.sizes
    once = {name: 1.0 for name, size in names.items() if size}
    return _opened(run, model, run.held_out, replace(calm, weights=None, epochs=once))


def _opened(run: Run, model: ClipConfig, index: str, choices: PairChoices) -> PairData:
    tokenizer = named_tokenizer(run.tokenizer)
    if tokenizer.vocab_size > model.text.vocab_size:
        raise ConfigError(
            f"the tokenizer has {tokenizer.vocab_size} ids and the model's text tower "
            f"{model.text.vocab_size}: model.text.vocab_size={tokenizer.vocab_size}"
        )
    texts = ClipTexts(tokenizer, model.text.context)
    stream = make_pairs(index, choices, texts=texts, resolution=model.image.resolution)
    return PairData(stream, run.tokenizer)


def _choices(run: Run) -> PairChoices:
    assert isinstance(run.data, PairChoices)
    return run.data
