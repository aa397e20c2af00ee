"""Books of Project Gutenberg, without its header and footer."""
