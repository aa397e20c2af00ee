"""Models that need no training run: uniform bytes, n-grams and compressors."""
