from __future__ import annotations

from pathlib import Path

from barrow.stream.pairs.sources.found import Found, LeftOut
from barrow.stream.pairs.sources.jsonl import from_jsonl


def test_lines_good_and_bad(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"123")
    file = tmp_path / "x.jsonl"
    file.write_text(
        '{"image": "a.png", "caption": " a  cat "}\n\n'
        '{"image": "a.png", "captions": ["one", "", 7, "two"], "url": "a"}\n'
        '[1]\n{"caption": "x"}\n{"image": "a.png"}\n{"image": "b.png", "text": "x"}\n{"image\n'
        '{"image": "a.png", "caption": "last"}'
    )
    things = list(from_jsonl(file))
    good = [one.captions for one in things if isinstance(one, Found)]
    assert good == [("a cat",), ("one", "two"), ("last",)]
    assert things[0] == Found("a.png", ("a cat",), file="a.png", length=3)
    bad = [(one.name, one.reason) for one in things if isinstance(one, LeftOut)]
    assert bad == [
        ("x.jsonl line 4", "not-json"),
        ("x.jsonl line 5", "no-image"),
        ("a.png", "no-caption"),
        ("b.png", "missing"),
        ("x.jsonl line 8", "not-json"),
    ]


def test_keys_that_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"123")
    file = tmp_path / "x.jsonl"
    file.write_text('{"image": "no.png", "pic": "a.png", "caption": "no", "says": "yes"}\n')
    (one,) = from_jsonl(file, image_key="pic", caption_key="says")
    assert one == Found("a.png", ("yes",), file="a.png", length=3)


def test_a_hostile_path_is_missing_and_no_crash(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"image": "a\\u0000.png", "caption": "x"}\n')
    (one,) = from_jsonl(file)
    assert isinstance(one, LeftOut)
    assert one.reason == "missing"
