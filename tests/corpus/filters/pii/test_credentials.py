"""Keys and tokens, made up here so that no scanner takes them for real ones (PILE-8)."""

from __future__ import annotations

import pytest

from barrow.corpus.filters.pii.pii import find_pii

BODY = "q7Rt2LmX9cVb4NzK8wPj3HsD6fGy1TeQ5uAo"
KEYS = [
    "AKIA" + "Q7RT2LMX5CVB4NZK",
    *(f"gh{kind}_{BODY}" for kind in "pousr"),
    "github_pat_" + BODY,
    "glpat-" + BODY[:20],
    "xoxb-" + BODY,
    "AIza" + BODY[:35],
    "sk_live_" + BODY[:24],
    "sk-ant-" + BODY,
    "npm_" + BODY,
    "hf_" + BODY[:34],
    f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{BODY}.{BODY}",
]


def found(text: str) -> list[tuple[str, str]]:
    data = text.encode()
    return [(one.category, data[one.start : one.stop].decode()) for one in find_pii(text)]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("around", ["{}", "key={} now", "'{}'", "x/{}", "({})."])
def test_keys_that_say_whose_they_are(key: str, around: str) -> None:
    assert found(around.format(key)) == [("secret", key)]


@pytest.mark.parametrize(
    "name",
    [
        *("api_key = ", "API_KEY=", '"apiKey": "', "password: ", "client-secret: '", "token => '"),
        *("aws_secret_access_key = ", "pwd:=", 'config["token"] = "', "secret='"),
    ],
)
def test_values_after_a_name(name: str) -> None:
    assert found(f"{name}{BODY}' #") == [("secret", BODY)]
    assert found(f"{name}{BODY[:9]}/{BODY[9:20]}+{BODY[20:]}")[0][0] == "secret"


@pytest.mark.parametrize(
    "text",
    [
        f"key {BODY}",
        f"commit: {BODY}",
        "sha256 = a903d209eeedba4f9f415a260f2080b469ca460b16a97c9663274bf90f1f6093",
        "token = getTokenFromRequest2Headers11(request)",
        "password: aaaaaaaaaaaaaaaaaaaaaa11",
        "password = your-password-goes-here-12",
        "api_key = xxxxxxxxxxxxxxxxxxxx12",
        "password: hello22hello22hello22",
        "token: 11112222aaaabbbb11112222",
        "password: dWuciKEQEVKGtHJOBx9",
        "AKIAIOSFODNN7EXAMPLE",
        "AKIA" + "Q7RT2LMX5CVB4NZ",
        "ghp_" + BODY[:30],
        "xAKIA" + "Q7RT2LMX5CVB4NZK",
        "eyJhbGciOiJIUzI1NiJ9",
        "token: /usr/share/lib/x86/64/a/b/c",
        "secret = module.name22.attribute33.x",
        "password = 12345678901234567890",
    ],
)
def test_others(text: str) -> None:
    assert found(text) == []


def test_private_key_blocks() -> None:
    for kind in ("RSA ", "", "EC ", "OPENSSH ", "ENCRYPTED "):
        block = (
            f"-----BEGIN {kind}PRIVATE KEY-----\nProc-Type: 4\n\n{BODY}{BODY}\n{BODY}==\n"
            f"-----END {kind}PRIVATE KEY-----"
        )
        assert found(f"a\n{block}\nb") == [("secret", block)]
    cut = f"-----BEGIN PRIVATE KEY-----\n{BODY}"
    assert found(cut + "\n") == [("secret", cut)]
    assert found("-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----") == []
    assert found(f"-----BEGIN PUBLIC KEY-----\n{BODY}\n-----END PUBLIC KEY-----") == []
    assert found("-----BEGIN CERTIFICATE-----") == found("BEGIN") == found("-----BEG") == []
