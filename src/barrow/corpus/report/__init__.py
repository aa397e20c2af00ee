"""Documentation of a finished corpus: a report page, a datasheet and a portable recipe.

The manifest and the rejects come in; HTML and Markdown go out.
"""
