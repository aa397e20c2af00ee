"""Licences: recognised in texts and addresses, and written as SPDX expressions."""
