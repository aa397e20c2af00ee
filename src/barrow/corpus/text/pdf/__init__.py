"""PDF: letters on pages in, paragraphs in reading order out."""
