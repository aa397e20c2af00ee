"""PILE-8: the main text of pages written here, and what hostile pages do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linear import check_linear

from barrow.corpus.text.html.page import decode_page, page_text, whole_text

LONG = "Long ago the people of the valley heaped up earth and stones over the graves of their dead."
OTHER = (
    "Another paragraph, which tells how the diggers came in summer and went away in autumn again."
)


def body(markup: str, head: str = "<title>Barrows</title>") -> str:
    return f"<!doctype html><html lang=en><head>{head}</head><body>{markup}</body></html>"


ARTICLE = f"<h1>Barrows</h1><p>{LONG}</p><p>{OTHER}</p>"
TEXT = f"{LONG}\n\n{OTHER}"


@pytest.mark.parametrize(
    "markup",
    [
        f"<nav><a href=/>Home</a> and <a href=/x>more of the site</a></nav><div>{ARTICLE}</div>",
        f"<article>{ARTICLE}</article><aside>Buy a spade today</aside><footer>Imprint</footer>",
        f"<div class=entry-content>{ARTICLE}<div class='social-share'>Tell friends</div></div>",
        f"<main>{ARTICLE}<section id=comments><p>I liked this, thanks.</p></section></main>",
        f"<div>{ARTICLE}<h3>Related stories</h3><ul><li><a href=a>One more story</a></ul></div>",
        f"<div>{ARTICLE}<p><a href=x>Read the next one</a></p></div>",
        f"<div>{ARTICLE}<p>Share this on a network</p><p>Advertisement</p></div>",
        f"<div>{ARTICLE}<p style='display:none'>You cannot see what is written here</p></div>",
        f"<div>{ARTICLE}<div class=commentsContainer><p>First of all comments!</p></div></div>",
        f"<div>{ARTICLE}<script>let a = '<p>no</p>'</script><noscript>Off</noscript></div>",
        f"<div id=cookie-consent><p>We use cookies and want you to say yes.</p></div>{ARTICLE}",
        f"<div class=page><div class=sidebar><p>Weather: rain again.</p></div>{ARTICLE}</div>",
        f"<div>{ARTICLE}<figure><img alt=Mound><figcaption>A mound</figcaption></figure></div>",
    ],
)
def test_only_the_article(markup: str) -> None:
    assert page_text(body(markup)) == (TEXT, "Barrows", "en", "")


def test_an_article_in_pieces() -> None:
    piece = "<div class=article-body>{}</div>"
    first, second = (piece.format(f"<p>{text}</p>") for text in (LONG, OTHER))
    markup = f"<div>{first}<div class=ad>Buy</div>{second}</div>"
    assert page_text(body(markup)).text == TEXT


def test_lists_headings_code_and_tables_stay() -> None:
    markup = (
        f"<article><p>{LONG}</p><h2>Finds</h2><ul><li>a bead</li><li>a knife</li></ul>"
        "<pre>for x in y:\n    dig(x)</pre><table><tr><th>Year<th>Depth<tr><td>1890<td>2 m</table>"
        f"<p>{OTHER}</p></article>"
    )
    assert page_text(body(markup)).text == (
        f"{LONG}\n\nFinds\n\n- a bead\n- a knife\n\nfor x in y:\n    dig(x)\n\n"
        f"Year | Depth\n1890 | 2 m\n\n{OTHER}"
    )


def test_a_name_does_not_hide_most_of_the_page() -> None:
    assert page_text(body(f"<div class=sidebar>{ARTICLE}</div>")).text == TEXT


def test_another_heading_than_the_title_is_text() -> None:
    markup = f"<article><h1>Of the dead</h1><p>{LONG}</p></article>"
    assert page_text(body(markup)).text == f"Of the dead\n\n{LONG}"


@pytest.mark.parametrize(
    "markup",
    [
        # Names that say "other" on all parts; links around paragraphs; a title that ends nothing.
        f"<div class=promo><p>{LONG}</p></div><div class=share><p>{OTHER}</p></div>",
        f"<nav><p>{LONG}</p></nav><footer><p>{OTHER}</p></footer>",
        f"<p><a id=a />{LONG}</p><p><a name=b>{OTHER}</p>",
        f"<title/><svg class=logo /><p>{LONG}</p><p>{OTHER}</p>",
        f"<iframe src=x /><p>{LONG}</p><p>{OTHER}</p>",
    ],
)
def test_a_page_with_paragraphs_is_never_empty(markup: str) -> None:
    assert page_text(body(markup)).text == TEXT


def test_a_page_of_short_lines_is_not_empty() -> None:
    markup = "<div class=promo-line>One bead</div><div class=x>Two beads of clay</div>"
    assert page_text(body(markup)).text == "Two beads of clay"


LINKS = "<ul><li><a href=a>The beads of the first grave</a><li><a href=b>A knife</a></ul>"
LINKED = "- The beads of the first grave\n- A knife"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        # A section's address is made of its heading and names nothing.
        (
            (
                f"<p>{LONG}</p><section id='share-knives'><h2>Share knives<a href='#share-knives'>¶"
                f"</a></h2><p>{OTHER}</p></section>"
            ),
            f"{LONG}\n\nShare knives\n\n{OTHER}",
        ),
        (
            (
                f"<p>{LONG}</p><h2 id='related-work'><a href='#related-work'>Related work</a></h2>"
                f"<p>{OTHER}</p>"
            ),
            f"{LONG}\n\nRelated work\n\n{OTHER}",
        ),
        # The introduction of a manual whose other text is one section.
        (
            (
                f"<p>{LONG}</p><section id=a><h2>A<a href='#a'>¶</a></h2>{f'<p>{OTHER}</p>' * 25}"
                "</section>"
            ),
            f"{LONG}\n\nA\n\n" + "\n\n".join([OTHER] * 25),
        ),
        (f"<p>{LONG}</p><aside class=footnote>[1] A note.</aside>", f"{LONG}\n\n[1] A note."),
        (f"<p>{LONG}</p><p>It had:</p>{LINKS}", f"{LONG}\n\nIt had:\n\n{LINKED}"),
        (f"<p>{LONG}</p><h2>Finds</h2>{LINKS}", f"{LONG}\n\nFinds\n\n{LINKED}"),
        (f"<p>{LONG}</p><h2>More stories</h2>{LINKS}", LONG),
        (f"<p>{LONG}</p>{LINKS}", LONG),
        (
            f"<p>{LONG}</p><ul><li><a href=a>A knife of iron</a><li>Two beads of clay, blue</ul>",
            f"{LONG}\n\n- A knife of iron\n- Two beads of clay, blue",
        ),
        (
            f"<p>{LONG}</p><p><a href=http://a.org>http://a.org</a></p>",
            f"{LONG}\n\nhttp://a.org",
        ),
        (f"<p>{LONG}</p><div role=dialog>We use what we find out about you.</div>", LONG),
    ],
)
def test_manuals(markup: str, text: str) -> None:
    assert page_text(body(f"<main>{markup}</main>")).text == text


@pytest.mark.parametrize("place", ["{form}{text}", "<form>{text}{form}</form>"])
def test_no_form_to_log_in(place: str) -> None:
    form = (
        "<div><form><p>Please log in to write to the people of the valley.</p>"
        "<label>Name</label><input name=n><input type='password' name=p></form></div>"
    )
    text = f"<p>{LONG}</p><p>{OTHER}</p>"
    assert page_text(body(place.format(form=form, text=text))).text == TEXT
    assert page_text(body(place.format(form=form, text="<p>Short.</p>"))).text == "Short."


def test_soft_hyphens() -> None:
    assert page_text(f"<p>co\xadop&shy;era&#173;tion {LONG}").text == f"cooperation {LONG}"
    assert whole_text("<p>co\xadop").text == "coop"


@pytest.mark.parametrize(
    "ruby",
    [
        "<ruby>漢<rt>kan</rt>字<rp>(</rp><rt>ji</rt><rp>)</rp></ruby>",
        "<ruby>漢<rp>(<rt>kan<rp>)</ruby><ruby>字<rt>ji</ruby>",
        "<ruby><rb>漢<rb>字<rt>kan<rt>ji</ruby>",
    ],
)
def test_readings_of_characters(ruby: str) -> None:
    assert page_text(f"<p>{LONG} {ruby}。").text == f"{LONG} 漢字。"
    assert whole_text(f"<p>{ruby}。").text == "漢字。"


@pytest.mark.parametrize(
    "heading",
    [
        "Finds<span class='mw-editsection'>[<a href='/w?action=edit'>Bearbeiten</a>]</span>",
        "Finds [<a href='/index.php?title=Finds&amp;action=edit'>edit</a>]",
        "Finds<a class=headerlink href='#finds' title='Permalink'>¶</a>",
        "Finds <a href='#finds'>&para;</a>",
        "<a href='#finds'>#</a> Finds",
    ],
)
def test_edit_links_at_headings(heading: str) -> None:
    text = f"Finds\n\n{LONG}"
    assert page_text(body(f"<article><h2>{heading}</h2><p>{LONG}</p></article>")).text == text


@pytest.mark.parametrize(
    "table",
    [
        "<table><tr><td><p>{0}</p><td><p>{1}</p></table>",
        "<table><tr><td>{0}<tr><td>{1}</table>",
        "<table role=presentation><tr><td>{0}<td>x<tr><td>{1}<td></table>",
        "<table><tr><td>x<tr><td><table><tr><td>{0}<td></table><td>{1}</table>",
        "<table><tr><td>{0}<td>{1}<tr><td><ul><li>a</ul><td></table>",
    ],
)
def test_tables_of_layout_have_no_bars(table: str) -> None:
    text = page_text(body(table.format(LONG, OTHER))).text
    assert "|" not in text
    assert {LONG, OTHER} <= set(text.split("\n"))


def test_the_whole_page() -> None:
    found = whole_text(
        body(f"<nav>Home</nav><p>{LONG}</p><p hidden>no</p><footer>Imprint</footer>")
    )
    assert found.text == f"Home\n\n{LONG}\n\nImprint"


def test_markup_without_ends() -> None:
    assert page_text(f"<title>T</title><p>{LONG}<p>{OTHER}").text == TEXT
    assert page_text("").text == ""
    assert page_text("just words").text == "just words"


@pytest.mark.parametrize(
    "piece", ["<div>", "<div>a", "<b>a", "<ul><li>a", "<h1>a", "<table><tr><td>a", "<", '<a b="']
)
def test_many_thousand_levels(piece: str) -> None:
    """A tree that recursed would crash; one that searched its stack would take a square of them."""
    check_linear(lambda n: page_text(piece * n + LONG), 5_000)


PIECES = [
    "<div>",
    "</div>",
    "<p>",
    "<h1>",
    "</h1>",
    "<ul>",
    "<li>",
    "<a href=x>",
    "</a>",
    "<b",
    "</",
]
PIECES += [">", "<table>", "<td>", "<article>", "</article>", "class=comment", '"', "&amp;", "<!--"]


@given(st.lists(st.sampled_from([*PIECES, "text ", LONG])))
def test_any_markup(parts: list[str]) -> None:
    markup = "".join(parts)
    assert page_text(markup) == page_text(markup)
    whole_text(markup).text.encode()


@pytest.mark.parametrize(
    ("data", "content_type", "expected"),
    [
        ("caf\xe9 €".encode("cp1252"), "text/html; charset=ISO-8859-1", "café €"),
        ("镕 and 国".encode("gb18030"), "text/html; charset=gb2312", "镕 and 国"),
        (b"\xef\xbb\xbfcaf\xc3\xa9", "text/html; charset=latin-1", "café"),
        (
            "<meta charset=windows-1251>Привет".encode("cp1251"),
            "",
            "<meta charset=windows-1251>Привет",
        ),
        ('<?xml version="1.0" encoding="koi8-r"?>Привет'.encode("koi8-r"), "", None),
        ("caf\xe9".encode(), "text/html; charset=nonsense", "café"),
        ("日本".encode("shift_jis"), "text/html; charset=x-sjis", "日本"),
    ],
)
def test_encodings_as_browsers_read_them(
    data: bytes, content_type: str, expected: str | None
) -> None:
    found = decode_page(data, content_type)
    assert found is not None
    assert found[0] == (expected or '<?xml version="1.0" encoding="koi8-r"?>Привет')
