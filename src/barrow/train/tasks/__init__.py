"""Tasks: a model, its objective and its data, as a run binds them."""
