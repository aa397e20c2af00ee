"""Shared parts of every HTML page: frame, escaping, readable numbers.

Pages are single files that fetch nothing. Texts, names and numbers come in; HTML goes out in which
no text is read as HTML, under a policy that lets only the page's own style and script apply.
"""
