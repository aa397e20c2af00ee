"""The floor: everything that barrow writes to a disk goes through here.

Four things change what others see, and a second kind of storage would have to do just these:
`write` (`atomic_file`, `write_bytes`), `publish` (`publish_folder`, `link_or_copy`), `lock`
(`locked`) and `list` (`listed`). A name that begins with a dot is not published.
"""

from __future__ import annotations

from barrow.files.atomic import AtomicFile, WrittenFile, atomic_file, link_or_copy, write_bytes
from barrow.files.checksum import sha256_of
from barrow.files.folder import listed, publish_folder, remove_unfinished, sync_folder
from barrow.files.lock import locked

__all__ = [
    "AtomicFile",
    "WrittenFile",
    "atomic_file",
    "link_or_copy",
    "listed",
    "locked",
    "publish_folder",
    "remove_unfinished",
    "sha256_of",
    "sync_folder",
    "write_bytes",
]
