"""Other formats of tokenizers (merges, ranks, llama2.c), read as `tokenizer.json`."""
