from __future__ import annotations

import pytest

from barrow.corpus.readers.web_pages.address import blocked_extension, blocked_host, parse_address


@pytest.mark.parametrize(
    "url",
    [
        "https://a.org/b",
        "http://www.A.org:80/b/?utm_source=x&fbclid=1#c",
        " https://user@a.org/b ",
    ],
)
def test_addresses_of_the_same_page(url: str) -> None:
    address = parse_address(url)
    assert address is not None
    assert address.key == "a.org/b"


def test_a_query_names_a_page() -> None:
    first, second = parse_address("http://a.org/?b=1&a=2"), parse_address("http://a.org?a=2&b=1")
    assert first is not None
    assert second is not None
    assert first.key == second.key == "a.org?a=2&b=1"


def test_no_addresses() -> None:
    assert [parse_address(url) for url in ("", "a.org", "ftp://a.org/", "https:///")] == [None] * 4


def test_blocked() -> None:
    address = parse_address("https://m.video.com/a%2Ejpg")
    assert address is not None
    assert blocked_host(address, {"video.com"}) == "video.com"
    assert blocked_host(address, {"deo.com"}) is None
    assert blocked_extension(address, {"jpg"}) == "jpg"
    assert blocked_extension(address, {"pg"}) is None
