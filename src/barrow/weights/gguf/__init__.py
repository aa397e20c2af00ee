"""GGUF files: tensors, settings and the tokenizer."""
