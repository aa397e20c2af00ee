"""Web pages: HTML in, the main text and the page's metadata out."""
