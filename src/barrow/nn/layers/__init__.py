"""Layers, one module per file."""
