"""Hugging Face folders: configurations and weight names, read and written."""
