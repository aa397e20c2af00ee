from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest

from barrow.pages.frame import as_json, full_style, page, policy
from barrow.pages.markup import Markup, element


def test_only_its_own_style_and_script_apply() -> None:
    """A browser compares hashes of what is between the tags, to the byte."""
    text = page("a", element("p", "b"), style="p { color: red; }", script="\nlet naïve = 1;\n")
    for kind, held in (("script", r"<script>(.*?)</script>"), ("style", r"<style>(.*?)</style>")):
        (inside,) = re.findall(held, text, re.S)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind}-src &#x27;sha256-{digest}&#x27;" in text
    assert "default-src &#x27;none&#x27;" in text
    assert "unsafe" not in text
    assert not re.search(r"(src|href)=", text)


def test_without_a_script_none_may_run() -> None:
    assert "script-src 'none'" in policy("")
    text = page("a <b> & c", "<d>", Markup("<i>e</i>"), style="")
    assert "<script" not in text
    assert "<title>a &lt;b&gt; &amp; c</title>" in text
    assert "<body>&lt;d&gt;<i>e</i></body>" in text
    assert full_style("") in text


def test_only_a_live_page_asks_its_server() -> None:
    assert "connect-src 'self'" in policy("", is_live=True)
    assert "connect-src 'none'" in policy("")
    assert 'data-live="2.5"' in page("a", style="", live=2.5)
    assert "data-live" not in page("a", style="")


def test_json_that_no_tag_can_end() -> None:
    text = as_json({"a": "</script><!--\u2028&"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!--\u2028&"}
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"a": float("nan")})
