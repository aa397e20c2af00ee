"""What anybody's settings may name: every public object of barrow in every open field.

A recipe or run of a stranger is read without `--trust`, so no name of barrow in it may lead to
anything but settings of the kind that its field expects.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import importlib
import json
import pkgutil
import re
import sys
import types
import typing
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.earlier.folders import earlier_folders

import barrow
from barrow import config
from barrow.corpus import Recipe
from barrow.errors import ConfigError
from barrow.train import Run

READERS = """
    CourtListener DmMathematics Epub EuroParl GitHub Gutenberg HackerNews Html Jats Latex Mail
    Markdown Medline NihExporter OpenSubtitles Pdf PlainText Records StackExchange UbuntuIrc Uspto
    Warc WebPages Wikipedia YoutubeSubtitles"""
FILTERS = """
    BadWords ByLanguage C4 FineWeb GopherQuality GopherRepetition Language Length LicenceRule
    Pattern Quality Ratios RejectPii Sample Unigrams UrlRule Where"""
OBJECTIVES = "Distil Labels Policy Preference Rewards Sft"

# The types of open fields, and what of barrow fits them. All other fields take nothing of barrow.
FITS: dict[str, str] = {
    "Reader": READERS,
    "Filter": FILTERS,
    "Filter | Rewriter": f"{FILTERS} C4Lines DropBoilerplate RedactPii Repair",
    "MakeObjective": OBJECTIVES,
    "Reward": "Exact Matches RewardModel UnitTests",
    "Optimizer": "Adafactor AdamW Lion Muon OneBitAdam",
    "Schedule": "Constant Cosine Linear WarmupStableDecay _Warmed",
    "Family": "AlignedConfig ClipConfig DecoderConfig LabelledConfig RobertaConfig",
    "StreamSettings | PairSettings | Batches | BatchSizes": """Chats EvaluationSettings LabelledRows
        OrderSettings OwnData PairSettings Pairs Prompts Run StreamSettings""",
    "DataSettings": """AlignedConfig Chats Pairs PairSettings StreamSettings TokenFile
        TokenizerFiles""",
    # These are not saved: their values are made while a run starts.
    "Constrain": "Constrainer",
    "TextEncoder": "ClipTexts",
    "Task": """CausalTask ContrastiveTask FinetuneTask MaskedTask OwnTask RolloutTask
        StaticTask""",
}


@cache
def public() -> dict[str, Any]:
    """Names of all dataclasses of barrow, and of all functions that one of its modules exports."""
    found = {}
    for info in pkgutil.walk_packages(barrow.__path__, "barrow."):
        if info.name == "barrow.__main__":  # runs the command line
            continue
        module = importlib.import_module(info.name)
        exported = getattr(module, "__all__", ())
        for name in {*vars(module), *exported}:
            thing = getattr(module, name)
            is_class = isinstance(thing, type) and dataclasses.is_dataclass(thing)
            is_exported = isinstance(thing, types.FunctionType) and name in exported
            if (is_class or is_exported) and thing.__module__.startswith("barrow."):
                found[thing] = f"{info.name}:{name}"
    return {name: thing for thing, name in found.items()}


def kinds_within(kind: Any) -> Iterator[Any]:
    """A type and those of a container's elements."""
    yield kind
    if typing.get_origin(kind) in (tuple, list, dict, collections.abc.Mapping):
        for argument in typing.get_args(kind):
            yield from kinds_within(argument)


def alternatives(kind: Any) -> tuple[Any, ...]:
    is_union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    options = typing.get_args(kind) if is_union else (kind,)
    return tuple(option for option in options if option is not type(None))


def is_open(kind: Any) -> bool:
    return any(
        typing.get_origin(option) is collections.abc.Callable
        or getattr(typing.get_origin(option) or option, "_is_protocol", False)
        for option in alternatives(kind)
    )


def named(kind: Any) -> str:
    return " | ".join(getattr(option, "__name__", str(option)) for option in alternatives(kind))


def open_kinds() -> dict[str, Any]:
    """The types of all open fields of settings."""
    kinds = {}
    for thing in public().values():
        if isinstance(thing, type):
            try:
                hints = typing.get_type_hints(thing)
            except (NameError, TypeError):  # so `config` cannot read such a class either
                continue
            for field in dataclasses.fields(thing):
                for kind in filter(is_open, kinds_within(hints[field.name])):
                    kinds.setdefault(named(kind), kind)
    return kinds


def is_taken(holder: Any, name: str, trust: tuple[str, ...] = ()) -> bool:
    """Whether a field accepts an object, whatever is said then of its settings."""
    try:
        config.from_dict(holder, {"field": name}, trust=trust)
    except ConfigError as error:
        return not re.search(f"field: {name} (is not a|must be a) ", str(error))
    except ValueError:  # of the object's own settings
        return True
    return True


