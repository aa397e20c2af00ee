"""Labelled rows for fine-tuning: records in, batches of similar lengths out."""
