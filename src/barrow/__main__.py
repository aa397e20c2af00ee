"""`python -m barrow` is `barrow`."""

from barrow.cli import main

main()
