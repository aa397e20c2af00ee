"""Court opinions, as CourtListener publishes them in bulk."""
