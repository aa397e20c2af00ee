"""Documents with the same URL: the newest or the longest stays."""
