"""Image–text pairs as training data: checked on the host, described, saved."""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from barrow import config
from barrow.errors import ConfigError
from barrow.models.clip.load import named_tokenizer
from barrow.stream import Stream
from barrow.stream.pairs import ClipTexts, PairBatch, Pairs, PairSettings, open_index
from barrow.stream.saved import Saved
from barrow.train.run import Run

if TYPE_CHECKING:
    from jax.sharding import Sharding

    from barrow.models.clip.config import ClipConfig


@dataclass(frozen=True)
class PairData:
    """A stream of pairs; `tokenizer` is the name of its captions' tokenizer."""

    stream: Stream[PairBatch]
    tokenizer: str

    @property
    def pairs(self) -> Pairs:
        """The pairs."""
        assert isinstance(self.stream.data, Pairs)
        return self.stream.data

    @property
    def num_steps(self) -> int | None:
        """Steps until all has been read."""
        return self.stream.num_steps

    @property
    def identity(self) -> str:
        """Of the index and of the encoder of its texts."""
        return f"index {self.pairs.index.identity[:16]}, texts {self.pairs.texts.hash[:16]}"

    def place(self, step: int, sharding: Sharding) -> dict[str, Any]:
        """The batch of a step on the devices; an image that cannot be read is named."""
        return self.stream.place(step, sharding)

    def describe(self, step: int) -> list[str]:
        """The images of a step and their texts."""
        return [str(seen) for seen in self.stream.explain(step)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the stream."""
        self.stream.save(path)

    def check(self, path: str | os.PathLike[str]) -> None:
        """Raise unless index and tokenizer are those that a stream was saved with."""
        Saved.read(path).check(self.stream.data, name=str(path))

    def about(self) -> dict[str, Any]:
        """Which tokenizer and which pairs."""
        saved = self.stream.saved()
        return {"tokenizer": self.tokenizer, "stream": config.to_dict(saved)}

    def baseline(self) -> str:
        """The loss of chance, and captions that occur more than once in the first batch.

        The last batch of a stream that ends may have fewer pairs.
        """
        stream = self.stream
        rows = [stream.shape(step)[0] for step in range((stream.num_steps or 1) - 1)]
        rows.append(int((stream.samples(len(rows)) >= 0).sum()))
        nats = sum(n * math.log(n) for n in rows) / sum(rows)
        among = f"{rows[0]:,}" if len(set(rows)) == 1 else f"{max(rows):,} or fewer"
        counts = Counter(seen.text for seen in stream.explain(0))
        again = {text: num for text, num in counts.items() if num > 1}
        line = f"chance among {among} pairs: {nats:.4f} nats per pair"
        if not again:
            return line
        text = max(again, key=lambda text: again[text])
        return (
            f"{line}\n{sum(again.values()):,} of the first {counts.total():,} pairs share "
            f"their caption with another, {again[text]:,} of them {text[:60]!r}: no model "
            "can match these by text"
        )


def pair_data(run: Run, model: ClipConfig) -> PairData:
    """The training data of a run."""
    if not run.pairs:
        raise ConfigError(
            "this model needs an index of image–text pairs, made by "
            "barrow tokens pairs index: --pairs INDEX"
        )
    data = _opened(run, model, run.pairs, _settings(run))
    held, most = data.pairs.index.num_pairs, max(run.batches)
    if most > held:
        raise ConfigError(
            f"data.batch must be at most the {held:,} pairs of the index, got {most:,}: a "
            "pair must not be its own negative"
        )
    return data


def validation_pairs(run: Run, model: ClipConfig) -> PairData | None:
    """The validation index, each of its pairs once: centre crops, first captions."""
    if run.validation is None:
        return None
    names = open_index(run.validation).sizes
    calm = replace(
        _settings(run),
        crop="centre",
        min_area=1.0,
        caption="first",
        templates=(),
        schedule=None,
        weights=None,
        max_epochs=None,
        batch=max(run.batches),
        epochs={name: 1.0 for name, size in names.items() if size},
    )
    return _opened(run, model, run.validation, calm)


def _opened(run: Run, model: ClipConfig, index: str, settings: PairSettings) -> PairData:
    tokenizer = named_tokenizer(run.tokenizer)
    if tokenizer.vocab_size > model.text.vocab_size:
        raise ConfigError(
            f"the tokenizer has {tokenizer.vocab_size} ids, but the model's text tower "
            f"{model.text.vocab_size}: set model.text.vocab_size={tokenizer.vocab_size}"
        )
    resolution = model.image.resolution
    if settings.resolution not in (None, resolution):
        raise ConfigError(
            f"data.resolution is {settings.resolution}, but the model's is {resolution}; "
            "leave it out"
        )
    texts = ClipTexts(tokenizer, model.text.context)
    pairs = replace(settings, resolution=resolution).open(index, texts=texts)
    return PairData(Stream(pairs), run.tokenizer)


def _settings(run: Run) -> PairSettings:
    assert isinstance(run.data, PairSettings)
    return run.data
