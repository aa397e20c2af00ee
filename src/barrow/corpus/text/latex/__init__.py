"""LaTeX to markdown: tokens, macros, the files of a paper, and the writer."""
