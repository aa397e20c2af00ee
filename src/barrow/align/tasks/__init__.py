"""Kinds of alignment runs, as `barrow.train` runs them."""
