"""A stream as the datasets of other frameworks; each is imported when used."""
