from __future__ import annotations

from barrow.corpus.text.html.main import main_markups, readable_markup
from barrow.corpus.text.html.tree import page_tree

LONG = "Long ago the people of the valley heaped up earth and stones over the graves of their dead."


def kept(markup: str, title: str = "") -> str:
    return next(main_markups(markup, page_tree(markup), title=title)).strip()


def test_the_part_that_calls_itself_the_article() -> None:
    other = f"<div><p>{LONG}</p></div>"
    assert kept(f"<div>{other}<div class=entry-content><p>{LONG}!</p></div></div>") == (
        f"<p>{LONG}!</p></div>"
    )


def test_a_table_with_links_stays_and_a_list_of_links_goes() -> None:
    table = "<table><tr><td><a href=a>Name</a><td>12345</table>"
    links = "<ul><li><a href=a>One</a><li><a href=b>Two</a></ul>"
    assert kept(f"<article><p>{LONG}</p>{table}</article>") == f"<p>{LONG}</p>{table}</article>"
    assert kept(f"<article><p>{LONG}</p>{links}</article>") == f"<p>{LONG}</p> </article>"


def test_what_can_be_read() -> None:
    markup = "<head><title>x</title></head><nav>a</nav><textarea>b</textarea><p hidden>c</p>d"
    assert readable_markup(markup, page_tree(markup)).split() == ["<nav>a</nav>", "d"]


def test_the_last_rules_keep_every_paragraph_that_can_be_read() -> None:
    markup = f"<nav><p>{LONG}</p></nav><div class=ad>{LONG}!<script>x</script></div><b>Short</b>"
    *_, last = main_markups(markup, page_tree(markup), title="")
    assert last.split("<p>") == [f"{LONG}</p>", f"{LONG}! </div>"]
