"""Files: everything that barrow writes to disk goes through here.

Four operations are visible to others, and another kind of storage would implement just these:
`write` (`atomic_file`, `write_bytes`), `publish` (`publish_folder`, `link_or_copy`), `lock`
(`locked`) and `list` (`listed`). A name that begins with a dot is not published. Every name that is
read from a file goes through `inside` before it is used.
"""

from __future__ import annotations

from barrow.files.atomic import (
    AtomicFile,
    WrittenFile,
    atomic_file,
    link_or_copy,
    named_failures,
    write_bytes,
)
from barrow.files.checksum import Version, sha256_of, version_of
from barrow.files.folder import (
    hidden_beside,
    listed,
    make_folder,
    publish_folder,
    remove_unfinished,
    sync_folder,
    sync_tree,
)
from barrow.files.lock import locked
from barrow.files.names import checked_name, inside, local_path, portable, resolved

__all__ = [
    "AtomicFile",
    "Version",
    "WrittenFile",
    "atomic_file",
    "checked_name",
    "hidden_beside",
    "inside",
    "link_or_copy",
    "listed",
    "local_path",
    "locked",
    "make_folder",
    "named_failures",
    "portable",
    "publish_folder",
    "remove_unfinished",
    "resolved",
    "sha256_of",
    "sync_folder",
    "sync_tree",
    "version_of",
    "write_bytes",
]
