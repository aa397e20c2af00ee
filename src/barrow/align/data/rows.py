"""Records as rows of tokens, with a mask of those that are learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from barrow.align.data.records import Answered, Bad, BadRecord, Message, Pair, Prompt, Said
from barrow.errors import ConfigError
from barrow.models.text import prompt_tokens
from barrow.models.tokenizer_files import TokenizerFiles

if TYPE_CHECKING:
    from barrow.models.load import Loaded
    from barrow.tokens import Tokenizer
    from barrow.tokens.chat import ChatTemplate, Encoded

Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


# Whether plain prompts begin as the tokenizer says, or always with its begin token and with special
# tokens as plain text; saved settings that do not say it are of a version that did the latter.
Begin = Literal["tokenizer", "always"]
EARLIER = {"begin": "always"}


@dataclass(frozen=True, eq=False)
class Row:
    """Tokens, which of them are an answer's, and where they come from."""

    ids: Ints
    is_answer: Flags
    place: str


@dataclass(frozen=True)
class Words:
    """How text becomes tokens: a model's tokenizer and, for messages, its chat template.

    `files` are kept with a checkpoint.
    """

    tokenizer: Tokenizer
    template: ChatTemplate | None = field(compare=False)
    files: TokenizerFiles = field(compare=False)
    begin: Begin = "tokenizer"

    @property
    def stops(self) -> tuple[int, ...]:
        """The tokens that end an answer."""
        return self.files.stops

    @property
    def end(self) -> int | None:
        """The token that ends an answer."""
        return next(iter(self.stops), None)

    def about(self) -> dict[str, Any]:
        """What a checkpoint says of it."""
        return self.files.about()

    def prompt(self, place: str, said: Said) -> Ints:
        """The tokens of a prompt, up to where an answer begins."""
        if isinstance(said, str):
            return np.asarray(self._prompt(said), np.int32)
        ids = self._template(place).encode(said, self.tokenizer, add_generation_prompt=True)
        return ids.astype(np.int32)

    def row(self, place: str, prompt: Said, answer: Said) -> Row:
        """A prompt and its answer; or, without a prompt, a chat with all of its answers."""
        if isinstance(answer, str):
            assert isinstance(prompt, str)
            return self._plain(place, prompt, answer)
        assert not isinstance(prompt, str)
        found = _rendered(self._template(place), (*prompt, *answer), self.tokenizer)
        is_answer = found.is_answer.copy()
        if prompt:
            before = self.prompt(place, prompt)
            # Answers within the prompt were given before: they are not learned.
            is_answer[: _same(found.ids, before)] = False
        if not is_answer.any():
            raise BadRecord("no-answer", "the chat template gives the answer no tokens")
        return Row(found.ids.astype(np.int32), is_answer, place)

    def _plain(self, place: str, prompt: str, answer: str) -> Row:
        before, whole = self._prompt(prompt), self._prompt(prompt + answer)
        after = whole[len(before) :]
        if whole[: len(before)] != before:
            # A token across the border: the answer begins with its own, as it will when generated.
            after = self._text(answer)
        if self.end is not None:
            after = [*after, self.end]
        is_answer = np.arange(len(before) + len(after)) >= len(before)
        return Row(np.asarray([*before, *after], np.int32), is_answer, place)

    def _prompt(self, text: str) -> list[int]:
        if self.begin == "always" and self.tokenizer.begin is not None:
            return [self.tokenizer.begin, *self._text(text)]
        return prompt_tokens(self.tokenizer, text)

    def _text(self, text: str) -> list[int]:
        if self.begin == "always":
            return [int(token) for token in self.tokenizer.encode(text)]
        ids: list[int] = self.tokenizer.encode_named(text)[0].tolist()
        return ids

    def _template(self, place: str) -> ChatTemplate:
        if self.template is None:
            raise ConfigError(
                f"{place} has messages, but the model's tokenizer has no chat template; pass "
                "data.template=FILE, a Jinja file, or data with a prompt and a completion"
            )
        return self.template


