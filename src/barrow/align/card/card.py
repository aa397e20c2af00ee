"""The card of a run: bits per byte by domain, divergence, length and repetition, samples."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from barrow.align.card.page import card_page
from barrow.align.card.samples import Style, divergence, style
from barrow.align.data.rows import Words
from barrow.align.data.settings import Chats, Pairs
from barrow.align.rollouts.sampler import drawn, small_engine
from barrow.align.rollouts.settings import Prompts
from barrow.align.tasks.rollouts import open_run_prompts
from barrow.align.tasks.start import open_words
from barrow.align.tasks.static import open_data
from barrow.files import write_bytes
from barrow.models.decoder.model import Decoder
from barrow.models.open_model import of_kind, open_model
from barrow.nn.weights.low_rank import merged
from barrow.score import ModelOptions, Result, open_corpus, score
from barrow.score import open_model as open_scorer
from barrow.score.diff import Comparison, compare
from barrow.stream.order.permutation import derive
from barrow.train.run import Run

FILE, PAGE = "card.json", "card.html"


@dataclass(frozen=True)
class Sample:
    """A prompt and both answers."""

    prompt: str
    before: str
    after: str


@dataclass(frozen=True)
class Card:
    """The changes that a run made; `before` and `after` are the names of the models' folders.

    `tax` compares bits per byte of a corpus, after less before, by domain; None without a
    corpus. `divergence` is KL(after ‖ before) in nats per answer, on answers drawn after.
    """

    before: str
    after: str
    tax: Comparison | None
    divergence: float
    style_before: Style
    style_after: Style
    samples: tuple[Sample, ...]


def make_card(
    run: Run,
    folder: str | os.PathLike[str],
    *,
    corpus: str = "",
    num: int = 8,
    max_tokens: int = 64,
    limit: int | None = None,
) -> Card:
    """The card of a finished run, written to its folder as card.json and card.html.

    `num` prompts of the run's data are answered; `limit` documents of the corpus are scored.
    """
    folder = Path(folder)
    words, prompts, texts = _prompts(run, num)
    before = open_model(run.init, unstack=True)
    # As a run opens, whatever its base: both are answered by one engine.
    before = replace(before, params=merged(before.params))
    after = open_model(folder, unstack=True, dtype=before.model.dtype)  # type: ignore[attr-defined]
    context = before.family.context  # type: ignore[attr-defined]
    longest = max(map(len, prompts))
    most = max(1, min(max_tokens, context - longest))
    decoder = of_kind(before, run.init, Decoder)
    engine = small_engine(decoder, before.params, slots=4, tokens=longest + most)
    seeds = [derive(run.seed, "sample", number) for number in range(len(prompts))]
    said = []
    for one in (before, after):
        engine.use(one.params)
        said.append(drawn(engine, prompts, seeds, max_tokens=most, stops=words.stops))
    tax = _tax(run.init, folder, corpus, limit) if corpus else None
    card = Card(
        Path(run.init).resolve().name,
        folder.resolve().name,
        tax,
        divergence(after, before, prompts, said[1]),
        style(said[0]),
        style(said[1]),
        tuple(
            Sample(text, *(words.tokenizer.decode(one.said) for one in both))
            for text, *both in zip(texts, *said, strict=True)
        ),
    )
    write_bytes(folder / FILE, json.dumps(asdict(card), indent=1, ensure_ascii=False).encode())
    write_bytes(folder / PAGE, card_page(card).encode())
    return card


def lines(card: Card) -> list[str]:
    """The card in words, for a terminal."""
    one, other = card.style_before, card.style_after
    found = [
        f"divergence from the start: {card.divergence:.3f} nats per answer",
        f"answers: {one.length:.1f} → {other.length:.1f} tokens",
        f"{one.ended:.0%} → {other.ended:.0%} end by themselves",
        f"{one.repeated:.1%} → {other.repeated:.1%} of runs of four tokens are repeated",
    ]
    if card.tax is None:
        return [*found, "bits per byte by domain: not measured; pass --corpus CORPUS"]
    for row in (*card.tax.domains, card.tax.overall):
        if row.difference is not None:
            span = "" if row.low is None else f" ({row.low:+.4f} to {row.high:+.4f})"
            found.append(f"bits per byte, {row.name}: {row.difference:+.4f}{span}")
    return found


def _prompts(run: Run, num: int) -> tuple[Words, list[list[int]], list[str]]:
    """Prompts of the first steps: what comes before the first answer of their rows."""
    data: Any = run.data
    words = open_words(run.init, data.tokenizer, data.template, data.begin)
    if isinstance(data, Prompts):
        found, _ = open_run_prompts(run)
        order = found.data().order
        ids: Sequence[Any] = [found.ids[item] for item in order(0)][:num]
    else:
        assert isinstance(data, (Chats, Pairs))
        opened: Any = open_data(run, data.path)[0]
        kept = opened.collate.rows
        rows = [one if isinstance(data, Chats) else one[0] for one in kept[:num]]
        ids = [row.ids[: max(1, int(row.is_answer.argmax()))] for row in rows]
    prompts = [[int(token) for token in one] for one in ids]
    return words, prompts, [words.tokenizer.decode_marked(one) for one in prompts]


def _tax(before: str, after: Path, corpus: str, limit: int | None) -> Comparison:
    found: list[Result] = []
    for path in (str(after), before):
        result = score(open_scorer(path, ModelOptions()), open_corpus(corpus, limit=limit))
        assert result is not None
        found.append(result)
    return compare(*found)
