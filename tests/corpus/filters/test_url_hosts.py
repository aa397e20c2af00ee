"""Hosts in URLs, against urllib, and lists of hosts."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.filters.url_hosts import host_suffixes, parse_host, read_hosts, split_url
from barrow.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "host", "path"),
    [
        ("https://Example.ORG/A?b=C#d", "example.org", "/a?b=c#d"),
        ("http://user:secret@example.org:8080/x", "example.org", "/x"),
        ("//example.org", "example.org", ""),
        ("example.org/path", "example.org", "/path"),
        ("https://example.org./", "example.org", "/"),
        ("https://bücher.example/x", "xn--bcher-kva.example", "/x"),
        ("https://xn--bcher-kva.example", "xn--bcher-kva.example", ""),
        ("https://example.org?q=a@b.evil", "example.org", "?q=a@b.evil"),
        ("https://example.org\\@b.evil", "example.org", "\\@b.evil"),
        ("http://[2001:db8::1]:80/x", "2001:db8::1", "/x"),
        ("http://192.0.2.7:80", "192.0.2.7", ""),
        ("folder/file.txt", "", "folder/file.txt"),
        ("", "", ""),
        ("https://", "", ""),
        ("  https://a.b/  ", "a.b", "/"),
    ],
)
def test_examples(url: str, host: str, path: str) -> None:
    assert split_url(url) == (host, path)


NAMES = st.from_regex(r"[a-z0-9]{1,8}(\.[a-z0-9]{1,8}){1,3}", fullmatch=True)


@given(
    st.sampled_from(["http", "https", "ftp"]),
    NAMES,
    st.integers(1, 65535) | st.none(),
    st.text("abc/?#=@:.", max_size=20),
)
def test_hosts_are_those_of_the_standard_library(
    scheme: str, host: str, port: int | None, rest: str
) -> None:
    url = f"{scheme}://{host}{'' if port is None else f':{port}'}/{rest}"
    assert split_url(url) == (urlsplit(url).hostname, f"/{rest}")


@given(st.text(max_size=60) | st.text("a.:/@[]\\?#é", max_size=60))
def test_any_text_has_an_answer(text: str) -> None:
    host, _ = split_url(text)
    assert len(host) <= 2000


def test_a_huge_host_is_no_trouble() -> None:
    host, _ = split_url("https://" + "a." * 1_000_000 + "evil.example/x")
    assert host.endswith(".evil.example")
    assert "evil.example" in host_suffixes(host)
    assert len(host) <= 253


def test_suffixes() -> None:
    assert host_suffixes("a.b.c") == ["a.b.c", "b.c", "c"]
    assert host_suffixes("") == [""]


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("Example.org", "example.org"),
        ("*.example.org", "example.org"),
        (".example.org.", "example.org"),
        ("https://example.org/", "example.org"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("ads.*", "ads.*"),
    ],
)
def test_hosts_as_people_write_them(text: str, host: str) -> None:
    assert parse_host(text) == host


@pytest.mark.parametrize("text", ["", "a b", "example.org/path", "https://a.org/path", "me@a.org"])
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected a host such as"):
        parse_host(text)


def test_lists(tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    path.write_text(
        "\ufeff# a list\n\nAds.example # why\n0.0.0.0 track.example\n::1 six.example\r\n", "utf-8"
    )
    assert read_hosts(path) == {"ads.example", "track.example", "six.example"}
    path.write_text("other.example\n")
    assert read_hosts(path) == {"other.example"}
    path.write_text("good.example\ntwo words\n")
    with pytest.raises(ConfigError, match=r"hosts.txt, line 2: expected a host"):
        read_hosts(path)
