"""Repeated passages: long runs of bytes that several documents share.

Window hashes in; out come the parts of each text to cut, with one copy of each passage kept.
"""
