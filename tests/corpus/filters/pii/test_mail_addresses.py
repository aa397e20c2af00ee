"""Mail addresses, and what only looks like one (PILE-8)."""

from __future__ import annotations

import pytest

from barrow.corpus.filters.pii.pii import find_pii


def found(text: str) -> list[tuple[str, str]]:
    data = text.encode()
    return [(one.category, data[one.start : one.stop].decode()) for one in find_pii(text)]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("write to joe.smith@enron.com today", "joe.smith@enron.com"),
        ("<joe@uni-bonn.de>", "joe@uni-bonn.de"),
        ("mailto:a+b_c@mail.co.uk?subject=x", "a+b_c@mail.co.uk"),
        ("at 'joe@host.org'.", "joe@host.org"),
        ("joe@host.org.Then we went", "joe@host.org"),
        ("JOE@HOST.COM", "JOE@HOST.COM"),
        ("信箱joe@host.tw，谢谢", "joe@host.tw"),
        ("https://x.org/?mail=joe@host.org", "joe@host.org"),
        ("joe@host.org:hunter2", "joe@host.org"),
        ("o'neil@host.ie", "o'neil@host.ie"),
        ("...joe@host.net", "joe@host.net"),
        ("a@b.co", "a@b.co"),
        ("joe@123.123.123.123, or", "joe@123.123.123.123"),
        ("mail joe.smith@81.2.69.142.", "joe.smith@81.2.69.142"),
    ],
)
def test_addresses(text: str, address: str) -> None:
    assert found(text) == [("email", address)]


@pytest.mark.parametrize(
    "text",
    [
        "git@github.com:acme/repo.git",
        "scp x@host.org:/etc/passwd .",
        "user@example.com and x@foo.example.org and y@z.test",
        "root@localhost",
        "logo@2x.png",
        "react@16.8.0 and left-pad@latest",
        "@app.route('/')",
        "foo @Override.class",
        "x@data.frame",
        "\\cite@key.entry",
        "joe@",
        "@joe.com",
        "joe@host",
        "joe.@host.com",
        "joe..x@host.com",
        "joe@-host.com",
        "joe@host..com",
        "https://joe@host.com/path",
        "Joe Smith/HOU/ECT@ECT",
        "x@y.call()",
        "m@trix.it(3)",
    ],
)
def test_others(text: str) -> None:
    assert found(text) == []


def test_name_and_password_in_a_url() -> None:
    assert found("git clone https://joe:pa55word@host.org/x.git") == [("secret", "joe:pa55word")]


def test_hosts_that_are_no_public_addresses() -> None:
    assert found("ssh joe@192.168.0.1") == []
    assert found("pkg@1.2.3.4") == []
    assert found("a@123.123.123.123.4") == []
