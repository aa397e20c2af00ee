"""The token store: documents in, memory-mapped ids with the place of every document out.

It is built by tasks, brought up to date when the corpus changes, and verified.
"""