def words_of(
    loaded: Loaded, *, tokenizer: str = "", template: str = "", begin: Begin = "tokenizer"
) -> Words:
    """The tokenizer and the chat template of a model, unless others are named."""
    # Here, because a machine that only trains may lack what tokenizers need.
    from barrow.tokens.chat import ChatTemplate

    files = TokenizerFiles(tokenizer, stops=loaded.stops) if tokenizer else loaded.words
    opened, known = files.open(), files.template()
    # An answer follows: nothing is put after a prompt.
    opened = opened.with_around(opened.around[0])
    settings = dict(files.settings)
    if known is not None:
        settings |= known.variables | {"chat_template": known.source}
    if template:
        path = Path(template)
        if not path.is_file():
            raise ConfigError(f"data.template: {template} does not exist; pass a Jinja file")
        variables = {} if known is None else known.variables
        known = ChatTemplate(path.read_text(encoding="utf-8"), variables)
        settings |= {"chat_template": known.source}
    stops = files.stops or (() if opened.end is None else (opened.end,))
    files = replace(files, settings=settings, begin=opened.begin, stops=stops)
    if begin == "always" and opened.begin is not None:
        files = replace(files, before=(opened.begin,))
    return Words(opened, known, files, begin)


def answer_rows(
    words: Words, records: Sequence[Answered], bad: Bad, *, length: int
) -> list[tuple[Row, Answered]]:
    """Chats as rows, cut to `length` tokens, each with its record."""

    def make(place: str, one: Answered) -> tuple[Row, Answered]:
        return _cut(words.row(place, one.prompt, one.answer), length), one

    return bad.kept(make, records)


def pair_rows(
    words: Words, records: Sequence[Pair], bad: Bad, *, length: int
) -> list[tuple[Row, Row]]:
    """The rows of pairs, the chosen answer first."""

    def make(place: str, one: Pair) -> tuple[Row, Row]:
        both = [words.row(place, one.prompt, answer) for answer in (one.chosen, one.rejected)]
        if np.array_equal(both[0].ids, both[1].ids):
            raise BadRecord("equal-answers", "the two answers have the same tokens")
        return _cut(both[0], length), _cut(both[1], length)

    return bad.kept(make, records)


def prompt_rows(
    words: Words, records: Sequence[Prompt], bad: Bad, *, most: int, room: int
) -> list[tuple[Ints, Prompt]]:
    """Prompts as tokens; those that leave no room for an answer are refused."""

    def make(place: str, one: Prompt) -> tuple[Ints, Prompt]:
        ids = words.prompt(place, one.prompt)
        if len(ids) > most:
            raise BadRecord(
                "long-prompt",
                f"the prompt has {len(ids)} tokens; with {room} of an answer at most {most} fit",
            )
        return ids, one

    return bad.kept(make, records)


def _cut(row: Row, length: int) -> Row:
    """The first tokens of a row, whose last is only predicted."""
    if len(row.ids) <= length + 1:
        return row
    kept = Row(row.ids[: length + 1], row.is_answer[: length + 1], row.place)
    if not kept.is_answer[1:].any():
        raise BadRecord(
            "long-prompt",
            f"no answer is left of {len(row.ids)} tokens in rows of {length}; set data.length",
        )
    return kept


def _rendered(
    template: ChatTemplate, messages: tuple[Message, ...], tokenizer: Tokenizer
) -> Encoded:
    try:
        return template.encode_answers(messages, tokenizer)
    except ValueError as error:
        raise BadRecord("refused", str(error)) from None


def _same(ids: npt.NDArray[Any], others: npt.NDArray[Any]) -> int:
    """How many tokens two texts have in common at their beginning."""
    num = min(len(ids), len(others))
    differs = np.flatnonzero(ids[:num] != others[:num])
    return int(differs[0]) if len(differs) else num
