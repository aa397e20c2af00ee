"""The real recipes, as Python."""
