from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow import config
from barrow.errors import ConfigError


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Domain:
    epochs: float = 1.0
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recipe:
    name: str
    seed: int = 0
    shuffle: bool = True
    limit: int | None = None
    out: Path = Path("out")
    colour: Colour = Colour.RED
    engine: Literal["local", "ray"] = "local"
    pair: tuple[int, float] = (1, 2.0)
    domains: dict[str, Domain] = field(default_factory=dict)
    extra: Any = None


RECIPE = Recipe("pile", limit=3, domains={"arxiv": Domain(2.0, ("a", "b")), "github": Domain()})


def test_round_trip() -> None:
    assert config.from_json(Recipe, config.to_json(RECIPE)) == RECIPE


@given(
    st.builds(
        Recipe,
        name=st.text(),
        seed=st.integers(),
        shuffle=st.booleans(),
        limit=st.none() | st.integers(),
        colour=st.sampled_from(Colour),
        pair=st.tuples(st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
        domains=st.dictionaries(st.text(), st.builds(Domain, st.floats(0, 10))),
    )
)
def test_any_settings_round_trip(recipe: Recipe) -> None:
    assert config.from_json(Recipe, config.to_json(recipe)) == recipe


def test_overrides() -> None:
    changed = config.override(
        RECIPE,
        [
            "seed=7",
            "domains.arxiv.epochs=1.5",
            'domains.github.paths=["x"]',
            "domains.arxiv.paths=a, c",
            "shuffle=false",
            "limit=null",
            "name=true",
            "out=a/b",
            "colour=blue",
            "engine=ray",
        ],
    )
    assert changed.seed == 7
    assert changed.domains["arxiv"] == Domain(1.5, ("a", "c"))
    assert changed.domains["github"].paths == ("x",)
    assert changed.shuffle is False
    assert changed.limit is None
    assert changed.name == "true"
    assert changed.out == Path("a/b")
    assert changed.colour is Colour.BLUE
    assert changed.engine == "ray"
    assert RECIPE.seed == 0, "settings are never changed in place"


@dataclass(frozen=True)
class Sizes:
    rows: int = 4
    most: int = 4
    parts: tuple[Domain, ...] = (Domain(),)

    def __post_init__(self) -> None:
        if self.rows > self.most:
            raise ValueError(f"{self.rows} rows, at most {self.most}")


@pytest.mark.parametrize("assignments", [["rows=8", "most=9"], ["most=9", "rows=8"]])
def test_overrides_that_are_right_together_have_any_order(assignments: list[str]) -> None:
    assert config.override(Sizes(), assignments) == Sizes(8, 9)


@pytest.mark.parametrize(
    ("assignments", "answer"),
    [
        (["rows=8", "most=7"], "8 rows, at most 7"),
        (["rows=often", "most=false", "parts.0.epochs=2"], "rows: expected int"),
        (["rows=8", "rows=3", "most=9"], "8 rows, at most 4"),
        (["parts.0.epochs=x", "parts.Domain.paths=a"], "epochs: expected float"),
    ],
)
def test_overrides_that_are_wrong_together(assignments: list[str], answer: str) -> None:
    with pytest.raises(ValueError, match=answer):
        config.override(Sizes(), assignments)


@pytest.mark.parametrize(
    ("assignment", "answer"),
    [
        ("sede=1", "did you mean 'seed'"),
        ("domains.arxv.epochs=1", "did you mean 'arxiv'"),
        ("domains.arxiv.epoch=1", "did you mean 'epochs'"),
        ("zzzzzz=1", "there are colour, domains"),
        ("seed=often", "expected int, got 'often'"),
        ("seed=1.5", "expected int"),
        ("seed=true", "expected int"),
        ("colour=green", "expected one of \\['red', 'blue'\\]"),
        ("engine=slurm", "expected"),
        ("seed.deep=1", "has no 'deep'"),
        ("seed", "expected key=value"),
        ("=1", "expected key=value"),
        ("pair=[1]", "expected tuple"),
        ("pair=1,2", "expected tuple"),
        ('domains.arxiv.paths=["x"', "expected tuple"),
    ],
)
def test_a_wrong_override_is_answered(assignment: str, answer: str) -> None:
    with pytest.raises(ConfigError, match=answer):
        config.override(RECIPE, [assignment])


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({"sede": 1}, "did you mean 'seed'"),
        ({"seed": "1"}, "Recipe.seed: expected int, got '1'"),
        ({"domains": {"arxiv": {"epochs": "many"}}}, "Recipe.domains.arxiv.epochs: expected float"),
        ({"pair": [1, 2, 3]}, "expected 2 values"),
        ({"colour": "green"}, "expected one of"),
        ({"limit": "x"}, "expected int or null"),
    ],
)
def test_a_wrong_file_is_answered(change: dict[str, Any], answer: str) -> None:
    with pytest.raises(ConfigError, match=answer):
        config.from_dict(Recipe, {**config.to_dict(RECIPE), **change})


