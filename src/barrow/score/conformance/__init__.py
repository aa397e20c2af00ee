"""The self-test of scoring: known answers, invariances, and faults that it must notice."""