def test_what_fits_each_open_field() -> None:
    kinds = open_kinds()
    assert {"Reader", "MakeObjective", "Extract"} <= set(kinds)
    assert any(map(is_bare, kinds.values()))
    fits = defaultdict(set)
    for kind_name, kind in kinds.items():
        holder = dataclasses.make_dataclass("Holder", [("field", kind)])
        for name, thing in public().items():
            if is_taken(holder, name):
                fits[kind_name].add(thing.__name__)
    assert dict(fits) == {name: set(things.split()) for name, things in FITS.items()}


def is_bare(kind: Any) -> bool:
    return all(typing.get_origin(o) is collections.abc.Callable for o in alternatives(kind))


class Extract(Protocol):
    def __call__(self, html: str, url: str, /) -> str | None: ...


class Measure(Protocol):
    def __call__(self, model: Any, *, text: str) -> float: ...


SOURCES = {
    "same": ("Extract", "(a: str, b: str) -> str | None", True),
    "narrower": ("Extract", "(a: str, b: str, /) -> str", True),
    "no_result": ("Extract", "(a: str, b: str)", False),
    "other_result": ("Extract", "(a: str, b: str) -> int", False),
    "other_type": ("Extract", "(a: str, b: Path) -> str", False),
    "no_types": ("Extract", "(a, b) -> str", False),
    "one_more": ("Extract", "(a: str, b: str, c: str = '') -> str", False),
    "any_number": ("Extract", "(*a: str) -> str", False),
    "by_name": ("Extract", "(*, a: str, b: str) -> str", False),
    "any_model": ("Measure", "(model: Model, *, text: str) -> float", True),
    "other_name": ("Measure", "(model: Model, *, words: str) -> float", False),
    "by_place": ("Measure", "(model: Model, text: str) -> float", False),
}


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of barrow with functions and classes that are called in several ways."""
    lines = [
        "from __future__ import annotations",
        "from dataclasses import dataclass",
        "__all__ = []",
    ]
    for name, (_, signature, _) in SOURCES.items():
        method = signature.replace("(", "(self, ", 1)
        lines += [
            f"def {name}{signature}: ...",
            f"@dataclass(frozen=True)\nclass Class_{name}:\n    def __call__{method}: ...",
            f"__all__ += ['{name}', 'Class_{name}']",
        ]
    module = types.ModuleType("barrow.planted")
    monkeypatch.setitem(sys.modules, "barrow.planted", module)
    exec("\n".join(lines), module.__dict__)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.usefixtures("planted")
def test_a_function_of_barrow_fits_by_its_annotations(name: str) -> None:
    protocol, _, fits = SOURCES[name]
    kind = {"Extract": Extract, "Measure": Measure}[protocol]
    holder = dataclasses.make_dataclass("Holder", [("field", kind)])
    bare = dataclasses.make_dataclass("Bare", [("field", Callable[..., Any])])
    for thing in (f"barrow.planted:{name}", f"barrow.planted:Class_{name}"):
        assert is_taken(holder, thing) is fits
        assert not is_taken(bare, thing)
        assert is_taken(holder, thing, trust=("barrow",))
        assert is_taken(bare, thing, trust=("barrow.planted",))


def test_saved_settings_of_an_earlier_version_open(tmp_path: Path) -> None:
    folder = earlier_folders(tmp_path)
    kinds: Mapping[str, type] = {"recipe": Recipe, "run": Run}
    saved = [*folder.glob("saved/*.json"), folder / "recipe.json", *folder.glob("*/run.json")]
    assert len(saved) == 11
    for path in saved:
        kind = kinds[path.name.split(".")[-2]]
        settings = config.from_json(kind, path.read_text())
        assert holds(json.loads(config.to_json(settings)), json.loads(path.read_text())), path


def holds(settings: Any, saved: Any) -> bool:
    """Whether settings are those saved, apart from fields that are newer."""
    if isinstance(saved, dict):
        return all(key in settings and holds(settings[key], saved[key]) for key in saved)
    return bool(settings == saved)


def test_names_that_are_imported_without_trust_are_not_settings() -> None:
    """A family and data name code of their own package: only their class may say which."""
    for thing in public().values():
        if isinstance(thing, type) and {"scoring", "objective", "usage"} <= {*dir(thing)}:
            fields = {field.name for field in dataclasses.fields(thing)}
            assert not fields & {"scoring", "objective", "usage"}, thing
        if isinstance(thing, type) and "task" in dir(thing):
            assert "task" not in thing.__dataclass_fields__ or thing.__name__ == "Card", thing
