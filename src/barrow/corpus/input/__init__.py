"""Untrusted raw files: opened, unpacked and decompressed within bounds.

A path comes in; bytes, members or records go out. Damage is reported as rejects, never raised.
"""
