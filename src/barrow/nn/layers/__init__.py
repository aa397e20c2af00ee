"""Layers: a module per file, as long as its mathematics."""
