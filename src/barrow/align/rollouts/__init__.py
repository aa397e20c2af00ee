"""Answers that a policy draws, what they are worth, and the step that learns from them."""
