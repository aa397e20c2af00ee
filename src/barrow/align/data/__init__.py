"""Data of alignment: records to rows of tokens, and batches of them by step."""
