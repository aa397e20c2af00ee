"""What a line of a data file says: a chat, a pair of answers, a single answer, or a prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from barrow.errors import ConfigError, MissingExtra, NotFound
from barrow.stream.labelled.records import Record, read_records

Message = Mapping[str, Any]
# Plain text, or messages that a chat template renders.
Said = str | tuple[Message, ...]
OnBad = Literal["raise", "count"]
Made = TypeVar("Made")


class BadRecord(ValueError):
    """A record that cannot be used; `reason` is what it is counted under."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


@dataclass(frozen=True)
class Answered:
    """A prompt and its answer; or a whole chat with its answers, and an empty prompt.

    `is_good` is what single answers are labelled with, if they are.
    """

    place: str
    prompt: Said
    answer: Said
    is_good: bool | None = None


@dataclass(frozen=True)
class Pair:
    """A prompt, the answer that was chosen, and the one that was rejected."""

    place: str
    prompt: Said
    chosen: Said
    rejected: Said


@dataclass(frozen=True)
class Prompt:
    """A prompt, and all that its record says, which reward functions are given."""

    place: str
    prompt: Said
    values: Mapping[str, Any]


@dataclass
class Bad:
    """What to do about bad records: stop at the first, or count them by reason."""

    on_bad: OnBad = "raise"
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def made(self, make: Callable[..., Made], place: str, *args: Any) -> Made | None:
        """What `make` gives; None for what is counted."""
        try:
            return make(place, *args)
        except BadRecord as error:
            if self.on_bad == "raise":
                raise ConfigError(
                    f"{place}: {error}; data.on_bad=count leaves such records out"
                ) from None
            self.counts[error.reason] += 1
            self.examples.setdefault(error.reason, f"{place}: {error}")
            return None

    def kept(self, make: Callable[..., Made], records: Iterable[Any]) -> list[Made]:
        """What `make` gives of (place, record) for each that is not left out."""
        found = (self.made(make, one.place, one) for one in records)
        return [one for one in found if one is not None]

    def lines(self) -> list[str]:
        """A line for each reason."""
        return [
            f"left out: {num:,} × {reason} (first: {self.examples[reason]})"
            for reason, num in self.counts.most_common()
        ]


def read(source: str, make: Callable[[str, Mapping[str, Any]], Made], bad: Bad) -> list[Made]:
    """The records of a .jsonl, .csv or .parquet file, or of an archive."""
    made = bad.kept(lambda place, one: make(place, one.values), _records(source))
    if not made:
        raise ConfigError(f"{source} has no records that can be used; " + "; ".join(bad.lines()))
    return made


def answered(place: str, values: Mapping[str, Any]) -> Answered:
    """A chat ``{"messages": […]}``, or ``{"prompt": …, "completion": …}``, perhaps with a label."""
    if "messages" in values:
        chat = _messages(values["messages"], "messages")
        if not any(message["role"] == "assistant" for message in chat):
            raise BadRecord("no-answer", "the chat has no message of the assistant")
        return Answered(place, (), chat)
    prompt, answer = _said(values, "prompt"), _said(values, "completion")
    _refuse_mixed(prompt, answer)
    if _is_empty(answer):
        raise BadRecord("empty-answer", "the completion is empty")
    label = values.get("label")
    if label is not None and not isinstance(label, bool):
        raise BadRecord("bad-label", f"label must be true or false, got {label!r}")
    return Answered(place, prompt, answer, label)


def pair(place: str, values: Mapping[str, Any]) -> Pair:
    """``{"prompt", "chosen", "rejected"}``; without a prompt, chats with the same beginning."""
    chosen, rejected = _said(values, "chosen"), _said(values, "rejected")
    _refuse_mixed(chosen, rejected)
    if chosen == rejected:
        raise BadRecord("equal-answers", "the chosen and the rejected answer are the same")
    if "prompt" in values:
        prompt = _said(values, "prompt")
        _refuse_mixed(prompt, chosen)
    elif isinstance(chosen, str):
        raise BadRecord("no-prompt", "there is no prompt")
    else:
        same = 0
        while same < min(len(chosen), len(rejected)) and chosen[same] == rejected[same]:
            same += 1
        prompt, chosen, rejected = chosen[:same], chosen[same:], rejected[same:]
    for name, said in (("chosen", chosen), ("rejected", rejected)):
        if _is_empty(said):
            raise BadRecord("empty-answer", f"the {name} answer is empty")
    return Pair(place, prompt, chosen, rejected)


def labelled(place: str, values: Mapping[str, Any]) -> tuple[Answered, ...]:
    """Single answers, good or bad: of a pair two, or the one that has a label."""
    if "chosen" in values:
        both = pair(place, values)
        return (
            Answered(place, both.prompt, both.chosen, True),
            Answered(place, both.prompt, both.rejected, False),
        )
    one = answered(place, values)
    if one.is_good is None:
        raise BadRecord("no-label", "kto needs a label (true or false), or chosen and rejected")
    return (one,)


def prompted(place: str, values: Mapping[str, Any]) -> Prompt:
    """``{"prompt": …}``, or the messages of a chat up to the last of the user."""
    if "prompt" not in values and "messages" in values:
        chat = _messages(values["messages"], "messages")
        while chat and chat[-1]["role"] == "assistant":
            chat = chat[:-1]
        if not chat:
            raise BadRecord("empty-prompt", "the prompt is empty")
        return Prompt(place, chat, values)
    prompt = _said(values, "prompt")
    if _is_empty(prompt):
        raise BadRecord("empty-prompt", "the prompt is empty")
    return Prompt(place, prompt, values)


def _said(values: Mapping[str, Any], key: str) -> Said:
    said = values.get(key)
    if isinstance(said, str):
        return said
    if said is None:
        raise BadRecord(f"no-{key}", f"there is no {key}; the keys are {', '.join(values)}")
    return _messages(said, key)


def _messages(given: Any, key: str) -> tuple[Message, ...]:
    is_list = isinstance(given, Sequence) and not isinstance(given, str)
    if not is_list or not all(isinstance(m, Mapping) and "role" in m for m in given):
        raise BadRecord(
            f"bad-{key}", f'{key} must be a text, or messages {{"role": …, "content": …}}'
        )
    return tuple(given)


def _is_empty(said: Said) -> bool:
    if isinstance(said, str):
        return not said
    return not any(message.get("content") or message.get("tool_calls") for message in said)


def _refuse_mixed(one: Said, other: Said) -> None:
    if isinstance(one, str) != isinstance(other, str):
        raise BadRecord("mixed", "the prompt and its answers must all be texts, or all messages")


def _records(source: str) -> Iterator[Record]:
    path = Path(source)
    if path.suffix != ".parquet":
        yield from read_records(source)
        return
    if not path.exists():
        raise NotFound(f"{source} does not exist")
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", "parquet files") from None
    number = 0
    for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
        for values in batch.to_pylist():
            yield Record(f"{source}, row {number}", values)
            number += 1
