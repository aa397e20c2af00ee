"""Books in EPUB, chapters in reading order."""
