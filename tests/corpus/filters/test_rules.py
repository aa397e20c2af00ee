"""Rules about licences and URLs (PILE-5, PILE-8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow import config
from barrow.corpus.filters.rules import LicenceRule, UrlRule
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError


def codes(rule: LicenceRule | UrlRule, metas: list[dict[str, Any]]) -> list[int]:
    texts = Texts.of_strings(["text"] * len(metas), metas, Scratch())
    return rule.decide(texts).code.tolist()


def keeps_licence(rule: LicenceRule, licence: object) -> bool:
    return codes(rule, [{"licence": licence}]) == [0]


def keeps_url(rule: UrlRule, url: object) -> bool:
    return codes(rule, [{"url": url}]) == [0]


@pytest.mark.parametrize(
    ("licence", "kept"),
    [
        ("MIT", True),
        ("mit", True),
        ("CC-BY-4.0", True),
        ("CC-BY-NC-4.0", False),
        ("CC-BY-SA-4.0", True),
        ("GPL-3.0", False),
        ("MIT OR GPL-3.0", True),
        ("MIT AND GPL-3.0", False),
        ("MIT AND unknown", False),
        ("GPL-2.0 WITH Classpath-exception-2.0", True),
        ("MIT WITH Some-exception", True),
        ("MITX", False),
        ("unknown", False),
        ("Unknown ", False),
        ("", False),
        (None, False),
        (3, False),
    ],
)
def test_licences(licence: object, kept: bool) -> None:
    rule = LicenceRule(
        allow=("MIT", "CC-BY-*", "GPL-2.0 WITH Classpath-exception-*"), deny=("*-NC-*", "*-ND-*")
    )
    assert keeps_licence(rule, licence) is kept


def test_licences_with_a_list_of_denials_only() -> None:
    rule = LicenceRule(deny=("GPL-*", "AGPL-*"))
    assert keeps_licence(rule, "MIT")
    assert not keeps_licence(rule, "GPL-2.0 WITH Classpath-exception-2.0")
    assert not keeps_licence(rule, "unknown")
    assert keeps_licence(LicenceRule(deny=("GPL-*",), unknown="keep"), "unknown")
    assert keeps_licence(LicenceRule(allow=("MIT",), unknown="keep"), "MIT AND unknown")
    assert codes(LicenceRule(allow=("MIT",), unknown="keep"), [{}, {"licence": "X"}]) == [0, 1]


def test_licence_causes() -> None:
    rule = LicenceRule(allow=("MIT",))
    assert rule.reasons == ("licence-not-allowed",)
    texts = Texts.of_strings(["", ""], [{"licence": "GPL-3.0"}, {}], Scratch())
    causes = [rule.cause("licence-not-allowed", value) for value in rule.decide(texts).value]
    assert causes == ["its licence is not allowed", "its licence is unknown"]


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://good.example/", True),
        ("https://bad.example/", False),
        ("http://www.BAD.example:80/x", False),
        ("https://notbad.example/", True),
        ("https://bad.example.org/", True),
        ("https://ads.anything.org/", False),
        ("https://deep.ads.anything.org/", False),
        ("https://nads.org/", True),
        ("https://good.example/wp-login.php?x=1", False),
        ("https://good.example/a.PDF", False),
        ("https://listed.example/", False),
        ("https://sub.listed.example/", False),
        ("bad.example/page", False),
        ("", True),
        (None, True),
        (5, True),
    ],
)
def test_urls(url: object, kept: bool, tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("listed.example\n")
    rule = UrlRule(
        deny_hosts=("bad.example", "ads.*"),
        deny_patterns=("*/wp-login.php*", "*.pdf"),
        deny_files=(path,),
    )
    assert keeps_url(rule, url) is kept


def test_only_some_hosts() -> None:
    rule = UrlRule(allow_hosts=("good.example", "*.edu"), deny_hosts=("no.good.example",))
    assert keeps_url(rule, "https://www.good.example/")
    assert keeps_url(rule, "https://a.edu/")
    assert not keeps_url(rule, "https://no.good.example/")
    assert not keeps_url(rule, "https://other.example/")
    assert not keeps_url(rule, "no host here")
    assert keeps_url(rule, None)
    assert not keeps_url(UrlRule(without_url="reject"), None)


def test_url_causes_name_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("listed.example\n")
    rule = UrlRule(
        deny_hosts=("a.example", "b.example"),
        deny_patterns=("*/x",),
        deny_files=(path,),
        allow_hosts=("ok.example",),
        without_url="reject",
    )
    assert rule.reasons == ("blocked-url",)
    urls = ["//b.example", "//ok.example/x", "//listed.example", "//other.example", None]
    texts = Texts.of_strings([""] * 5, [{"url": url} for url in urls], Scratch())
    assert [rule.cause("blocked-url", value) for value in rule.decide(texts).value] == [
        "its URL is blocked by b.example",
        "its URL is blocked by */x",
        f"its URL is blocked by {path}",
        "its host is not among those allowed",
        "it has no URL",
    ]


def test_a_changed_list_is_seen_and_told(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("a.example\n")
    rule = UrlRule(deny_files=(path,)).resolved()
    assert rule.resolved() == rule
    assert config.from_json(UrlRule, config.to_json(rule)) == rule
    path.write_text("b.example.org\n")
    assert keeps_url(UrlRule(deny_files=(path,)), "//a.example")
    with pytest.raises(ConfigError, match="a block list has changed"):
        rule.resolved()
    with pytest.raises(ConfigError, match="a block list has changed"):
        keeps_url(rule, "//a.example")


@given(st.lists(st.dictionaries(st.sampled_from(["url", "licence"]), st.text(max_size=30))))
def test_documents_are_judged_one_by_one(metas: list[dict[str, Any]]) -> None:
    for rule in (
        LicenceRule(allow=("*a*", "b")),
        UrlRule(deny_hosts=("a.b",), deny_patterns=("*0*",), without_url="reject"),
    ):
        assert codes(rule, metas) == [codes(rule, [meta])[0] for meta in metas]


def test_settings_are_checked_and_saved() -> None:
    rule = LicenceRule(allow=("MIT",), unknown="keep")
    assert config.from_json(LicenceRule, config.to_json(rule)) == rule
    for make in (
        lambda: LicenceRule(unknown="maybe"),  # type: ignore[arg-type]
        lambda: LicenceRule(allow=(" ",)),
        lambda: UrlRule(without_url="maybe"),  # type: ignore[arg-type]
        lambda: UrlRule(deny_hosts=("a/b",)),
        lambda: UrlRule(deny_patterns=("",)),
    ):
        with pytest.raises(ConfigError):
            make()
