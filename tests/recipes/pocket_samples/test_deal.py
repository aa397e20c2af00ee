from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barrow.recipes.pocket_samples.deal import Paragraphs, blocks, deal
from barrow.recipes.pocket_samples.pieces import Piece
from barrow.recipes.pocket_samples.plain_parts import plain_parts


def test_a_paragraph_is_used_once_whatever_its_blanks() -> None:
    used = Paragraphs()
    assert used.take("a mound\n  of stones")
    assert not used.take("a mound of stones")
    pieces = [Piece("x", ("a mound of stones", "new"), "f()\n\ng()"), Piece("y", ("new",))]
    assert list(used.fresh(pieces)) == [Piece("x", ("new",), "f()\n\ng()")]
    assert list(used.fresh([Piece("z", ("newer",), "g()\n\nh()")])) == [Piece("z", ("newer",))]


def test_a_text_counts_as_used_in_all_its_parts() -> None:
    used = Paragraphs()
    assert used.take_all("a\n\nb")
    assert not used.take_all("b\n \n\nc")
    assert not used.take("c")


def test_everybody_has_as_many() -> None:
    pieces = [Piece(str(number), ("x" * 10,)) for number in range(100)]
    hands = deal(pieces, [15, 25], num=4)
    assert [[len(article.pieces) for article in hand] for hand in hands] == [[2] * 4, [3] * 4]
    dealt = [piece for turn in zip(*hands, strict=True) for a in turn for piece in a.pieces]
    assert dealt == pieces[:20]


def test_what_is_short_is_short_for_all() -> None:
    hands = deal([Piece("a", ("x" * 10,))] * 9, [10, 20], num=50)
    assert [len(hand) for hand in hands] == [3, 3]


@given(st.lists(st.text("ab \n", max_size=30)), st.integers(1, 40))
def test_parts_hold_every_new_paragraph_in_order(texts: list[str], size: int) -> None:
    used = Paragraphs()
    parts = [part for text in texts for part in plain_parts(text, used, size=size)]
    kept = ["".join(block.split()) for part in parts for block in blocks(part)]
    wanted = ["".join(block.split()) for text in texts for block in blocks(text)]
    assert kept == list(dict.fromkeys(wanted))


def test_parts_have_their_size() -> None:
    text = "\r\n\r\n".join(f"paragraph {number}" for number in range(100, 110))
    parts = list(plain_parts(text, Paragraphs(), size=30))
    assert [part.count("paragraph") for part in parts] == [3, 3, 3, 1]
    assert parts[0] == "paragraph 100\n\nparagraph 101\n\nparagraph 102\n"
