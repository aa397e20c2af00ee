"""FLAX-8: pickles as data. What is not admitted is refused by name, and nothing runs."""

from __future__ import annotations

import builtins
import collections
import contextlib
import os
import pickle
import pickletools
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.weights.torch.restricted_pickle import Global, Instance, Meanings, Refused, load

MEANINGS = Meanings(
    values={"data.Value": 42},
    calls={"data.join": lambda arguments: list(arguments), "collections.OrderedDict": lambda _: {}},
    is_class=lambda found: found.module == "classes",
    build=lambda target, state: target,
    persistent=lambda pid: ("stored", pid),
)


def read(data: bytes) -> Any:
    return load(data, meanings=MEANINGS)


keys = st.text(max_size=5) | st.integers() | st.floats(allow_nan=False) | st.none()
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(keys, inner, max_size=5)
        | st.lists(inner, max_size=5).map(tuple)
    ),
    max_leaves=20,
)


@given(value=plain, protocol=st.integers(3, 5))
def test_containers_numbers_and_strings(value: Any, protocol: int) -> None:
    assert read(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", range(6))
def test_every_protocol(protocol: int) -> None:
    value: dict[str, Any] = {
        "a": [1, -2, 1 << 80, 0.5, None, True],
        "b": ("x" * 300, (), (1, 2, 3)),
    }
    value["again"] = value["a"]
    found = read(pickle.dumps(value, protocol))
    assert found == value
    assert found["again"] is found["a"]


def test_calls_classes_states_and_persistent_ids() -> None:
    assert read(b"cdata\nValue\n.") == 42
    assert read(b"cdata\njoin\n(K\1K\2tR.") == [1, 2]
    found = read(b"\x80\x02cclasses\nThing\n)\x81}X\1\0\0\0aK\7sb.")
    assert found == Instance(Global("classes", "Thing"), {"a": 7})
    assert read(b"\x80\x02K\5Q.") == ("stored", 5)
    assert read(pickle.dumps(collections.OrderedDict())) == {}


class Evil:
    def __init__(self, call: Any, *arguments: Any) -> None:
        self.reduced = (call, arguments)

    def __reduce__(self) -> Any:
        return self.reduced


class Nested:
    def __reduce__(self) -> Any:
        return getattr, (Evil(__import__, "os"), "system")


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    ("evil", "name"),
    [
        (lambda p: Evil(os.system, f"touch {p}"), "posix.system"),
        (lambda p: Evil(eval, f"open({str(p)!r}, 'w')"), "eval"),
        (lambda p: Evil(exec, f"open({str(p)!r}, 'w')"), "exec"),
        (lambda p: Evil(subprocess.Popen, ["touch", str(p)]), "subprocess.Popen"),
        (lambda p: Evil(getattr, os, "system"), "getattr"),
        (lambda p: Evil(builtins.open, str(p), "w"), "open"),
        (lambda p: Evil(__import__, "os"), "__import__"),
        (lambda p: Nested(), "getattr"),
        (lambda p: [1, {"deep": (Evil(os.mkdir, str(p)),)}], "posix.mkdir"),
    ],
)
def test_evil_is_refused_by_name(evil: Any, name: str, protocol: int, tmp_path: Path) -> None:
    made = tmp_path / "made"
    thing = evil(made)
    if name == "getattr" and not isinstance(thing, Nested):
        data = b"\x80\x02cbuiltins\ngetattr\nK\1X\6\0\0\0system\x86R."
    else:
        data = pickle.dumps(thing, protocol)
    with pytest.raises(
        Refused, match=rf"the pickle names [\w.]*{name.split('.')[-1]}, which is not"
    ):
        read(data)
    assert not made.exists()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"cos\nsystem\n(S'true'\ntR.", "the pickle names os.system, which is not allowed"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "names os.system"),
        (b"\x80\x04K\1K\2\x93.", "the name of a global is not a string"),
        (b"(S'echo'\nios\nsystem\n.", "the pickle uses INST"),
        (b"(cdata\njoin\nS'echo'\no.", "the pickle uses OBJ"),
        (b"\x80\x04cdata\njoin\n)}\x92.", "the pickle uses NEWOBJ_EX"),
        (b"\x80\x02\x82\1.", "the pickle uses EXT1"),
        (b"Pid\n.", "the pickle uses PERSID"),
        (b"\x80\x04\x8f.", "the pickle uses EMPTY_SET"),
        (b"K\1(tR.", "the pickle calls int, which is not allowed"),
        (b"cdata\nValue\n(tR.", "the pickle calls int"),
        (b"cclasses\nThing\n(tR.", "the pickle calls classes.Thing, which is not allowed"),
        (b"\x80\x02cclasses\nThing\nK\1\x85\x81.", "classes.Thing is made with arguments"),
        (b"\x80\x02cclasses\nThing\n)\x81K\1b.", "state of classes.Thing is not a dict"),
        (b"\x80\x02cclasses\nThing\n)\x81}K\1K\2sb.", "state of classes.Thing is not a dict"),
        (b"cdata\njoin\nK\1R.", "the pickle calls data.join with a int"),
        (b"K\1K\2a.", "the pickle appends to a int"),
        (b"K\1K\2K\3s.", "the pickle sets items of a int"),
        (b"}((tK\1u.", "a key is a tuple; expected a string or a number"),
        (b"}(K\1u.", "the pickle sets items of a dict"),
        (b"K\1K\2.", "the pickle leaves 2 objects, expected one"),
        (b"(.", "the pickle leaves 1 objects"),
        (b"K\1", "not a readable pickle"),
        (b"", "not a readable pickle"),
        (b"h\5.", "not a readable pickle"),
        (b"0.", "not a readable pickle"),
        (b"t.", "not a readable pickle"),
        (b"(K\1\x85.", r"leaves 2 objects"),
        (b"(\x85.", "the pickle uses a mark as a value"),
        (b"X\xff\xff\xff\x7fabc.", "not a readable pickle"),
        (b"I" + b"9" * 5000 + b"\n.", "not a readable pickle"),
        (b"c" + b"a" * 500 + b"\nb\n.", r"names a+\.\.\., which"),
    ],
)
def test_programs_that_are_wrong(data: bytes, words: str) -> None:
    with pytest.raises(Refused, match=words):
        read(data)


def test_nothing_of_pickles_own_machinery_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps({"a": [1]})
    for name in ("loads", "load", "Unpickler", "_Unpickler"):
        monkeypatch.setattr(pickle, name, lambda *_: pytest.fail("unpickled"))
    assert read(data) == {"a": [1]}


def test_very_deep_is_no_crash() -> None:
    found = read(b"]" * 1 + b"]" * 200_000 + b"a" * 200_000 + b".")
    assert len(found) == 1
    while found:  # let go of level by level
        found = found[0] if found else None


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    with contextlib.suppress(Refused):
        read(data)


@given(data=st.data())
def test_flipped_bytes(data: st.DataObject) -> None:
    good = pickle.dumps({"a": [1, 2.5, "text"], "b": {"c": (None, True)}}, 2)
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        bad[data.draw(st.integers(0, len(bad) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(Refused):
        read(bytes(bad))


def test_every_operation_is_known_or_refused() -> None:
    for opcode in pickletools.opcodes:
        with contextlib.suppress(Refused):
            read(opcode.code.encode("latin1") + b"\0" * 8 + b"\n" * 3 + b".")
