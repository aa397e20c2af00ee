"""Which Host and Origin are answered: DNS rebinding, pages of other sites."""

from __future__ import annotations

import socket

import pytest

from barrow.pages.callers import Callers

LAN = Callers("0.0.0.0")
NAMED = Callers(hosts=("models.example.org", "10.1.2.3"), origins=("https://elsewhere.org", "null"))


@pytest.mark.parametrize("callers", [Callers(), Callers("::1"), Callers("localhost"), LAN])
@pytest.mark.parametrize(
    "host", ["localhost:8000", "LOCALHOST", "127.0.0.1:8000", "127.0.0.2", "[::1]:8000", "[::1]"]
)
def test_names_of_the_loopback(callers: Callers, host: str) -> None:
    """With any port: an ssh tunnel or a container forwards another one."""
    assert callers.refusal(host, None) is None


BAD = [None, "", "evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.nip.io"]
BAD += ["localhost@evil.example", "localhost:8000:1", "localhost:x", "[::1", "::1", "local host"]
BAD += ["127.1.evil", "2130706433.evil", "localhost/evil.example", "[evil.example]"]


@pytest.mark.parametrize("callers", [Callers(), LAN, NAMED])
@pytest.mark.parametrize("host", BAD)
def test_other_names_are_refused(callers: Callers, host: str | None) -> None:
    found = callers.refusal(host, None)
    assert found == f"Host must be a name of this server, got {host or 'none'}"


def test_addresses_and_the_own_name_where_others_may_ask() -> None:
    for host in ("192.168.1.5:8000", "[fe80::1]:8000", f"{socket.gethostname()}:8000"):
        assert LAN.refusal(host, None) is None
        assert Callers().refusal(host, None) is not None
    assert Callers("gpu1").refusal("GPU1:8000", None) is None
    assert LAN.refusal("gpu1.evil", None) is not None
    assert [Callers(name).is_local for name in ("127.0.0.1", "::1", "localhost")] == [True] * 3
    assert [Callers(name).is_local for name in ("0.0.0.0", "::", "gpu1", "")] == [False] * 4


def test_names_that_were_allowed() -> None:
    for host in ("models.example.org", "Models.Example.org:443", "10.1.2.3", "localhost"):
        assert NAMED.refusal(host, None) is None
    assert NAMED.refusal("10.1.2.4", None) is not None
    for wrong in ("https://example.org", "example.org:8000", "example.org/x", "", "*.org x"):
        with pytest.raises(ValueError, match="an allowed host must be a name without port"):
            Callers(hosts=(wrong,))


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("localhost", "http://localhost"),
        ("models.example.org", "https://models.example.org"),
        ("models.example.org:443", "https://models.example.org"),
        ("localhost:8000", "https://elsewhere.org"),
        ("localhost:8000", "null"),
    ],
)
def test_pages_that_may_ask(host: str, origin: str) -> None:
    assert NAMED.refusal(host, origin) is None


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:3000",
        "http://127.0.0.1:8000",
        "https://evil.example",
        "http://localhost:8000.evil.example",
        "http://elsewhere.org",
        "https://elsewhere.org:8443",
        "https://elsewhere.org.evil.example",
        "ftp://localhost:8000",
        "localhost:8000",
        "",
    ],
)
def test_pages_elsewhere_are_refused(origin: str) -> None:
    found = NAMED.refusal("localhost:8000", origin)
    assert found == f"Origin must be this server, got {origin}"
    assert Callers().refusal("localhost:8000", "null") is not None


@pytest.mark.parametrize("wrong", ["https://x.org/", "x.org", "HTTPS://X.org", "*", "https://"])
def test_origins_that_are_none(wrong: str) -> None:
    with pytest.raises(ValueError, match="an allowed origin must be in lower case"):
        Callers(origins=(wrong,))
