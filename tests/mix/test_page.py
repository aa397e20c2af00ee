"""The page of a search, in a browser (BEYOND-6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.mix.planted_search import DESIGN, SIZES, Planted, planned, validation
from tests.pages.chromium import Page

from barrow.mix.confirm import Change, Verdict
from barrow.mix.find import Found, read_found
from barrow.mix.page import headline, page, remarks
from barrow.mix.plan import Question

HOSTILE = "</script><script>window.hit=1</script><img src=x onerror=window.hit=2>\u202e&amp;\"'"


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Found:
    law = Planted(monkeypatch)
    law.diverge = (3,)
    search = planned(tmp_path / "search")
    search.prepare(DESIGN, validation(*SIZES))
    search.train()
    search.answer(Question())
    return read_found(tmp_path / "search")


def verdict(
    found: Found, answer: str, difference: float, *, seeds: tuple[int, ...] = (), **domains: float
) -> Found:
    def change_of(value: float) -> Change:
        return Change(value, value - 0.002, value + 0.002, 0.01)

    change = change_of(difference)
    made = Verdict(
        answer,  # type: ignore[arg-type]
        200_000,
        4_000_000,
        "a" * 12,
        change,
        dict.fromkeys(SIZES, change) | {name: change_of(x) for name, x in domains.items()},
        found.mixture["weights"],
        found.mixture["current"],
        seeds,
        (difference,) * len(seeds),
    )
    return replace(found, verdict=made)


def test_the_page_shows_the_answer(found: Found, tmp_path: Path, show: Callable[..., Page]) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(verdict(found, "yes", -0.0123)))
    tab = show(file)
    assert tab.texts("h1") == ["A better mixture, confirmed at 200k parameters with 1 seed"]
    assert "All 4 domains count the same" in tab.texts("header")[0]
    assert len(tab.texts("#weights tbody tr")) == 4
    first = tab.texts("#weights tbody tr:first-child td")
    assert first[0] == f"{found.mixture['current']['a']:.2%}"
    assert first[1] == f"{found.mixture['weights']['a']:.2%}"
    assert "-0.0123 (-0.0143 to -0.0103)" in tab.texts("#changes tbody tr:first-child td")[2]
    # The own transfer is the largest there is, and so the darkest.
    assert tab.texts("#transfer tbody tr:first-child td:nth-of-type(1)") == ["1.00"]
    assert tab.evaluate("document.querySelectorAll('#transfer .t9').length") >= 4
    assert tab.evaluate("document.querySelectorAll('#runs circle').length") == 10
    assert "200k-003 diverged and is left out: planted" in tab.texts("#runs")[0]
    assert "of training" in tab.texts("#runs")[0]
    # Wide tables scroll inside the page.
    narrow = show(file, width=360)
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 360


def test_names_of_domains_are_inert(
    found: Found, tmp_path: Path, show: Callable[..., Page]
) -> None:
    import json

    text = json.dumps(found.mixture)
    mixture = json.loads(text.replace('"a":', json.dumps(HOSTILE) + ":"))
    left_out = {HOSTILE: HOSTILE}
    plan = replace(found.plan, left_out=left_out)
    bad = replace(found, mixture=mixture, plan=plan, runs=_renamed(found))
    file = tmp_path / "page.html"
    file.write_text(page(bad))
    tab = show(file)
    assert tab.evaluate("window.hit") is None
    assert tab.evaluate("[document.scripts.length, document.images.length]") == [0, 0]
    assert "<script>window.hit=1</script>" in tab.evaluate("document.body.innerText")
    assert len(tab.requests()) == 1


def _renamed(found: Found) -> dict[str, dict[str, object]]:
    made: dict[str, dict[str, object]] = {}
    for name, one in found.runs.items():
        losses = one["losses"]
        if losses:
            losses = {HOSTILE if n == "a" else n: value for n, value in losses.items()}
        made[name] = {"losses": losses, "diverged": HOSTILE if one["diverged"] else None}
    return made


def test_the_headline_says_no_when_it_is_no(found: Found) -> None:
    assert headline(found) == "A better mixture by the law for 200k parameters, not confirmed yet"
    where = "at 200k parameters with 1 seed"
    assert headline(verdict(found, "no", 0.01)) == f"The recommended mixture is worse {where}"
    words = f"The recommended mixture is not shown to be better {where}"
    assert headline(verdict(found, "not shown", 0.0)) == words
    none = replace(found, mixture=found.mixture | {"is_supported": False})
    assert headline(none) == "The runs do not support any change"
    assert "Measured by a pair of runs of 200k" in page(verdict(found, "no", 0.01))


def test_three_seeds_are_named(found: Found) -> None:
    three = verdict(found, "yes", -0.05, seeds=(2, 3, 4))
    assert headline(three) == "A better mixture, confirmed at 200k parameters with 3 seeds"
    assert "Measured by 3 pairs of runs of 200k" in page(three)
    assert "Seed 2: -0.0500, Seed 3: -0.0500, Seed 4: -0.0500." in page(three)


def test_a_law_that_did_not_hold_is_said(found: Found) -> None:
    """The measured change beside the expected one: within it, past it, of the other sign."""
    expected = found.mixture["expected"]["current"]
    middle, low, _ = expected["objective"]
    held = {name: values[0] for name, values in expected["domains"].items()}
    counts = "All 4 domains count the same in these figures, whatever their size; --target changes "
    assert remarks(verdict(found, "yes", middle, **held)) == [f"{counts}that."]
    assert remarks(found) == [f"{counts}that."]

    (_, words, advice) = remarks(verdict(found, "yes", low - 0.1, **held))
    far = f"the measured change, {low - 0.1:+.4f}, is not in the expected interval"
    assert words == f"Expected and measured disagree: {far}."
    assert advice.startswith("Rely on the measured figures")
    assert "(200k parameters with 1 seed)" in advice
    assert "more or larger --proxies or more --tokens-per-param, and --confirm nearer" in advice

    name = min(held, key=lambda one: held[one])
    words = remarks(verdict(found, "yes", middle, **{**held, name: 0.05}))[1]
    assert words.endswith(f"disagree: the measured change has the other sign in {name}.")
    # An interval that holds 0 has no sign.
    assert len(remarks(verdict(found, "yes", middle, **{**held, name: 0.001}))) == 1


def test_how_domains_count_is_said(found: Found) -> None:
    mixture = found.mixture | {"counts": {"a": 0.7, "b": 0.1, "c": 0.1, "d": 0.1}}
    words = "Domains count in these figures as the target says."
    assert remarks(replace(found, mixture=mixture)) == [words]
