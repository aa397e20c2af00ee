"""Mail addresses.

``name@host.tld``: 1 to 64 letters, digits and ``._%+'-`` before the @, names of letters, digits and
hyphens with dots between after it, the last a top-level domain; or a public IP address after it.
Left alone: names reserved for
documentation (example.com, .test, localhost), repositories (git@github.com:…, host:/path), files
(logo@2x.png) and attributes in code (x@data.frame).
"""

from __future__ import annotations

import re

from barrow.corpus.filters.pii.found import Found
from barrow.corpus.filters.pii.ip_addresses import check_ipv4

# All two-letter country codes in use, and generic domains that are used for mail.
_COUNTRIES = """
ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw
by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et
eu fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id
ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu
lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np
nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sk
sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy
uz va vc ve vg vi vn vu wf ws ye yt za zm zw
"""
_GENERIC = """
com org net edu gov mil int arpa info biz name pro aero asia cat coop jobs mobi museum post tel
travel xxx academy agency app art bank bio blog business cafe care center city cloud club coach
community company computer consulting design dev digital directory email energy engineering events
expert finance foundation fund global group guru health help host hosting house institute
international land law legal life link live love ltd marketing media medical money network news
ninja online partners page photography plus press properties pub rocks school science services
shop site social software solutions space store studio support systems team tech technology today
tools top town training university ventures vip website wiki work world xyz zone berlin hamburg
koeln london nyc paris scot swiss tokyo wales wien
"""
_TOP = frozenset(name.encode() for name in (_COUNTRIES + _GENERIC).split())
_DOCUMENTATION = re.compile(
    rb"(?:^|\.)(?:example(?:\.(?:com|net|org|edu))?|test|invalid|localhost)$"
)
_LABELS = re.compile(rb"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?+(?:\.|$)){2,}+")
_IPV4 = re.compile(rb"[0-9]{1,3}(?:\.[0-9]{1,3}){3}+(?!\.?[0-9A-Za-z])")
_REPOSITORIES = (b"git", b"hg", b"svn", b"gitolite")
_PATH = re.compile(rb":(?:[/~]|[\w.-]+/)")
_USER_INFO = re.compile(rb"://([^\s/?#@:]{1,64}:[^\s/?#@]{0,64})$")


def check_mail(data: bytes, start: int, stop: int) -> Found | None:
    """A mail address in a window of mail characters; or a name and a password in a URL."""
    at = data.index(b"@", start, stop)
    user_info = _USER_INFO.search(data, max(0, start - 80), at)
    if user_info:
        return Found("secret", user_info.start(1), at)
    local = data[start:at].lstrip(b".%+'-_")
    if not local or b".." in local or local.endswith(b".") or data[start - 3 : start] == b"://":
        return None
    if number := _IPV4.match(data, at + 1):
        is_public = check_ipv4(data, *number.span()) is not None
        return Found("email", at - len(local), number.end()) if is_public else None
    labels = data[at + 1 : stop].lower().split(b".")
    # A sentence may continue without a blank: someone@host.org.Then
    while len(labels) > 1 and labels[-1] not in _TOP:
        labels.pop()
    domain = b".".join(labels)
    if len(labels) < 2 or not _LABELS.fullmatch(domain) or _DOCUMENTATION.search(domain):
        return None
    stop = at + 1 + len(domain)
    if stop < len(data) and chr(data[stop]).isascii() and chr(data[stop]).isalnum():
        return None
    path = _PATH.match(data, stop)
    if (local in _REPOSITORIES and path) or data[stop : stop + 2] in (b":/", b":~"):
        return None
    if data[stop : stop + 1] == b"(" or data[stop : stop + 2] == b"[[":
        return None  # a call or an element in code
    return Found("email", at - len(local), stop)
