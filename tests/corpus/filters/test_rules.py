"""Rules about licences and URLs (PILE-5, PILE-8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow import config
from barrow.corpus.filters.rules import LicenceRule, UrlRule, licence_matches
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
        ("CC-BY-SA-4.0", False),
        ("CC-BY", True),
        ("LicenseRef-CC-BY", True),
        ("CC-BY-NC", False),
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


def test_documented_denials() -> None:
    rule = LicenceRule(deny=("*-NC-*", "*-ND-*"))
    for free in ("CC-BY-4.0", "CC-BY-SA", "LicenseRef-CC-BY", "CC0-1.0", "MIT", "NCSA"):
        assert keeps_licence(rule, free)
    for terms in ("NC", "ND", "NC-ND", "NC-SA"):
        for name in (f"CC-BY-{terms}", f"cc-by-{terms}-4.0", f"LicenseRef-CC-BY-{terms}"):
            assert not keeps_licence(rule, name)
            assert not keeps_licence(rule, f"MIT AND {name}")
            assert keeps_licence(rule, f"MIT OR {name}")


# A pattern, names that it matches, and names that it does not match.
PATTERNS = [
    (
        "CC-BY-*",
        "CC-BY CC-BY-4.0 cc-by-2.5-au CC-BY-3.0-IGO LicenseRef-CC-BY",
        "CC-BY-SA CC-BY-SA-4.0 CC-BY-NC-4.0 CC-BY-ND CC-BY-NC-SA-4.0 CC0-1.0 CC-BY-4.0-NC",
    ),
    (
        "CC-BY-*",
        "CC-BY",
        "LicenseRef-CC-BY-AND-all-rights-reserved LicenseRef-CC-BY-NC ODC-By-1.0",
    ),
    ("CC-BY*", "CC-BY CC-BY-4.0", "CC-BY-SA-4.0 CC-BY-NC"),
    (
        "CC-BY-NC-*",
        "CC-BY-NC CC-BY-NC-3.0 LicenseRef-CC-BY-NC",
        "CC-BY CC-BY-NC-SA-4.0 CC-BY-NC-ND",
    ),
    ("CC-BY-NC-SA-*", "CC-BY-NC-SA-4.0 LicenseRef-CC-BY-SA-NC-4.0", "CC-BY-NC CC-BY-SA-4.0"),
    ("LicenseRef-CC-BY-*", "CC-BY-4.0 LicenseRef-CC-BY", "LicenseRef-CC-BY-NC"),
    (
        "*-NC-*",
        "CC-BY-NC CC-BY-NC-SA-4.0 NC-1.0 LicenseRef-our-nc LicenseRef-CC-BY-NC",
        "NCSA X-sync-1",
    ),
    ("CC-*", "CC-BY CC-BY-NC-SA-4.0 CC-PDM-1.0 LicenseRef-CC-BY", "CC0-1.0 MIT"),
    ("CC-BY-*-4.0", "CC-BY-4.0 CC-BY-NC-SA-4.0", "CC-BY CC-BY-3.0 CC0-4.0"),
    ("CC-BY-4.0", "CC-BY-4.0 cc-by-4.0", "CC-BY CC-BY-3.0 CC-BY-SA-4.0 CC-BY-4.0-US"),
    ("CC-BY", "CC-BY LicenseRef-CC-BY", "CC-BY-4.0"),
    ("CC0-*", "CC0-1.0 CC0", "CC-BY-4.0"),
    ("GPL-*", "GPL-2.0 GPL-2.0+ GPL-3.0-or-later GPL", "LGPL-2.1 AGPL-3.0 MIT"),
    ("GPL-2.0*", "GPL-2.0 GPL-2.0+ GPL-2.0-only GPL-2.0-or-later", "GPL-3.0 LGPL-2.0"),
    ("GPL-2.0-or-later", "GPL-2.0-or-later GPL-2.0+", "GPL-2.0 GPL-2.0-only"),
    ("*GPL*", "GPL-2.0 LGPL-2.1 AGPL-3.0-only LicenseRef-GPL", "MIT"),
    ("BSD-*", "BSD-2-Clause BSD-3-Clause-Clear", "0BSD BSD0"),
    ("MIT", "MIT mit", "MITX MIT-0 LicenseRef-MIT"),
    ("Apache-*", "Apache-2.0", "LicenseRef-Apache-2.0-with-Commons-Clause"),
    ("LicenseRef-US-*", "LicenseRef-US-government-work", "LicenseRef-USA"),
    ("LicenseRef-*", "LicenseRef-CC-BY LicenseRef-ours", "CC-BY MIT"),
    ("*-all-rights-reserved", "LicenseRef-all-rights-reserved", "MIT"),
    ("*", "MIT CC-BY", ""),
]


@pytest.mark.parametrize(("pattern", "matched", "others"), PATTERNS)
def test_licence_patterns(pattern: str, matched: str, others: str) -> None:
    for case in (pattern, pattern.lower(), f" {pattern.upper()} "):
        assert [n for n in matched.split() if not licence_matches(case, n)] == []
        assert [n for n in others.split() if licence_matches(case, n)] == []


TERMS = st.sets(st.sampled_from(["SA", "NC", "ND"])).map(sorted)
VERSIONS = st.sampled_from(["", "-1.0", "-2.5", "-3.0-US", "-3.0-IGO", "-4.0"])


@given(TERMS, TERMS, VERSIONS, st.sampled_from(["", "LicenseRef-"]))
def test_creative_commons_licences_are_sets_of_terms(
    asked: list[str], terms: list[str], version: str, prefix: str
) -> None:
    name = f"{prefix}{'-'.join(['CC', 'BY', *terms])}{version}"
    assert licence_matches("-".join(["CC", "BY", *reversed(asked), "*"]), name) is (asked == terms)
    for term in ("SA", "NC", "ND"):
        assert licence_matches(f"*-{term}-*", name) is (term in terms)
    assert licence_matches("CC-*", name)
    assert licence_matches(name, name)


@given(
    st.lists(st.sampled_from(["a", "bc", "*"]), min_size=1, max_size=6),
    st.lists(st.sampled_from(["a", "b", "bc", "abc"]), min_size=1, max_size=6),
)
def test_a_star_between_hyphens_is_any_words_or_none(pattern: list[str], name: list[str]) -> None:
    def matches(pattern: list[str], name: list[str]) -> bool:
        if not pattern:
            return not name
        if pattern[0] == "*":
            return any(matches(pattern[1:], name[k:]) for k in range(len(name) + 1))
        return name[:1] == pattern[:1] and matches(pattern[1:], name[1:])

    assert licence_matches("-".join(pattern), "-".join(name)) is matches(pattern, name)


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
