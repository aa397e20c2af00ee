"""Counts that quality filters decide by: characters, words, lines, sentences, repetitions."""
