"""The language of a text: fastText's model, a sample of the text, and codes of languages."""
