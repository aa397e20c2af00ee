"""Causal language models: GPT-2, Llama and their relatives; generation and likelihoods."""
