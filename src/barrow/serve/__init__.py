"""Serve: an inference engine for decoders, with keys and values in pages."""
