"""Exact and near-duplicates (verified), and their clusters."""
