"""Saved web pages, with the addresses and scores that curate them."""
