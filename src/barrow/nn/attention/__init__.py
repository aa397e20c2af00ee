"""Attention: the function, the multi-head layer, rotary positions and the cache."""
