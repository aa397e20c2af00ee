"""Pages of keys and values: who uses them, which are free, and which hold a known prefix."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

# Tokens of a page. A prompt is also read in parts of this size, so that each part fills a page.
PAGE = 64


class Pages:
    """`num` pages with reference counts.

    A full page may be registered under the name of its prefix (`chain`). Requests with the same
    prefix then share it; nothing writes to a full page, so it is never copied. A registered page
    that nobody uses keeps its contents until a page is needed: the least recently used goes first.
    """

    def __init__(self, num: int) -> None:
        if num < 1:
            raise ValueError(f"num must be ≥ 1, got {num}")
        self.num = num
        self._free = list(range(num - 1, -1, -1))
        self._users = [0] * num
        self._names: dict[int, bytes] = {}
        self._page_of: dict[bytes, int] = {}
        self._idle: OrderedDict[int, None] = OrderedDict()

    @property
    def num_available(self) -> int:
        """Pages that `take` can give."""
        return len(self._free) + len(self._idle)

    @property
    def num_used(self) -> int:
        """Pages that a request uses."""
        return self.num - self.num_available

    def take(self) -> int | None:
        """A page for one user, its contents undefined; None if all are used."""
        if self._free:
            page = self._free.pop()
        elif self._idle:
            page, _ = self._idle.popitem(last=False)
            del self._page_of[self._names.pop(page)]
        else:
            return None
        self._users[page] = 1
        return page

    def share(self, name: bytes) -> int | None:
        """The page of a prefix, with one more user; None if there is none."""
        page = self._page_of.get(name)
        if page is not None:
            self._idle.pop(page, None)
            self._users[page] += 1
        return page

    def register(self, page: int, name: bytes) -> None:
        """Let others share a full page; the first page of a name keeps it."""
        assert self._users[page] > 0
        if name not in self._page_of and page not in self._names:
            self._names[page] = name
            self._page_of[name] = page

    def release(self, page: int) -> None:
        """One user less."""
        assert self._users[page] > 0
        self._users[page] -= 1
        if self._users[page]:
            return
        if page in self._names:
            self._idle[page] = None
        else:
            self._free.append(page)

    def check(self, users: Sequence[int]) -> None:
        """Assert that these are the counts of users, and that every page is in one place."""
        assert list(users) == self._users
        unused = {page for page, num in enumerate(users) if not num}
        assert set(self._free) | set(self._idle) == unused
        assert len(self._free) + len(self._idle) == len(unused)
        assert {page: name for name, page in self._page_of.items()} == self._names
        assert set(self._idle) <= set(self._names)


def chain(before: bytes, tokens: Sequence[int]) -> bytes:
    """The name of a page: a hash of its tokens and the name of the page before it."""
    return blake2b(np.asarray(tokens, np.int32).tobytes(), key=before, digest_size=16).digest()
