"""IP addresses that are public, against Python's own `ipaddress` (PILE-8)."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.filters.pii.pii import find_pii


def found(text: str) -> list[str]:
    data = text.encode()
    return [data[one.start : one.stop].decode() for one in find_pii(text) if one.category == "ip"]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("downloaded from 165.123.34.86 on", "165.123.34.86"),
        ("http://91.189.93.70:8080/job", "91.189.93.70"),
        ("ping 217.71.50.57.", "217.71.50.57"),
        ("[185.10.231.85]", "185.10.231.85"),
        ("185.10.231.0/24", "185.10.231.0"),
        ("host 2a02:8071:2b80::1 up", "2a02:8071:2b80::1"),
        ("http://[2607:f8b0:4004:800::200e]/", "2607:f8b0:4004:800::200e"),
        ("2a00:1450:4001:81b:0:0:0:200e.", "2a00:1450:4001:81b:0:0:0:200e"),
    ],
)
def test_public(text: str, address: str) -> None:
    assert found(text) == [address]


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1 0.0.0.0 10.1.2.3 172.16.200.1 192.168.1.254 169.254.169.254 100.64.1.200",
        "192.0.2.33 198.51.100.99 203.0.113.250 224.0.0.251 255.255.255.0",
        "version 134.20.21.22",
        "Chrome/134.20.21.22",
        "section 1.2.3.4, 2.5.29.17, 8.8.8.8",
        "1.3.6.1.4.1.311.21",
        "185.10.231.256 185.010.231.85 1185.10.231.85",
        "lib-185.10.231.85",
        "185.10.231.85-beta",
        "at 12:34:56 2011:10:05 2010:12",
        "2001:db8::1 fe80::1 ::1 a::b std::abs 2001:10:a::1",
        "2a02:8071:2b80:0:0:0:0:1:2",
        "2a02:::1",
        "x2a02:8071:2b80::1",
    ],
)
def test_others(text: str) -> None:
    assert found(text) == []


@settings(max_examples=300, deadline=None)
@given(st.ip_addresses(v=4))
def test_as_python_has_it(address: ipaddress.IPv4Address) -> None:
    """Except for ranges about which its versions differ, and small numbers."""
    octets = address.packed
    if max(octets) < 100 and sum(octet >= 20 for octet in octets) < 2:
        return
    if address in ipaddress.ip_network("192.0.0.0/24") or octets[:3] == bytes((192, 88, 99)):
        return
    public = address.is_global and not address.is_multicast
    assert found(f"from {address} on") == ([str(address)] if public else [])


@settings(max_examples=200, deadline=None)
@given(st.ip_addresses(v=6, network="2000::/3"))
def test_every_way_to_write_an_ipv6_address(address: ipaddress.IPv6Address) -> None:
    if address in ipaddress.ip_network("2001::/23") or address in ipaddress.ip_network("3fff::/20"):
        return
    if len(address.compressed) < 7:
        return  # 2000:: may be a year
    public = address not in ipaddress.ip_network("2001:db8::/32")
    for written in (address.compressed, address.exploded, address.compressed.upper()):
        assert found(f"from {written} on") == ([written] if public else [])
