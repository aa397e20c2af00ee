"""Models that can be scored: anything that gives the log-probability of text.

A run, a Hugging Face model, a server or a function of your own comes in; nats per token go out.
"""
