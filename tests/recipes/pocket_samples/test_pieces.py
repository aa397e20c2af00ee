from __future__ import annotations

from barrow.recipes.pocket_samples.pieces import Article, Piece, pieces_of

ABOUT = "This file is about mounds and about those who raised them long ago."
BARROW = "What the people of the valley call a barrow is a mound of stones and earth over a grave."
SOURCE = f'''"""{ABOUT}"""

# What the people of the valley call a barrow is a mound
# of stones and earth over a grave.
# and this goes on from nowhere


class Mound:
    """A mound of stones and earth that was raised over an old grave."""

    def raise_it(self, stones):
        """Put one stone upon the other until there are none of them left."""
        for stone in stones:
            self.put(stone)

    def silent(self):
        return 1

    def price(self):
        """Say what all of it would cost if it had to be paid for today."""
        return "$1"
'''


def test_docstrings_and_comments() -> None:
    code = "def raise_it(self, stones):\n    for stone in stones:\n        self.put(stone)"
    assert list(pieces_of(SOURCE, "hills.mounds")) == [
        Piece("hills.mounds", (ABOUT,)),
        Piece(
            "hills.mounds.Mound",
            ("A mound of stones and earth that was raised over an old grave.",),
        ),
        Piece(
            "hills.mounds.Mound.raise_it",
            ("Put one stone upon the other until there are none of them left.",),
            code,
        ),
        Piece(
            "hills.mounds.Mound.price",
            ("Say what all of it would cost if it had to be paid for today.",),
        ),
        Piece(
            "hills.mounds",
            (f"{BARROW} and this goes on from nowhere",),
        ),
    ]


def test_small_letters_do_not_begin_a_comment() -> None:
    source = "# the rest of what somebody said about the\n# hill and the mound on top of it\n"
    assert list(pieces_of(source, "a")) == []


def test_long_docstrings_are_cut() -> None:
    said = "\n\n".join(f"{ABOUT} It is paragraph {number} of many." for number in range(30))
    found = list(pieces_of(f'"""{said}"""', "a"))
    assert [len(piece.paragraphs) for piece in found] == [8, 8, 8, 6]
    assert all(700 <= piece.size < 900 for piece in found[:-1])


def test_what_cannot_be_parsed_has_nothing() -> None:
    assert list(pieces_of("print 'old Python'", "a")) == []
    assert list(pieces_of("\0", "a")) == []


def test_an_article() -> None:
    pieces = (
        Piece("hills.long_barrow", ("One is here. Two is there.", "Three.")),
        Piece("b", ("4.",)),
    )
    article = Article(pieces)
    assert article.title == "Long barrow (hills)"
    assert article.paragraphs == ("One is here. Two is there.", "Three.", "4.")
    assert article.sentences == ["One is here.", "Two is there.", "Three.", "4."]
