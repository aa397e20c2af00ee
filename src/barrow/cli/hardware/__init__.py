"""Verbs about devices and processes: which there are, what fits them, how to start them."""
