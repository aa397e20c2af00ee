"""The demo: the recipe `pocket`, and the steps from raw files to scores.

The raw files are text already on the machine. Only the command line imports this.
"""
