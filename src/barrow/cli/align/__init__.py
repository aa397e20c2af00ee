"""The verbs of alignment."""
