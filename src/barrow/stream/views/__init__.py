"""A stream as the datasets of other frameworks; each is loaded when asked for."""
