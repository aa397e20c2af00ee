"""Addresses of web pages: which are the same page, and which are blocked."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple
from urllib.parse import unquote

_ADDRESS = re.compile(r"https?+://(?:[^\s/?#@]*+@)?([^\s/?#:]++)(?::\d++)?([^?#]*+)(?:\?([^#]*+))?")
# Tracking parameters.
_TRACKING = re.compile(r"(?:utm_\w*+|fbclid|gclid|mc_cid|mc_eid|igshid|ref_src|cmpid)(?:=|$)")

BLOCKED_EXTENSIONS = frozenset(
    [
        "jpg",
        "jpeg",
        "png",
        "gif",
        "gifv",
        "bmp",
        "tif",
        "tiff",
        "svg",
        "webp",
        "ico",
        "psd",
        "mp3",
        "ogg",
        "wav",
        "flac",
        "m4a",
        "mp4",
        "m4v",
        "mkv",
        "webm",
        "avi",
        "mov",
        "wmv",
        "flv",
        "swf",
        "pdf",
        "ps",
        "doc",
        "docx",
        "ppt",
        "pptx",
        "xls",
        "xlsx",
        "zip",
        "rar",
        "7z",
        "gz",
        "tar",
        "bz2",
        "xz",
        "exe",
        "msi",
        "dmg",
        "iso",
        "apk",
        "jar",
        "torrent",
        "css",
        "js",
        "json",
        "xml",
        "rss",
        "atom",
    ]
)
_HOSTS = (
    # pictures
    "imgur.com gfycat.com giphy.com flickr.com instagram.com pinterest.com tinypic.com"
    " photobucket.com imageshack.us postimg.cc prnt.sc deviantart.com redd.it"
    # moving pictures and sound
    " youtube.com youtu.be vimeo.com dailymotion.com twitch.tv liveleak.com streamable.com vine.co"
    " soundcloud.com spotify.com bandcamp.com tiktok.com"
    # discussion boards, where a page is other people's links
    " reddit.com facebook.com twitter.com x.com tumblr.com"
    # files
    " mega.nz mediafire.com dropbox.com drive.google.com rapidgator.net thepiratebay.org"
    " zippyshare.com"
    # shops
    " amazon.com ebay.com etsy.com kickstarter.com play.google.com itunes.apple.com apps.apple.com"
    " store.steampowered.com"
    # for adults
    " pornhub.com xvideos.com xhamster.com redtube.com youporn.com xnxx.com onlyfans.com"
)
BLOCKED_HOSTS = frozenset(_HOSTS.split())


class Address(NamedTuple):
    """The parts of an address that name a page: host in lower case, path, query."""

    host: str
    path: str
    query: str

    @property
    def key(self) -> str:
        """The same for all addresses of a page: without www, tracking, and a slash at the end."""
        kept = "&".join(sorted(p for p in self.query.split("&") if p and not _TRACKING.match(p)))
        return f"{self.host.removeprefix('www.')}{self.path.rstrip('/')}" + (kept and f"?{kept}")


def parse_address(url: str) -> Address | None:
    """The parts of an http address; None if it is not one."""
    found = _ADDRESS.match(url.strip())
    if found is None:
        return None
    return Address(found[1].lower().rstrip("."), found[2], found[3] or "")


def blocked_host(address: Address, hosts: Collection[str]) -> str | None:
    """The host in the list that an address belongs to, itself or as a part of it."""
    labels = address.host.split(".")[-10:]
    names = (".".join(labels[k:]) for k in range(len(labels)))
    return next((name for name in names if name in hosts), None)


def blocked_extension(address: Address, extensions: Collection[str]) -> str | None:
    """The extension in the list that a path ends with."""
    name = unquote(address.path.rpartition("/")[2])
    extension = name.rpartition(".")[2].lower() if "." in name else ""
    return extension if extension in extensions else None