def test_missing_and_broken() -> None:
    with pytest.raises(ConfigError, match="name"):
        config.from_json(Recipe, "{}")
    with pytest.raises(ConfigError, match="not JSON"):
        config.from_json(Recipe, "{")
    with pytest.raises(ConfigError, match="expected Recipe"):
        config.from_json(Recipe, "[]")


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ConfigError, match="nan"):
        config.to_json(Domain(float("nan")))
    with pytest.raises(ConfigError, match="object"):
        config.to_json(Recipe("x", extra=object()))


def test_saved_settings_are_plain_json() -> None:
    saved = json.loads(config.to_json(RECIPE))
    assert saved["domains"]["arxiv"] == {"epochs": 2.0, "paths": ["a", "b"]}
    assert saved["out"] == "out"


def test_a_choice_that_is_none() -> None:
    with pytest.raises(ConfigError, match=r"packing: expected one of \['cut', 'fit'\], got 'fitt'"):
        config.override(Chosen(), ["packing=fitt"])
    assert config.override(Chosen(), ["packing=fit"]) == Chosen("fit")


def test_a_part_of_what_is_not_set() -> None:
    message = r'weights is not set; set all of it, as weights=\{"a": 2\}'
    with pytest.raises(ConfigError, match=message):
        config.override(Chosen(), ["weights.a=2"])


def test_a_part_of_settings_that_are_not_set() -> None:
    """The rest has its defaults, if there are defaults for all."""
    found = config.override(Chosen(), ["inner.size=3"])
    assert found.inner == Inner(size=3)
    assert config.override(found, ["inner.steps=2"]).inner == Inner(3, 2)
    with pytest.raises(ConfigError, match="inner.sise: no setting 'sise'; did you mean 'size'"):
        config.override(Chosen(), ["inner.sise=3"])
    with pytest.raises(ConfigError, match="needed is not set; set all of it"):
        config.override(Chosen(), ["needed.a=3"])


@dataclass(frozen=True)
class Inner:
    size: int = 1
    steps: int = 5


@dataclass(frozen=True)
class Needed:
    a: int
    b: int


@dataclass(frozen=True)
class Chosen:
    packing: Literal["cut", "fit"] = "cut"
    weights: dict[str, float] | None = None
    inner: Inner | None = None
    needed: Needed | None = None


@dataclass(frozen=True)
class Plain:
    width: int = 1


@dataclass(frozen=True)
class Tagged:
    depth: int = 2
    kind: Literal["tagged"] = "tagged"


@dataclass(frozen=True)
class Either:
    one: Plain | Tagged | None = None


