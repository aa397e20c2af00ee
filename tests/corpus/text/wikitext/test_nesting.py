from __future__ import annotations

from barrow.corpus.text.wikitext.marks import GONE
from barrow.corpus.text.wikitext.nesting import MAX_DEPTH, pairs, replace_pairs


def replaced(text: str) -> str:
    def is_kept(text: str, start: int, _end: int) -> bool:
        return not text.startswith("drop", start)

    def render(contents: str) -> str:
        return f"<{contents}>"

    return replace_pairs(text, "{}", is_kept, render, lambda _text, start, _end: start)


def test_pairs_are_found() -> None:
    found, partners = pairs("{{a{{b}}c}} {{d", "{}")
    assert [each.start for each in found] == [0, 3, 6, 9, 12]
    assert partners == [3, 2, 1, 0, -1]


def test_a_third_brace_goes_with_the_others() -> None:
    assert replaced("{{{a}}}") == "<a>"
    assert replaced("{{a|{b}}}") == "<a|{b}>"
    assert replaced("{{{{a}}}}") == "<<a>>"


def test_the_innermost_comes_first() -> None:
    assert replaced("x {{a{{b}}c}} y") == "x <a<b>c> y"
    assert replaced("x {{drop{{b}}}}y{{c}}") == f"x {GONE}y<c>"
    assert replaced("x{{drop}}y") == "xy"


def test_what_does_not_pair_is_dropped() -> None:
    assert replaced("a}}b {{c {{d}}") == f"ab {GONE}c <d>"


def test_what_is_too_deep_is_dropped() -> None:
    depth = MAX_DEPTH + 5
    text = replaced("{{a" * depth + "}}" * depth)
    assert text == "<a" * MAX_DEPTH + ">" * MAX_DEPTH


def test_a_third_square_bracket_is_a_character() -> None:
    def replaced_links(text: str) -> str:
        return replace_pairs(
            text,
            "[]",
            lambda *_: True,
            lambda contents: f"<{contents}>",
            lambda _text, at, _end: at,
        )

    assert replaced_links("[[[a]]]") == "[<a>]"
    assert replaced_links("[[a|[b c]]] d") == "<a|[b c]> d"
    assert replaced_links("[[a|[b] [[c]]]] d]") == "<a|[b] <c>> d]"
    assert replaced_links("[a [[b]]] [[c]]]") == "[a <b>] <c>]"
