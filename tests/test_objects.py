"""Open fields of settings: saved by name, imported only where trusted, keyed by their source."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pytest

from barrow import config, objects
from barrow.errors import ConfigError

HERE = __name__


class Shape(Protocol):
    """An open set of this test."""

    def area(self) -> float: ...


@dataclass(frozen=True)
class Square:
    side: float = 1.0

    def area(self) -> float:
        return self.side**2


@dataclass(frozen=True)
class Scaled:
    """An object that has another inside."""

    shape: Shape
    factor: float = 2.0

    def area(self) -> float:
        return self.shape.area() * self.factor


@dataclass(frozen=True)
class Colour:
    name: str = "red"


@dataclass(frozen=True)
class Drawing:
    shapes: tuple[Shape, ...] = ()
    frame: Shape | None = None
    named: dict[str, Shape] | None = None
    finish: Callable[[float], float] | None = None


def halved(value: float) -> float:
    return value / 2


DRAWING = Drawing(shapes=(Square(3.0), Scaled(Square())), named={"big": Square(9.0)}, finish=halved)


def test_objects_are_saved_by_name_and_read_back_equal() -> None:
    saved = json.loads(config.to_json(DRAWING))
    assert saved["shapes"][0] == {"object": f"{HERE}:Square", "side": 3.0}
    assert saved["shapes"][1]["shape"] == {"object": f"{HERE}:Square", "side": 1.0}
    assert saved["finish"] == {"object": f"{HERE}:halved"}
    assert saved["frame"] is None
    assert config.from_dict(Drawing, saved, trust=[HERE]) == DRAWING
    assert config.from_dict(Drawing, saved, trust=[HERE.split(".")[0]]) == DRAWING


def test_code_outside_barrow_is_not_imported_unless_trusted(tmp_path: Path) -> None:
    """The module would write a file when it is imported; it does not come to that."""
    (tmp_path / "planted.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    program = (
        "import sys; from barrow import config; from tests.test_objects import Drawing\n"
        "for attempt in sys.argv[1:]:\n"
        "    name, *trust = attempt.split()\n"
        "    try: config.from_dict(Drawing, {'frame': {'object': name}}, trust=trust)\n"
        "    except config.ConfigError as error: print(error)\n"
    )

    def attempt(*attempts: str) -> list[str]:
        command = [sys.executable, "-c", program, *attempts]
        path = f"{tmp_path}:{':'.join(sys.path)}:{Path.cwd()}"
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env={"PYTHONPATH": path}
        )
        return done.stdout.splitlines()

    names = ["planted:Square", "planted:Square plant", "planted:Square planted.inner"]
    *planted, by_file, system = attempt(
        *names, f"{tmp_path}/planted.py:Square planted", "os:system"
    )
    assert len(planted) == 3
    assert all("pass --trust planted" in line for line in planted)
    assert "--trust" in by_file
    assert "--trust" in system
    assert not (tmp_path / "ran").exists()
    (line,) = attempt("planted:Square planted")
    assert "has no Square" in line
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (3, "expected Shape"),
        ({"side": 3}, "module:Name"),
        ("nothing", 'expected "module:Name"'),
        ("barrow.nothing:X", "cannot import"),
        ("barrow.config:Nothing", "has no Nothing"),
        ("barrow.__main__:X", "has no X"),  # and does not run the command line
        ("barrow.config:json", "must be a dataclass or a function"),
        ("barrow.cli.recipe:load_recipe", "not a public object"),
        ("barrow.config:import_file", "not a Shape or null: it has no 'area'"),
        ("barrow.engine:Engine", "it has no 'area'"),
        ({"object": "{here}:Square", "sides": 3}, "did you mean 'side'"),
        ({"object": "{here}:Square", "side": "x"}, "expected float"),
        ({"object": "{here}:Colour"}, "is not a Shape or null: it has no 'area'"),
        ({"object": "{here}:halved", "side": 1}, "is a function and has no settings"),
        ({"object": "{here}:DRAWING"}, "must be a dataclass or a function"),
    ],
)
def test_bad_objects(data: Any, words: str) -> None:
    if isinstance(data, dict) and "object" in data:
        data = {**data, "object": data["object"].format(here=HERE)}
    with pytest.raises(ConfigError, match="Drawing.frame") as caught:
        config.from_dict(Drawing, {"frame": data}, trust=[HERE])
    assert words in str(caught.value)


def test_overrides_reach_objects() -> None:
    def changed(*assignments: str) -> Drawing:
        return config.override(DRAWING, assignments, trust=[HERE])

    assert changed("shapes.0.side=5").shapes[0] == Square(5.0)
    assert changed("shapes.Square.side=5").shapes[0] == Square(5.0)
    assert changed("shapes.Scaled.shape.side=5").shapes[1] == Scaled(Square(5.0))
    assert changed("named.big.side=2").named == {"big": Square(2.0)}
    assert changed(f"frame={HERE}:Square", "frame.side=4").frame == Square(4.0)
    assert changed("frame=null").frame is None
    assert changed(f'frame={{"object": "{HERE}:Square", "side": 7}}').frame == Square(7.0)
    for bad in ("shapes.Circle.side=1", "shapes.2.side=1"):
        with pytest.raises(ConfigError, match=r"0 \(Square\), 1 \(Scaled\)"):
            changed(bad)
    with pytest.raises(ConfigError, match="pass --trust os"):
        changed("frame=os:system")


def test_an_object_inside_a_function_cannot_be_saved() -> None:
    @dataclass(frozen=True)
    class Local:
        def area(self) -> float:
            return 0.0

    with pytest.raises(ConfigError, match="top level of a module"):
        config.to_dict(Drawing(frame=Local()))


FILE = """
from dataclasses import dataclass

