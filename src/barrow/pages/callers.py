"""Whose requests a server on this machine answers.

A page of another site can make the browser ask this server in two ways. Its own name may resolve to
this machine (DNS rebinding): then that name is the request's Host. Or it asks for this server's
address: then the page's address is the request's Origin, which other programs do not send.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass

_HOST = re.compile(r"(\[[^\[\]]+\]|[^\s:/@?#\[\]]+)(?::[0-9]*)?")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@A-Z*]+|null")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


@dataclass(frozen=True)
class Callers:
    """The names and pages whose requests are answered.

    - `address`: what the server listens on; where that is not the loopback, every IP address and
      the machine's own name are its names too
    - `hosts`: further names, such as those of a proxy; `origins`: pages elsewhere that may ask
    """

    address: str = "127.0.0.1"
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for host in self.hosts:
            if not _HOST.fullmatch(host) or _name(host) != _plain(host) or "*" in host:
                raise ValueError(
                    f"an allowed host must be a name without port, such as example.org, got {host}"
                )
        for origin in self.origins:
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(
                    "an allowed origin must be in lower case and without path or *, such as "
                    f"https://example.org, got {origin}"
                )

    @property
    def is_local(self) -> bool:
        """True if only programs on this machine reach the address."""
        return _is_loopback(_plain(self.address))

    def refusal(self, host: str | None, origin: str | None) -> str | None:
        """Why a request with this Host and this Origin is not answered; None if it is."""
        name = _name(host or "")
        if host is None or name is None or not self._is_own(name):
            return f"Host must be a name of this server, got {(host or 'none')[:100]}"
        if origin is None or origin in self.origins or _is_page_of(host, origin):
            return None
        return f"Origin must be this server, got {origin[:100]}"

    def _is_own(self, name: str) -> bool:
        if _is_loopback(name) or name in map(_plain, self.hosts):
            return True
        # An IP address resolves to nothing else, so no rebinding can use it.
        named = (_plain(self.address), socket.gethostname().lower())
        return not self.is_local and (_is_address(name) or name in named)


def _name(host: str) -> str | None:
    """The name in a Host, without the port: a forwarded one may differ from the server's."""
    found = _HOST.fullmatch(host)
    return _plain(found[1]) if found else None


def _plain(name: str) -> str:
    return name.removeprefix("[").removesuffix("]").lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    return name == "localhost" or (_is_address(name) and ipaddress.ip_address(name).is_loopback)


def _is_page_of(host: str, origin: str) -> bool:
    """Compare an Origin with this Host. A proxy may have added TLS, so either scheme will do."""
    scheme, _, page = origin.lower().partition("://")
    port = _DEFAULT_PORTS.get(scheme)
    return port is not None and page.removesuffix(port) == host.lower().removesuffix(port)
