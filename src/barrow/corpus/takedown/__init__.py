"""Removal of documents from a finished corpus, wherever something of them is.

Rules come in; only the shards concerned are rewritten, by a commit that survives a crash.
"""
