"""A model's tokenizer with its flags: what all readers of models give, and all writers store."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from barrow.files import write_bytes
from barrow.models.text import open_tokenizer
from barrow.weights.foreign_model import write_json
from barrow.weights.model_card import write_card

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer
    from barrow.tokens.chat import ChatTemplate

_JSON, _SETTINGS, _TEMPLATE = "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"
_MERGES = ("vocab.json", "merges.txt")
_COPIED = (
    *(_JSON, _SETTINGS, _TEMPLATE, *_MERGES, "chat_template.json", "tokenizer.model"),
    *("special_tokens_map.json", "added_tokens.json"),
)
# A path or a name for `barrow.tokens.load`, or the contents of a tokenizer.json.
TokenizerSource: TypeAlias = str | Path | Mapping[str, Any]


@dataclass(frozen=True)
class TokenizerFiles:
    """A tokenizer, and how its model is used.

    `settings` are those of a tokenizer_config.json, chat template included; a path has its own
    beside it, and these come before them. `begin`, `stops` and `pad` are the ids in config.json.
    `before` are the ids that a prompt begins with, where a run says it, and not the tokenizer.
    `generation` are other settings of generation_config.json; `card` has the model's name and
    licence, as in the head of a README.md.
    """

    source: TokenizerSource | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    begin: int | None = None
    stops: tuple[int, ...] = ()
    pad: int | None = None
    before: tuple[int, ...] | None = None
    generation: Mapping[str, Any] = field(default_factory=dict)
    card: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path | None:
        """Where the tokenizer's files are, if it is one of files."""
        if self.source is None or self.source == "bytes" or isinstance(self.source, Mapping):
            return None
        path = Path(self.source)
        return path if path.is_dir() else path.parent

    def ids(self) -> dict[str, Any]:
        """The ids as config.json has them."""
        pad = {} if self.pad is None else {"pad_token_id": self.pad}
        end = list(self.stops) if len(self.stops) > 1 else next(iter(self.stops), None)
        return {"bos_token_id": self.begin, "eos_token_id": end, **pad}

    def open(self) -> Tokenizer:
        """The tokenizer."""
        found = open_tokenizer(self.source, settings=self.settings)
        return found if self.before is None else found.with_around(self.before)

    def all_settings(self) -> dict[str, Any]:
        """The settings with those of the files, and the chat template."""
        from barrow.tokens.chat.template import read_settings

        folder = self.folder
        return {**({} if folder is None else read_settings(folder)), **self.settings}

    def template(self) -> ChatTemplate | None:
        """The chat template, if there is one."""
        from barrow.tokens.chat import find_template

        return find_template(self.all_settings())

    def about(self) -> dict[str, Any]:
        """Describe it for a checkpoint; `described_files` reads the result."""
        source = str(self.source) if isinstance(self.source, Path) else self.source
        return {
            "tokenizer": source,
            "tokenizer_config": dict(self.settings),
            "begin": self.begin,
            "end": next(iter(self.stops), None),
            "stops": list(self.stops),
            "before": None if self.before is None else list(self.before),
        }

    def save(self, folder: Path) -> None:
        """Write the files beside a model, so that every program opens the same tokenizer."""
        write_card(folder, self.card)
        if self.source is None:
            return
        beside = self.folder
        if isinstance(self.source, Mapping):
            write_json(folder / _JSON, self.source)
        elif beside is not None and Path(self.source).name in (beside.name, _JSON, *_MERGES):
            for name in _COPIED:
                if (beside / name).exists():
                    write_bytes(folder / name, (beside / name).read_bytes())
        is_made = not (folder / _JSON).exists()
        if is_made:
            self.open().save(folder)
        self._save_settings(folder)
        if is_made or self.before is not None:
            self._save_around(folder)

    def _save_settings(self, folder: Path) -> None:
        settings = dict(self.settings)
        template = settings.get("chat_template")
        if (folder / _TEMPLATE).exists() and isinstance(template, str):
            write_bytes(folder / _TEMPLATE, template.encode())
            del settings["chat_template"]
        if settings:
            write_json(folder / _SETTINGS, _read(folder / _SETTINGS) | settings)

    def _save_around(self, folder: Path) -> None:
        """Have the file put around a text what this tokenizer puts there."""
        from barrow.tokens.roles import around
        from barrow.tokens.tokenizer_json import put_around

        table = _read(folder / _JSON)
        names = {token["id"]: token["content"] for token in table.get("added_tokens") or ()}
        wanted = self.open().around if self.before is None else (self.before, ())
        if around(table, str(folder / _JSON)) != wanted and names.keys() >= {
            *wanted[0],
            *wanted[1],
        }:
            edges = ({names[number]: number for number in edge} for edge in wanted)
            write_json(folder / _JSON, {**table, "post_processor": put_around(*edges)})


def as_files(
    tokenizer: TokenizerFiles | TokenizerSource | os.PathLike[str] | None,
    *,
    begin: int | None,
    stops: tuple[int, ...],
    is_causal: bool,
) -> TokenizerFiles:
    """A tokenizer that has its ids already, or one with these; a decoder's prompts have `begin`."""
    if isinstance(tokenizer, TokenizerFiles):
        return tokenizer
    if isinstance(tokenizer, os.PathLike):
        tokenizer = Path(tokenizer)
    before = (begin,) if is_causal and begin is not None else None
    return TokenizerFiles(tokenizer, begin=begin, stops=stops, before=before)


def described_files(about: Mapping[str, Any], *, is_causal: bool) -> TokenizerFiles:
    """The tokenizer of a checkpoint, from its `about`.

    A decoder was trained on documents after their begin id, so its prompts begin with it. Where
    `about` does not say it, they begin as the tokenizer says.
    """
    begin, end = about.get("begin"), about.get("end")
    trained = None if "begin" not in about else [] if begin is None else [begin]
    before = about.get("before", trained)
    return TokenizerFiles(
        about.get("tokenizer"),
        about.get("tokenizer_config") or {},
        begin,
        tuple(about.get("stops") or ([] if end is None else [end])),
        before=tuple(before) if is_causal and before is not None else None,
    )


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    found: dict[str, Any] = json.loads(file.read_bytes())
    return found
