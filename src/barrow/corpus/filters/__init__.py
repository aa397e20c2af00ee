"""Filters: each decides, document by document, to keep it or to reject it for a named reason."""
