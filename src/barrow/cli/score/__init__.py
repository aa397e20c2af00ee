"""`barrow score`: bits per byte of a model on a corpus, comparisons, and the self-test."""
