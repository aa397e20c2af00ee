"""What `barrow demo` runs: the recipe `pocket`, and the steps from raw files to scores.

The raw files are text that is on the machine already. Only the command line imports this.
"""
