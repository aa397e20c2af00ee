"""Samples to arrays: rows that are cut, packed or masked."""
