"""Substitutes for arrays of weights (see `nn.dot`)."""
