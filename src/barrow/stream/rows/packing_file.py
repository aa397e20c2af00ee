"""Packings on disk: computed once for a domain of a store and a length of rows, then mapped.

A file is named by a hash of its inputs and written atomically. It holds offsets of tokens, no text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from barrow.errors import WriteFailed
from barrow.files import inside
from barrow.stream.rows.packing import Packing, best_fit, one_by_one
from barrow.stream.store import Store

Kind = Literal["fit", "document"]

# Part of a file's name; the next number when packing changes.
_VERSION = 1
_COLUMNS: dict[str, np.dtype[Any]] = {
    "offsets": np.dtype("<u8"),
    "start": np.dtype("<u8"),
    "document": np.dtype("<u8"),
    "length": np.dtype("<u4"),
    "last": np.dtype("<u2"),
}
_PACK: dict[Kind, Callable[[npt.NDArray[np.int64], int], Packing]] = {
    "fit": best_fit,
    "document": one_by_one,
}


def open_packing(
    store: Store, domain: int, *, kind: Kind, seq_len: int, folder: Path | None = None
) -> Packing:
    """The packing of a domain, mapped; made first where `folder` has none.

    The folder is that of the store, under `packing`, unless another is given. Making one takes
    about 100 bytes of memory for each document, or row of a long one; using it takes none.
    """
    from barrow.tokens.store.array_file import map_arrays

    key = f"{_VERSION} {store.identity} {store.domains[domain]} {kind} {seq_len}"
    name = f"{kind}-{seq_len}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.safetensors"
    path = inside(store.folder, f"packing/{name}") if folder is None else inside(folder, name)
    if not path.exists():
        packing = _PACK[kind](store.domain_starts(domain), seq_len)
        _write(path, packing, note={"domain": store.domains[domain], "store": store.identity})
    arrays, _ = map_arrays(path, {name: (dtype, 1) for name, dtype in _COLUMNS.items()})
    return Packing(
        offsets=arrays["offsets"].view(np.int64),
        start=arrays["start"].view(np.int64),
        length=arrays["length"].view(np.int32),
        document=arrays["document"].view(np.int64),
        last=arrays["last"],
    )


def _write(path: Path, packing: Packing, *, note: dict[str, str]) -> None:
    from barrow.files.safetensors import Column
    from barrow.tokens.store.array_file import write_arrays

    columns = {
        name: Column(dtype, getattr(packing, name).shape, (getattr(packing, name),))
        for name, dtype in _COLUMNS.items()
    }
    try:
        write_arrays(path, columns, note=note)
    except WriteFailed as error:
        raise WriteFailed(f"{error}; pass another folder: cache=…") from error
