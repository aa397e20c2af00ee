"""Objectives: a loss as a total and its weight, so that accumulation and sharding stay exact.

Model outputs and a batch come in; sums go out. Others can be passed from outside.
"""
