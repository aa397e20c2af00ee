from __future__ import annotations

import pytest
import zstandard

from barrow.archive.zstd import in_words, thread_decompressor


def test_errors_in_words() -> None:
    frame = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(b"x" * 1000))
    frame[-1] ^= 1
    with pytest.raises(zstandard.ZstdError) as caught:
        thread_decompressor.zstd.decompress(bytes(frame))
    assert "checksum" in in_words(caught.value)


def test_a_window_too_large_has_a_way_out() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=30, enable_ldm=True)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    frame = compressor.compress(b"x" * 1000) + compressor.flush()
    with pytest.raises(zstandard.ZstdError) as caught:
        thread_decompressor.zstd.stream_reader(frame).read(10)
    assert "zstd -d --long=31" in in_words(caught.value)
