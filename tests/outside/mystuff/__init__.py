"""A package outside barrow, with one of each that can be added."""
