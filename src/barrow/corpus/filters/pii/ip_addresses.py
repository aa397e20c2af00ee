"""Public IP addresses, which may belong to a person.

Private, reserved, multicast and documentation ranges (IANA's special-purpose registries, as of
2024) are left, written out here because Python's own answer changed between versions. Four numbers
with dots may also be a version or a section; those count only when their size or the words before
them show that they are an address.
"""

from __future__ import annotations

import ipaddress
import re

from barrow.corpus.filters.pii.found import Found

_NETWORKS = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
224.0.0.0/4 240.0.0.0/4
"""
_RESERVED_4 = tuple(
    (int(network.network_address), int(network.broadcast_address))
    for network in map(ipaddress.IPv4Network, _NETWORKS.split())
)
_RESERVED_6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
_GLOBAL_6 = ipaddress.IPv6Network("2000::/3")
_OTHER = re.compile(
    rb"(?:version|versions|ver\.?|v|release|releases|build|firmware|rev|revision|section|sections|"
    rb"sec\.?|chapter|clause|article|oid|kernel|driver|update|upgrade|tag|table|figure|fig\.?|"
    rb"\xc2\xa7)[\s:=#/_.-]{0,3}$",
    re.IGNORECASE,
)


def check_ipv4(data: bytes, start: int, stop: int) -> Found | None:
    """An address in four groups of one to three digits."""
    parts = data[start:stop].split(b".")
    octets = [int(part) for part in parts]
    if max(octets) > 255 or any(len(part) > 1 and part.startswith(b"0") for part in parts):
        return None
    # Versions and sections have small numbers; so do hardly any addresses.
    if max(octets) < 100 and sum(octet >= 20 for octet in octets) < 2:
        return None
    before, after = data[max(0, start - 24) : start], data[stop : stop + 2]
    if before.endswith((b"-", b"_")) or (before.endswith(b"/") and not before.endswith(b"//")):
        return None
    if (after[:1] in (b"-", b"_") and after[1:].isalpha()) or _OTHER.search(before):
        return None
    value = int.from_bytes(bytes(octets), "big")
    if any(low <= value <= high for low, high in _RESERVED_4):
        return None
    return Found("ip", start, stop)


def check_ipv6(data: bytes, start: int, stop: int) -> Found | None:
    """A global address in hexadecimal digits and colons."""
    written = data[start:stop].rstrip(b".")
    if written.endswith(b":") and not written.endswith(b"::"):
        written = written[:-1]
    stop = start + len(written)
    if data[stop : stop + 1].isalnum() or data[start - 1 : start] in (b":", b"-", b"."):
        return None
    try:
        address = ipaddress.IPv6Address(written.decode())
    except ValueError:
        return None
    if address not in _GLOBAL_6 or any(address in network for network in _RESERVED_6):
        return None
    return Found("ip", start, stop)
