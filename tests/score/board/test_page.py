from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.pages.chromium import Page
from tests.score.board.made_results import ground, result, write

from barrow.score.board.data import board_data
from barrow.score.board.gather import Gathered, gather
from barrow.score.board.page import page

HOSTILE = "</script><script>window.hit=1</script><img src=x onerror=window.hit=2>\u202e&amp;\"'"


class Parsed(HTMLParser):
    """Tags, attributes, and what scripts and styles hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.held: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem is not None:
            self.held.append((self.cdata_elem, data))


@pytest.fixture
def hostile(tmp_path: Path) -> dict[str, Any]:
    bad = result(
        HOSTILE,
        1.0,
        kind="constructor",
        on=ground(HOSTILE, digest="f" * 64),
        domains=(HOSTILE, "__proto__", ""),
        about={HOSTILE: HOSTILE, "__proto__": {"x": HOSTILE}, "list": [1, None]},
        settings={"toString": HOSTILE},
        params=1000,
    )
    folder = write(tmp_path / "in", {"bad": bad, "good": result("good", 1.5, params=2000)})
    (folder / "<b>torn&.json").write_text("{")
    return board_data(gather([folder]))


def test_the_policy_lets_nothing_in_but_its_own(board_file: Path) -> None:
    text = board_file.read_text()
    parsed = Parsed(text)
    (told,) = [a["content"] for t, a in parsed.tags if a.get("http-equiv")]
    assert told is not None
    rules = dict(rule.split(" ", 1) for rule in told.split("; "))
    assert rules.pop("img-src") == "data:"
    for kind in ("script", "style"):
        (held,) = [d for k, d in parsed.held if k == kind and not d.startswith("{")]
        digest = base64.b64encode(hashlib.sha256(held.encode()).digest()).decode()
        assert rules.pop(f"{kind}-src") == f"'sha256-{digest}'"
    assert set(rules.values()) == {"'none'"}
    assert {"default-src", "connect-src", "base-uri", "form-action"} == set(rules)


def test_it_refers_to_nothing_outside(board_file: Path) -> None:
    parsed = Parsed(board_file.read_text())
    for tag, attributes in parsed.tags:
        assert tag not in ("img", "iframe", "object", "embed", "form", "base")
        for key, value in attributes.items():
            assert key not in ("src", "srcset", "style", "action")
            assert not key.startswith("on")
            if key == "href":
                assert value is not None
                assert value.startswith(("#", "data:image/svg+xml,"))
    identities = [a["id"] for _, a in parsed.tags if "id" in a]
    assert len(identities) == len(set(identities))


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    folder = write(tmp_path, {"b": result("b", 1.0), "a": result("a", 2.0)})
    assert page(board_data(gather([folder]))) == page(board_data(gather([folder])))


def test_names_stay_text(hostile: dict[str, Any]) -> None:
    """Between its tags the page is the same whatever results are called."""
    text = page(hostile)
    plain = page(board_data(Gathered((), ())))
    assert [tag for tag, _ in Parsed(text).tags] == [tag for tag, _ in Parsed(plain).tags]
    assert HOSTILE not in text
    (held,) = [d for k, d in Parsed(text).held if k == "script" and d.startswith("{")]
    assert json.loads(held) == json.loads(json.dumps(hostile))


def test_names_stay_text_in_the_browser(
    hostile: dict[str, Any], tmp_path: Path, show: Callable[..., Page]
) -> None:
    file = tmp_path / "board.html"
    file.write_text(page(hostile))
    tab = show(file)
    shown = HOSTILE.replace("\u202e", "\ufffd")
    for k in range(len(hostile["groups"])):
        tab.choose("#choose-card", hostile["groups"][k]["id"])
        if tab.texts("#ranking-table tbody th") == [shown]:
            break
    assert tab.texts("#ranking-table tbody th") == [shown]
    assert tab.texts("#choose-domain option") == [
        *("All of the text", shown, "__proto__", "(no name)"),
    ]
    for domain in (shown, "__proto__", "(no name)"):
        tab.choose("#choose-domain", domain)
        assert re.fullmatch(r"\d\.\d{3}", tab.texts("#ranking-table td.main")[0])
    assert tab.evaluate("document.querySelectorAll('#heat-table td.shade-0').length") == 3
    tab.click("#ranking-table .open")
    assert shown in tab.texts("#card h2")[0]
    assert tab.evaluate("document.querySelectorAll('#card dd').length") > 10
    assert tab.texts("#left-out-list code") == ["<b>torn&.json"]
    assert tab.evaluate("window.hit === undefined && !document.querySelector('img')")
    assert tab.evaluate("Object.prototype.x === undefined")
    odd = show(file, after="#card=x&domain=y&hide=z&sort=toString&x=constructor&order=down")
    assert odd.texts("#ranking-table tbody th")


@pytest.mark.parametrize(("live", "words"), [(None, "Make the page again"), (2.0, "appear here")])
def test_without_results_it_says_how_to_make_some(
    live: float | None, words: str, tmp_path: Path, show: Callable[..., Page]
) -> None:
    file = tmp_path / "board.html"
    file.write_text(page(board_data(Gathered((), ())), live=live).replace("data-live", "data-was"))
    tab = show(file)
    (said,) = tab.texts("#empty")
    assert "barrow score MODEL CORPUS --out DIR" in said
    assert words in said
    assert tab.evaluate("document.getElementById('board').hidden")
    assert tab.texts("#published h2") == ["Published, for reference"]
