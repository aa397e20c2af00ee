"""CLIP's tokenizer: lower-cased byte-pair encoding in a context of 77."""
