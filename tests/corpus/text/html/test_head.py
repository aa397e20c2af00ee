from __future__ import annotations

from barrow.corpus.text.html.head import page_head


def test_what_a_head_says() -> None:
    assert page_head(
        "<html lang='pt-BR'><head><title>A &lt; B\n C</title><link rel=canonical href='/relative'>"
        "<meta property='og:url' content='https://a.org/?a=1&amp;b=2'></head>"
    ) == ("A < B C", "https://a.org/?a=1&b=2", "pt")
    assert (
        page_head("<meta property=og:title content=Short><title>Short | Site</title>")[0] == "Short"
    )
    canonical = "<link rel=canonical href=https://a.org/x>"
    assert page_head(canonical)[1] == "https://a.org/x"
    assert page_head(f"<body>{canonical}") == ("", "", None)
    assert page_head(f"<!-- {canonical} --><script>'{canonical}'</script>")[1] == ""
    assert page_head("<html lang=english>")[2] is None
