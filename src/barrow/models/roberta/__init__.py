"""Masked language models: RoBERTa, its heads, embeddings, filled masks and attention maps."""
