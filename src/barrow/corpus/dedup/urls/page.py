"""The page that a URL names: what is left without the parts that do not choose the page."""

from __future__ import annotations

import datetime
import re
from urllib.parse import urlsplit

from barrow.corpus.filters.url_hosts import split_url

_TRACKING = re.compile(
    r"utm_\w*|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|ttclid|igshid|mc_[ce]id"
    r"|_ga|_gl|_hs(enc|mi)|mkt_tok|phpsessid|jsessionid",
    re.IGNORECASE,
)
_SESSION = re.compile(r";(jsessionid|phpsessid)=[^/?#]*", re.IGNORECASE)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
_NO_HOST = re.compile(r"[a-z][a-z0-9+.-]*:(?!//|\d)", re.IGNORECASE)  # mailto:, urn:
_PARTIAL = re.compile(r"(\d{4})(?:-(\d\d))?$")


def page_of(url: str) -> str:
    """A URL without scheme, user, default port, ``www.``, trailing slash, fragment, session, and
    tracking parameters (``utm_*``, ``gclid`` …); "" if it names no host.

    Case counts after the host. A fragment that begins with ``!`` or ``/`` chooses a page, and
    stays.
    """
    url = url.strip()
    host, _ = split_url(url)
    if not host or _NO_HOST.match(url):
        return ""
    try:
        parts = urlsplit(url if _SCHEME.match(url) else f"//{url}")
        port = parts.port
    except ValueError:
        return ""
    query = "&".join(
        field
        for field in parts.query.split("&")
        if field and not _TRACKING.fullmatch(field.partition("=")[0])
    )
    path = _SESSION.sub("", parts.path).rstrip("/")
    found = host.removeprefix("www.") + (f":{port}" if port not in (None, 80, 443) else "") + path
    found += f"?{query}" if query else ""
    return found + (f"#{parts.fragment}" if parts.fragment.startswith(("!", "/")) else "")


def moment_of(date: object) -> int:
    """A date, or date and time, in ISO 8601 as a number that grows with it; 0 for anything else.

    The date may be a year, or a year and month: their first moment.
    """
    if not isinstance(date, str):
        return 0
    partial = _PARTIAL.match(date.strip())
    text = f"{partial[1]}-{partial[2] or '01'}-01" if partial else date.strip()
    try:
        found = datetime.datetime.fromisoformat(text)
        if found.tzinfo is not None:
            found = found.astimezone(datetime.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return 0
    return (found - datetime.datetime.min) // datetime.timedelta(seconds=1)
