"""Compiled loops (numba) over UTF-8 bytes: words, characters, hashes; no object per document."""
