from __future__ import annotations

import pytest

from barrow.corpus.text.html.tokens import attribute, html_tokens


def test_tokens() -> None:
    tokens = html_tokens("a<B c='d>e'>f<br/>\r\n<!-- g -->h<script>i</script></b>")
    assert tokens == [
        *("a", "B", " c='d>e'", "f", "br", "/", "\n", None, None),
        *("h", None, None, "", "/b", "", "", None, None),
    ]


@pytest.mark.parametrize(
    ("attributes", "value"),
    [
        (' id="a b" href="x?y&amp;z"', "x?y&z"),
        (" HREF='x'", "x"),
        (" href=x/", "x/"),
        (" href", ""),
        (" data-href='y'", ""),
        (" href='x?a&copy=1'", "x?a&copy=1"),
    ],
)
def test_attribute(attributes: str, value: str) -> None:
    assert attribute(attributes, "href") == value
