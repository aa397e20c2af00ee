"""The chat template of a model: conversations to text, to tokens, and which the assistant wrote."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import secrets
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.config import parse_json
from barrow.errors import MissingExtra, TokenizerError
from barrow.tokens.tokenizer import Ids, Tokenizer

Message = Mapping[str, Any]
_RENDER = Path(__file__).with_name("render.py")
_MARK = "generation_mark"
_SPECIALS = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
_SECONDS, _MOST_BYTES, _MOST_TEXT = 5.0, 1 << 30, 1 << 24


@dataclass(frozen=True)
class Encoded:
    """A conversation as tokens, and for each whether the assistant wrote it."""

    ids: Ids
    is_answer: npt.NDArray[np.bool_]


class ChatTemplate:
    """A Jinja template as transformers renders it, in a process of its own with limits.

    `variables` are what the template may use beside the conversation, such as `bos_token`. A
    conversation that the template refuses is a `ValueError`; a template that fails, or needs more
    than 5 s of processor time, 1 GiB of memory or 16 million characters, a `TokenizerError`. For
    several threads; `close` ends the process, which the next call starts again.
    """

    def __init__(self, source: str, variables: Mapping[str, Any] | None = None) -> None:
        if importlib.util.find_spec("jinja2") is None:
            raise MissingExtra("jinja2", "chat", "a chat template")
        self.source = source
        self.variables = dict(variables or {})
        self._lock = threading.Lock()
        self._end: weakref.finalize[Any, ChatTemplate] | None = None
        self._process: subprocess.Popen[str] | None = None

    @property
    def marks_answers(self) -> bool:
        """Whether the template says what the assistant writes: ``{% generation %}``."""
        return re.search(r"\{%-?\s*generation\s*-?%\}", self.source) is not None

    def render(
        self, messages: Sequence[Message], *, add_generation_prompt: bool = False, **variables: Any
    ) -> str:
        """The text of a conversation; with `add_generation_prompt`, up to where an answer begins.

        A message has a `role` and a `content`; `variables` such as `tools` go to the template.
        """
        given = {"messages": list(messages), "add_generation_prompt": add_generation_prompt}
        named = {"tools": None, "documents": None, **self.variables, **variables, **given}
        with self._lock:
            answer = self._ask(json.dumps({"template": self.source, "variables": named}))
        if "refused" in answer:
            raise ValueError(f"the chat template refuses the conversation: {answer['refused']}")
        if "failed" in answer:
            raise TokenizerError(f"the chat template failed: {answer['failed']}")
        return answer["text"]

    def render_answers(
        self, messages: Sequence[Message], **variables: Any
    ) -> tuple[str, list[tuple[int, int]]]:
        """The text, and the places in it (characters, from and to) that the assistant wrote.

        They are what the template marks. In one that marks nothing, an answer is what its message
        adds to the text that asks for it, without white space at its end.
        """
        if self.marks_answers:
            mark = f"\0{secrets.token_hex(16)}\0"
            pieces = self.render(messages, **{**variables, _MARK: mark}).split(mark)
            ends = np.cumsum([len(piece) for piece in pieces]).tolist()
            return "".join(pieces), list(zip(ends[:-1:2], ends[1::2], strict=True))
        text = self.render(messages, **variables)
        places = []
        for number, message in enumerate(messages):
            if message.get("role") != "assistant":
                continue
            before = self.render(messages[:number], add_generation_prompt=True, **variables)
            after = self.render(messages[: number + 1], **variables)
            if not after.startswith(before) or not text.startswith(after):
                raise ValueError(
                    f"message {number} changes the text of others, so its place is unknown; mark "
                    "answers in the template: {% generation %}…{% endgeneration %}"
                )
            places.append((len(before), len(before) + len(after[len(before) :].rstrip())))
        return text, places

    def encode(
        self,
        messages: Sequence[Message],
        tokenizer: Tokenizer,
        *,
        add_generation_prompt: bool = False,
        **variables: Any,
    ) -> Ids:
        """The tokens of a conversation; special tokens are found by their names, none is added."""
        text = self.render(messages, add_generation_prompt=add_generation_prompt, **variables)
        return tokenizer.encode_named(text)[0]

    def encode_answers(
        self, messages: Sequence[Message], tokenizer: Tokenizer, **variables: Any
    ) -> Encoded:
        """The tokens of a conversation, and which of them have a part of an answer."""
        text, places = self.render_answers(messages, **variables)
        ids, spans = tokenizer.encode_named(text)
        # Places are characters, spans are bytes.
        at = [len(text[:place].encode()) for pair in places for place in pair]
        is_answer = np.zeros(len(ids), np.bool_)
        for start, stop in zip(at[::2], at[1::2], strict=True):
            is_answer |= (spans[:, 0] < stop) & (spans[:, 1] > start)
        return Encoded(ids, is_answer)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._stop()

    def _ask(self, line: str) -> dict[str, str]:
        if self._process is None:
            limits = map(str, (_SECONDS, _MOST_BYTES, _MOST_TEXT))
            self._process = subprocess.Popen(  # noqa: S603 - our own file
                [sys.executable, "-P", str(_RENDER), *limits],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
            )
            self._end = weakref.finalize(self, _ended, self._process)
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(line + "\n")
            stdin.flush()
            found = stdout.readline()
        except BrokenPipeError:
            found = ""
        if found:
            answer: dict[str, str] = json.loads(found)
            return answer
        code = self._stop()
        if code == -signal.SIGPROF:
            return {"failed": f"it took more than {_SECONDS:g} s; does it loop?"}
        return {"failed": f"its process ended with {code}"}

    def _stop(self) -> int | None:
        end, self._end, self._process = self._end, None, None
        return None if end is None else end()


def _ended(process: subprocess.Popen[str]) -> int:
    """Ended, and its exit status."""
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
    return process.wait()


def find_template(
    settings: Mapping[str, Any] | None = None, *, folder: Path | None = None
) -> ChatTemplate | None:
    """The template of a model's folder, or of the contents of a tokenizer_config.json.

    None if there is no template.
    """
    settings = {**(settings or {}), **({} if folder is None else read_settings(folder))}
    source = settings.get("chat_template")
    if isinstance(source, list):
        named = {each.get("name"): each.get("template") for each in source}
        source = named.get("default", next(iter(named.values()), None))
    if source is None:
        return None
    if not isinstance(source, str):
        raise TokenizerError(f"chat_template must be a string, got {type(source).__name__}")
    return ChatTemplate(source, _special_tokens(settings))


def read_settings(folder: Path) -> dict[str, Any]:
    """The contents of a folder's tokenizer_config.json, and what is in files of its own.

    `chat_template.jinja` comes before the settings, as in transformers.
    """
    settings: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        settings |= _read(folder / name)
    source = _read(folder / "chat_template.json").get("chat_template")
    if (file := folder / "chat_template.jinja").is_file():
        source = file.read_text(encoding="utf-8")
    return settings if source is None else settings | {"chat_template": source}


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    found = parse_json(file.read_bytes(), file, error=TokenizerError)
    if not isinstance(found, dict):
        raise TokenizerError(f"{file} is not a JSON object")
    return found


def _special_tokens(settings: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for name in _SPECIALS:
        token = settings.get(f"{name}_token")
        token = token.get("content") if isinstance(token, dict) else token
        if isinstance(token, str):
            found[f"{name}_token"] = token
    return found
