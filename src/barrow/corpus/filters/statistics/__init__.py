"""Counts for quality filters: characters, words, lines, sentences, repetitions."""
