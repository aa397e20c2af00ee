"""Idempotent tasks on files, run by local processes or by Ray."""
