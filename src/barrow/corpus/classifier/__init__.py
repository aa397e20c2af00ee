"""Quality classifiers: train one on two sets of texts, apply it, report how a corpus scores."""