@pytest.mark.parametrize("one", [Plain(3), Tagged(4), None])
def test_kinds_of_dataclasses_are_told_apart(one: Any) -> None:
    assert config.from_json(Either, config.to_json(Either(one))) == Either(one)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        # The error is of the one that is meant, not of all that it might be.
        ({"widht": 1}, "Either.one.widht: no setting 'widht'; did you mean 'width'"),
        ({"kind": "tagged", "dept": 1}, "did you mean 'depth'"),
        ({"kind": "other"}, r"one.kind: expected one of \['tagged'\], or no kind for Plain, got"),
        ({"kind": ["tagged"]}, "expected one of"),
    ],
)
def test_bad_kinds(data: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config.from_dict(Either, {"one": data})


def test_objects_of_a_tuple_are_switched_on_and_off() -> None:
    from barrow.corpus import C4, Domain, FineWeb, Html, Length, Records, Repair

    web = Domain("Web", Records(), filters=(Repair(), C4()), filters_of={"Code": (Repair(),)})

    def changed(*assignments: str) -> Domain:
        return config.override(web, assignments)

    assert changed("filters.C4=off").filters == (Repair(),)
    assert changed("reader=Html").reader == Html()
    assert changed('filters=[{"object": "Length", "min_bytes": 2}]').filters == (Length(2),)
    assert changed("filters.0=off").filters == (C4(),)
    assert changed("filters.FineWeb=on").filters == (Repair(), C4(), FineWeb())
    assert changed("filters.C4.min_sentences=3", "filters.C4=on").filters[1] == C4(min_sentences=3)
    assert changed('filters.Repair={"normal_form": "NFC"}').filters == (Repair("NFC"), C4())
    assert changed("filters.Length=on", "filters.Length.min_bytes=7").filters[2] == Length(7)
    assert changed("filters_of.Code.Repair=off").filters_of == {"Code": ()}
    assert changed("filters_of.Code=[]").filters_of == {"Code": ()}
    for wrong, words in {
        "filters.C5=on": "filters.C5: barrow.corpus has no C5; did you mean 'C4'?",
        "filters.C5=off": "unknown element 'C5'; there are 0 (Repair), 1 (C4)",
        "filters.Warc=on": "barrow.corpus:Warc is not a Filter or Rewriter",
        "filters.Sample.share=0.1": "there are 0 (Repair), 1 (C4); filters.Sample=on adds one",
        "filters.Sample=on": 'filters.Sample: Sample needs {"share": …}, got {}',
        "filters.C4=no": "filters.C4: expected on, off or {settings} of a class, got 'no'",
        "filters.1=on": "expected on, off or {settings} of a class",
        'filters.C4={"sentences": 1}': "did you mean 'min_sentences'?",
        "filters_of.Cod.Repair=off": "did you mean 'Code'?",
        'filters_of.Code=["barrow.corpus:Warc"]': "filters_of.Code: expected tuple, got",
    }.items():
        with pytest.raises(ConfigError, match=re.escape(words)):
            changed(wrong)


def test_keys_inside_tuples_and_dicts_are_described() -> None:
    from barrow.corpus import C4, Domain, Length, Recipe, Records, Repair

    domain = Domain("W", Records(), filters=(Length(2), Length(3), C4()), filters_of={"X": (C4(),)})
    recipe = Recipe("r", {"web": domain, "more": Domain("M", Records(), filters=(Repair(),))})
    rows = {key: (value, meaning) for key, value, meaning in config.describe(recipe)}
    assert rows["domains.web"] == ("Domain", "folder under the root → what is in it")
    assert rows["domains.web.filters.C4.min_sentences"] == ("5", "sentences of a page")
    assert rows["domains.web.filters.1.min_bytes"][0] == "3", "a class that is there twice"
    assert rows["domains.web.filters_of.X"][0] == "C4"
    assert rows["domains.more.filters.Repair"][0] == "on"
    assert rows["domains.more.reader.text_key"] == (
        '"text"',
        "the key, or column, of a record's text",
    )
    for key, (value, _) in rows.items():  # every key is one that can be set
        given = "off" if value == "on" else value
        if not given[0].isupper() and ".filters_of." not in key:
            config.override(recipe, [f"{key}={given}"])
