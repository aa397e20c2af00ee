"""Filters by the words of a text, from lists and tables in files."""
