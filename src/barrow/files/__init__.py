"""Files: everything that barrow writes to disk goes through here.

Results are written by `atomic_file` (`write_bytes`, where all bytes are there) or `atomic_path`
(what has several files, or is written by a library), or grow as an `AppendedFile`. What `disk`
does is counted there, so that tests can kill a process before any of it. `locked` keeps other
writers out of a folder, `listed` says what is in it. A name that begins with a dot is not
published. Every name that is read from a file goes through `inside` before it is used.
"""

from __future__ import annotations

from barrow.files.atomic import (
    AppendedFile,
    AtomicFile,
    WrittenFile,
    atomic_file,
    atomic_path,
    link_or_copy,
    write_bytes,
    write_part,
)
from barrow.files.checksum import Version, sha256_of, version_of
from barrow.files.disk import new_folder, remove, remove_folder, remove_tree, rename
from barrow.files.folder import listed, make_folder, sync_folder, sync_tree
from barrow.files.lock import locked
from barrow.files.names import checked_name, inside, local_path, portable, resolved
from barrow.files.unfinished import new_path, remove_left_of, remove_result, remove_unfinished

__all__ = [
    "AppendedFile",
    "AtomicFile",
    "Version",
    "WrittenFile",
    "atomic_file",
    "atomic_path",
    "checked_name",
    "inside",
    "link_or_copy",
    "listed",
    "local_path",
    "locked",
    "make_folder",
    "new_folder",
    "new_path",
    "portable",
    "remove",
    "remove_folder",
    "remove_left_of",
    "remove_result",
    "remove_tree",
    "remove_unfinished",
    "rename",
    "resolved",
    "sha256_of",
    "sync_folder",
    "sync_tree",
    "version_of",
    "write_bytes",
    "write_part",
]
