"""Batches as a function of (seed, step)."""
