from __future__ import annotations

from barrow.archive.buffers import BufferPool


def test_memory_is_used_again_once_nobody_holds_it() -> None:
    pool = BufferPool()
    first = pool.take(1000)
    address = first.ctypes.data
    view = first[10:20]
    del first
    second = pool.take(1000)
    assert second.ctypes.data != address, "a view still refers to it"
    del view
    third = pool.take(500)
    assert third.ctypes.data == address
    window = third.data[:10]
    del third
    assert pool.take(500).ctypes.data != address, "a memoryview still refers to it"
    del window


def test_any_size() -> None:
    pool = BufferPool()
    held = [pool.take(size) for size in (0, 1, 4096, 4097, 10**6)]
    assert [array.size >= size for array, size in zip(held, (0, 1, 4096, 4097, 10**6), strict=True)]
    assert len({array.ctypes.data for array in held}) == len(held)
