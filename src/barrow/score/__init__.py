"""Bits per byte: models, windows, score cards, results."""