SIDES = 4
OTHER = 1

def scale(x):
    return x * SIDES  # by the number of sides

@dataclass(frozen=True)
class Mine:
    side: float = 1.0

    def area(self):
        return scale(self.side)

@dataclass(frozen=True)
class Another:
    def area(self):
        return OTHER
"""


def test_objects_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "recipe.py"
    path.write_text(FILE)
    drawing = Drawing(frame=config.import_file(path).Mine(2.0))
    saved = config.to_dict(drawing)
    assert saved["frame"] == {"object": "recipe.py:Mine", "side": 2.0}
    assert config.from_dict(Drawing, saved, trust=[str(path)]) == drawing
    assert config.outside(drawing) == (str(path), HERE)
    with pytest.raises(ConfigError, match="--trust recipe.py"):
        config.from_dict(Drawing, saved, trust=["recipe"])
    with pytest.raises(ConfigError, match="does not exist"):
        config.from_dict(Drawing, saved, trust=[str(tmp_path / "gone" / "recipe.py")])


@pytest.mark.parametrize(
    ("edit", "differs"),
    [
        (("SIDES = 4", "SIDES = 5"), True),
        (("x * SIDES", "x + SIDES"), True),
        (("side: float = 1.0", "side: float = 2.0"), True),
        (("@dataclass(frozen=True)\nclass Mine", "@dataclass\nclass Mine"), True),
        (("OTHER = 1", "OTHER = 2"), False),
        (("return OTHER", "return OTHER + 1"), False),
    ],
)
def test_identity_follows_the_source_an_object_uses(
    tmp_path: Path, edit: tuple[str, str], differs: bool
) -> None:
    identities = []
    for folder, text in (("a", FILE), ("b", FILE.replace(*edit))):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "recipe.py"
        path.write_text(text)
        identity = config.identity(Drawing(frame=config.import_file(path).Mine(2.0)))
        assert str(tmp_path) not in json.dumps(identity)
        identities.append(identity)
    assert (identities[0] != identities[1]) is differs


def test_a_file_that_changed_is_a_new_module(tmp_path: Path) -> None:
    path = tmp_path / "recipe.py"
    path.write_text(FILE)
    first = config.import_file(path)
    assert config.import_file(path) is first
    path.write_text(FILE.replace("SIDES = 4", "SIDES = 5"))
    assert config.import_file(path).SIDES == 5


@dataclass(frozen=True)
class Constant:
    side: float = 1.0
    kind_of_shape: ClassVar[str] = "square"


def test_the_main_script_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "main.py"
    path.write_text(
        FILE + "import json\nfrom barrow import objects\n"
        "print(json.dumps([objects.name_of(Mine), objects.trust_of(Mine)]))\n"
    )
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["main.py:Mine", str(path)]


def test_names_of_barrow_are_those_its_packages_export() -> None:
    from barrow.archive.composition import Share

    assert objects.name_of(Share) == "barrow.archive:Share"
    assert objects.trust_of(Share) is None
    assert objects.resolve("barrow.archive:Share") is Share


def test_settings_can_be_looked_at_without_importing_what_they_name(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    saved = {"frame": {"object": "planted:Square", "side": 3, "source": "x"}}
    saved |= {"named": {"a": {"object": "planted.py:Square"}}}
    drawing = config.from_dict(Drawing, saved, trust=None)
    assert drawing.frame == config.Named("planted:Square", {"side": 3})
    assert config.class_name(drawing.frame) == "Square"
    again = config.to_dict(drawing)
    assert again["frame"] == {"object": "planted:Square", "side": 3}
    assert config.from_dict(Drawing, again, trust=None) == drawing
    assert not (tmp_path / "ran").exists()
    with pytest.raises(ConfigError, match="has no Shar; did you mean 'Share'"):
        config.from_dict(Drawing, {"frame": "barrow.archive:Shar"}, trust=None)


def test_constants_of_a_class_are_no_settings() -> None:
    with pytest.raises(ConfigError, match="no setting 'kind_of_shape'; there are side"):
        config.from_dict(Constant, {"kind_of_shape": "x"})
    with pytest.raises(ConfigError, match="no setting 'kind_of_shape'"):
        config.override(Constant(), ["kind_of_shape=x"])


def test_deep_json_is_a_clear_error() -> None:
    with pytest.raises(ConfigError, match="is not JSON"):
        config.from_json(Drawing, '{"frame":' * 100_000)
