"""Files of tokenizers of others: merges, ranks and llama2.c, read as `tokenizer.json`."""
